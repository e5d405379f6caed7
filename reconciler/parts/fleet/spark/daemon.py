"""What Spark forks Python workers from on this machine: a process that has loaded what each of them needs.

Spark's own (``pyspark.daemon``) forks first, and each worker imports then, PySpark from a zip without compiled code: a
second of processor time for each worker. Run as ``python -m``, by the name in ``spark.python.daemon.module``.
"""

import gc
import importlib
import os
import sys
from pathlib import Path
from typing import Final

#: What nearly every task needs. None of it starts a thread, which a fork would lose.
_NEEDED: Final = (
    "pyspark.worker",
    "reconciler.parts.fleet.readings",
    "reconciler.parts.fleet.tasks.comparing",
)


def main() -> None:
    """Load, then do what Spark's own daemon does."""
    _without_archives()
    gc.disable()
    for name in _NEEDED:
        importlib.import_module(name)
    # A worker looks for garbage after each task: not among what never goes away.
    gc.freeze()
    gc.enable()
    from pyspark.daemon import manager

    manager()


def _without_archives() -> None:
    """Import PySpark from where it is installed rather than from the zips that Spark puts first, if it is the same."""
    home = Path(os.environ.get("SPARK_HOME", ""))
    if any(Path(place, "pyspark").resolve() == home.resolve() for place in sys.path if Path(place).is_dir()):
        sys.path[:] = [place for place in sys.path if Path(place).parent != home / "python" / "lib"]


if __name__ == "__main__":
    main()
