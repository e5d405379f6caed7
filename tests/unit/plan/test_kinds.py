"""Each change of each kind: what it is called, what it takes away, when it is performed, what it relies on."""

from itertools import product
from typing import Final, NamedTuple

import pytest

from reconciler.manifest.guardrail_meaning import Meaning
from reconciler.manifest.guardrails import GuardrailChange
from reconciler.manifest.manifests import GuardrailNotice
from reconciler.model.acl import AclBinding, AclPermissionType, ResourceType
from reconciler.model.desired import Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Change, Create, Delete, Impossible, Listing, Update
from reconciler.model.scope import NameSelector, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions, TopicReplicas
from reconciler.plan.guards import GuardrailReview
from reconciler.plan.kinds import kind_of
from reconciler.plan.kinds.acl import (
    created_bindings,
    deleted_bindings,
    is_acl_change,
    touched_binding,
    touched_bindings,
)
from reconciler.plan.kinds.interface import Conditions, PhaseContext
from reconciler.plan.observed import StepState
from reconciler.plan.overlap import TopicReach
from reconciler.plan.phase import Phase
from reconciler.plan.step import Step
from tests.unit.apply.test_kinds import EVERY as CHANGES
from tests.worlds import acl

DENY: Final = AclPermissionType.DENY
T, NEW = Topic("t", 2, 1), Topic("n")


def configs(before: dict[str, str | None], after: dict[str, str | None]) -> Change:
    return Update(TopicConfigs("t", before), TopicConfigs("t", after))


LESS: Final = configs({"retention.ms": "9000"}, {"retention.ms": "10"})
MORE: Final = configs({"min.insync.replicas": "2"}, {"min.insync.replicas": None})


class Said(NamedTuple):
    """``lost`` is a part of what nothing brings back, ``None`` where all can be undone; ``defaults`` of the broker."""

    change: Change
    action: str
    words: str
    phase: Phase
    destructive: bool = False
    lost: str | None = None
    defaults: tuple[str, ...] = ()


EVERY: Final = (
    Said(Create(T), "CreateTopic", "create topic t", Phase.CREATE_TOPIC),
    Said(
        Create(NEW),
        "CreateTopic",
        "create topic n",
        Phase.CREATE_TOPIC,
        defaults=("num.partitions", "default.replication.factor"),
    ),
    Said(Create(Topic("gone.1", 1, 1)), "CreateTopic", "create topic gone.1", Phase.CREATE_WAITING_TOPIC),
    Said(
        Delete(T),
        "DeleteTopic",
        "delete topic t",
        Phase.DELETE_TOPIC,
        destructive=True,
        lost="the records of topic t are gone",
        defaults=("auto.create.topics.enable",),
    ),
    Said(
        Update(TopicPartitions("t", 2), TopicPartitions("t", 3)),
        "CreatePartitions",
        "add partitions to topic t",
        Phase.CREATE_PARTITIONS,
        lost="topic t keeps 3 partitions: they cannot be reduced to 2 again",
    ),
    Said(
        LESS,
        "AlterConfigs",
        "alter configs of topic t",
        Phase.DELETE_TOPIC,
        destructive=True,
        lost="what topic t then no longer keeps is gone",
    ),
    Said(MORE, "AlterConfigs", "alter configs of topic t", Phase.ALTER_CONFIGS, defaults=("min.insync.replicas",)),
    Said(
        configs({"flush.ms": None, "flush.messages": "1"}, {"flush.ms": "1", "flush.messages": "2"}),
        "AlterConfigs",
        "alter configs of topic t",
        Phase.ALTER_CONFIGS,
        defaults=("flush.ms",),
    ),
    Said(
        Update(TopicReplicas("t", ((1,),)), TopicReplicas("t", ((2,),))),
        "MoveReplicas",
        "move replicas of topic t",
        Phase.MOVE_REPLICAS,
    ),
    Said(Create(acl("x", "User:a")), "CreateAcl", f"create {acl('x', 'User:a')}", Phase.CREATE_ALLOW),
    Said(Delete(acl("x", "User:a")), "DeleteAcl", f"delete {acl('x', 'User:a')}", Phase.DELETE_ALLOW, destructive=True),
    Said(
        Delete(acl("open-", "User:a")),
        "DeleteAcl",
        f"delete {acl('open-', 'User:a')}",
        Phase.DELETE_WAITING_ALLOW,
        destructive=True,
    ),
    Said(
        Create(acl("x", "User:a", permission=DENY)),
        "CreateAcl",
        f"create {acl('x', 'User:a', permission=DENY)}",
        Phase.CREATE_DENY,
    ),
    Said(
        Delete(acl("open-", "User:a", permission=DENY)),
        "DeleteAcl",
        f"delete {acl('open-', 'User:a', permission=DENY)}",
        Phase.DELETE_DENY,
        destructive=True,
    ),
    Said(Create(acl("us", "User:us")), "CreateAcl", f"create {acl('us', 'User:us')}", Phase.CREATE_FIRST),
    Said(
        Delete(acl("us", "User:us")), "DeleteAcl", f"delete {acl('us', 'User:us')}", Phase.DELETE_LAST, destructive=True
    ),
)
#: Revocations reach ``gone.…``; nothing will cover ``open-1``, which goes; ``us`` is what we need on the cluster.
CONTEXT: Final = PhaseContext((acl("us", "User:us"),), TopicReach([acl("gone.1", "").pattern]), ("open-1",))


