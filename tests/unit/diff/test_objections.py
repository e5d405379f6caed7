"""Manifests that have changed since a plan was made object to what they no longer want, and to nothing else.

Every change that one small state of the manifests asks for, against every other such state.
"""

from collections.abc import Iterator
from itertools import product

import pytest

from reconciler.model.acl import AclBinding, ResourceType
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Change, Create, Delete, Impossible, Listing, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Layout, PartitionLayout, Topic, TopicConfigs, TopicPartitions, TopicReplicas
from reconciler.plan.difference import DeclaredChange, DiffRules
from reconciler.plan.kinds import compare, objection
from tests.worlds import binding

PLACE = Origin("a.yaml", 1, 1)
NOTE = Declaration(PLACE)
ALL = Scope(
    include=(
        Selector(resource_type=ResourceType.TOPIC, names=NameSelector(any_name=True)),
        Selector(principals=NameSelector(any_name=True)),
    )
)
PRUNES = ((), (Topic.KIND, ClientQuota.KIND))

_ASSIGNED = (((1, 2),), ((2, 1),), ((1, 2), (2, 3)))
TOPICS: list[Topic | None] = [
    *(
        Topic("t", count, factor, configs)
        for count, factor, configs in product(
            (None, 1, 2), (None, 1, 2), ({}, {"flush.ms": "5"}, {"flush.ms": "05", "flush.messages": "9"})
        )
    ),
    *(Topic("t", len(brokers), 2, replica_assignments=brokers) for brokers in _ASSIGNED),
]
LIVE: list[Topic | None] = [
    None,
    Topic("t", 1, 1, {}, "id", ((1,),)),
    Topic("t", 1, 2, {"flush.ms": "5"}, "id", ((1, 2),)),
    Topic("t", 2, 2, {"flush.ms": "6", "flush.messages": "9"}, "id", ((1, 2), (2, 1))),
]


def _wishes() -> Iterator[DesiredTopic | None]:
    yield None
    yield DesiredTopic(Topic("t"), PLACE, absent=True)
    yield from (DesiredTopic(topic, PLACE) for topic in TOPICS if topic is not None)


WISHES = list(_wishes())


#: What no comparison finds, and a file may hold: another spelling of a value, and one partition of two that is wanted.
UNPLANNED: list[Change] = [
    Update(TopicConfigs("t", {"flush.ms": None}), TopicConfigs("t", {"flush.ms": "005"})),
    Update(TopicReplicas("t", ((2, 1), (2, 1))), TopicReplicas("t", ((1, 2), (3, 2)))),
]


def _desired(wish: DesiredTopic | None) -> DesiredState:
    return DesiredState({}, {} if wish is None else {"t": wish})


def _state(live: Topic | None) -> ClusterState:
    if live is None:
        return ClusterState("c")
    partitions = tuple(PartitionLayout(one, frozenset(one)) for one in live.replica_assignments or ())
    layout = Layout({1: None, 2: None, 3: None}, {"t": partitions})
    return ClusterState("c", topics={"t": live}, layout=layout)


def _is_wanted(change: Change, wish: DesiredTopic | None, *, prune: bool) -> bool:
    if isinstance(change, Delete):
        return prune if wish is None else wish.absent
    if wish is None or wish.absent:
        return False
    topic = wish.topic
    match change:
        case Create(after):
            return bool(after == topic)
        case Update(_, TopicPartitions() as after):
            return after.count == topic.num_partitions
        case Update(_, TopicConfigs() as after):
            values = {name: str(int(value)) for name, value in topic.configs.items()}
            meant = {name: value and str(int(value)) for name, value in after.configs.items()}
            return {name: values.get(name) for name in after.configs} == meant
        case Update(_, TopicReplicas() as after):
            if topic.replica_assignments is None:
                return {len(one) for one in after.assignments} == {topic.replication_factor}
            most = min(len(after.assignments), len(topic.replica_assignments))
            return after.assignments[:most] == topic.replica_assignments[:most]
    raise AssertionError(change)


