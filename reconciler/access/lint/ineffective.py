"""Bindings without an effect, or worse: others say the same, or nothing matches them.

Redundant ones, ALLOWs under a DENY, DENYs of nothing; impossible hosts, principals and names, operations that nothing
requests.
"""

from collections.abc import Collection, Iterator
from typing import Final

from reconciler.access.hosts import is_dead
from reconciler.access.lint.covering import IdleDenies, effect_bits
from reconciler.access.lint.rule import LintFinding, LintState, lint_rule
from reconciler.access.names import ALL_NAMES, has_names, names_of
from reconciler.model.acl import (
    CLUSTER_NAME,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    KafkaPrincipal,
    PatternType,
    ResourceType,
)
from reconciler.model.flavor import supported
from reconciler.model.listing import unmatched_by_librdkafka

#: Resources whose name is a setting of clients.
_SET_BY_CLIENTS: Final = (ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)


@lint_rule(
    "KA004",
    "error",
    "No connection comes from this host: brokers compare the text that Java prints for an address, so host names, "
    "ranges (before Kafka 4.4), shortened IPv6 and padded numbers never match. A DENY like this denies nobody.",
    "Write the address.",
)
def dead_host(state: LintState) -> Iterator[LintFinding]:
    """Hosts that no connection has."""
    for binding in state.bindings:
        if is_dead(binding.entry.host, state.authorizer.kafka_version):
            yield dead_host.finding(
                binding,
                f"no connection ever comes from {binding.entry.host!r}: Kafka compares addresses as Java prints them",
                "write the address itself, IPv6 in full and lower case, or leave the host out",
            )


@lint_rule(
    "KA005",
    "warning",
    "Kafka knows `User:*` and exact names: `User:team-*` is one user with an asterisk in its name. Also reported: "
    "spaces at an end, and types other than `User`, which only a custom principal builder makes. A `flavor` with more "
    "types (Redpanda's `RedpandaRole` and `Group`) has them.",
    "Name each principal.",
)
def dead_principal(state: LintState) -> Iterator[LintFinding]:
    """Principals that no connection has."""
    for binding in state.bindings:
        if (problem := _principal_problem(binding.entry.principal, state.principal_types)) is not None:
            yield dead_principal.finding(binding, *problem)


@lint_rule(
    "KA023",
    "error",
    "Nobody can log in as this SCRAM user: brokers store any name, and refuse the login of one that is not ASCII. A "
    "disabled user is not reported. Users are seen where the login may describe the cluster.",
    "Make a user whose name is ASCII, and remove this one (`absent: true`).",
)
def no_login(state: LintState) -> Iterator[LintFinding]:
    """SCRAM users as whom nobody can log in."""
    for item, origin in state.listed:
        if (mismatch := item.unmatched) is not None and not mismatch.some:
            advice = "make a user whose name is ASCII, and remove this one"
            yield no_login.listed_finding(item, f"nobody can log in: {mismatch.message}", advice, origin)


@lint_rule(
    "KA024",
    "warning",
    "Some clients send another name, so that this is about none of them: clients on librdkafka (for Python, Go, .NET, "
    "Node.js) drop a blank at the start of a group, a transactional id, a client id or a user name, and Java's client "
    "keeps it. Clients that prepare the name of a SCRAM user by RFC 4013 (SASLprep) refuse control characters in it.",
    "Write a name without them, here and in the clients' settings.",
)
def changed_name(state: LintState) -> Iterator[LintFinding]:
    """Names that some clients change or refuse before they send them."""
    advice = "write a name without it, here and in the clients' settings"
    for binding in state.bindings:
        kind, name = binding.pattern.resource_type, binding.pattern.name
        if kind in _SET_BY_CLIENTS and (mismatch := unmatched_by_librdkafka(name)) is not None:
            yield changed_name.finding(binding, mismatch.message, advice)
    for item, origin in state.listed:
        if (mismatch := item.unmatched) is not None and mismatch.some:
            yield changed_name.listed_finding(item, mismatch.message, advice, origin)


def _principal_problem(text: str, types: Collection[str]) -> tuple[str, str] | None:
    if ":" not in text or text == WILDCARD_PRINCIPAL:
        return None
    principal = KafkaPrincipal.parse(text)
    if "*" in principal.name:
        message = f"{text!r} is not a pattern: Kafka knows only {WILDCARD_PRINCIPAL} and exact names"
        return message, "name each principal"
    if text != text.strip() or principal.name != principal.name.strip():
        return f"{text!r} has spaces at an end, and Kafka does not trim them", "write it without them"
    if principal.principal_type not in types:
        message = f"connections are of type User, not {text!r}, unless you have a custom principal builder"
        return message, "name users, or keep it if your brokers have such a builder"
    return None


@lint_rule(
    "KA006",
    "error",
    "Requests that meet this binding make a broker fail or hang, for every client.",
    "Remove it first, as a super user.",
)
def breaks_brokers(state: LintState) -> Iterator[LintFinding]:
    """Bindings that meet a defect of brokers."""
    for binding in sorted(frozenset(state.authorizer.broker_defects.bindings)):
        message = "requests that meet this make brokers fail or hang"
        yield breaks_brokers.finding(binding, message, "remove it first, as a super user")


