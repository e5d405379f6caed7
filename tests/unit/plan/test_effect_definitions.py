"""The word for each step, stated point by point: by what the whole plan changes where the step's binding applies."""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Final

import pytest

from reconciler.access.hosts import is_dead
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic, Origin
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.review.effects import Effect, EffectKind, granted_operations
from tests.property.access_naive import Ask, Cluster, host_applies, reach, result
from tests.property.transitions import DAY
from tests.worlds import bindings

_T, _ALLOW, _DENY = ResourceType, AclPermissionType.ALLOW, AclPermissionType.DENY
VERSION: Final = (4, 4)
_WHO: Final = ("User:a@*", "User:a@10.0.0.1", "User:*@*", "User:*@10.0.0.0/31", "User:b@*", "User:a@nowhere")
_WHAT: Final = ("ALLOW READ", "ALLOW WRITE", "ALLOW ALL", "ALLOW DELETE", "DENY READ", "DENY WRITE", "DENY CREATE")
ON_TOPICS: Final = bindings(
    *(" ".join(one) for one in product(("TOPIC:L:a", "TOPIC:P:a", "TOPIC:L:ab", "TOPIC:L:*"), _WHO, _WHAT))
)
ON_GROUPS: Final = bindings(
    *(" ".join(one) for one in product(("GROUP:L:g", "GROUP:L:*", "GROUP:P:*", "GROUP:L:*x"), _WHO, _WHAT))
)
_OF_CLUSTER: Final = ("ALLOW CREATE", "DENY DELETE", "ALLOW DELETE", "DENY IDEMPOTENT_WRITE", "ALLOW ALTER")
ON_CLUSTER: Final = bindings(
    *(" ".join(one) for one in product(("CLUSTER:L:kafka-cluster", "CLUSTER:P:k"), _WHO, _OF_CLUSTER))
)
ASKERS: Final = ("User:a", "User:b", "User:z")
HOSTS: Final = ("10.0.0.0", "10.0.0.1", "10.0.0.2")
POINTS: Final = (
    *((_T.TOPIC, name) for name in ("a", "ab", "aa", "b")),
    *((_T.GROUP, name) for name in ("g", "h", "*", "*x")),
    (_T.CLUSTER, "kafka-cluster"),
)
ACCESS: Final = [*product(ASKERS, HOSTS, POINTS)]
Moves = dict[tuple[str, str, tuple[ResourceType, str]], tuple[frozenset[AclOperation], frozenset[AclOperation]]]


def _permits(side: frozenset[AclBinding], default: bool | None) -> list[dict[object, frozenset[AclOperation]]]:
    """What every asker may do at every point, under each setting that there may be."""
    settings = (False, True) if default is None else (default,)
    clusters = [Cluster(side, (), one, VERSION) for one in settings]
    return [{at: reach(cluster, at[0], at[1], *at[2]) for at in ACCESS} for cluster in clusters]


def _applies(pattern: ResourcePattern, name: str) -> bool:
    """As brokers match: LITERAL * leaves out longer names that begin with an asterisk."""
    return pattern.matches(name) and not (pattern.is_wildcard and name.startswith("*") and name != "*")


def _bears_on(binding: AclBinding, moved: frozenset[AclOperation], kind: ResourceType, name: str) -> bool:
    """Whether a binding speaks of what moved on a name; CLUSTER speaks of all topics, and WRITE of producers."""
    spoken, own = _spoken(binding), binding.pattern.resource_type
    if (own, kind) == (_T.CLUSTER, _T.TOPIC):
        return bool(moved & spoken & {AclOperation.CREATE, AclOperation.DELETE})
    if (own, kind) == (_T.TOPIC, _T.CLUSTER):
        return AclOperation.WRITE in spoken and AclOperation.IDEMPOTENT_WRITE in moved
    return own is kind and _applies(binding.pattern, name) and bool(moved & spoken)


def _spoken(binding: AclBinding) -> set[AclOperation]:
    operations = [one for one in AclOperation if one > AclOperation.ALL]
    plain = binding.entry._replace(host="*", principal="User:a")
    ask = Ask("User:a", "10.0.0.1", AclOperation.READ, binding.pattern.resource_type, "a")
    return {
        one for one in operations if result(AclBinding(binding.pattern, plain), ask._replace(operation=one), VERSION)
    }


def test_an_entry_speaks_of_what_brokers_decide_by_it() -> None:
    pattern = ResourcePattern(_T.TOPIC, "a")
    for operation, permission in product([one for one in AclOperation if one >= AclOperation.ALL], (_ALLOW, _DENY)):
        binding = AclBinding(pattern, AccessControlEntry("User:a", "*", operation, permission))
        assert granted_operations(operation, permission) == _spoken(binding)


def _touches(binding: AclBinding, moves: list[Moves], *, gained: bool) -> bool:
    return any(
        binding.entry.principal in (who, "User:*")
        and host_applies(binding.entry.host, host, VERSION)
        and _bears_on(binding, moved[0 if gained else 1], kind, name)
        for sides in moves
        for (who, host, (kind, name)), moved in sides.items()
    )


