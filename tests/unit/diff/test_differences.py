"""Differences of small states against their definition: bindings by scope, each config, names that collide."""

from dataclasses import replace
from itertools import combinations, permutations, product
from random import Random
from typing import Final

import pytest

from reconciler.model.acl import AccessControlEntry, AclBinding, AclOperation, AclPermissionType, ResourceType
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Expiry, Origin
from reconciler.model.flavor import APACHE, FLAVORS, Flavor
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Change, Create, Delete, Impossible, Listing, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions
from reconciler.model.topic_configs import THROTTLE_CONFIGS
from reconciler.plan.difference import DiffRules, SkipReason
from reconciler.plan.kinds import compare, listed, objection
from reconciler.plan.observed import DONE, observed_creation
from tests.property.transitions import DAY, PATTERNS

PLACE, OTHER = Origin("a.yaml", 1, 1), Origin("b.yaml", 2, 1)
ENTRIES: Final = [
    AccessControlEntry(who, "*", AclOperation.READ, permission)
    for who, permission in product(("User:a", "User:b"), (AclPermissionType.DENY, AclPermissionType.ALLOW))
]
EVERY: Final = [AclBinding(pattern, entry) for pattern, entry in product(PATTERNS, ENTRIES)]
EVERY.append(EVERY[0]._replace(pattern=EVERY[0].pattern._replace(name="__kr.run")))
PEOPLE: Final = Selector(principals=NameSelector(literal=("User:a",)))
NAMES: Final = Selector(resource_type=ResourceType.TOPIC, names=NameSelector(prefixes=("x",)))
SCOPES: Final = [
    Scope(include, exclude, ignore)
    for include, exclude, ignore in product(
        (None, (), (PEOPLE,), (PEOPLE, NAMES)), ((), (NAMES,)), ((), (PEOPLE,), (NAMES,))
    )
]


@pytest.mark.parametrize("scope", SCOPES, ids=range(len(SCOPES)))
def test_bindings_in_scope_come_where_they_are_declared_and_go_where_they_are_not(scope: Scope) -> None:
    random = Random(1)
    ended = Declaration(OTHER, expires=Expiry(DAY))
    for _ in range(20):
        live, wanted, expired = (frozenset(random.sample(EVERY, random.randint(0, 9))) for _ in range(3))
        declared = {binding: Declaration(PLACE) for binding in wanted if scope.owns(binding)}
        desired = DesiredState(declared, expired=dict.fromkeys(expired, ended))
        found = compare(desired, ClusterState("c", live), scope, DiffRules())
        mine = {binding for binding in live if scope.owns(binding)}
        created = [(Create(binding), declared[binding]) for binding in sorted(declared.keys() - mine)]
        gone = [(Delete(binding), ended if binding in expired else None) for binding in sorted(mine - declared.keys())]
        assert [(change, declaration) for change, declaration in found.changes] == created + gone
        theirs = {binding for binding in live - mine if scope.ignores(binding)}
        assert (found.owned, found.ignored, found.outside) == (len(mine), len(theirs), len(live - mine - theirs))


def only(wanted: Topic, live: Topic | None, rules: DiffRules, **state: object) -> list[Change | None]:
    """What is changed, and what is not and why not."""
    topics = {} if live is None else {live.name: live}
    desired = DesiredState({}, {wanted.name: DesiredTopic(wanted, PLACE)})
    found = compare(desired, ClusterState("c", topics=topics, **state), Scope(), rules)  # type: ignore[arg-type]
    return [*(one.change for one in found.changes), *(one.change for one in found.skipped)]


KEYS: Final = ("flush.ms", "retention.ms", "leader.replication.throttled.replicas")
VALUES: Final = (None, "1", "01", "2")