@lint_rule(
    "KA007",
    "error",
    "No resource can have such a name, or an asterisk in it is a letter and not a wildcard: LITERAL `payments.*` is "
    "one (impossible) topic.",
    "Write PREFIXED `payments.`, or LITERAL `*` for every name.",
)
def dead_pattern(state: LintState) -> Iterator[LintFinding]:
    """Patterns that no resource, or not the intended ones, match."""
    for binding in state.bindings:
        if (problem := _pattern_problem(binding)) is not None:
            yield dead_pattern.finding(binding, *problem)


def _pattern_problem(binding: AclBinding) -> tuple[str, str] | None:
    pattern = binding.pattern
    kind, name = pattern.resource_type, pattern.name
    if not has_names(kind, names_of(pattern)):
        advice = f"the cluster is called {CLUSTER_NAME}" if kind is ResourceType.CLUSTER else "write a legal name"
        if kind is ResourceType.TOPIC and name.endswith("*"):
            advice = f"Kafka has no globs: write PREFIXED {name[:-1]}" if len(name) > 1 else "write LITERAL *"
        return f"no {kind.name} can have such a name", advice
    if "*" in name and not pattern.is_wildcard:
        meant = "LITERAL *" if name == "*" else f"PREFIXED {name.rstrip('*')}"
        return f"the asterisk in {name!r} is a letter here, not a wildcard", f"write {meant} if that is meant"
    return None


@lint_rule(
    "KA008",
    "warning",
    "No request asks for this operation on this resource type. Brokers accept the pair nevertheless. An ALLOW that "
    "implies an operation of the type is not reported, because it grants that one: `READ` on the cluster implies "
    "`DESCRIBE`.",
    "Use an operation that the type has.",
    "same",
)
def unsupported_operation(state: LintState) -> Iterator[LintFinding]:
    """Operations that a resource type does not have, and that grant nothing by what they imply."""
    for binding in state.bindings:
        kind, operation = binding.pattern.resource_type, binding.entry.operation
        # What an ALLOW implies counts; a DENY implies nothing.
        if not effect_bits(binding, state.authorizer.kafka_version):
            operations = supported(kind, state.authorizer.kafka_version) | {AclOperation.ALL}
            listed = ", ".join(sorted(item.name for item in operations))
            message = f"{kind.name} has no operation {operation.name}: no request asks for it"
            yield unsupported_operation.finding(binding, message, f"it has {listed}")


@lint_rule(
    "KA019",
    "error",
    "Brokers do not apply LITERAL `*` to a name that begins with an asterisk and goes on, so `*x` evades a DENY on "
    "every group or transactional id. *Evidence:* such a name.",
    "Deny PREFIXED `*` as well.",
)
def evaded_deny(state: LintState) -> Iterator[LintFinding]:
    """DENYs on every name that some names evade; see ``ASTERISK_NAMES``."""
    for binding in state.bindings:
        kind = binding.pattern.resource_type
        denies = binding.entry.permission_type is AclPermissionType.DENY and names_of(binding.pattern) == ALL_NAMES
        # The name of a topic or of the cluster never begins with an asterisk.
        if denies and kind not in (ResourceType.TOPIC, ResourceType.CLUSTER):
            message = f"brokers do not apply this to a {kind.name} whose name begins with '*' and goes on, such as '*x'"
            yield evaded_deny.finding(binding, message, f"deny {PatternType.PREFIXED.name} * too", evidence=("*x",))


@lint_rule(
    "KA001",
    "warning",
    "One or several other bindings already grant (or deny) the same, on at least these names, hosts and operations. "
    "*Evidence:* the bindings that cover it. A DESCRIBE next to the READ or WRITE that implies it is only counted: "
    "roles and `kafka-acls.sh` write it out.",
    "Remove it; access stays the same.",
    "same",
)
def redundant(state: LintState) -> Iterator[LintFinding]:
    """Bindings that others cover."""
    for binding, by in state.redundant.items():
        yield redundant.finding(
            binding, f"{_listed(by)} already says this", "remove it: access stays the same", related=by
        )


@lint_rule(
    "KA002",
    "warning",
    "One or several DENYs take everything that this ALLOW grants, so it has no effect. *Evidence:* the DENYs.",
    "Remove it, or narrow the DENY if the ALLOW is meant.",
    "asked",
)
def shadowed(state: LintState) -> Iterator[LintFinding]:
    """ALLOWs that DENYs cover."""
    for binding, by in state.shadowed.items():
        message = f"{_listed(by)} denies everything that this allows"
        yield shadowed.finding(binding, message, "remove it, or narrow the DENY", related=by)


@lint_rule(
    "KA003",
    "warning",
    "Nothing allows what this DENY takes. Not reported where default-allow is on or unknown, because the DENY may "
    "have an effect there.",
    "Remove it, unless it protects against later ALLOWs; then write an exception with that reason.",
    "asked",
    on_facts=True,
)
def idle_deny(state: LintState) -> Iterator[LintFinding]:
    """DENYs that take nothing away."""
    idle = IdleDenies(state.authorizer)
    for binding in state.bindings:
        denies = binding.entry.permission_type is AclPermissionType.DENY
        if denies and binding not in state.redundant and idle.is_idle(binding):
            advice = "remove it, unless it protects against later ALLOWs"
            yield idle_deny.finding(binding, "nothing allows what this denies", advice)


def _listed(bindings: Collection[AclBinding]) -> str:
    first = str(next(iter(bindings)))
    return first if len(bindings) == 1 else f"{first} and {len(bindings) - 1} more together"
