"""Notes a command that ended without a result: ``failed.py COMMAND STATUS CLUSTER [FILE]`` prints it as JSON.

FILE is what the command said on standard error, or the journal of an apply: the reason, or how far it came, is told to
people who do not see the log. Standard library only.
"""

import itertools
import json
import sys
from collections import Counter
from pathlib import Path

#: More would be a log.
_LONGEST = 500


def reason(text: str) -> str:
    """The first error that was said, with the indented lines that belong to it."""
    lines = iter(text.splitlines())
    first = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), "")
    more = itertools.takewhile(lambda line: line.startswith("  "), lines)
    return " ".join([first, *(line.strip() for line in more)])[:_LONGEST]


def progress(text: str) -> str:
    """How many steps of the last run ended how, by its journal; what a killed run did not note is not counted."""
    steps, ended = 0, dict[str, str]()
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # a killed run leaves half a line
        if record.get("record") == "run":
            steps, ended = record["steps"], {}
        for one in record.get("outcomes", ()) if record.get("record") == "outcomes" else ():
            ended[one["step"]] = one["outcome"]
    counts = sorted(Counter(ended.values()).items())
    return ", ".join(f"{count:,} {outcome}" for outcome, count in counts) + f" of {steps:,} steps" if counts else ""


def main(command: str, status: str, cluster: str, file: str = "") -> None:
    """Prints the note."""
    path = Path(file)
    text = path.read_text(encoding="utf-8", errors="replace") if file and path.is_file() else ""
    message = progress(text) if file.endswith(".journal") else reason(text)
    note = {"kind": "Failed", "failed": command, "status": int(status), "cluster": cluster, "message": message}
    sys.stdout.write(json.dumps(note))


if __name__ == "__main__":
    main(*sys.argv[1:])