@pytest.mark.parametrize("prune", PRUNES, ids=["kept", "pruned"])
def test_a_change_of_a_topic_is_objected_to_unless_it_is_still_wanted(prune: tuple[str, ...]) -> None:
    rules, seen = DiffRules(prune=prune), set()
    changes = {
        repr(found.change): found.change
        for then, live in product(WISHES, LIVE)
        for found in compare(_desired(then), _state(live), ALL, rules).changes
    }
    assert len(changes) > 30
    changes |= {repr(change): change for change in UNPLANNED}
    for change, now in product(changes.values(), WISHES):
        against = objection(change, _desired(now), rules)
        wanted = _is_wanted(change, now, prune=bool(prune))
        assert (against is None) is wanted, (change, now)
        if against is not None:
            assert against == ("to be declared absent" if isinstance(change, Delete) else "to be declared so")
        seen.add((type(change), wanted))
    assert seen == set(product((Create, Update, Delete), (False, True)))


def test_what_manifests_ask_for_they_do_not_object_to() -> None:
    for then, live, prune in product(WISHES, LIVE, PRUNES):
        rules, wanted = DiffRules(prune=prune), _desired(then)
        found = compare(wanted, _state(live), ALL, rules)
        assert [objection(one.change, wanted, rules) for one in found.changes] == [None] * len(found.changes)


def test_as_many_replicas_as_declared_are_wanted_of_every_partition() -> None:
    uneven = Update(TopicReplicas("t", ((1,), (2,))), TopicReplicas("t", ((1, 2), (3,))))
    assert objection(uneven, _desired(DesiredTopic(Topic("t", 2, 2), PLACE)), DiffRules()) == "to be declared so"


def test_a_reassignment_that_goes_on_is_a_difference_that_stays() -> None:
    live = Topic("t", 1, 2, {}, "id", ((1, 2),))
    going = Layout({1: None, 2: None}, {"t": (PartitionLayout((1, 2), frozenset({1}), adding=(2,)),)})
    state = ClusterState("c", topics={"t": live}, layout=going)
    found = compare(_desired(DesiredTopic(Topic("t", 1, 2), PLACE)), state, ALL, DiffRules())
    assert (found.changes, [one.reason for one in found.skipped]) == ((), ["unfinished"])


def test_where_every_config_is_refused_nothing_is_altered() -> None:
    state = ClusterState("c", topics={"t": Topic("t", 1, 1)}, kafka_version=(4, 1))
    wanted = DesiredTopic(Topic("t", 1, 1, {"segment.bytes": "5"}), PLACE)
    found = compare(_desired(wanted), state, ALL, DiffRules())
    assert (found.changes, [one.reason for one in found.skipped]) == ((), ["impossible"])


def test_the_place_of_a_change_is_that_of_what_asks_for_it() -> None:
    change = Create(Topic("t"))
    assert (DeclaredChange(change, NOTE).origin, DeclaredChange(change).origin) == (PLACE, None)


def test_an_impossible_change_is_nobodys_wish_and_nobody_objects() -> None:
    change = Impossible("partitions", "t", "2", "1", "no")
    assert objection(change, DesiredState(), DiffRules()) is None


@pytest.mark.parametrize("state", ["declared", "expired", "silent"])
def test_a_binding_is_created_while_it_is_declared_and_deleted_while_it_is_not(state: str) -> None:
    one = binding("User:a ALLOW READ on TOPIC t")
    declared: dict[AclBinding, Declaration] = {one: NOTE} if state == "declared" else {}
    expired: dict[AclBinding, Declaration] = {one: NOTE} if state == "expired" else {}
    now = DesiredState(declared, {}, expired)
    created = {"declared": None, "expired": "to be declared, and not over", "silent": "to be declared"}[state]
    assert objection(Create(one), now, DiffRules()) == created
    assert objection(Delete(one), now, DiffRules()) == ("not to be declared" if state == "declared" else None)


ENTITY = QuotaEntity.of("alice")
QUOTAS = [ClientQuota(ENTITY, values) for values in ({"producer_byte_rate": 1}, {"producer_byte_rate": 2}, {"x": 3})]


@pytest.mark.parametrize("prune", PRUNES, ids=["kept", "pruned"])
def test_a_change_of_a_quota_is_objected_to_unless_it_is_still_wanted(prune: tuple[str, ...]) -> None:
    rules = DiffRules(prune=prune)
    wishes: list[DesiredItem[ClientQuota] | None] = [None]
    for item, absent, expired in product(QUOTAS, (False, True), (False, True)):
        wishes.append(DesiredItem(item, NOTE, absent=absent, expired=expired))
    changes: list[Change] = [*map(Create, QUOTAS), *map(Delete, QUOTAS), Update(QUOTAS[0], QUOTAS[1])]
    for change, now in product(changes, wishes):
        state = DesiredState(listed={ClientQuota.KIND: {} if now is None else {ENTITY: now}})
        against = objection(change, state, rules)
        if isinstance(change, Delete):
            if now is None:
                assert against == (None if prune else "to be declared absent")
            else:
                assert against == (None if now.absent or now.expired else "not to be declared")
        else:
            same = now is not None and not now.absent and now.item == change.after
            over = "to be declared, and not over" if now is not None and now.expired else None
            assert against == (over if same else "to be declared so")