def _uncovered(binding: AclBinding, others: frozenset[AclBinding], default: bool | None) -> bool:
    """Whether default-allow, where it may be on, gives some name of the binding's pattern to everybody."""
    own = binding.pattern.resource_type
    names = [name for kind, name in POINTS if kind is own and _applies(binding.pattern, name)]
    return default is not False and any(
        not any(other.pattern.resource_type is own and _applies(other.pattern, name) for other in others)
        for name in names
    )


def _contains(other: AclBinding, binding: AclBinding) -> bool:
    """Whether ``other`` says all that the binding says."""
    wide, narrow = other.pattern, binding.pattern
    prefix = wide.pattern_type is PatternType.PREFIXED
    return (
        wide.resource_type is narrow.resource_type
        and (
            wide == narrow
            or wide.is_wildcard
            or (prefix and not narrow.is_wildcard and narrow.name.startswith(wide.name))
        )
        and other.entry.permission_type is binding.entry.permission_type
        and other.entry.principal in (binding.entry.principal, "User:*")
        and other.entry.host in (binding.entry.host, "*")
        and _spoken(binding) <= _spoken(other)
    )


def _meets(binding: AclBinding, other: AclBinding) -> bool:
    """Whether an ALLOW of the plan grants some of what a DENY takes: to somebody, from somewhere, on some name."""
    one, two = binding.entry, other.entry
    return any(
        one.principal in (who, "User:*")
        and two.principal in (who, "User:*")
        and host_applies(one.host, host, VERSION)
        and host_applies(two.host, host, VERSION)
        and (kind, kind) == (binding.pattern.resource_type, other.pattern.resource_type)
        and _applies(binding.pattern, name)
        and _applies(other.pattern, name)
        for who, host, (kind, name) in ACCESS
    ) and bool(_spoken(binding) & _spoken(other))


def _word(binding: AclBinding, created: bool, case: "Case") -> Effect:
    allow = binding.entry.permission_type is _ALLOW
    if not created and _uncovered(binding, case.after, case.default):
        return Effect(EffectKind.WIDENS)
    if not is_dead(binding.entry.host, VERSION) and _touches(binding, case.moves, gained=allow is created):
        more, less = (EffectKind.GRANT, EffectKind.REVOKE) if allow else (EffectKind.WIDENS, EffectKind.NARROWS)
        return Effect(more if allow is created else less)
    if created and _uncovered(binding, case.before, case.default):
        return Effect(EffectKind.NARROWS)
    covering = [other for other in case.after if other != binding and _contains(other, binding)]
    if covering:
        return Effect(EffectKind.REDUNDANT, min(covering), case.origins[min(covering)])
    allows = [one for one in case.after - case.before if one.entry.permission_type is _ALLOW]
    narrows = created and not allow and any(_meets(binding, one) for one in allows)
    return Effect(EffectKind.NARROWS_NEW if narrows else EffectKind.NO_EFFECT)


class Case:
    """Two states, and what every asker gains and loses between them at every point."""

    def __init__(self, before: frozenset[AclBinding], after: frozenset[AclBinding], default: bool | None) -> None:
        self.before, self.after, self.default = before, after, default
        self.origins = {one: Origin("a.yaml", at, 1) for at, one in enumerate(sorted(after))}
        self.moves: list[Moves] = [
            {at: (new[at] - old[at], old[at] - new[at]) for at in ACCESS}
            for old, new in zip(_permits(before, default), _permits(after, default), strict=True)
        ]

    def effects(self) -> Iterator[tuple[AclBinding, bool, Effect]]:
        """Each step's binding, whether it is created, and the effect that the plan says; a topic has none."""
        topics = {"t": DesiredTopic(Topic("t"), Origin("t.yaml", 1, 1))}
        desired = DesiredState({one: Declaration(self.origins[one]) for one in sorted(self.after)}, topics)
        live = ClusterState("id", self.before, kafka_version=VERSION)
        terms, request = (
            Terms("c", default_allow=self.default),
            Request(DAY, Options(allow_deletes=True), guarded=False),
        )
        plan = propose(desired, live, terms, request)
        for step, effect in zip(plan.steps, plan.access.effects, strict=True):
            binding = touched_binding(step.change)
            assert (binding is None) is (effect is None)
            if binding is not None and effect is not None:
                yield binding, step.change.before is None, effect


@pytest.mark.parametrize("default", [False, True, None])
def test_each_step_has_the_word_for_what_the_plan_changes_where_its_binding_applies(default: bool | None) -> None:
    random, met = Random(2), set()
    for turn in range(72):
        # Topics alone, topics with the cluster, or, where names that begin with an asterisk are closed anyway, groups.
        pools = [(ON_TOPICS,), (ON_TOPICS, ON_CLUSTER), (ON_CLUSTER, ON_TOPICS, ON_TOPICS), (ON_GROUPS,)]
        chosen = pools[turn % (3 if default is not False else 4)]
        held, more = ([random.choice(random.choice(chosen)) for _ in range(random.randrange(most))] for most in (5, 4))
        kept = [one for one in held if random.random() < 0.5]
        case = Case(frozenset(held), frozenset([*kept, *more]), default)
        for binding, created, effect in case.effects():
            assert effect == _word(binding, created, case), (sorted(case.before), sorted(case.after), binding)
            met.add(effect.kind)
    assert len(met) >= 5
