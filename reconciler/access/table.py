"""Names to masks: literals and prefixes compiled so that a look-up is one bisect and a short walk.

A key is what a pattern means as a set of names. LITERAL ``*`` means every name but those that begin with an asterisk
and go on: ``StandardAuthorizerData.checkSection`` takes the pattern ``*`` for a literal prefix of them and skips it.
No topic has such a name; a group may. PREFIXED ``*`` means exactly those names and ``*`` itself.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final, NamedTuple

from reconciler.model import WILDCARD, PatternType, ResourcePattern

_PREFIX, _LITERAL, _LONGER = range(3)


class Key(NamedTuple):
    """Names that start with ``text``, that one name, or only longer names. Sorted, a key precedes those inside it."""

    text: str
    kind: int = _PREFIX

    @property
    def literal(self) -> bool:
        """Whether this is one name."""
        return self.kind == _LITERAL

    def contains(self, other: "Key") -> bool:
        """Whether every name of ``other`` is one of this key's."""
        if self.kind == _PREFIX:
            return other.text.startswith(self.text)
        return other == self or (self.kind == _LONGER and self._goes_on(other.text))

    def matches(self, name: str) -> bool:
        """Whether ``name`` is one of this key's."""
        if self.kind == _PREFIX:
            return name.startswith(self.text)
        return name == self.text if self.kind == _LITERAL else self._goes_on(name)

    def meets(self, other: "Key") -> bool:
        """Whether some text is one of both."""
        return self.contains(other) or other.contains(self)

    def _goes_on(self, name: str) -> bool:
        return name != self.text and name.startswith(self.text)


def literal(name: str) -> Key:
    """The key of one name."""
    return Key(name, _LITERAL)


#: Every name; also the key of LITERAL ``*``, whose rules leave out ``STARRED``.
EVERYTHING: Final = Key("")
#: The names that LITERAL ``*`` does not match.
STARRED: Final = Key(WILDCARD, _LONGER)


def key_of(pattern: ResourcePattern) -> Key:
    """The set of names that a pattern means (KIP-290); for LITERAL ``*`` see ``STARRED``."""
    if pattern.pattern_type is PatternType.PREFIXED:
        return Key(pattern.name)
    return EVERYTHING if pattern.name == WILDCARD else Key(pattern.name, _LITERAL)


def matches(pattern: ResourcePattern, name: str) -> bool:
    """Whether a broker applies the pattern to a resource called ``name``."""
    if pattern.is_wildcard:
        return not STARRED.matches(name)
    return key_of(pattern).matches(name)


class NameTable:
    """What keys say of names: for each name the OR of the masks of all keys that match it. Immutable."""

    __slots__ = ("base", "literals", "masks", "parents", "prefixes")

    def __init__(self, rules: Mapping[Key, int]) -> None:
        """Compile; a longer prefix holds the masks of all that contain it."""
        self.base = rules.get(EVERYTHING, 0)
        self.prefixes = sorted(key.text for key in rules if key.kind == _PREFIX and key.text)
        self.parents: list[int] = []
        self.masks: list[int] = []
        for index, text in enumerate(self.prefixes):
            parent = index - 1
            while parent >= 0 and not text.startswith(self.prefixes[parent]):
                parent = self.parents[parent]
            self.parents.append(parent)
            around = self.masks[parent] if parent >= 0 else 0 if text[0] == WILDCARD else self.base
            self.masks.append(rules[Key(text)] | around)
        self.literals = {key.text: mask | self.under(key.text) for key, mask in rules.items() if key.kind == _LITERAL}
        if self.base:
            self.literals[WILDCARD] = self.literals.get(WILDCARD, 0) | self.under(WILDCARD) | self.base

    def at(self, name: str) -> int:
        """What holds for one name."""
        found = self.literals.get(name)
        return self.under(name) if found is None else found

    def under(self, prefix: str) -> int:
        """What holds for names that start with ``prefix``, go on, and match no narrower key."""
        prefixes = self.prefixes
        index = bisect_right(prefixes, prefix) - 1
        while index >= 0:
            if prefix.startswith(prefixes[index]):
                return self.masks[index]
            index = self.parents[index]
        return 0 if prefix[:1] == WILDCARD else self.base

    def at_key(self, key: Key) -> int:
        """What holds on a key less the narrower keys of this table."""
        return self.at(key.text) if key.kind == _LITERAL else self.under(key.text)
