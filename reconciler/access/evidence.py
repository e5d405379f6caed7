"""Which bindings decide a request, and what the manifests say about them; looked up on demand."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from reconciler.access.broker_defects import scan_order
from reconciler.access.decision import AccessRequest, Decision, DecisionRule, Evidence
from reconciler.access.hosts import address, address_range
from reconciler.access.index import Index
from reconciler.access.name_set import matches
from reconciler.access.operations import ENTRY_MASKS, IMPLIED
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
from reconciler.model.kafka_release import KafkaVersion

#: What the manifests say about a binding: its declaration, its line alone, or nothing.
Note: TypeAlias = Declaration | Origin | None


def host_matches(text: str, host: str, version: KafkaVersion) -> bool:
    """Whether an entry's host applies to a connection's."""
    if text in (WILDCARD, host):
        return True
    found = address_range(text, version)
    if found is None:
        return False
    number = address(host)
    return number is not None and found.contains(number)


def covers_operation(entry: AccessControlEntry, operation: AclOperation) -> bool:
    """Whether an entry allows or denies an operation: by name, through ALL, or because an ALLOW implies it."""
    # Fold the three parts of the mask (allowed, denied, implied) into one: any of them is about the operation.
    mask = ENTRY_MASKS[entry.permission_type][entry.operation]
    return bool((mask | mask >> 16 | mask >> IMPLIED) >> operation & 1)


def applicable(index: Index, request: AccessRequest) -> Iterator[AclBinding]:
    """The bindings that apply to a request and cover its operation, unordered."""
    for principal in dict.fromkeys((request.principal, WILDCARD_PRINCIPAL)):
        for binding in index.bindings(request.resource_type, principal):
            pattern, entry = binding
            if not covers_operation(entry, request.operation):
                continue
            if matches(pattern, request.resource_name) and host_matches(entry.host, request.host, index.version):
                yield binding


class Sources:
    """Where bindings come from: their declarations, and the opaque entries of the cluster."""

    __slots__ = ("notes", "opaque")

    def __init__(self, notes: Mapping[AclBinding, Note], opaque: Iterable[OpaqueBinding]) -> None:
        """``notes`` says what is known about each binding."""
        self.notes = notes
        self.opaque = tuple(opaque)

    def with_changes(self, added: Iterable[AclBinding]) -> "Sources":
        """The same, with the notes of ``added``."""
        notes = {**self.notes, **added} if isinstance(added, Mapping) and added else self.notes
        return Sources(notes, self.opaque)

    def denies(self, index: Index, request: AccessRequest) -> list[AclBinding]:
        """The DENYs that apply, in the broker's scan order."""
        found = (b for b in applicable(index, request) if b.entry.permission_type is AclPermissionType.DENY)
        return sorted(found, key=scan_order)

    def deciding(self, index: Index, decision: Decision) -> Evidence:
        """The deciding bindings: DENYs in scan order, or ALLOWs, the most specific first."""
        request = decision.request
        if decision.rule is DecisionRule.DENY:
            return self.evidence(self.denies(index, request))
        if decision.rule not in (DecisionRule.ALLOW, DecisionRule.IMPLIED_ALLOW):
            return Evidence()
        found = [b for b in applicable(index, request) if b.entry.permission_type is AclPermissionType.ALLOW]
        return self.evidence(sorted(found, key=lambda binding: _nearness(binding, request)))

    def evidence(self, bindings: Iterable[AclBinding]) -> Evidence:
        """Bindings with what the manifests say about the first."""
        found = tuple(bindings)
        note = self.notes.get(found[0]) if found else None
        if isinstance(note, Declaration):
            return Evidence(found, note, note.origin)
        return Evidence(found, None, note)


def _nearness(binding: AclBinding, request: AccessRequest) -> tuple[int, bool, int, AclBinding]:
    operation = binding.entry.operation
    # The exact operation before ALL, before an implying one; the principal's own binding before User:*; then longer
    # names. Brokers do not rank ALLOWs; this only picks the most telling one to show.
    said = 0 if operation is request.operation else 1 if operation is AclOperation.ALL else 2
    return (said, binding.entry.principal != request.principal, -len(binding.pattern.name), binding)
