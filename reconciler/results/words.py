"""Resources, names and bindings in plain words, and as the JSON of every answer about access."""

from collections.abc import Collection
from typing import Any, Final

from reconciler.access.authorizer import AccessRequest, Decision
from reconciler.access.effective import Access
from reconciler.codec.values import BINDING
from reconciler.model.acl import WILDCARD, AclBinding, PatternType, ResourcePattern, ResourceType
from reconciler.model.characters import as_name, pattern_name, ticked
from reconciler.model.desired import Declaration, Origin
from reconciler.plan.refusal import AcceptedGuard

#: How addresses begin that no connection comes from.
DOCUMENTATION: Final = ("192.0.2.", "198.51.100.", "203.0.113.")


def resource_words(resource_type: ResourceType, name: str) -> str:
    """``topic payments.orders``, ``the cluster``."""
    if resource_type is ResourceType.CLUSTER:
        return "the cluster"
    return f"{resource_type.noun} {as_name(name)}"


def host_words(host: str, named: Collection[str] = ()) -> str:
    """``10.0.0.7``. An address set aside for documentation (RFC 5737) that nobody ``named`` stands for all others.

    Searches take such an address for a host that no ACL names. Shown as it is, somebody would look for that machine.
    """
    return host if host in named or not host.startswith(DOCUMENTATION) else "any host that no ACL names"


def names_words(pattern: ResourcePattern, quantifier: str = "every") -> str:
    """``topic payments.orders``, ``every topic starting with payments.``, ``some topic``, ``the cluster``."""
    kind, name, pattern_type = pattern
    if pattern.is_wildcard:
        return f"{quantifier} {kind.noun}"
    if pattern_type is PatternType.PREFIXED:
        return f"{quantifier} {kind.noun} starting with {as_name(name)}"
    return resource_words(kind, name)


def binding_words(binding: AclBinding, operations: str = "") -> str:
    """``User:a ALLOW READ, WRITE on TOPIC payments.orders``, with prefixes and hosts spelled out."""
    entry = binding.entry
    host = "" if entry.host == WILDCARD else f" from {entry.host}"
    shown = operations or entry.operation.name
    return f"{as_name(entry.principal)} {entry.permission_type.name} {shown} on {pattern_words(binding.pattern)}{host}"


def pattern_words(pattern: ResourcePattern) -> str:
    """``every TOPIC``, ``TOPIC PREFIXED payments.``, ``TOPIC payments``: an asterisk would be ambiguous."""
    return f"every {pattern.resource_type.name}" if pattern.is_wildcard else pattern_name(pattern)


def why_words(reason: str | None, ticket: str | None) -> str:
    """``PAY-12: settlement reads orders``, as a manifest says why; empty where it says nothing."""
    return ": ".join(filter(None, (ticket, reason)))


def accepted_words(accepted: AcceptedGuard) -> str:
    """``topic-delete for payments.old: replaced by payments.orders, until 2027-01-31``."""
    until = "" if accepted.expires is None else f", until {accepted.expires}"
    return (
        f"{accepted.guard} for {as_name(accepted.object)}"
        + (f": {ticked(accepted.reason)}" if accepted.reason else "")
        + until
    )


def copies_words(group: str, topic: str) -> str:
    """Whose records a dead letter queue with copies shows to whom."""
    name = as_name(topic)
    return (
        f"config of group {group} copies records that the group gives up to topic {name}: "
        f"who may READ {name} reads them, of whatever topic the group reads"
    )


def note_words(note: Declaration | Origin) -> str:
    """``acls.yaml:3:5  until 2026-12-31  PAY-12: settlement reads orders``: where, how long and why it is declared."""
    if not isinstance(note, Declaration):
        return str(note)
    until = "" if note.expires is None else f"until {note.expires}"
    return "  ".join(filter(None, (str(note.origin), until, why_words(note.reason, note.ticket))))


def note_document(binding: AclBinding, note: Declaration | Origin) -> dict[str, Any]:
    """A binding with where, how long and why it is declared."""
    declared = note if isinstance(note, Declaration) else Declaration(note)
    return {
        "binding": BINDING.write(binding),
        "place": str(declared.origin),
        "reason": declared.reason,
        "ticket": declared.ticket,
        "expires": None if declared.expires is None else str(declared.expires),
    }


def request_document(request: AccessRequest) -> dict[str, str]:
    """One request of one connection."""
    return {
        "principal": request.principal,
        "host": request.host,
        "operation": request.operation.name,
        "resourceType": request.resource_type.name,
        "resourceName": request.resource_name,
    }


def decision_document(decision: Decision) -> dict[str, Any]:
    """An answer with its rule, and the bindings that decide."""
    return {
        **request_document(decision.request),
        "allowed": decision.allowed,
        "rule": decision.rule.value,
        "bindings": [BINDING.write(binding) for binding in decision.bindings],
        "origin": None if decision.origin is None else str(decision.origin),
    }


def access_document(row: Access) -> dict[str, Any]:
    """One row of what somebody may do; ``principal`` null is everybody else."""
    return {
        "principal": row.principal,
        "hosts": str(row.hosts),
        "resourceType": row.resources.resource_type.name,
        "names": row.resources.describe(),
        "operations": sorted(operation.name for operation in row.operations),
        "witness": {"host": row.host, "name": row.name},
        "certain": row.certain,
    }
