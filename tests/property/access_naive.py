"""A second reading of Kafka's rules, as slow and literal as can be: the broker's own scan over a sorted list.

It follows ``StandardAuthorizerData`` step by step, faults included, and shares nothing with the product but the model.
"""

import ipaddress
from collections.abc import Collection, Sequence
from functools import cache, cmp_to_key, lru_cache
from typing import NamedTuple

from reconciler.model.acl import (
    SUPPORTED_OPERATIONS,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)

_DESCRIBED_BY = {"DESCRIBE", "READ", "WRITE", "DELETE", "ALTER"}
_CONFIGS_BY = {"DESCRIBE_CONFIGS", "ALTER_CONFIGS"}


class BrokerError(Exception):
    """The broker throws, or never answers."""


class Cluster(NamedTuple):
    """All that decides."""

    bindings: Collection[AclBinding]
    super_users: Collection[str] = ()
    default_allow: bool = False
    version: tuple[int, ...] = (4, 3)


class Ask(NamedTuple):
    """One request."""

    principal: str
    host: str
    operation: AclOperation
    resource_type: ResourceType
    name: str


# Literal is not to ask the same a million times: what follows from texts and codes alone is kept.


@lru_cache(10_000)
def java(text: str) -> tuple[int, ...]:
    raw = text.encode("utf-16-be", "surrogatepass")
    return tuple(raw[i] << 8 | raw[i + 1] for i in range(0, len(raw), 2))


def compare(a: AclBinding, b: AclBinding) -> int:
    """``StandardAcl.compareTo``, pattern types, operations and permissions by their order in Java."""
    for one, other in (
        (a.pattern.resource_type, b.pattern.resource_type),
        (java(b.pattern.name), java(a.pattern.name)),
        (a.pattern.pattern_type, b.pattern.pattern_type),
        (a.entry.operation, b.entry.operation),
        (java(a.entry.principal), java(b.entry.principal)),
        (java(a.entry.host), java(b.entry.host)),
        (a.entry.permission_type, b.entry.permission_type),
    ):
        if one != other:
            return -1 if one < other else 1  # type: ignore[operator]  # each pair is of one kind
    return 0


@lru_cache(10_000)
def host_applies(text: str, host: str, version: tuple[int, ...]) -> bool:
    if text in ("*", host):
        return True
    # commons-net's ``isInRange`` refuses the address 0 before it looks at the range.
    if version < (4, 4) or "/" not in text or host == "0.0.0.0":  # noqa: S104 - nothing is bound
        return False
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False


@cache
def settled(entry_operation: AclOperation, asked: AclOperation, permission: AclPermissionType) -> str | None:
    """The end of ``findResult``: what an entry says that is about the principal and the host."""
    held, wanted = entry_operation.name, asked.name
    allow = permission is AclPermissionType.ALLOW
    if held != "ALL":
        if allow and wanted == "DESCRIBE":
            if held not in _DESCRIBED_BY:
                return None
        elif allow and wanted == "DESCRIBE_CONFIGS":
            if held not in _CONFIGS_BY:
                return None
        elif held != wanted:
            return None
    return "ALLOWED" if allow else "DENIED"


def about(binding: AclBinding, principal: str, host: str, version: tuple[int, ...]) -> bool:
    """The beginning of ``findResult``: whether the entry is about them at all."""
    entry = binding.entry
    if ":" not in entry.principal:
        raise BrokerError(f"cannot parse {entry.principal!r}")
    return entry.principal in (principal, "User:*") and host_applies(entry.host, host, version)


def result(binding: AclBinding, ask: Ask, version: tuple[int, ...]) -> str | None:
    """``findResult``."""
    if not about(binding, ask.principal, ask.host, version):
        return None
    return settled(binding.entry.operation, ask.operation, binding.entry.permission_type)


def shared_length(name: str, other: str) -> int:
    length = 0
    for a, b in zip(java(name), java(other), strict=False):
        if a != b:
            break
        length += 1
    return length


class Scan:
    """``findAclRule``: two passes over the sorted set, each seeking again where names part."""

    def __init__(self, cluster: Cluster, ask: Ask) -> None:
        self.cluster, self.ask = cluster, ask
        self.sorted = sorted(set(cluster.bindings), key=cmp_to_key(compare))
        self.found: str | None = None
        self.covered = False
        self.section(ask.name, 0)
        if self.found != "DENIED":
            self.section("*", PatternType.LITERAL)

    def tail(self, name: str, pattern_type: int) -> int:
        """Where the first binding stands that is not before the exemplar."""
        for index, binding in enumerate(self.sorted):
            kind, here = binding.pattern.resource_type, java(binding.pattern.name)
            if kind < self.ask.resource_type or (kind == self.ask.resource_type and here > java(name)):
                continue
            if kind == self.ask.resource_type and here == java(name) and binding.pattern.pattern_type < pattern_type:
                continue
            return index
        return len(self.sorted)

    def section(self, exemplar: str, pattern_type: int) -> None:
        index, sought = self.tail(exemplar, pattern_type), 0
        while index < len(self.sorted):
            binding = self.sorted[index]
            pattern = binding.pattern
            if pattern.resource_type != self.ask.resource_type:
                return
            upto = shared_length(self.ask.name, pattern.name)
            index += 1
            if upto == len(java(pattern.name)):
                if pattern.pattern_type is PatternType.LITERAL and upto != len(java(self.ask.name)):
                    continue
            elif not (pattern.name == "*" and pattern.pattern_type is PatternType.LITERAL):
                if upto > len(java(exemplar)):
                    raise BrokerError("StringIndexOutOfBoundsException")
                exemplar = exemplar[:upto]
                index, sought = self.tail(exemplar, pattern_type), sought + 1
                if sought > 3 * len(self.sorted) + 3:
                    raise BrokerError("an endless loop")
                continue
            self.covered = True
            said = result(binding, self.ask, self.cluster.version)
            if said is not None:
                self.found = said
            if said == "DENIED":
                return


