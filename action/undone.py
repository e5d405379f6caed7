"""Names what a change took away and an apply left: ``undone.py RESULT BASE``, plans of the change and of its base.

A deletion without ``--allow-deletes`` is left. Where the base declared the same, this change meant to remove it, and a
green pipeline would say that it is gone. Standard library only.
"""

import json
import sys
from pathlib import Path


def left(file: str) -> set[str]:
    """What a plan may not delete; ``ValueError`` if there is no plan."""
    document = json.loads(Path(file).read_text(encoding="utf-8"))
    return {item["subject"] for item in document.get("left", ()) if item["reason"] == "held-back"}


def main(result: str, base: str) -> None:
    """Prints why the pipeline may not be green, and each; nothing if the change is done."""
    mine, why = left(result), "this change removes them, and they are still there"
    try:
        mine -= left(base)
    except ValueError:
        why = "they are still there, and the base cannot be planned, which says whether this change removes them"
    if mine:
        sys.stdout.write("\n".join([f"{why}: deletions need --allow-deletes", *sorted(mine), ""]))


if __name__ == "__main__":
    main(*sys.argv[1:])