@pytest.mark.parametrize("ignored", [(), ("flush.ms",), ("flush.ms", "retention.ms")], ids=str)
@pytest.mark.parametrize("settable", [None, frozenset({"flush.ms"})], ids=str)
def test_each_config_that_differs_is_set_and_where_manifests_are_silent_it_goes_unless_it_is_to_stay(
    ignored: tuple[str, ...], settable: frozenset[str] | None
) -> None:
    flavor = replace(APACHE, settable_configs=settable)
    rules = DiffRules(ignore_configs=ignored, flavor=flavor)

    def plain(key: str, value: str | None) -> str | None:
        """Kafka takes numbers for what they are, and lists of replicas for their text."""
        return value if value is None or key in THROTTLE_CONFIGS else str(int(value))

    for keys, new, old in product(combinations(KEYS, 2), product(VALUES, repeat=2), product(VALUES, repeat=2)):
        before: dict[str, str | None] = {}
        after: dict[str, str | None] = {}
        refused = []
        for key, wanted, there in sorted(zip(keys, new, old, strict=True)):
            if plain(key, wanted) == plain(key, there):
                continue
            may_not = settable is not None and key not in settable
            if wanted is None and (key in ignored or key in THROTTLE_CONFIGS or may_not):
                continue
            if may_not:
                refused.append((f"config {key}", there or "not set", plain(key, wanted)))
            else:
                before[key], after[key] = there, plain(key, wanted)
        expected = [Update(TopicConfigs("t", before, "id"), TopicConfigs("t", after, "id"))] if after else []
        sides = [
            {key: value for key, value in zip(keys, side, strict=True) if value is not None} for side in (new, old)
        ]
        found = only(Topic("t", configs=sides[0]), Topic("t", 1, 1, sides[1], "id"), rules)
        assert [one for one in found if not isinstance(one, Impossible)] == expected, (new, old)
        told = [(one.what, one.before, one.after) for one in found if isinstance(one, Impossible)]
        assert told == refused, (new, old)


@pytest.mark.parametrize("flavor", FLAVORS.values(), ids=lambda flavor: flavor.name)
def test_what_brokers_add_to_a_new_topic_is_no_difference_at_their_make(flavor: Flavor) -> None:
    """Nobody declared it: it stays, and the topic is the one that was wanted. What is declared holds all the same."""
    added = {key: value for make in FLAVORS.values() for key, value in make.added_configs.items()}
    assert added
    rules = DiffRules(flavor=flavor)
    for key, value in added.items():
        there = Topic("t", 1, 1, {key: value}, "id")
        assert observed_creation(Topic("t", 1, 1), there) is DONE
        assert observed_creation(Topic("t", 1, 1, {key: "false"}), there) is not DONE
        assert observed_creation(Topic("t", 1, 1), Topic("t", 1, 1, {key: "false"})) is not DONE
        if not flavor.may_set(key):
            continue
        reset = Update(TopicConfigs("t", {key: value}, "id"), TopicConfigs("t", {key: None}, "id"))
        assert only(Topic("t"), there, rules) == ([] if key in flavor.added_configs else [reset])
        off = Update(TopicConfigs("t", {key: value}, "id"), TopicConfigs("t", {key: "false"}, "id"))
        assert only(Topic("t", configs={key: "false"}), there, rules) == [off]
        (other,) = only(Topic("t"), Topic("t", 1, 1, {key: "false"}, "id"), rules)
        assert isinstance(other, Update)
        assert other.after.configs == {key: None}, "another value was somebody's"


def test_partitions_are_added_where_both_numbers_are_known_and_never_taken_away() -> None:
    for wanted, there in product((None, 1, 2, 3), repeat=2):
        found = only(Topic("t", wanted), Topic("t", there, 1, {}, "id"), DiffRules())
        if wanted is None or there is None or wanted == there:
            assert found == []
        elif wanted > there:
            assert found == [Update(TopicPartitions("t", there, "id"), TopicPartitions("t", wanted, "id"))]
        else:
            (one,) = found
            assert isinstance(one, Impossible)
            assert (one.what, one.name, one.before, one.after) == ("partitions", "t", str(there), str(wanted))


def test_of_names_that_kafka_takes_for_one_the_first_is_made_unless_another_is_there() -> None:
    names = ("a.b", "a_b", "a-b", "a.b.c", "a_b.c")
    for chosen in (*permutations(names, 2), *permutations(names, 3)):
        for live, hidden, going in product((None, *names), (False, True), (False, True)):
            if live in chosen:
                continue
            topics = {name: DesiredTopic(Topic(name, 1), PLACE) for name in chosen}
            if live is not None and going:
                topics[live] = DesiredTopic(Topic(live), PLACE, absent=True)
            state = ClusterState("c", topics={live: Topic(live, 1, 1)} if live and not hidden else {})
            state = replace(state, unreadable_topics={live: "why"} if live and hidden else {})
            found = compare(DesiredState({}, topics), state, Scope(), DiffRules(report_topics=False))
            taken = {} if live is None else {live.replace(".", "_"): live}
            made, collide = [], {}
            for name in sorted(chosen):
                other = taken.setdefault(name.replace(".", "_"), name)
                if other == name:
                    made.append(name)
                else:
                    collide[name] = other
            assert [one.change.after.name for one in found.changes if isinstance(one.change, Create)] == made
            left = [one for one in found.skipped if one.reason is SkipReason.IMPOSSIBLE]
            assert [one.subject for one in left] == [f"topic {name}: topic absent → exists" for name in collide]
            for one, other in zip(left, collide.values(), strict=True):
                assert f"collides with the topic {other}:" in one.detail
                assert one.detail.endswith("once that one is deleted, plan again") is (other == live and going)


