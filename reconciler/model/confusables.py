"""Names that look like another name: Unicode's skeletons (UTS 39), and scripts that are mixed in one name.

The table is generated (``tests/unit/model/confusables_table.py``). Two names look alike if their skeletons are equal; a
skeleton is for comparison and is never shown.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from reconciler.model.characters import decomposed

#: The keys of a distinguished name: CN=, O=. They are Latin in every language.
_KEY: Final = re.compile(r"(?:^|[,+/])\s*[A-Za-z0-9.]+=")
#: Scripts that are written together (UTS 39, "highly restrictive"), each set with Latin.
_TOGETHER: Final = tuple(
    frozenset({"Latin", *scripts})
    for scripts in (("Han", "Hiragana", "Katakana"), ("Han", "Bopomofo"), ("Han", "Hangul"))
)

#: So many bytes for each name tell its skeleton from those of others.
_PLACES_EACH: Final = 8
#: So many names are remembered with their skeletons.
_REMEMBERED: Final = 4_096


class _Table(NamedTuple):
    """``prototypes`` by code point; the beginnings of ranges, their ends and scripts, in order."""

    prototypes: Mapping[int, str]
    starts: list[int]
    ranges: list[tuple[int, str]]


def look_alikes(names: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The names, sorted, of each set of two or more that look alike; sets in order of their first."""
    by_skeleton: dict[str, list[str]] = {}
    for name in sorted(_perhaps_alike(names)):
        by_skeleton.setdefault(skeleton(name), []).append(name)
    yield from (tuple(alike) for alike in by_skeleton.values() if len(alike) > 1)


class LookAlikes:
    """The names that look like one of some: whatever number of others is seen, only those are kept."""

    def __init__(self, names: Iterable[str]) -> None:
        """Those that others may look like."""
        # Names come in runs, as a rule, and each of a rule's principals once for each of its names.
        self._skeleton = lru_cache(maxsize=_REMEMBERED)(skeleton)
        self._found: dict[str, set[str]] = {}
        for name in names:
            self._found.setdefault(skeleton(name), set()).add(name)

    def see(self, name: str) -> None:
        """Another name, or one of them."""
        if (alike := self._found.get(self._skeleton(name))) is not None:
            alike.add(name)

    def sets(self) -> Iterator[tuple[str, ...]]:
        """The names, sorted, of each set of two or more that look alike."""
        return (tuple(sorted(alike)) for alike in self._found.values() if len(alike) > 1)


def _perhaps_alike(names: Iterable[str]) -> Iterator[str]:
    """Each name once whose skeleton another one may have: of a million names a table of all skeletons takes 200 MB."""
    distinct = names if isinstance(names, Set) else frozenset(names)
    hashes = array("q", (hash(skeleton(name)) for name in distinct))
    # A skeleton falls into a place of its own, as a rule; who shares one is looked at again.
    size = _PLACES_EACH * len(hashes)
    found = bytearray(size)
    for one in hashes:
        place = one % size
        found[place] = min(found[place] + 1, 2)
    return (name for name, one in zip(distinct, hashes, strict=True) if found[one % size] > 1)


def skeleton(text: str) -> str:
    """The same for texts that look alike."""
    mapped = decomposed(text).translate(_table().prototypes)
    return decomposed(mapped)


def mixed_scripts(name: str) -> tuple[str, ...]:
    """The scripts of a name, or of a principal without its type, where nobody writes them together; else nothing."""
    if name.isascii():
        return ()
    _, colon, rest = name.partition(":")
    found = {script for character in _KEY.sub("", rest if colon else name) if (script := _script(character))}
    if len(found) < 2 or any(found <= together for together in _TOGETHER):
        return ()
    return tuple(sorted(found))


def _script(character: str) -> str:
    """Its script; empty for what belongs to none, such as digits, or to a version of Unicode that the table has not."""
    table, code = _table(), ord(character)
    place = bisect_right(table.starts, code) - 1
    if place < 0:
        return ""
    last, script = table.ranges[place]
    return script if code <= last else ""


@cache
def _table() -> _Table:
    prototypes: dict[int, str] = {}
    ranges: list[tuple[int, int, str]] = []
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="ascii").splitlines():
        key, separator, rest = line.partition(" = " if " = " in line else ": ")
        if line.startswith("#") or not separator:
            continue
        if separator == " = ":
            pairs = (run.split("-") for run in rest.split())
            ranges += [(int(first, 16), int(last, 16), key) for first, last in pairs]
        else:
            text = "".join(chr(int(code, 16)) for code in key.split("+"))
            prototypes.update((int(code, 16), text) for code in rest.split())
    ranges.sort()
    return _Table(prototypes, [first for first, _, _ in ranges], [(last, script) for _, last, script in ranges])
