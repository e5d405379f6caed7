"""The ALLOWs that grant one operation on one type of resource, sorted for the search of who may do it."""

from collections.abc import Iterator
from typing import NamedTuple

from reconciler.access.index import Index, inside
from reconciler.access.operations import IMPLIED
from reconciler.access.table import EVERYTHING, STARRED, Key
from reconciler.model import AclOperation, ResourceType


class Grant(NamedTuple):
    """An ALLOW of the operation, named or implied."""

    key: Key
    principal: str
    host: str

    def zone(self, names: Key) -> tuple[Key, tuple[Key, ...]] | None:
        """The names of ``names`` that it grants, as a key and what is cut out of it; ``None`` if there are none."""
        if self.key == EVERYTHING:
            return None if STARRED.contains(names) else (names, (STARRED,) if names.contains(STARRED) else ())
        if self.key.contains(names):
            return names, ()
        return (self.key, ()) if names.contains(self.key) else None


class Grants:
    """All grants of one operation on one type."""

    __slots__ = ("_by_key", "_ordered", "by_length", "principals")

    def __init__(self, index: Index, resource_type: ResourceType, operation: AclOperation) -> None:
        """Pick the ALLOWs of the operation out of an index."""
        wanted = 1 << operation | 1 << operation + IMPLIED
        self._by_key: dict[Key, list[Grant]] = {}
        self.principals: set[str] = set()
        for kind, principal in index.group_keys():
            # Without a colon it is no principal that a connection can have.
            group = index.group(kind, principal) if kind is resource_type and ":" in principal else None
            for host, rules in group.rules.items() if group is not None else ():
                for key, mask in rules.items():
                    if mask & wanted:
                        self._by_key.setdefault(key, []).append(Grant(key, principal, host))
                        self.principals.add(principal)
        self._ordered = sorted(self._by_key)
        #: All of them, shortest names first.
        self.by_length = sorted((grant for found in self._by_key.values() for grant in found), key=_length)

    def meeting(self, names: Key) -> Iterator[Grant]:
        """The grants that reach into ``names``, those with the shortest names first."""
        if names == EVERYTHING:
            yield from self.by_length
            return
        for length in range(len(names.text) + 1):
            outer = Key(names.text[:length])
            if outer != names:
                yield from self._by_key.get(outer, ())
        yield from sorted((grant for key in inside(self._ordered, names) for grant in self._by_key[key]), key=_length)


def _length(grant: Grant) -> tuple[int, Grant]:
    return len(grant.key.text), grant