def test_values_that_nobody_here_understands_stay_and_are_listed() -> None:
    live = ClientQuota(ENTITY, {"producer_byte_rate": 1, "of_next_year": 7})
    there = ClusterState("c", listings={ClientQuota.KIND: Listing(frozenset({live}))})
    for wanted, expected in (
        (DesiredItem(QUOTAS[0], NOTE), []),
        (DesiredItem(QUOTAS[1], NOTE), [Update(QUOTAS[0], QUOTAS[1])]),
        (DesiredItem(ClientQuota(ENTITY), NOTE, absent=True), [Delete(QUOTAS[0])]),
    ):
        desired = DesiredState(listed={ClientQuota.KIND: {ENTITY: wanted}})
        found = compare(desired, there, ALL, DiffRules())
        assert [one.change for one in found.changes] == expected
        assert [(one.subject, one.origin) for one in found.skipped] == [("quota of user alice: of_next_year", PLACE)]


@pytest.mark.parametrize("report", [False, True])
@pytest.mark.parametrize("prune", PRUNES, ids=["kept", "pruned"])
@pytest.mark.parametrize("declares", [False, True])
@pytest.mark.parametrize("scope", [ALL, Scope()], ids=["included", "no include"])
def test_what_nobody_declares_is_pruned_reported_or_left(
    *, report: bool, prune: tuple[str, ...], declares: bool, scope: Scope
) -> None:
    """Reported by those who declare something of its kind, and touched only where a scope names it."""
    other = ClientQuota(QuotaEntity.of("bob"), {"producer_byte_rate": 1})
    state = ClusterState(
        "c",
        topics={"mine": Topic("mine", 1, 1), "x": Topic("x", 1, 1), "__consumer_offsets": Topic("__consumer_offsets")},
        unreadable_topics={"hidden": "refused"},
        listings={ClientQuota.KIND: Listing(frozenset({QUOTAS[0], other}))},
    )
    mine = {"mine": DesiredTopic(Topic("mine", 1, 1), PLACE)} if declares else {}
    quotas = {ENTITY: DesiredItem(QUOTAS[0], NOTE)} if declares else {}
    desired = DesiredState({}, mine, listed={ClientQuota.KIND: quotas})
    found = compare(desired, state, scope, DiffRules(prune=prune, report_topics=report))
    undeclared_topics = [] if declares else ["mine"]
    undeclared_quotas = [other] if declares else [QUOTAS[0], other]
    if prune and scope is ALL:
        gone = [*(Delete(Topic(name, 1, 1)) for name in (*undeclared_topics, "x")), *map(Delete, undeclared_quotas)]
        assert [one.change for one in found.changes] == gone
    else:
        assert found.changes == ()
    told = report and not prune and declares and scope is ALL
    subjects = ["topic hidden", "topic x", "quota of user bob"] if told else []
    assert [one.subject for one in found.skipped if one.origin is None] == subjects


@pytest.mark.parametrize("prune", PRUNES, ids=["kept", "pruned"])
@pytest.mark.parametrize("gap", [None, "no right to describe quotas"])
def test_of_what_could_not_be_read_nothing_is_changed_and_everything_is_said(
    prune: tuple[str, ...], gap: str | None
) -> None:
    state = ClusterState("c", unreadable_topics={"t": "refused"}, listings={ClientQuota.KIND: Listing(None, gap)})
    desired = DesiredState(
        {},
        {"t": DesiredTopic(Topic("t", 1), PLACE)},
        listed={ClientQuota.KIND: {ENTITY: DesiredItem(QUOTAS[0], NOTE)}},
    )
    found = compare(desired, state, ALL, DiffRules(prune=prune))
    assert found.changes == ()
    why = gap or "the client quotas of this cluster were not read"
    more = [("client quotas that no manifest declares", why, None)] if prune else []
    assert [(one.subject, one.detail, one.origin) for one in found.skipped if one.reason == "unreadable"] == [
        ("topic t", "refused", PLACE),
        ("quota of user alice", why, PLACE),
        *more,
    ]