ENTITY: Final = QuotaEntity.of("a")
_KEYS: Final = ("consumer_byte_rate", "producer_byte_rate", "of_next_year")


def quota(values: tuple[int | None, ...]) -> ClientQuota:
    return ClientQuota(ENTITY, {key: value for key, value in zip(_KEYS, values, strict=True) if value is not None})


def test_a_listed_resource_gets_the_declared_values_and_keeps_those_that_nobody_here_understands() -> None:
    numbers = (None, 1, 2)
    for new, old, absent, expired in product(
        product(numbers, repeat=3), product(numbers, repeat=3), (False, True), (False, True)
    ):
        wanted, there = quota(new), quota(old)
        if not wanted.values and not absent:
            continue
        item = DesiredItem(wanted, Declaration(PLACE), absent=absent, expired=expired)
        listing = Listing(frozenset({there} if there.values else ()))
        found = compare(
            DesiredState(listed={ClientQuota.KIND: {ENTITY: item}}),
            ClusterState("c", listings={ClientQuota.KIND: listing}),
            Scope(),
            DiffRules(),
        )
        unknown = new[2] is None and old[2] is not None
        known = quota((*old[:2], None)) if unknown else there
        expected: list[Change] = []
        if absent or expired:
            expected = [Delete(known)] if known.values else []
        elif not known.values:
            expected = [Create(wanted)]
        elif known.values != wanted.values:
            expected = [Update(known, wanted)]
        odd = not (absent or expired) and wanted.refusal() is not None
        assert [one.change for one in found.changes] == ([] if odd else expected)
        unsupported = [one.subject for one in found.skipped if one.reason is SkipReason.UNSUPPORTED]
        assert unsupported == ["quota of user a: of_next_year"] * unknown
        refused = [one.change for one in found.skipped if one.reason is SkipReason.IMPOSSIBLE]
        assert refused == (expected if odd else [])


def test_what_brokers_refuse_of_a_listed_resource_is_impossible_and_told_as_they_would() -> None:
    odd = GroupConfig("g", {"consumer.session.timeout.ms": "soon"})
    refusal = odd.refusal()
    assert refusal is not None
    for absent in (False, True):
        item = DesiredItem(odd, Declaration(PLACE), absent=absent)
        live = ClusterState("c", listings={GroupConfig.KIND: Listing(frozenset())})
        found = compare(DesiredState(listed={GroupConfig.KIND: {"g": item}}), live, Scope(), DiffRules())
        assert found.changes == ()
        told = [(one.subject, one.detail, one.change, one.origin) for one in found.skipped]
        assert told == ([] if absent else [("config of group g", refusal.message, Create(odd), PLACE)])


def test_a_listed_kind_compares_the_resources_of_its_type_and_no_others() -> None:
    said = Declaration(PLACE)
    quota, config = ClientQuota(QuotaEntity.of("a"), {"producer_byte_rate": 1}), GroupConfig("g", {"x": "1"})
    desired = DesiredState(
        listed={
            ClientQuota.KIND: {quota.key: DesiredItem(quota, said)},
            GroupConfig.KIND: {config.key: DesiredItem(config, said)},
        }
    )
    live = ClusterState("c", listings={kind.KIND: Listing(frozenset()) for kind in (ClientQuota, GroupConfig)})
    for kind, item in ((listed(ClientQuota), quota), (listed(GroupConfig), config)):
        found = kind.differences(desired, live, Scope(), DiffRules())
        assert [change.change for change in found.changes] == [Create(item)]
        assert kind.objection(Create(item), DesiredState(), DiffRules()) == "to be declared so"
        others = {name: items for name, items in desired.listed.items() if name != item.KIND}
        assert objection(Create(item), DesiredState(listed=others), DiffRules()) == "to be declared so"
