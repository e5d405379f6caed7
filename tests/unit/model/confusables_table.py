"""The committed table of confusable characters and scripts; run as a module it writes it again.

Its source is the data of ``confusable-homoglyphs``, a development dependency: Unicode's ``confusables.txt`` and
``Scripts.txt``, version 15.1, as pairs that look alike and as ranges. The package compares no two names, so it is not
used itself.
"""

import json
from collections import defaultdict
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Final

TABLE = Path(__file__).parents[3] / "reconciler" / "model" / "confusables.txt"
#: Unicode of the data in ``confusable-homoglyphs`` 3.3.1.
VERSION: Final = "15.1.0"
#: Scripts that stand beside any other.
_NEUTRAL: Final = frozenset({"COMMON", "INHERITED"})


def written() -> str:
    """The table: prototypes with what looks like them, then the ranges of each script; code points in hex."""
    lines = [f"# Unicode {VERSION}: look-alikes and scripts. Generated: python -m tests.unit.model.confusables_table"]
    lines += sorted(_look_alikes())
    return "\n".join([*lines, "", *sorted(_scripts()), ""])


def _data(name: str) -> Any:
    return json.loads((files("confusable_homoglyphs") / name).read_text(encoding="utf-8"))


def _look_alikes() -> list[str]:
    """``prototype: characters``; a prototype may be several characters, each of them a prototype itself."""
    pairs: dict[str, set[str]] = defaultdict(set)
    for text, others in _data("confusables.json").items():
        pairs[text].update(other["c"] for other in others)
    found = []
    seen: set[str] = set()
    for start in sorted(pairs):
        if start in seen:
            continue
        alike, open_ = {start}, [start]
        while open_:
            for other in pairs[open_.pop()] - alike:
                alike.add(other)
                open_.append(other)
        seen |= alike
        prototype = _prototype(alike)
        others = sorted(one for one in alike if len(one) == 1 and one != prototype)
        found.append(f"{_hex(prototype)}: {' '.join(map(_hex, others))}")
    return found


def _prototype(alike: set[str]) -> str:
    """What all of them become: ASCII if there is any, the longer text first, as Unicode has ``rn`` for ``m``."""
    return min(alike, key=lambda one: (not one.isascii(), -len(one), not one.isalpha(), one.isupper(), one))


def _hex(text: str) -> str:
    return "+".join(f"{ord(character):X}" for character in text)


def _scripts() -> list[str]:
    data = _data("categories.json")
    names = data["iso_15924_aliases"]
    ranges = sorted((first, last, names[script]) for first, last, script, _ in data["code_points_ranges"])
    joined: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for script, group in groupby(ranges, key=lambda item: item[2]):
        if script not in _NEUTRAL:
            for first, last, _ in group:
                run = joined[script]
                if run and run[-1][1] == first - 1:
                    run[-1] = (run[-1][0], last)
                else:
                    run.append((first, last))
    return [
        f"{script.title()} = {' '.join(f'{first:X}-{last:X}' for first, last in run)}" for script, run in joined.items()
    ]


if __name__ == "__main__":
    TABLE.write_text(written(), encoding="utf-8")
