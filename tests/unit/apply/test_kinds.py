"""What applying asks of each kind: every small move of replicas against the slow definition, every change its facts."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, product
from typing import Final

import pytest

from reconciler.apply.kinds import KINDS, kind_of, request_for
from reconciler.apply.kinds.interface import Batch, ListedKind, Marks, Moved, Remaining, Right
from reconciler.model.acl import CLUSTER_NAME, AclBinding, AclOperation, ResourceType
from reconciler.model.kinds import listed_types
from reconciler.model.kinds.client_metrics import ClientMetrics
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Change, Create, Delete, ListedItem, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import (
    Assignments,
    Layout,
    MoveLimits,
    PartitionLayout,
    Topic,
    TopicConfigs,
    TopicPartitions,
    TopicReplicas,
)
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.step import Step
from reconciler.ports import ReadRequest
from tests.property.transitions import DAY
from tests.worlds import acl

ITEMS: Final = (
    ClientQuota(QuotaEntity.of("a"), {"producer_byte_rate": 1}),
    ScramUser("a", {"SCRAM-SHA-256": 4096}),
    GroupConfig("g", {"a": "1"}),
    ClientMetrics("m", {"metrics": "*"}),
)
OLD: Final[Assignments] = ((1, 2), (2, 3), (3, 1))
NEW: Final[Assignments] = ((2, 1), (2, 4), (4, 5))
MOVE: Final = Update(TopicReplicas("t", OLD, "id"), TopicReplicas("t", NEW, "id", 64))
SIZES: Final = (5, 7, 11)


def at(replicas: tuple[int, ...], size: int) -> PartitionLayout:
    """At rest."""
    return PartitionLayout(replicas, frozenset(replicas), dict.fromkeys(replicas, size))


def going(old: tuple[int, ...], new: tuple[int, ...], size: int, copied: int) -> PartitionLayout:
    """On its way, each new replica with so many bytes already."""
    adding, removing = (tuple(one for one in a if one not in b) for a, b in ((new, old), (old, new)))
    sizes = {**dict.fromkeys(old, size), **dict.fromkeys(adding, copied)}
    return PartitionLayout((*new, *removing), frozenset(old), sizes, adding, removing)


def layouts() -> Iterator[tuple[PartitionLayout, ...]]:
    """Every partition where it was, on its way if anything is copied, or where it goes."""
    yield from product(
        *(
            [at(old, size), at(new, size), *([going(old, new, size, 2)] if {*old} != {*new} else [])]
            for old, new, size in zip(OLD, NEW, SIZES, strict=True)
        )
    )


def state(parts: tuple[PartitionLayout, ...] | None, **configs: str) -> ClusterState:
    topic = Topic("t", 3, 2, {name.replace("_", "."): value for name, value in configs.items()}, "id", OLD)
    return ClusterState("c", topics={"t": topic}, layout=None if parts is None else Layout({}, {"t": parts}))


def missing(one: PartitionLayout, new: tuple[int, ...]) -> int:
    return len({*new} - {*one.replicas})


def test_what_is_left_is_what_moves_and_what_has_yet_to_and_the_bytes_that_replicas_lack() -> None:
    for parts in layouts():
        moving = [one for one in parts if one.adding or one.removing]
        waiting = [(one, new) for one, new in zip(parts, NEW, strict=True) if one not in moving and one.replicas != new]
        copied = sum(missing(one, new) * one.size for one, new in waiting)
        copied += sum(len(one.adding) * (one.size - 2) for one in moving)
        found = kind_of(MOVE).remaining(MOVE, state(parts))
        assert found == Remaining(len(moving), len(waiting), copied), parts
    assert kind_of(MOVE).remaining(MOVE, state(None)) is None
    assert kind_of(MOVE).remaining(MOVE, ClusterState("c", layout=Layout({}))) == Remaining(0, 0, 0)


@pytest.mark.parametrize("limits", [MoveLimits(*pair) for pair in product((1, 2, 3), (1, 7, 12, 100))], ids=str)
def test_the_next_batch_is_what_moves_already_else_as_much_as_is_permitted(limits: MoveLimits) -> None:
    for parts in layouts():
        before = TopicReplicas("t", tuple(one.reverted for one in parts), "id")
        target = [one.target for one in parts]
        begun = any(one.is_moving for one in parts)
        if not begun:
            chosen: list[int] = []
            for number, (one, new) in enumerate(zip(parts, NEW, strict=True)):
                if one.replicas == new:
                    continue
                every = [*chosen, number]
                size = sum(missing(parts[each], NEW[each]) * parts[each].size for each in every)
                if chosen and (len(every) > limits.partitions or size > limits.size):
                    break
                chosen = every
            for number in chosen:
                target[number] = NEW[number]
        after = TopicReplicas("t", tuple(target), "id", 64)
        found = kind_of(MOVE).next_batch(MOVE, state(parts), limits)
        assert found == Batch(Update(before, after), begun), parts


def test_only_moves_have_batches() -> None:
    with pytest.raises(TypeError, match="moves no replicas"):
        kind_of(MOVE).next_batch(EVERY["configs"], state(None), MoveLimits())


FOLLOWERS, LEADERS = "follower.replication.throttled.replicas", "leader.replication.throttled.replicas"


def test_what_is_copied_is_named_with_the_configs_that_throttle_it_and_whose_they_are() -> None:
    assignments = ((1,), (1, 2), (2, 1), (2, 3), (3,))
    for old, new in product(product(assignments, repeat=2), repeat=2):
        change = Update(TopicReplicas("t", old, "id"), TopicReplicas("t", new, "id"))
        pairs = [
            (n, was, [one for one in now if one not in was]) for n, (was, now) in enumerate(zip(old, new, strict=True))
        ]
        moved = [(n, was, added) for n, was, added in pairs if added]
        followers = ",".join(f"{n}:{one}" for n, _, added in moved for one in added)
        leaders = ",".join(f"{n}:{one}" for n, was, _ in moved for one in was)
        lists = {FOLLOWERS: followers, LEADERS: leaders}
        for there, marks in (
            ({}, Marks.NOBODYS),
            ({FOLLOWERS: "", LEADERS: ""}, Marks.NOBODYS),
            (lists, Marks.OURS),
            ({**lists, LEADERS: "*"}, Marks.OTHERS),
            ({FOLLOWERS: followers}, Marks.OTHERS),
        ):
            topic = Topic("t", 2, 1, {**there, "flush.ms": "5"}, "id", old)
            found = kind_of(change).copying(change, ClusterState("c", topics={"t": topic}))
            if not moved:
                assert found is None
                continue
            assert found is not None
            assert (found.subject, found.marks, found.is_moving) == ("topic t", marks, True)
            assert found.brokers == {one for _, was, added in moved for one in (*was, *added)}
            read = {key: there.get(key) for key in lists}
            assert found.mark == Update(TopicConfigs("t", read, "id"), TopicConfigs("t", lists, "id"))
            assert found.unmark == Update(TopicConfigs("t", lists, "id"), TopicConfigs("t", dict.fromkeys(lists), "id"))
        assert kind_of(change).copying(change, ClusterState("c")) is None, "a topic that is gone"
    for parts in layouts():
        found = kind_of(MOVE).copying(MOVE, state(parts))
        assert found is not None
        assert found.is_moving is any(one.is_moving for one in parts)


ENTITY: Final = QuotaEntity.of("a")
QUOTA: Final = ClientQuota(ENTITY, {"producer_byte_rate": 1})
USER: Final = ScramUser("a", {"SCRAM-SHA-256": 4096})
GROUP: Final = GroupConfig("g", {"consumer.session.timeout.ms": "50000"})
GRANT: Final = acl("x", "User:a")
TOPIC: Final = Topic("t", 1, 1, topic_id="id")
EVERY: Final[dict[str, Change]] = {
    "create acl": Create(GRANT),
    "delete acl": Delete(GRANT),
    "create topic": Create(Topic("new", 1, 1)),
    "delete topic": Delete(TOPIC),
    "partitions": Update(TopicPartitions("t", 1, "id"), TopicPartitions("t", 2, "id")),
    "configs": Update(TopicConfigs("t", {"flush.ms": None}), TopicConfigs("t", {"flush.ms": "5"})),
    "replicas": MOVE,
    "create quota": Create(QUOTA),
    "delete quota": Delete(QUOTA),
    "user": Create(USER),
    "group": Create(GROUP),
}
_CLUSTER: Final = (ResourceType.CLUSTER, CLUSTER_NAME)
_T: Final = (ResourceType.TOPIC, "t")
RIGHTS: Final[dict[str, Right]] = {
    "create topic": Right(AclOperation.CREATE, ((ResourceType.TOPIC, "new"), _CLUSTER)),
    "partitions": Right(AclOperation.ALTER, (_T,)),
    "configs": Right(AclOperation.ALTER_CONFIGS, (_T,)),
    "create quota": Right(AclOperation.ALTER_CONFIGS, (_CLUSTER,)),
    "delete quota": Right(AclOperation.ALTER_CONFIGS, (_CLUSTER,)),
    "user": Right(AclOperation.ALTER, (_CLUSTER,)),
    "group": Right(AclOperation.ALTER_CONFIGS, ((ResourceType.GROUP, "g"),)),
}


@pytest.mark.parametrize("name", EVERY)
def test_each_change_has_its_right_its_pace_and_nothing_left_but_moves(name: str) -> None:
    change, live = EVERY[name], state(tuple(at(one, 1) for one in OLD))
    kind = kind_of(change)
    assert kind.right(change) == RIGHTS.get(name)
    assert kind.in_flight(change) == (3 if name == "create acl" else 1)
    assert [kind.pause_after(change, seconds) for seconds in (0.0, 0.4, 60.0)] == (
        [0.0, 0.4, 1.0] if name == "delete acl" else [0.0] * 3
    )
    assert (kind.remaining(change, live) is None) is (name != "replicas")
    assert (kind.copying(change, live) is None) is (name != "replicas")
    if not isinstance(change.before or change.after, TopicReplicas | TopicPartitions | TopicConfigs | Topic):
        assert kind.next_batch(change, live, MoveLimits()) == "it is done when it is accepted"
    assert sum(isinstance(change.before or change.after, one.TYPES) for one in KINDS) == 1


def test_what_has_to_be_read_is_what_the_changes_are_about_and_all_bindings() -> None:
    listed = {QUOTA.KIND: {"create quota", "delete quota"}, USER.KIND: {"user"}, GROUP.KIND: {"group"}}
    named = {"create topic": "new", "delete topic": "t", "partitions": "t", "configs": "t", "replicas": "t"}
    for names in chain.from_iterable(combinations(EVERY, count) for count in range(4)):
        steps = tuple(Step(Phase.CREATE_ALLOW, EVERY[name]) for name in names)
        found = request_for(Plan("c", Terms("c"), Options(), DAY, steps))
        assert {*found.listings} == {kind for kind, mine in listed.items() if mine & {*names}}
        assert [*found.topic_names] == [*dict.fromkeys(named[name] for name in names if name in named)]
        assert [*found.layout] == ["t"] * ("replicas" in names)
        assert replace(found, listings=(), topic_names=(), layout=()) == ReadRequest(all_topics=False)


def test_a_change_is_outside_unless_the_scope_holds_what_it_is_about() -> None:
    def held(change: Change, scope: Scope) -> bool:
        side = change.before or change.after
        if isinstance(side, AclBinding):
            return scope.owns(side)
        if isinstance(side, ClientQuota | ScramUser | GroupConfig):
            return scope.owns_listed(side, declared=True)
        return scope.owns_topic(side.name, declared=True)  # type: ignore[union-attr]

    said: dict[object, str] = {GRANT: str(GRANT), QUOTA: QUOTA.subject, USER: USER.subject, GROUP: GROUP.subject}
    topics = Selector(resource_type=ResourceType.TOPIC, names=NameSelector(literal=("t",)))
    people = Selector(principals=NameSelector(any_name=True))
    for scope in (
        Scope(),
        Scope(include=()),
        Scope(include=(topics,)),
        Scope(include=(people,)),
        Scope(exclude=(topics,)),
    ):
        for name, change in EVERY.items():
            found = kind_of(change).outside(change, scope)
            whose = said.get(change.before or change.after, f"topic {'new' if name == 'create topic' else 't'}")
            assert found == (None if held(change, scope) else whose), (name, scope)


def test_only_another_topic_of_the_name_that_went_is_one_that_came_back() -> None:
    for meant, there in product((None, "A", "B"), repeat=2):
        live = ClusterState("c", topics={"t": Topic("t", 1, 1, topic_id=there)})
        gone = Delete(replace(TOPIC, topic_id=meant))
        assert kind_of(gone).is_recreated(gone, live) is (None not in (meant, there) and meant != there)
        assert not kind_of(gone).is_recreated(gone, ClusterState("c"))
    for name, change in EVERY.items():
        again = ClusterState("c", frozenset({GRANT}), {"t": Topic("t", 1, 1, topic_id="other")})
        assert kind_of(change).is_recreated(change, again) is (name == "delete topic")


def test_foreign_changes_are_of_bindings_that_share_a_name_with_what_the_plan_touches() -> None:
    """Every small start, every small now, and each part of the plan that was done."""
    others = [acl("x", "User:b"), acl("x-", "User:b"), acl("y", "User:b"), acl("__kr.run", "User:b")]
    made, gone = acl("x", "User:a"), acl("x-1", "User:a")
    steps = [Step(Phase.CREATE_ALLOW, Create(made)), Step(Phase.DELETE_ALLOW, Delete(gone))]
    parts = [frozenset(few) for count in range(3) for few in combinations(others, count)]
    for start, now, count, own in product(parts, parts, range(3), ({}, {made}, {gone}, {made, gone})):
        done = steps[:count]
        before = start | {gone}
        moved = Moved(ClusterState("c", before), ClusterState("c", now.union(own)), done, done, steps)
        expected = (before | {made} if count else before) - ({gone} if count > 1 else set())
        mine = {made, gone} if count > 1 else {made} if count else set()
        found = [
            f"{one} {'went' if one in before else 'appeared'}"
            for one in sorted((expected ^ now.union(own)) - mine)
            if one.pattern.name != "__kr.run"
            and (one.pattern.overlaps(made.pattern) or one.pattern.overlaps(gone.pattern))
        ]
        assert [text for kind in KINDS for text in kind.foreign_changes(moved)] == found, (start, now, count, own)


@pytest.mark.parametrize("resource", listed_types(), ids=lambda resource: str(resource.KIND))
def test_a_listed_kind_asks_for_its_resources_where_one_changes(resource: type[ListedItem]) -> None:
    kind = ListedKind(resource)
    assert (resource,) == kind.TYPES
    item = next(one for one in ITEMS if isinstance(one, resource))
    others = [Create(one) for one in ITEMS if not isinstance(one, resource)]
    nothing = ReadRequest(acls=False)
    assert kind.request([*others, Create(item)], nothing) == nothing.also(resource.KIND)
    assert kind.request(others, nothing) == nothing
