"""Host texts by name sets: which hosts have entries that match a name."""

from collections.abc import Iterable, Mapping

from reconciler.access.name_index import NameIndex
from reconciler.access.name_set import NameSet
from reconciler.model import WILDCARD


class HostIndex:
    """The host texts, except ``*``, of a group's rules, by name: one look-up instead of one for each host."""

    __slots__ = ("_bits", "_index", "_texts")

    def __init__(self, rules: Mapping[str, Mapping[NameSet, int]]) -> None:
        """Number the hosts, and give each name set a mask with one bit for each host that has a rule on it."""
        self._texts = [host for host in rules if host != WILDCARD]
        self._bits: dict[NameSet, int] = {}
        for number, host in enumerate(self._texts):
            for key in rules[host]:
                self._bits[key] = self._bits.get(key, 0) | 1 << number
        self._index = NameIndex(self._bits)

    def at(self, key: NameSet) -> list[str]:
        """The hosts with rules on the names of ``key`` that are in no narrower set."""
        return self._named(self._index.at_names(key))

    def on(self, zone: NameSet, inner: Iterable[NameSet]) -> list[str]:
        """The hosts whose rules may share a name with ``zone``; ``inner`` are the group's name sets inside it."""
        found = self._index.at_names(zone)
        # LITERAL * and PREFIXED * share one name, which is * itself.
        if zone.text == WILDCARD:
            found |= self._index.at(WILDCARD)
        for key in inner:
            found |= self._bits.get(key, 0)
        return self._named(found)

    def _named(self, bits: int) -> list[str]:
        found = []
        while bits:
            lowest = bits & -bits
            found.append(self._texts[lowest.bit_length() - 1])
            bits ^= lowest
        return found