def allowed(cluster: Cluster, ask: Ask) -> bool:
    """``authorize``; raises :class:`BrokerError`."""
    if ask.principal in cluster.super_users:
        return True
    if ask.principal == "User:*" and cluster.version >= (4, 0):
        raise BrokerError("Set.of got a duplicate")
    scan = Scan(cluster, ask)
    if scan.found is not None:
        return scan.found == "ALLOWED"
    return cluster.default_allow and not scan.covered


def meant(cluster: Cluster, resource_type: ResourceType, name: str) -> list[AclBinding]:
    """The bindings whose pattern a broker applies to a resource."""
    return [
        binding
        for binding in cluster.bindings
        if binding.pattern.resource_type == resource_type
        and (
            name[: len(binding.pattern.name)] == binding.pattern.name
            if binding.pattern.pattern_type is PatternType.PREFIXED
            else binding.pattern.name == name
            # LITERAL * is skipped for longer names that begin with it: it looks like a shorter literal.
            or (binding.pattern.name == "*" and name[:1] != "*")
        )
    ]


def allowed_plainly(cluster: Cluster, ask: Ask) -> bool:
    """The same as a set of rules, for sound clusters: quicker, and a third reading."""
    if ask.principal in cluster.super_users:
        return True
    return Said.of(cluster, ask.principal, ask.host, ask.resource_type, ask.name).allows(ask.operation)


class Said(NamedTuple):
    """The entries about somebody and a resource, and what counts where none is about an operation."""

    entries: set[tuple[AclOperation, AclPermissionType]]
    otherwise: bool

    @classmethod
    def of(cls, cluster: Cluster, principal: str, host: str, resource_type: ResourceType, name: str) -> "Said":
        """Of somebody who is no super user."""
        candidates = meant(cluster, resource_type, name)
        mine = (one.entry for one in candidates if about(one, principal, host, cluster.version))
        entries = {(entry.operation, entry.permission_type) for entry in mine}
        return cls(entries, cluster.default_allow and not candidates)

    def allows(self, operation: AclOperation) -> bool:
        """Whether brokers permit the operation."""
        said = {settled(held, operation, permission) for held, permission in self.entries}
        return "DENIED" not in said and ("ALLOWED" in said or self.otherwise)


def on_some_resource(
    cluster: Cluster, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
) -> bool:
    """``authorizeByResourceType``, with its sets of literals and prefixes."""
    if allowed_plainly(cluster, Ask(principal, host, operation, resource_type, "hardcode")):
        return True
    deny: dict[PatternType, set[str]] = {PatternType.LITERAL: set(), PatternType.PREFIXED: set()}
    allow: dict[PatternType, set[str]] = {PatternType.LITERAL: set(), PatternType.PREFIXED: set()}
    for pattern, entry in cluster.bindings:
        if pattern.resource_type != resource_type or entry.principal not in (principal, "User:*"):
            continue
        if not host_applies(entry.host, host, cluster.version) or entry.operation not in (operation, AclOperation.ALL):
            continue
        side = deny if entry.permission_type is AclPermissionType.DENY else allow
        side[pattern.pattern_type].add(pattern.name)
    if "*" in deny[PatternType.LITERAL]:
        return False
    if "*" in allow[PatternType.LITERAL]:
        return True
    return any(
        not (kind is PatternType.LITERAL and name in deny[kind])
        and not any(name.startswith(prefix) for prefix in deny[PatternType.PREFIXED])
        for kind, names in allow.items()
        for name in names
    )


def operations(cluster: Cluster, resource_type: ResourceType) -> Sequence[AclOperation]:
    return _operations(cluster.version, resource_type)


@cache
def _operations(version: tuple[int, ...], resource_type: ResourceType) -> Sequence[AclOperation]:
    return [
        operation
        for operation in sorted(SUPPORTED_OPERATIONS[resource_type])
        if not (operation is AclOperation.TWO_PHASE_COMMIT and version < (4, 1))
        and not (resource_type is ResourceType.GROUP and "CONFIGS" in operation.name and version < (4, 0))
    ]


def reach(
    cluster: Cluster, principal: str, host: str, resource_type: ResourceType, name: str
) -> frozenset[AclOperation]:
    """What the APIs permit."""
    every = operations(cluster, resource_type)
    if principal in cluster.super_users:
        return frozenset(every)
    here = Said.of(cluster, principal, host, resource_type, name)
    found = set(filter(here.allows, every))
    if resource_type is ResourceType.TOPIC:
        cluster_wide = Said.of(cluster, principal, host, ResourceType.CLUSTER, "kafka-cluster")
        found |= set(filter(cluster_wide.allows, (AclOperation.CREATE, AclOperation.DELETE)))
    if resource_type is ResourceType.CLUSTER and on_some_resource(
        cluster, principal, host, AclOperation.WRITE, ResourceType.TOPIC
    ):
        found.add(AclOperation.IDEMPOTENT_WRITE)
    return frozenset(found)
