"""Which bindings are behind a decision, and what the manifests say of them; looked for only when asked."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from reconciler.access.decision import Decision, Grounds, Request, Rule
from reconciler.access.fragile import scan_order
from reconciler.access.hosts import address, address_range
from reconciler.access.index import Index
from reconciler.access.operations import ENTRY_MASKS, IMPLIED, KafkaVersion
from reconciler.access.table import matches
from reconciler.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    Declaration,
    OpaqueBinding,
    Origin,
)

#: What the manifests say of a binding: all of it, the place alone, or nothing.
Note: TypeAlias = Declaration | Origin | None


def host_matches(text: str, host: str, version: KafkaVersion) -> bool:
    """Whether an entry's host applies to a connection's."""
    if text in (WILDCARD, host):
        return True
    found = address_range(text, version)
    number = None if found is None else address(host)
    return found is not None and number is not None and found.contains(number)


def speaks_of(entry: AccessControlEntry, operation: AclOperation) -> bool:
    """Whether an entry grants or refuses an operation, by name, as ALL, or because an ALLOW implies it."""
    mask = ENTRY_MASKS[entry.permission_type][entry.operation]
    return bool((mask | mask >> 16 | mask >> IMPLIED) >> operation & 1)


def applying(index: Index, request: Request) -> Iterator[AclBinding]:
    """The bindings that apply to a request and speak of its operation, in no order."""
    for principal in dict.fromkeys((request.principal, WILDCARD_PRINCIPAL)):
        for binding in index.bindings(request.resource_type, principal):
            pattern, entry = binding
            if not speaks_of(entry, request.operation):
                continue
            if matches(pattern, request.resource_name) and host_matches(entry.host, request.host, index.version):
                yield binding


class Evidence:
    """Declarations by binding, and opaque entries."""

    __slots__ = ("notes", "opaque")

    def __init__(self, notes: Mapping[AclBinding, Note], opaque: Iterable[OpaqueBinding]) -> None:
        """Keep what is known of the bindings."""
        self.notes = notes
        self.opaque = tuple(opaque)

    def with_changes(self, added: Iterable[AclBinding]) -> "Evidence":
        """The same, with what is said of ``added``."""
        notes = {**self.notes, **added} if isinstance(added, Mapping) and added else self.notes
        return Evidence(notes, self.opaque)

    def denies(self, index: Index, request: Request) -> list[AclBinding]:
        """The DENYs that apply, in the order of the broker's scan."""
        found = (b for b in applying(index, request) if b.entry.permission_type is AclPermissionType.DENY)
        return sorted(found, key=scan_order)

    def grounds(self, index: Index, decision: Decision) -> Grounds:
        """What decides: DENYs in the broker's order; ALLOWs that name the operation first, the nearest first."""
        request = decision.request
        if decision.rule is Rule.DENY:
            return self.told(self.denies(index, request))
        if decision.rule not in (Rule.ALLOW, Rule.IMPLIED_ALLOW):
            return Grounds()
        found = [b for b in applying(index, request) if b.entry.permission_type is AclPermissionType.ALLOW]
        return self.told(sorted(found, key=lambda binding: _nearness(binding, request)))

    def told(self, bindings: Iterable[AclBinding]) -> Grounds:
        """Bindings with what the manifests say of the first."""
        found = tuple(bindings)
        note = self.notes.get(found[0]) if found else None
        if isinstance(note, Declaration):
            return Grounds(found, note, note.origin)
        return Grounds(found, None, note)


def _nearness(binding: AclBinding, request: Request) -> tuple[int, bool, int, AclBinding]:
    operation = binding.entry.operation
    said = 0 if operation is request.operation else 1 if operation is AclOperation.ALL else 2
    return (said, binding.entry.principal != request.principal, -len(binding.pattern.name), binding)
