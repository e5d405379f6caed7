"""Put each known fault into a scratch copy of the project and run the tests that must notice it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.known import KNOWN
from tests.mutants.mutant import ROOT, Mutant

#: Seconds. The tests of one fault take less than one minute.
_PATIENCE = 900


def passes(tests: Iterable[str], scratch: Path) -> bool:
    """Whether the tests pass in the copy; raises ``SystemExit`` where pytest did not get to run them."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not long", *tests]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(scratch)}
    try:
        run = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, check=False, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:  # a fault may make a loop without an end
        return False
    if run.returncode not in (0, 1):
        raise SystemExit(run.stdout.decode()[-2_000:])
    return run.returncode == 0


def is_killed(mutant: Mutant, scratch: Path) -> bool:
    """Whether a test notices the fault."""
    file = scratch / "reconciler" / mutant.file
    source = file.read_text(encoding="utf-8")
    file.write_text(mutant.applied(source), encoding="utf-8")
    try:
        return not passes(mutant.tests, scratch)
    finally:
        file.write_text(source, encoding="utf-8")


def main() -> int:
    """One line for each fault; status 1 where one survives. An argument selects by a part of the file's name."""
    chosen = [mutant for mutant in KNOWN if not sys.argv[1:] or any(text in mutant.file for text in sys.argv[1:])]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for part in ("reconciler", "tests", "benchmarks", "docs", "examples", "schema"):
            shutil.copytree(ROOT / part, scratch / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", scratch)
        # A test that fails without a fault would kill every one of them.
        if not passes(sorted({test for mutant in chosen for test in mutant.tests}), scratch):
            raise SystemExit("the tests fail without any fault")
        for mutant in chosen:
            killed = is_killed(mutant, scratch)
            survivors += not killed
            print(f"{'killed  ' if killed else 'SURVIVES'} {mutant.file}: {mutant.law}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} killed")
    return 1 if survivors or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
