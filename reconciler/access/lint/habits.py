"""What looks forgotten: half a grant, names that are not known, dates that have passed, names that differ by case."""

import datetime
from collections.abc import Collection, Iterator

from reconciler.access.authorizer import Authorizer
from reconciler.access.by_resource_type import on_some_resource
from reconciler.access.lint.finding import Finding, LintRule
from reconciler.model import (
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    Declaration,
    PatternType,
    ResourceType,
)

_O = AclOperation


def half_grants(authorizer: Authorizer) -> Iterator[Finding]:
    """READ on topics without READ on any group, and WRITE on a transactional id without WRITE on any topic."""
    world = authorizer.worlds.most
    seen: dict[tuple[str, str, AclOperation, ResourceType], bool] = {}
    for binding in sorted(authorizer.bindings):
        pattern, entry = binding
        if entry.permission_type is not AclPermissionType.ALLOW or entry.principal == WILDCARD_PRINCIPAL:
            continue
        if (pattern.resource_type, entry.operation) == (ResourceType.TOPIC, _O.READ):
            other = (ResourceType.GROUP, _O.READ)
        elif (pattern.resource_type, entry.operation) == (ResourceType.TRANSACTIONAL_ID, _O.WRITE):
            other = (ResourceType.TOPIC, _O.WRITE)
        else:
            continue
        host = entry.host if entry.host != "*" else "192.0.2.0"
        asked = (entry.principal, host, other[1], other[0])
        if asked not in seen:
            seen[asked] = world.default_allow or on_some_resource(world, *asked).allowed
        if not seen[asked]:
            needed = f"{other[1].name} on any {other[0].name}"
            message = f"{entry.principal} has {entry.operation.name} here, and no {needed}"
            advice = f"grant {needed.replace('any', 'its')}, or remove this"
            if other[0] is ResourceType.GROUP:
                advice += "; a consumer that assigns partitions itself and commits nothing needs no group"
            yield Finding(LintRule.HALF_A_GRANT, binding, message, advice)


def unknown_names(
    authorizer: Authorizer, topics: Collection[str] | None, principals: Collection[str] | None
) -> Iterator[Finding]:
    """Literal topics that do not exist, principals that nobody knows; ``None`` means that the list is not known."""
    for binding in sorted(authorizer.bindings):
        pattern, entry = binding
        named = pattern.resource_type is ResourceType.TOPIC and pattern.pattern_type is PatternType.LITERAL
        if topics is not None and named and not pattern.is_wildcard and pattern.name not in topics:
            message = f"there is no topic {pattern.name!r}"
            yield Finding(LintRule.UNKNOWN_TOPIC, binding, message, "remove it, or create the topic")
        if principals is not None and entry.principal not in principals and entry.principal != WILDCARD_PRINCIPAL:
            message = f"{entry.principal} is not among the known principals"
            yield Finding(LintRule.UNKNOWN_PRINCIPAL, binding, message, "remove it, or make the principal known")


def dated(authorizer: Authorizer, today: datetime.date, soon: datetime.timedelta) -> Iterator[Finding]:
    """Declared bindings whose last day has passed, or comes within ``soon``."""
    for binding, note in sorted(authorizer.evidence.notes.items(), key=lambda item: item[0]):
        expires = note.expires if isinstance(note, Declaration) else None
        if expires is None:
            continue
        if expires < today:
            message = f"its last day was {expires.isoformat()}"
            yield Finding(LintRule.EXPIRED, binding, message, "remove it; the next plan takes it away")
        elif expires <= today + soon:
            message = f"its last day is {expires.isoformat()}"
            yield Finding(LintRule.EXPIRES_SOON, binding, message, "extend it with a reason, or let it go")


def case_twins(authorizer: Authorizer) -> Iterator[Finding]:
    """Principals, and names of one resource type, that differ only by case: Kafka takes them for different ones."""
    spellings: dict[tuple[str, str], dict[str, AclBinding]] = {}
    for binding in sorted(authorizer.bindings):
        for kind, text in (("", binding.entry.principal), (binding.pattern.resource_type.name, binding.pattern.name)):
            spellings.setdefault((kind, text.casefold()), {}).setdefault(text, binding)
    for (kind, _), found in sorted(spellings.items()):
        first, *others = sorted(found)
        for other in others:
            what = f"{kind} name" if kind else "principal"
            message = f"the {what} {other!r} differs from {first!r} only by case: to Kafka they are two"
            yield Finding(
                LintRule.CASE,
                found[other],
                message,
                "write both alike if one is meant",
                (found[first],),
                (first, other),
            )
