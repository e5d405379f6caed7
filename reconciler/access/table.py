"""Names to masks: literals and prefixes compiled so that a look-up is one bisect and a short walk.

A key is what a pattern means as a set of names: ``(text, literal)``. LITERAL ``*`` is the empty prefix; PREFIXED ``*``
stays the prefix of names that begin with an asterisk.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final, NamedTuple

from reconciler.model import PatternType, ResourcePattern


class Key(NamedTuple):
    """The names that start with ``text``, or with ``literal`` that one name. Sorted, a key comes before those in it."""

    text: str
    literal: bool = False

    def contains(self, other: "Key") -> bool:
        """Whether every name of ``other`` is one of this key's."""
        if self.literal:
            return other == self
        return other.text.startswith(self.text)

    def matches(self, name: str) -> bool:
        """Whether ``name`` is one of this key's."""
        return name == self.text if self.literal else name.startswith(self.text)

    def narrowed(self, other: "Key") -> "Key | None":
        """The names of both, which is the narrower of the two, or ``None``."""
        if self.contains(other):
            return other
        return self if other.contains(self) else None


#: Every name.
EVERYTHING: Final = Key("")


def key_of(pattern: ResourcePattern) -> Key:
    """The set of names that a pattern means (KIP-290)."""
    if pattern.pattern_type is PatternType.PREFIXED:
        return Key(pattern.name)
    return EVERYTHING if pattern.name == "*" else Key(pattern.name, literal=True)


class NameTable:
    """What keys say of names: for each name the OR of the masks of all keys that match it. Immutable."""

    __slots__ = ("base", "literals", "masks", "parents", "prefixes")

    def __init__(self, rules: Mapping[Key, int]) -> None:
        """Compile; a longer prefix holds the masks of all that contain it."""
        self.base = rules.get(EVERYTHING, 0)
        self.prefixes = sorted(key.text for key in rules if not key.literal and key.text)
        self.parents: list[int] = []
        self.masks: list[int] = []
        for index, text in enumerate(self.prefixes):
            parent = index - 1
            while parent >= 0 and not text.startswith(self.prefixes[parent]):
                parent = self.parents[parent]
            self.parents.append(parent)
            self.masks.append(rules[Key(text)] | (self.masks[parent] if parent >= 0 else self.base))
        self.literals = {key.text: mask | self.under(key.text) for key, mask in rules.items() if key.literal}

    def at(self, name: str) -> int:
        """What holds for one name."""
        found = self.literals.get(name)
        return self.under(name) if found is None else found

    def under(self, prefix: str) -> int:
        """What holds for names that start with ``prefix`` and match no narrower key."""
        prefixes = self.prefixes
        index = bisect_right(prefixes, prefix) - 1
        while index >= 0:
            if prefix.startswith(prefixes[index]):
                return self.masks[index]
            index = self.parents[index]
        return self.base

    def at_key(self, key: Key) -> int:
        """What holds on a key less the narrower keys of this table."""
        return self.at(key.text) if key.literal else self.under(key.text)
