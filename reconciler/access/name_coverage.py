"""Names that some binding matches, whatever its principal, host, operation and permission."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from reconciler.access.name_index import NameIndex
from reconciler.access.name_set import LITERAL, NameSet, literal
from reconciler.access.nested_names import inside, outermost
from reconciler.model import WILDCARD


class NameCoverage:
    """The covered names of one resource type. Single names are kept as texts: of those there can be a million."""

    __slots__ = ("_literals", "_table", "_wide")

    def __init__(self, keys: Iterable[NameSet]) -> None:
        """Compile the name sets, each of which is a prefix or one name."""
        literals: set[str] = set()
        wide: set[NameSet] = set()
        for key in keys:
            if key.kind == LITERAL:
                literals.add(key.text)
            else:
                wide.add(key)
        self._literals = sorted(literals)
        self._wide = sorted(wide)
        self._table = NameIndex(dict.fromkeys(self._wide, 1))

    def covers(self, key: NameSet) -> bool:
        """Whether every name of ``key`` is covered. No finite set of longer names covers a prefix."""
        return self._table.at_names(key) != 0 or (key.kind == LITERAL and self._holds(key.text))

    def covers_name(self, name: str) -> bool:
        """Whether some binding's pattern matches ``name``."""
        return self._table.at(name) != 0 or self._holds(name)

    def _holds(self, name: str) -> bool:
        at = bisect_left(self._literals, name)
        return at < len(self._literals) and self._literals[at] == name

    def within(self, key: NameSet) -> list[NameSet]:
        """The sets inside ``key``, itself included, in order."""
        if key.literal:
            return [key] if self._holds(key.text) else []
        return sorted([*inside(self._wide, key), *self._names_in(key)])

    def edges_within(self, key: NameSet) -> list[NameSet]:
        """Of the sets inside ``key`` those that no other one covers, in order: inside them everything is covered."""
        if key.text and not key.text.startswith(WILDCARD) and self.covers(key):
            return []
        # LITERAL * contains every set, and covers no name that begins with an asterisk and is longer.
        starred: list[NameSet] = []
        others: list[NameSet] = []
        for names in self.within(key):
            (starred if names.text.startswith(WILDCARD) else others).append(names)
        return sorted([*outermost(others), *outermost(starred)])

    def _names_in(self, key: NameSet) -> Iterator[NameSet]:
        for at in range(bisect_left(self._literals, key.text), len(self._literals)):
            name = self._literals[at]
            if not name.startswith(key.text):
                return
            if key.matches(name):  # of longer names only, the text itself is none
                yield literal(name)

    def newly(self, other: "NameCoverage") -> list[NameSet]:
        """The name sets of this one that ``other`` neither has nor covers; what is inside such a one may be covered."""
        names = [literal(name) for name in self._literals if not other.covers_name(name)]
        known = set(other._wide)
        return names + [key for key in self._wide if key not in known and not other.covers(key)]
