"""SECURITY.md names the tests that hold its promises: each exists, and none holds a promise that is not made."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent


def _named() -> set[Path]:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    table = text.partition("## Promises and tests")[2].partition("\n## ")[0]
    cells = [line.rstrip("|").rpartition("|")[2] for line in table.splitlines() if line.startswith("| ")]
    names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    return {ROOT / name if "/" in name else FOLDER / name for name in names}


def test_it_is_read_in_five_minutes() -> None:
    assert len((ROOT / "SECURITY.md").read_text(encoding="utf-8").split()) <= 1_200


def test_each_promise_names_tests_that_exist() -> None:
    assert [path for path in _named() if not path.exists()] == []


def test_each_attack_belongs_to_a_promise() -> None:
    tests = {path for path in FOLDER.glob("test_*.py") if path != Path(__file__)}
    assert tests - _named() == set()
