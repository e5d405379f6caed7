"""The ALLOWs that grant one operation on one resource type, sorted for the counterexample search."""

from collections.abc import Iterator
from typing import NamedTuple

from reconciler.access.index import Index
from reconciler.access.name_set import ALL_NAMES, ASTERISK_NAMES, NameSet
from reconciler.access.nested_names import inside
from reconciler.access.operations import IMPLIED
from reconciler.model import AclOperation, ResourceType


class OperationGrant(NamedTuple):
    """An ALLOW of the operation, by name or implied."""

    names: NameSet
    principal: str
    host: str

    def zone(self, names: NameSet) -> tuple[NameSet, tuple[NameSet, ...]] | None:
        """Which of ``names`` it grants: a set of names and the sets cut out of it; ``None`` if it grants none."""
        if self.names == ALL_NAMES:
            return (
                None
                if ASTERISK_NAMES.contains(names)
                else (names, (ASTERISK_NAMES,) if names.contains(ASTERISK_NAMES) else ())
            )
        if self.names.contains(names):
            return names, ()
        return (self.names, ()) if names.contains(self.names) else None


class OperationGrants:
    """All grants of one operation on one type."""

    __slots__ = ("_by_names", "_ordered", "by_length", "principals")

    def __init__(self, index: Index, resource_type: ResourceType, operation: AclOperation) -> None:
        """Collect the ALLOWs of the operation from an index."""
        wanted = 1 << operation | 1 << operation + IMPLIED
        self._by_names: dict[NameSet, list[OperationGrant]] = {}
        self.principals: set[str] = set()
        for kind, principal in index.group_keys():
            # A principal without a colon cannot be the principal of a connection.
            group = index.group(kind, principal) if kind is resource_type and ":" in principal else None
            for host, rules in group.rules.items() if group is not None else ():
                for key, mask in rules.items():
                    if mask & wanted:
                        self._by_names.setdefault(key, []).append(OperationGrant(key, principal, host))
                        self.principals.add(principal)
        self._ordered = sorted(self._by_names)
        #: All of them, shortest names first.
        self.by_length = sorted((grant for found in self._by_names.values() for grant in found), key=_length)

    def meeting(self, names: NameSet) -> Iterator[OperationGrant]:
        """The grants that share a name with ``names``, those with the shortest names first."""
        if names == ALL_NAMES:
            yield from self.by_length
            return
        for length in range(len(names.text) + 1):
            outer = NameSet(names.text[:length])
            if outer != names:
                yield from self._by_names.get(outer, ())
        yield from sorted((grant for key in inside(self._ordered, names) for grant in self._by_names[key]), key=_length)


def _length(grant: OperationGrant) -> tuple[int, OperationGrant]:
    return len(grant.names.text), grant
