"""Sets of names that ACL patterns mean: every name, the names with a prefix, one name, and what LITERAL ``*`` misses.

LITERAL ``*`` means every name except those that begin with an asterisk and have more characters:
``StandardAuthorizerData.checkSection`` treats the pattern ``*`` as a literal that such a name merely starts with, and
skips it. No topic can have such a name; a group can. PREFIXED ``*`` means exactly those names and ``*`` itself.
"""

from typing import Any, Final, NamedTuple

from reconciler.codec import TEXT, Codec, constant, field, single
from reconciler.model import WILDCARD, PatternType, ResourcePattern

#: What ``NameSet.kind`` can be. The order makes a set sort before its subsets.
PREFIX, LITERAL, LONGER = range(3)


class NameSet(NamedTuple):
    """Names that start with ``text``, that one name, or only longer ones. Sorted, a set precedes its subsets."""

    text: str
    kind: int = PREFIX

    @property
    def literal(self) -> bool:
        """Whether this is one name."""
        return self.kind == LITERAL

    def contains(self, other: "NameSet") -> bool:
        """Whether every name of ``other`` is in this set."""
        if self.kind == PREFIX:
            return other.text.startswith(self.text)
        return other == self or (self.kind == LONGER and self._is_longer(other.text))

    def matches(self, name: str) -> bool:
        """Whether ``name`` is in this set."""
        if self.kind == PREFIX:
            return name.startswith(self.text)
        return name == self.text if self.kind == LITERAL else self._is_longer(name)

    def meets(self, other: "NameSet") -> bool:
        """Whether the two sets share a name."""
        return self.contains(other) or other.contains(self)

    def _is_longer(self, name: str) -> bool:
        return name != self.text and name.startswith(self.text)


def literal(name: str) -> NameSet:
    """The set of one name."""
    return NameSet(name, LITERAL)


#: Every name. LITERAL ``*`` maps to it as well, although brokers do not apply ``*`` to ``ASTERISK_NAMES``.
ALL_NAMES: Final = NameSet("")
#: The names that LITERAL ``*`` does not match.
ASTERISK_NAMES: Final = NameSet(WILDCARD, LONGER)


def names_of(pattern: ResourcePattern) -> NameSet:
    """The set of names that a pattern means (KIP-290); for LITERAL ``*`` see ``ALL_NAMES``."""
    if pattern.pattern_type is PatternType.PREFIXED:
        return NameSet(pattern.name)
    return ALL_NAMES if pattern.name == WILDCARD else NameSet(pattern.name, LITERAL)


def matches(pattern: ResourcePattern, name: str) -> bool:
    """Whether a broker applies the pattern to a resource called ``name``."""
    if pattern.is_wildcard:
        return not ASTERISK_NAMES.matches(name)
    return names_of(pattern).matches(name)


def _name_set(name: str, value: Any) -> NameSet:
    match name:
        case "any":
            return ALL_NAMES
        case "longerThan":
            return ASTERISK_NAMES
        case "literal":
            return literal(value)
    return NameSet(value)


def _parts(names: NameSet) -> tuple[str, Any]:
    if names == ALL_NAMES:
        return "any", True
    if names == ASTERISK_NAMES:
        return "longerThan", WILDCARD
    return ("literal" if names.literal else "prefix"), names.text


#: A set of names in JSON, in the words of manifests.
NAMES: Final[Codec[NameSet]] = single(
    _name_set,
    _parts,
    field("any", constant(True), "Every name there is or could be.", True),
    field("longerThan", constant(WILDCARD), "Every longer name that begins so.", WILDCARD),
    field("literal", TEXT, "Exactly this name.", "orders"),
    field("prefix", TEXT, "Every name that begins so.", "orders."),
)
