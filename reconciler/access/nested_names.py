"""Sorted name sets: a set sorts before its subsets, so what is inside one follows it without a gap."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final

from reconciler.access.name_set import ALL_NAMES, LITERAL, NameSet

_EVERY_NAME: Final = [ALL_NAMES]


def outermost(keys: Iterable[NameSet]) -> list[NameSet]:
    """The sets that no other one contains, sorted."""
    found: list[NameSet] = []
    # A set sorts before its subsets, so the last outermost set is the only one that can contain the next.
    last: NameSet | None = None
    for key in sorted(keys):
        # Most are single names, which contain only themselves.
        if last is None or (key != last if last.kind == LITERAL else not last.contains(key)):
            found.append(key)
            last = key
    return found


def meets(ordered: list[NameSet], disjoint: list[NameSet]) -> list[NameSet]:
    """What each set of the first list shares with each of the second, which are ``outermost`` ones."""
    if disjoint == _EVERY_NAME:
        return ordered
    found = []
    for key in ordered:
        at = bisect_right(disjoint, key)
        if at and disjoint[at - 1].contains(key):
            found.append(key)
        else:
            found.extend(inside(disjoint, key))
    return found


def inside(ordered: list[NameSet], key: NameSet) -> list[NameSet]:
    """The sets of a sorted list that are inside ``key``."""
    if key.literal:
        start = bisect_left(ordered, key)
        return [key] if start < len(ordered) and ordered[start] == key else []
    if not key.text:
        return ordered
    start = bisect_left(ordered, key)
    end = start
    while end < len(ordered) and ordered[end].text.startswith(key.text):
        end += 1
    return ordered[start:end]


def meets_any(key: NameSet, disjoint: list[NameSet]) -> bool:
    """Whether ``key``, a prefix or one name, shares a name with one of ``disjoint``, which are ``outermost`` ones."""
    if disjoint == _EVERY_NAME:
        return True
    at = bisect_right(disjoint, key)
    if at and disjoint[at - 1].contains(key):
        return True
    return not key.literal and at < len(disjoint) and disjoint[at].text.startswith(key.text)
