"""Files that share what takes long to start are one group, every group that is named has files, and all groups end."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distribution import LONG, group_of, rank_of

_ROOT = Path(__file__).parents[2]
_TESTS = sorted(path.relative_to(_ROOT).as_posix() for path in (_ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("start", [start for _, starts in LONG for start in starts])
def test_what_is_named_is_there(start: str) -> None:
    assert [path for path in _TESTS if path.startswith(start)]


def test_a_group_is_run_in_one_go() -> None:
    ranks: dict[str, set[int]] = {}
    for path in _TESTS:
        ranks.setdefault(group_of(path), set()).add(rank_of(path))
    assert [group for group, places in ranks.items() if len(places) > 1] == []


def test_files_of_a_group_are_together_and_others_apart() -> None:
    assert group_of("tests/faults/test_no_window.py") == group_of("tests/faults/test_faults.py")
    assert group_of("tests/unit/test_retry.py") == "tests/unit/test_retry.py"
    assert (
        rank_of("tests/faults/test_faults.py") < rank_of("tests/integration/test_site.py") < rank_of("tests/unit/x.py")
    )


def test_the_longest_are_first() -> None:
    seconds = [seconds for seconds, _ in LONG]
    assert seconds == sorted(seconds, reverse=True)


_CONFTEST = """\
from tests import distribution


def pytest_xdist_make_scheduler(config, log):
    return distribution.scheduler(config, log)
"""


def test_a_worker_that_dies_leaves_the_others_something_to_do(tmp_path: Path) -> None:
    """All other tests run, of its own group too; it has done several groups by then, and so have they."""
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for number in range(12):
        dies = "    import os; os._exit(1)\n" if number == 8 else "    pass\n"
        tests = "".join(f"def test_{name}():\n{dies if name == 'b' else '    pass' + chr(10)}" for name in "abcd")
        (tmp_path / f"test_{number:02}.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "--max-worker-restart", "1"]
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "test_08.py::test_b" in ran.stdout
    assert re.search(r"\b1 failed, 47 passed", ran.stdout), ran.stdout[-2_000:]
