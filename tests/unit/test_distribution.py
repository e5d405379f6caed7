"""Files that share what takes long to start are one group, and every group that is named has files."""

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
        rank_of("tests/integration/test_sandbox.py")
        < rank_of("tests/faults/test_faults.py")
        < rank_of("tests/unit/x.py")
    )


def test_the_longest_are_first() -> None:
    seconds = [seconds for seconds, _ in LONG]
    assert seconds == sorted(seconds, reverse=True)