@pytest.mark.parametrize("said", EVERY, ids=lambda said: said.words)
def test_what_is_said_of_each_change(said: Said) -> None:
    kind, step = kind_of(said.change), Step(said.phase, said.change)
    assert (step.action, kind.describe(said.change)) == (said.action, said.words)
    assert kind.phase(said.change, CONTEXT) is said.phase
    assert (step.destructive, step.reversible) == (said.destructive, said.lost is None)
    told = kind.irreversible(said.change)
    assert told is None if said.lost is None else told is not None and told.startswith(said.lost)
    assert [*kind.broker_defaults(said.change)] == [*said.defaults]


def test_two_steps_touch_one_thing_only_where_one_would_undo_or_repeat_the_other() -> None:
    parts = [one.change for one in EVERY if isinstance(one.change, Update)]
    for one, other in product((said.change for said in EVERY), repeat=2):
        met = not kind_of(one).touches(one).isdisjoint(kind_of(other).touches(other))
        bindings = touched_binding(one), touched_binding(other)
        if bindings != (None, None):
            assert met is (bindings[0] == bindings[1]), (one, other)
        elif one in parts and other in parts:
            assert met is (type(one.after) is type(other.after)), (one, other)
        else:
            names = {(side.after or side.before).name for side in (one, other)}  # type: ignore[union-attr]
            assert met is (len(names) == 1), (one, other)


def test_what_cannot_be_is_named() -> None:
    change = Impossible("partitions", "topic t", "3", "2", "make another topic")
    assert kind_of(change).describe(change) == "change partitions of topic t"
    assert kind_of(change).action(change) == "Impossible"
    assert touched_binding(change) is None


def test_a_listed_resource_is_as_before_as_wanted_or_somebody_else_has_changed_it() -> None:
    entity, keys = QuotaEntity.of("a"), ("consumer_byte_rate", "producer_byte_rate")
    values = (None, 1.0, 2.0)

    def quota(found: tuple[float | None, ...]) -> ClientQuota | None:
        there = {key: value for key, value in zip(keys, found, strict=True) if value is not None}
        return ClientQuota(entity, there) if there else None

    for old, new, now in product(product(values, repeat=2), repeat=3):
        before, after, there = quota(old), quota(new), quota(now)
        if before == after:
            continue
        change: Change = Create(after) if before is None else Delete(before) if after is None else Update(before, after)
        touched = [place for place in range(2) if old[place] is not None or new[place] is not None]
        same = [all(now[place] == side[place] for place in touched) for side in (new, old)]
        wanted = StepState.DONE if same[0] else StepState.PENDING if same[1] else StepState.STALE
        listing = Listing(frozenset(() if there is None else (there,)))
        found = Step(Phase.ALTER_QUOTAS, change).observed(ClusterState("c", listings={ClientQuota.KIND: listing}))
        assert found.state is wanted, (old, new, now)
        if wanted is StepState.STALE:
            assert found.expected != found.found
            assert ("unset" in found.found) is any(now[place] is None for place in touched)
        unread = Step(Phase.ALTER_QUOTAS, change).observed(ClusterState("c"))
        assert (unread.state, unread.expected) == (StepState.UNREADABLE, "readable")


def test_guardrails_are_weakened_by_whatever_does_not_tighten_them_and_by_trying_to() -> None:
    place = Origin("g.yaml", 1, 1)
    for meanings, rules in product(
        ((), *((one,) for one in Meaning), tuple(Meaning)),
        ((), ("guardrail-scope",), ("judged",), ("judged", "guardrail-scope")),
    ):
        changes = tuple(GuardrailChange("Cluster", "c", "spec", one, None, "x", place) for one in meanings)
        notices = tuple(GuardrailNotice(place, rule, "m") for rule in rules)
        looser = {*meanings} - {Meaning.TIGHTER}
        assert GuardrailReview(None, changes, notices).weakened is (bool(looser) or "guardrail-scope" in rules)


def test_what_a_kind_has_nothing_of_it_says_nothing_about() -> None:
    """Passwords, logins and secrets are of users; guards on one change, of topics and users; the rest is of none."""
    live, conditions = ClusterState("c", frozenset({acl("x", "User:a")})), Conditions({"User:a": "a super user"})
    for name, change in CHANGES.items():
        kind = kind_of(change)
        assert (bool([*kind.passwords(change)]), bool([*kind.logins(change, live)])) == (name == "user",) * 2
        assert (kind.obstacle(change, conditions) is not None) is (name == "user")
        assert kind.references(change) == ()
        guarded = [str(one.guard) for one in kind.refusals(change)]
        assert guarded == (["topic-delete"] if name == "delete topic" else [])
        assert kind.lacking_right(live) is None


def test_a_selection_means_a_change_by_whom_or_what_it_is_about() -> None:
    people, groups, topics = (
        Selector(principals=NameSelector(literal=("User:a",))),
        Selector(resource_type=ResourceType.GROUP, names=NameSelector(literal=("g",))),
        Selector(resource_type=ResourceType.TOPIC, names=NameSelector(literal=("t", "x", "new"))),
    )
    for name, change in CHANGES.items():
        found = [kind_of(change).is_selected(change, one) for one in (people, groups, topics)]
        mine = "acl" in name or "quota" in name or name == "user"
        assert found == [mine, name == "group", "quota" not in name and name not in ("user", "group")], name


@pytest.mark.parametrize("written", [LESS, MORE, *(said.change for said in EVERY[-6:])], ids=str)
def test_a_change_of_bindings_is_told_apart_from_all_else(written: Change) -> None:
    side = written.before if written.after is None else written.after
    binding = side if isinstance(side, AclBinding) else None
    assert touched_binding(written) == binding
    assert is_acl_change(written) is (binding is not None)
    assert created_bindings([written]) == ([binding] if binding and isinstance(written, Create) else [])
    assert deleted_bindings([written]) == ([binding] if binding and isinstance(written, Delete) else [])
    assert touched_bindings([written]) == ([binding] if binding else [])
