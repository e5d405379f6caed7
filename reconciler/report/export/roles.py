"""Folds rules into the built-in roles that bring exactly the same bindings.

A role may bring what another one brings too, so a rule can serve several uses. A rule that no role matches to the
letter stays as it is.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Final, NamedTuple

from reconciler.manifest import BUILT_IN_ROLES
from reconciler.model import AclOperation, AclPermissionType, ResourcePattern, ResourceType


class ExportedRule(NamedTuple):
    """One rule; ``patterns`` are one PREFIXED or wildcard pattern, or LITERAL ones of one type."""

    patterns: tuple[ResourcePattern, ...]
    permission: AclPermissionType
    operations: tuple[AclOperation, ...]
    hosts: tuple[str, ...]


class ExportedRole(NamedTuple):
    """A use of a role: the rules whose resources it names, topics first, and the rules that it says without a name."""

    role: str
    rules: tuple[ExportedRule, ...]
    brought: tuple[ExportedRule, ...]


#: A resource type, and exactly what is allowed on it.
_Right = tuple[ResourceType, frozenset[AclOperation]]


class _Form(NamedTuple):
    """A role as rights: on its topics, on what it needs beside them, may take, and brings by itself."""

    role: str
    topics: frozenset[AclOperation]
    needs: tuple[_Right, ...]
    may: tuple[_Right, ...]
    brings: tuple[_Right, ...]


def _form(name: str) -> _Form:
    role = BUILT_IN_ROLES[name]
    rights = {kind: frozenset(rule.permission.operations) for rule in role.rules for kind in rule.takes}
    brings = [
        (pattern.resource_type, frozenset(rule.permission.operations)) for rule in role.rules for pattern in rule.names
    ]
    # admin requires nothing; of what it may take, the cluster is what makes an administrator.
    required = role.required or (ResourceType.TOPIC, ResourceType.CLUSTER)
    needs = tuple((kind, rights[kind]) for kind in required if kind is not ResourceType.TOPIC)
    may = tuple((kind, rights[kind]) for kind in role.optional if kind not in required)
    return _Form(name, rights[ResourceType.TOPIC], needs, may, tuple(brings))


#: The first that fits is taken, so those that ask for more come first.
_FORMS: Final = sorted(map(_form, BUILT_IN_ROLES), key=lambda form: (-len(form.needs), -len(form.brings), form.role))
_PRODUCE: Final = frozenset({AclOperation.WRITE, AclOperation.DESCRIBE})
_CONSUME: Final = frozenset({AclOperation.READ, AclOperation.DESCRIBE})


def with_roles(rules: Sequence[ExportedRule]) -> list[ExportedRule | ExportedRole]:
    """The same bindings, said with roles where one fits, in the order of ``rules``, which are of one principal."""
    grants = _Grants(rules)
    said = {rule: uses for rule in rules if (uses := _uses(rule, grants))}
    spent = {rule for uses in said.values() for use in uses for rule in (*use.rules, *use.brought)}
    return [item for rule in rules for item in said.get(rule, [] if rule in spent else [rule])]


class _Grants:
    """What one principal is allowed, looked up by right; a principal can have very many rules."""

    def __init__(self, rules: Sequence[ExportedRule]) -> None:
        self._by_right: dict[tuple[_Right, tuple[str, ...]], list[ExportedRule]] = defaultdict(list)
        self._place: dict[ExportedRule, int] = {}
        for rule in rules:
            if rule.permission is AclPermissionType.ALLOW:
                alike = self._by_right[_right(rule), rule.hosts]
                self._place[rule] = len(alike)
                alike.append(rule)

    def of(self, right: _Right, hosts: tuple[str, ...]) -> Sequence[ExportedRule]:
        """The rules that allow exactly that, from the same hosts."""
        return self._by_right.get((right, hosts), ())

    def place(self, rule: ExportedRule) -> int:
        """Which one it is of those that allow the same."""
        return self._place[rule]


def _right(rule: ExportedRule) -> _Right:
    return rule.patterns[0].resource_type, frozenset(rule.operations)


def _uses(rule: ExportedRule, grants: _Grants) -> list[ExportedRole]:
    """The uses that say a topic rule; none where no role does. One that produces and consumes takes two roles."""
    if rule.permission is not AclPermissionType.ALLOW or rule.patterns[0].resource_type is not ResourceType.TOPIC:
        return []
    operations = frozenset(rule.operations)
    halves = (_PRODUCE, _CONSUME) if operations == _PRODUCE | _CONSUME else (operations,)
    found = [_use(rule, half, grants) for half in halves]
    return [use for use in found if use is not None] if None not in found else []


def _use(rule: ExportedRule, operations: frozenset[AclOperation], grants: _Grants) -> ExportedRole | None:
    fitting = (_fitted(rule, form, grants) for form in _FORMS if form.topics == operations)
    return next((use for use in fitting if use is not None), None)


def _fitted(rule: ExportedRule, form: _Form, grants: _Grants) -> ExportedRole | None:
    """The use of one role, if the principal has all that it needs.

    Of several rules that grant the same, the first topics take the first, the second the second; what is over stays.
    """
    needed = [grants.of(right, rule.hosts) for right in form.needs]
    brought = [grants.of(right, rule.hosts) for right in form.brings]
    if not all((*needed, *brought)):
        return None
    optional = [found for right in form.may if len(found := grants.of(right, rule.hosts)) == 1]
    taken = [found[min(grants.place(rule), len(found) - 1)] for found in (*needed, *optional)]
    return ExportedRole(form.role, (rule, *taken), tuple(chain(*brought)))
