"""Rules as bindings: principals × hosts × operations × names, roles expanded."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.declared_patterns import DeclaredPatterns
from reconciler.manifest.parts.roles import RoleDeclaration
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration
from reconciler.model import AccessControlEntry, Origin

#: Without the constructor, which is a Python call and checks again what a rule was checked for.
_new_entry: Final = partial(tuple.__new__, AccessControlEntry)


@dataclass(frozen=True, slots=True)
class BroughtRule(RuleDeclaration):
    """A rule that nobody wrote out: a role brings it."""


def grants(rule: RuleDeclaration, roles: Mapping[str, RoleDeclaration]) -> Iterator[RuleDeclaration]:
    """The rules without roles that a rule comes to; its role, if it has one, is in ``roles`` and fits."""
    use = rule.action
    if not isinstance(use, RoleUse):
        yield rule
        return
    for part in roles[use.name].rules:
        taken = [names for kind in part.takes if (names := rule.on(kind)) is not None]
        own = part.named(use)
        for kind in dict.fromkeys(pattern.resource_type for pattern in own):
            mine = [pattern for pattern in own if pattern.resource_type is kind]
            taken.append(DeclaredPatterns.at(kind, mine, use.declaration))
        # Apart, because what a role takes and what it names itself may be of one type.
        for names in taken:
            named = _brought(names, part.origin)
            yield BroughtRule.of(part.permission, rule.principals, rule.hosts, [named], named.terms)


def entries_of(grant: RuleDeclaration) -> tuple[AccessControlEntry, ...]:
    """One entry for each principal, host and operation of a rule without a role."""
    permission_type, operations = grant.permission
    return tuple(
        [
            _new_entry((principal, host, operation, permission_type))
            for principal in grant.principals
            for host in grant.hosts
            for operation in operations
        ]
    )


def grants_entry(grant: RuleDeclaration, entry: AccessControlEntry) -> bool:
    """Whether ``entry`` is one of :func:`entries_of`, none of which is made."""
    principal, host, operation, permission_type = entry
    permission = grant.permission
    return (
        principal in grant.principals
        and operation in permission.operations
        and host in grant.hosts
        and permission_type == permission.permission_type
    )


def size_of(rule: RuleDeclaration, roles: Mapping[str, RoleDeclaration]) -> int:
    """How many bindings :func:`grants` would come to, reckoned without making any."""
    if isinstance(rule.action, RoleUse):
        names = Counter(pattern.resource_type for pattern in rule.patterns)
        each = sum(
            len(part.permission.operations)
            * (sum(names[kind] for kind in part.takes) + len(part.names) + len(part.templates))
            for part in roles[rule.action.name].rules
        )
    else:
        each = len(rule.action.operations) * len(rule.patterns)
    return len(rule.principals) * len(rule.hosts) * each


def _brought(patterns: DeclaredPatterns, role: Origin | None) -> DeclaredPatterns:
    """The same with the place of the role's rule: who edits that decides as much as who uses the role."""
    return patterns if role is None else patterns.with_role(role)
