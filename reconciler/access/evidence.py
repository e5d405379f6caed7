"""Which bindings are behind a decision, and what the manifests say of them; looked for only when asked."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from reconciler.access.broker_defects import scan_order
from reconciler.access.decision import AccessRequest, Decision, DecisionRule, Evidence
from reconciler.access.hosts import address, address_range
from reconciler.access.index import Index
from reconciler.access.name_set import matches
from reconciler.access.operations import ENTRY_MASKS, IMPLIED, KafkaVersion
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


def covers_operation(entry: AccessControlEntry, operation: AclOperation) -> bool:
    """Whether an entry grants or refuses an operation, by name, as ALL, or because an ALLOW implies it."""
    mask = ENTRY_MASKS[entry.permission_type][entry.operation]
    return bool((mask | mask >> 16 | mask >> IMPLIED) >> operation & 1)


def applicable(index: Index, request: AccessRequest) -> Iterator[AclBinding]:
    """The bindings that apply to a request and speak of its operation, in no order."""
    for principal in dict.fromkeys((request.principal, WILDCARD_PRINCIPAL)):
        for binding in index.bindings(request.resource_type, principal):
            pattern, entry = binding
            if not covers_operation(entry, request.operation):
                continue
            if matches(pattern, request.resource_name) and host_matches(entry.host, request.host, index.version):
                yield binding


class Sources:
    """Declarations by binding, and opaque entries."""

    __slots__ = ("notes", "opaque")

    def __init__(self, notes: Mapping[AclBinding, Note], opaque: Iterable[OpaqueBinding]) -> None:
        """Keep what is known of the bindings."""
        self.notes = notes
        self.opaque = tuple(opaque)

    def with_changes(self, added: Iterable[AclBinding]) -> "Sources":
        """The same, with what is said of ``added``."""
        notes = {**self.notes, **added} if isinstance(added, Mapping) and added else self.notes
        return Sources(notes, self.opaque)

    def denies(self, index: Index, request: AccessRequest) -> list[AclBinding]:
        """The DENYs that apply, in the order of the broker's scan."""
        found = (b for b in applicable(index, request) if b.entry.permission_type is AclPermissionType.DENY)
        return sorted(found, key=scan_order)

    def deciding(self, index: Index, decision: Decision) -> Evidence:
        """What decides: DENYs in the broker's order; ALLOWs that name the operation first, the nearest first."""
        request = decision.request
        if decision.rule is DecisionRule.DENY:
            return self.evidence(self.denies(index, request))
        if decision.rule not in (DecisionRule.ALLOW, DecisionRule.IMPLIED_ALLOW):
            return Evidence()
        found = [b for b in applicable(index, request) if b.entry.permission_type is AclPermissionType.ALLOW]
        return self.evidence(sorted(found, key=lambda binding: _nearness(binding, request)))

    def evidence(self, bindings: Iterable[AclBinding]) -> Evidence:
        """Bindings with what the manifests say of the first."""
        found = tuple(bindings)
        note = self.notes.get(found[0]) if found else None
        if isinstance(note, Declaration):
            return Evidence(found, note, note.origin)
        return Evidence(found, None, note)


def _nearness(binding: AclBinding, request: AccessRequest) -> tuple[int, bool, int, AclBinding]:
    operation = binding.entry.operation
    said = 0 if operation is request.operation else 1 if operation is AclOperation.ALL else 2
    return (said, binding.entry.principal != request.principal, -len(binding.pattern.name), binding)
