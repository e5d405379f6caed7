"""Names what a change took away and an apply left: ``undone.py RESULT BASE``, plans of the change and of its base.

A deletion without ``--allow-deletes`` is left. Where the base declared the same, this change meant to remove it, and a
green pipeline would say that it is gone. Prints a line each; standard library only.
"""

import json
import sys
from pathlib import Path


def left(file: str) -> set[str]:
    """What a plan may not delete."""
    try:
        document = json.loads(Path(file).read_text(encoding="utf-8"))
    except ValueError:
        return set()  # it could not be planned
    return {item["subject"] for item in document.get("left", ()) if item["reason"] == "held-back"}


def main(result: str, base: str) -> None:
    """Prints each."""
    for subject in sorted(left(result) - left(base)):
        sys.stdout.write(f"{subject}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
