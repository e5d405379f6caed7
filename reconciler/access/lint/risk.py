"""Bindings that give more than is usually meant."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from reconciler.access.authorizer import Authorizer
from reconciler.access.lint.finding import Finding, LintRule
from reconciler.model import (
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)

_O = AclOperation
_CHANGING: Final = frozenset({_O.ALL, _O.WRITE, _O.DELETE, _O.ALTER, _O.ALTER_CONFIGS})
_DELIMITERS: Final = "._-:/"
_SHOWN: Final = 10


def risk_findings(authorizer: Authorizer, topics: Sequence[str]) -> Iterator[Finding]:
    """``topics`` are those that exist, sorted: the evidence for prefixes."""
    for binding in sorted(authorizer.bindings):
        if binding.entry.permission_type is not AclPermissionType.ALLOW:
            continue
        operation = binding.entry.operation
        if binding.entry.principal == WILDCARD_PRINCIPAL:
            message = f"everybody who can connect gets {operation.name}, principals of every type and ANONYMOUS too"
            yield Finding(LintRule.EVERYBODY, binding, message, "name the principals who need it")
        if binding.pattern.is_wildcard and operation in _CHANGING:
            message = f"{operation.name} on every {binding.pattern.resource_type.name}, also on those yet to come"
            yield Finding(LintRule.WILDCARD_WRITE, binding, message, "name the resources, or a prefix")
        if binding.pattern.resource_type is ResourceType.CLUSTER and operation in (_O.ALTER, _O.ALL):
            message = "who may ALTER the cluster may change ACLs, and so grant itself anything"
            yield Finding(LintRule.CLUSTER_ALTER, binding, message, "keep this to those who administer the cluster")
        if (found := _open_prefix(binding, topics)) is not None:
            yield found


def _open_prefix(binding: AclBinding, topics: Sequence[str]) -> Finding | None:
    pattern = binding.pattern
    if pattern.pattern_type is not PatternType.PREFIXED or pattern.name[-1] in _DELIMITERS:
        return None
    if pattern.resource_type is ResourceType.CLUSTER:
        return None
    topic = pattern.resource_type is ResourceType.TOPIC
    extra = islice(_longer_words(pattern.name, topics) if topic else (), _SHOWN)
    message = f"the prefix {pattern.name!r} ends inside a word: it takes in {pattern.name}x as well as {pattern.name}.x"
    return Finding(
        LintRule.OPEN_PREFIX,
        binding,
        message,
        f"end it with a delimiter: {pattern.name}.",
        evidence=tuple(extra),
    )


def _longer_words(prefix: str, topics: Sequence[str]) -> Iterator[str]:
    """The topics in which the word goes on where the prefix ends."""
    for name in islice(topics, bisect_left(topics, prefix), None):
        if not name.startswith(prefix):
            return
        if name[len(prefix) : len(prefix) + 1].isalnum():
            yield name
