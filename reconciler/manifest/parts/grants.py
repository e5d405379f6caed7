"""Rules as bindings: principals × hosts × operations × names, roles expanded."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reconciler.manifest.parts.declared_patterns import DeclaredPatterns
from reconciler.manifest.parts.operations import Permission
from reconciler.manifest.parts.roles import RoleDeclaration
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration
from reconciler.model import AccessControlEntry, Origin


class Grant(NamedTuple):
    """Every entry on every pattern; ``written`` unless a role brought it."""

    entries: tuple[AccessControlEntry, ...]
    patterns: DeclaredPatterns
    written: bool


class EntryTable:
    """Makes entries, each once however many rules say it."""

    def __init__(self) -> None:
        """Starts empty."""
        self._known: dict[tuple[tuple[str, ...], tuple[str, ...], Permission], tuple[AccessControlEntry, ...]] = {}

    def entries(self, rule: RuleDeclaration, action: Permission) -> tuple[AccessControlEntry, ...]:
        """One entry for each principal, host and operation."""
        key = (rule.principals, rule.hosts, action)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(
                AccessControlEntry(principal, host, operation, action.permission_type)
                for principal in rule.principals
                for host in rule.hosts
                for operation in action.operations
            )
        return found


def grants(rule: RuleDeclaration, roles: Mapping[str, RoleDeclaration], table: EntryTable) -> Iterator[Grant]:
    """What a rule grants or refuses; its role, if it has one, is in ``roles`` and fits."""
    if isinstance(rule.action, RoleUse):
        yield from _role_grants(rule, rule.action, roles[rule.action.name], table)
        return
    entries = table.entries(rule, rule.action)
    for names in rule.named:
        yield Grant(entries, names, written=True)


def size_of(rule: RuleDeclaration, roles: Mapping[str, RoleDeclaration]) -> int:
    """How many bindings :func:`grants` would come to, reckoned without making any."""
    names = {names.kind: len(names) for names in rule.named}
    if isinstance(rule.action, RoleUse):
        each = sum(
            len(part.permission.operations) * (sum(names.get(kind, 0) for kind in part.takes) + len(part.names))
            for part in roles[rule.action.name].rules
        )
    else:
        each = len(rule.action.operations) * sum(names.values())
    return len(rule.principals) * len(rule.hosts) * each


def _role_grants(rule: RuleDeclaration, use: RoleUse, role: RoleDeclaration, table: EntryTable) -> Iterator[Grant]:
    for part in role.rules:
        entries = table.entries(rule, part.permission)
        for kind in part.takes:
            if (names := rule.on(kind)) is not None:
                yield Grant(entries, _brought(names, part.origin), written=False)
        if part.names:
            named = DeclaredPatterns.at(part.names[0].resource_type, part.names, use.declaration)
            yield Grant(entries, _brought(named, part.origin), written=False)


def _brought(patterns: DeclaredPatterns, role: Origin | None) -> DeclaredPatterns:
    """The same with the place of the role's rule: who edits that decides as much as who uses the role."""
    return patterns if role is None else patterns.with_role(role)
