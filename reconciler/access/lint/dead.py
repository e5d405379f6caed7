"""Bindings that match nothing, or worse: hosts, principals and names that cannot be, operations nobody asks for."""

from collections.abc import Iterator
from typing import Final

from reconciler.access.authorizer import Authorizer
from reconciler.access.hosts import is_dead
from reconciler.access.lint.finding import Finding, LintRule
from reconciler.access.names import has_names
from reconciler.access.operations import supported
from reconciler.access.table import EVERYTHING, key_of
from reconciler.model import (
    CLUSTER_NAME,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    KafkaPrincipal,
    PatternType,
    ResourceType,
)

#: DELETE on CLUSTER is in no list of Kafka's, and still deletes any topic.
_UNLISTED: Final = (ResourceType.CLUSTER, AclOperation.DELETE)


def dead_findings(authorizer: Authorizer) -> Iterator[Finding]:
    """What can never match, what misses what it seems to match, and what breaks brokers."""
    breaking = frozenset(authorizer.fragile.bindings)
    for binding in sorted(authorizer.bindings):
        if binding in breaking:
            yield Finding(
                LintRule.BREAKS_BROKERS,
                binding,
                "requests that meet this make brokers fail or hang",
                "remove it first of all, as a super user",
            )
        if is_dead(binding.entry.host, authorizer.kafka_version):
            yield Finding(
                LintRule.DEAD_HOST,
                binding,
                f"no connection ever comes from {binding.entry.host!r}: Kafka compares addresses as Java prints them",
                "write the address itself, IPv6 in full and lower case, or leave the host out",
            )
        for problem in (_principal_problem(binding), _pattern_problem(binding), _evasion(binding)):
            if problem is not None:
                yield problem
        kind, operation = binding.pattern.resource_type, binding.entry.operation
        known = supported(kind, authorizer.kafka_version) | {AclOperation.ALL}
        if operation not in known and (kind, operation) != _UNLISTED:
            listed = ", ".join(sorted(one.name for one in known))
            message = f"{kind.name} has no operation {operation.name}: nothing ever asks for it"
            yield Finding(LintRule.UNSUPPORTED_OPERATION, binding, message, f"it has {listed}")


def _principal_problem(binding: AclBinding) -> Finding | None:
    text = binding.entry.principal
    if ":" not in text or text == WILDCARD_PRINCIPAL:
        return None
    principal = KafkaPrincipal.parse(text)
    if "*" in principal.name:
        message = f"{text!r} is no pattern: Kafka knows {WILDCARD_PRINCIPAL} and exact names, nothing between"
        advice = "name each principal"
    elif text != text.strip() or principal.name != principal.name.strip():
        message, advice = f"{text!r} has spaces at an end, and Kafka trims nothing", "write it without them"
    elif principal.principal_type != "User":
        message = f"connections are of type User unless a principal builder of your own says otherwise, not {text!r}"
        advice = "name users, or leave it if brokers have such a builder"
    else:
        return None
    return Finding(LintRule.DEAD_PRINCIPAL, binding, message, advice)


def _pattern_problem(binding: AclBinding) -> Finding | None:
    pattern = binding.pattern
    kind, name = pattern.resource_type, pattern.name
    if not has_names(kind, key_of(pattern)):
        message = f"no {kind.name} can have such a name"
        advice = f"the cluster is called {CLUSTER_NAME}" if kind is ResourceType.CLUSTER else "write a legal name"
        if kind is ResourceType.TOPIC and name.endswith("*"):
            advice = f"Kafka has no globs: write PREFIXED {name[:-1]}" if len(name) > 1 else "write LITERAL *"
        return Finding(LintRule.DEAD_PATTERN, binding, message, advice)
    if "*" in name and not pattern.is_wildcard:
        meant = "LITERAL *" if name == "*" else f"PREFIXED {name.rstrip('*')}"
        message = f"the asterisk in {name!r} is a letter here, not a wildcard"
        return Finding(LintRule.DEAD_PATTERN, binding, message, f"write {meant} if that is meant")
    return None


def _evasion(binding: AclBinding) -> Finding | None:
    """LITERAL ``*`` misses names that begin with an asterisk and go on; see ``STARRED``."""
    kind = binding.pattern.resource_type
    if binding.entry.permission_type is not AclPermissionType.DENY or key_of(binding.pattern) != EVERYTHING:
        return None
    if kind in (ResourceType.TOPIC, ResourceType.CLUSTER):
        return None
    message = f"brokers do not apply this to a {kind.name} whose name begins with '*' and goes on, such as '*x'"
    return Finding(LintRule.EVADED_DENY, binding, message, f"deny {PatternType.PREFIXED.name} * too", evidence=("*x",))
