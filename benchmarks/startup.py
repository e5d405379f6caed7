"""What it costs to start: ``reconciler --help`` against a Python that imports click and does nothing.

Both run in turns, so that the ratio holds on a busy machine, where the seconds do not.

Run: ``python -m benchmarks.startup``.
"""

import sys
from pathlib import Path

from benchmarks.paired import Command, pairs, row, title

RECONCILER = str(Path(sys.executable).with_name("reconciler"))
_RUNS = 15


def main() -> None:
    """Prints one row for each command that needs neither manifests nor a cluster."""
    bare = Command((sys.executable, "-c", "import click"))
    title("Start-up, whole process", "reconciler", "python -c 'import click'")
    for arguments in (("--help",), ("plan", "--help")):
        row(" ".join(arguments), pairs(Command((RECONCILER, *arguments), "Usage: reconciler"), bare, _RUNS))


if __name__ == "__main__":
    main()
