"""What steps on topics and on their ACLs mean for each other, and how a plan's text shows topics."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations, product
from random import Random

import pytest

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
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Create, Delete
from reconciler.model.state import ClusterState
from reconciler.model.topic import Assignments, Layout, PartitionLayout, Topic, TopicUse
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.review.warnings import topic_warnings
from reconciler.plan.step import Step
from reconciler.show.kinds.topic import use_lines
from reconciler.show.plan import plan_lines
from tests.property.transitions import DAY

_PLACE = Origin("t.yaml", 1, 1)
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


def allow(name: str, pattern_type: PatternType = PatternType.LITERAL) -> AclBinding:
    entry = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, name, pattern_type), entry)


def planned(live: ClusterState, *wanted: Topic, absent: str = "", keep: tuple[AclBinding, ...] = ()) -> Plan:
    topics = {topic.name: DesiredTopic(topic, _PLACE) for topic in wanted}
    topics |= {name: DesiredTopic(Topic(name), _PLACE, absent=True) for name in absent.split()}
    wish = DesiredState({binding: Declaration(_PLACE) for binding in keep}, topics)
    acks = (*(AcceptedGuard(Guard.TOPIC_DELETE, name) for name in absent.split()),)
    return propose(wish, live, Terms("c", default_allow=False), Request(DAY, Options(allow_deletes=True), acks))


def test_acls_that_lose_their_topic_are_named() -> None:
    live = ClusterState("c", frozenset({allow("a"), allow("a", PatternType.PREFIXED)}), {"a": Topic("a", 1, 1)})
    plan = planned(live, absent="a", keep=tuple(live.bindings))
    assert plan.warnings == (
        "topic a goes, but 1 binding that names it stays, for a new topic of that name: User:a ALLOW READ",
    )
    assert not planned(live, absent="a", keep=(allow("a", PatternType.PREFIXED),)).warnings


def test_a_topic_that_loses_its_last_grant_is_named() -> None:
    live = ClusterState("c", frozenset({allow("a"), allow("b")}), {name: Topic(name, 1, 1) for name in "abc"})
    (warning,) = planned(live, keep=(allow("b"),)).warnings
    assert warning == "1 topic loses its last grant, only super users can use what is there: a"
    assert not planned(live, keep=(allow("a"), allow("b"))).warnings


def test_more_partitions_of_a_compacted_topic_are_warned_of() -> None:
    configs = {"cleanup.policy": "compact"}
    live = ClusterState("c", topics={"a": Topic("a", 1, 1, configs), "b": Topic("b", 1, 1)})
    (warning,) = planned(live, Topic("a", 2, configs=configs), Topic("b", 2)).warnings
    assert warning.startswith("topic a is compacted: ")
    by_default = replace(live, topics={"b": live.topics["b"]}, broker_defaults={"cleanup.policy": "compact"})
    assert planned(by_default, Topic("b", 2)).warnings


@pytest.mark.parametrize(
    ("config", "before", "after", "said"),
    [
        ("max.message.bytes", None, "1", "max.message.bytes is 1: no record fits, so brokers refuse every producer: a"),
        ("max.message.bytes", "1048588", "67", "max.message.bytes is 67: no record fits"),
        ("max.message.bytes", "10485760", "1048576", "max.message.bytes shrinks to 1MiB: brokers refuse the records"),
        ("message.timestamp.before.max.ms", None, "1000", "message.timestamp.before.max.ms is 1s: brokers refuse"),
        ("message.timestamp.after.max.ms", "3600000", "0", "message.timestamp.after.max.ms is 0: brokers refuse"),
        ("retention.ms", None, "1000", "retention.ms is 1s: records may go before anybody reads them"),
    ],
)
def test_configs_that_shut_producers_or_readers_out_are_warned_of(
    config: str, before: str | None, after: str, said: str
) -> None:
    topics = {} if before is None else {"a": Topic("a", 1, 1, {config: before})}
    plan = planned(ClusterState("c", topics=topics), Topic("a", 1, 1, {config: after}))
    assert [one.startswith(said) for one in plan.warnings] == [True]
    assert plan.warnings[0].endswith(": a")


def test_harmless_values_of_the_same_configs_are_not_warned_of() -> None:
    configs = {
        "max.message.bytes": "68",  # a batch with one record that has neither key nor value
        "message.timestamp.before.max.ms": "86400000",
        "retention.ms": "-1",
    }
    assert not planned(ClusterState("c"), Topic("a", 1, 1, configs)).warnings
    live = ClusterState("c", topics={"a": Topic("a", 1, 1, {"max.message.bytes": "1048576"})})
    assert not planned(live, Topic("a", 1, 1, {"max.message.bytes": "2097152"})).warnings


def test_a_limit_below_the_brokers_default_shrinks_it() -> None:
    defaults = {"max.message.bytes": "1048588"}
    live = ClusterState("c", topics={"a": Topic("a", 1, 1), "b": Topic("b", 1, 1)}, broker_defaults=defaults)
    wanted = [Topic(name, 1, 1, {"max.message.bytes": "1048576"}) for name in "ab"]
    (warning,) = planned(live, *wanted).warnings
    assert warning.startswith("max.message.bytes shrinks to 1MiB")
    assert warning.endswith(": a, b")


def test_brokers_that_make_topics_on_demand_are_warned_of() -> None:
    live = ClusterState("c", topics={"a": Topic("a", 1, 1)}, broker_defaults={"auto.create.topics.enable": "true"})
    (warning,) = planned(live, absent="a").warnings
    assert warning.startswith("brokers make topics that clients ask for")
    assert not planned(replace(live, broker_defaults={"auto.create.topics.enable": "false"}), absent="a").warnings


@pytest.mark.parametrize(
    ("topic", "defaults", "line"),
    [
        (Topic("a"), {}, "+ topic a: broker default partitions, broker default replicas"),
        (
            Topic("a"),
            {"num.partitions": "6", "default.replication.factor": "1"},
            "+ topic a: 6 partitions (the broker's default), 1 replica (the broker's default)",
        ),
        (Topic("a", 2, 2, replica_assignments=((1, 2), (2, 3))), {}, "+ topic a: 2 partitions on brokers 1, 2; 2, 3"),
    ],
)
def test_what_the_broker_chooses_is_shown(topic: Topic, defaults: dict[str, str], line: str) -> None:
    plan = planned(ClusterState("c", broker_defaults=defaults), topic)
    assert f"  {line}  t.yaml:1:1" in list(plan_lines(plan))


def test_settings_are_shown_both_ways_and_against_the_brokers_default() -> None:
    live = ClusterState(
        "c",
        topics={"a": Topic("a", 1, 1, {"segment.bytes": "1048576", "flush.ms": "5"})},
        broker_defaults={"flush.ms": "9223372036854775807", "retention.ms": "604800000", "segment.ms": "1"},
    )
    plan = planned(live, Topic("a", configs={"retention.ms": "-1", "segment.bytes": "1073741824"}))
    shown = "\n".join(plan_lines(plan))
    assert "      flush.ms: 5 → broker default, now 9223372036854775807\n" in shown
    assert "      retention.ms: broker default, now 604800000 (7d) → -1\n" in shown
    assert "      segment.bytes: 1048576 (1MiB) → 1073741824 (1GiB)\n" in shown
    assert dict(plan.topics.defaults) == {"flush.ms": "9223372036854775807", "retention.ms": "604800000"}


@pytest.mark.parametrize(
    ("use", "lines"),
    [
        (
            TopicUse(3 * 2**30, 1_000, "2026-01-01T00:00:00+00:00", ("g",)),
            [
                "holds up to 1,000 records, 3.0 GiB on disk; last write 2026-01-01T00:00:00+00:00",
                "1 group with offsets in it: g",
            ],
        ),
        (TopicUse(0, 0, "", ()), ["holds no records, 0 bytes on disk", "no group has offsets in it"]),
        (TopicUse(gaps=("size: no",)), ["not known: size: no"]),
        (
            TopicUse(groups=tuple(f"g{n}" for n in range(7))),
            ["7 groups with offsets in it: g0, g1, g2, g3, g4 and 2 more"],
        ),
    ],
)
def test_what_goes_with_a_topic_is_told(use: TopicUse, lines: list[str]) -> None:
    assert list(use_lines(use)) == lines
    live = ClusterState("c", topics={"a": Topic("a", 1, 1)})
    plan = planned(live, absent="a")
    noted = replace(plan, topics=replace(plan.topics, uses=FrozenMap({"a": use})))
    assert [f"      {line}" for line in lines] == [line for line in plan_lines(noted) if line.startswith("      ")]


@pytest.mark.parametrize("count", [1, 5, 6, 9])
def test_of_many_acls_that_lose_their_topic_some_are_named_and_the_rest_counted(count: int) -> None:
    bindings = [
        AclBinding(allow("a").pattern, allow("a").entry._replace(principal=f"User:{number}")) for number in range(count)
    ]
    live = ClusterState("c", frozenset(bindings), {"a": Topic("a", 1, 1)})
    (warning,) = planned(live, absent="a", keep=tuple(bindings)).warnings
    named = warning.count(" ALLOW READ")
    rest = f" and {count - named:,} more"
    assert warning.endswith(rest) if named < count else " more" not in warning
    assert named == min(count, 5)
    assert (f"{count} bindings that name it stay" if count > 1 else "1 binding that names it stays") in warning


def test_a_topic_whose_denials_alone_go_or_stay_is_told_by_its_grants() -> None:
    grant = allow("a")
    deny = grant._replace(entry=grant.entry._replace(permission_type=AclPermissionType.DENY))
    live = ClusterState("c", frozenset({grant, deny}), {"a": Topic("a", 1, 1)})
    assert not planned(live, keep=(grant,)).warnings
    (warning,) = planned(live, keep=(deny,)).warnings
    assert warning == "1 topic loses its last grant, only super users can use what is there: a"


def test_every_small_change_of_acls_and_topics_is_warned_of_as_it_reads() -> None:
    """Orphaned bindings, and topics without a grant, against a look at each pair."""
    random, told = Random(3), [0, 0]
    entries = [
        AccessControlEntry(who, "*", AclOperation.READ, kind) for who in ("User:a", "User:b") for kind in (ALLOW, DENY)
    ]
    patterns = [ResourcePattern(ResourceType.TOPIC, name) for name in ("a", "b", "*")]
    patterns += [
        ResourcePattern(ResourceType.TOPIC, "a", PatternType.PREFIXED),
        ResourcePattern(ResourceType.GROUP, "a"),
    ]
    every = [AclBinding(pattern, entry) for pattern, entry in product(patterns, entries)]
    topics = {name: Topic(name, 1, 1) for name in ("a", "ab", "b", "c")}
    for _ in range(200):
        before, after = (frozenset(random.sample(every, random.randint(0, 4))) for _ in range(2))
        gone = {name for name in topics if random.random() < 0.4}
        default_allow = random.choice((False, False, True, None))
        changes = [Delete(binding) for binding in before - after] + [Create(binding) for binding in after - before]
        steps = [
            Step(Phase.DELETE_ALLOW, change) for change in (*changes, *(Delete(topics[name]) for name in sorted(gone)))
        ]
        found = [*topic_warnings(steps, ClusterState("c", before, topics), Terms("c", default_allow=default_allow))]
        expected = []
        for name in sorted(gone):
            left = [one for one in after if one.pattern == ResourcePattern(ResourceType.TOPIC, name)]
            if left:
                stay = "1 binding that names it stays" if len(left) == 1 else f"{len(left)} bindings that name it stay"
                said = sorted(f"{one.entry.principal} {one.entry.permission_type.name} READ" for one in left)
                expected.append(f"topic {name} goes, but {stay}, for a new topic of that name: {', '.join(said)}")
        told[0] += bool(expected)

        def granted(name: str, bindings: Iterable[AclBinding]) -> bool:
            return any(
                one.pattern.resource_type is ResourceType.TOPIC and one.pattern.matches(name)
                for one in bindings
                if one.entry.permission_type is ALLOW
            )

        lost = [
            name for name in sorted(topics.keys() - gone) if granted(name, before - after) and not granted(name, after)
        ]
        if lost and default_allow is False:
            noun = "topic loses its" if len(lost) == 1 else "topics lose their"
            expected.append(f"{len(lost)} {noun} last grant, only super users can use what is there: {', '.join(lost)}")
            told[1] += 1
        assert found == expected, (before, after, gone)
    assert min(told) > 20


def test_of_the_topics_that_a_warning_is_about_five_are_named() -> None:
    names = [f"t{number}" for number in range(8)]
    for count in range(1, 9):
        chosen = names[:count]
        more = f" and {count - 5} more" if count > 5 else ""
        live = ClusterState(
            "c",
            topics={name: Topic(name, 1, 1) for name in chosen},
            broker_defaults={"auto.create.topics.enable": "true"},
        )
        (warning,) = planned(live, absent=" ".join(reversed(chosen))).warnings
        assert f"still uses {', '.join(chosen[:5])}{more} brings it back" in warning


@pytest.mark.parametrize("version", [None, (3, 9), (4, 1)])
def test_what_some_releases_refuse_is_warned_of_where_the_release_is_not_known(version: tuple[int, int] | None) -> None:
    """Each refused value once, with the topics that set it, created and altered alike."""
    live = ClusterState("c", topics={"b": Topic("b", 1, 1)}, kafka_version=version)
    small, old = {"segment.bytes": "1"}, {"message.format.version": "2.8"}
    wanted = [
        Topic("a", 1, 1, small),
        Topic("b", 1, 1, small),
        Topic("c", 1, 1, old),
        Topic("d", 1, 1, {"flush.ms": "1"}),
    ]
    for count in range(5):
        for few in combinations(wanted, count):
            said = [one for one in planned(live, *few).warnings if "the cluster's release is not known" in one]
            by_value = [[one.name for one in few if one.configs == configs] for configs in (old, small)]
            if version is not None:
                assert said == []
                continue
            assert [one.rpartition("may refuse ")[2] for one in said] == [
                ", ".join(names) for names in by_value if names
            ]
            assert all(one.startswith("Kafka since 4.") and " refuses " in one for one in said)


def _needed(topic: Topic | None, default: str) -> tuple[int, int] | None:
    """How many of a topic's replicas writes with acks=all need: all of them, or ``None`` for fewer."""
    if topic is None:
        return None
    least = int(topic.configs.get("min.insync.replicas", default))
    fewest = min(map(len, topic.replica_assignments)) if topic.replica_assignments else topic.replication_factor or 0
    return (least, fewest) if least > 1 and least >= fewest else None


def test_a_topic_that_one_broker_can_stop_from_now_on_is_named() -> None:
    counts, values = (None, 2, 3), (None, "1", "2", "3")
    for old, was, new, then, default in product(counts, values, (2, 3), values, ("1", "2")):
        before = (
            None
            if old is None
            else Topic(
                "a", 1, old, {} if was is None else {"min.insync.replicas": was}, None, (tuple(range(1, old + 1)),)
            )
        )
        after = Topic("a", 1, new, {} if then is None else {"min.insync.replicas": then})
        there = (1, 2, 3)[:old]
        live = ClusterState(
            "c",
            topics={} if before is None else {"a": before},
            broker_defaults={"min.insync.replicas": default},
            layout=Layout({1: None, 2: None, 3: None}, {"a": (PartitionLayout(there, frozenset(there)),)}),
        )
        plan = planned(live, after)
        told = [one for one in plan.warnings if "one broker down stops every producer with acks=all" in one]
        assert bool(told) == (_needed(after, default) not in (None, _needed(before, default))), (before, after, default)
        assert not any("in.insync" in one.detail for one in plan.skipped)


@pytest.mark.parametrize("replicas", [((1, 2), (1, 2, 3)), ((1, 2, 3), (1, 2)), ((1, 2, 3), (1, 2, 3))])
def test_of_partitions_with_unlike_replicas_the_one_with_the_fewest_counts(replicas: Assignments) -> None:
    live = ClusterState("c", topics={"a": Topic("a", 2, None, {}, None, replicas)})
    plan = planned(live, Topic("a", configs={"min.insync.replicas": "2"}))
    warnings = [line for line in plan.warnings if "one broker down stops every producer" in line]
    assert len(warnings) == any(len(brokers) == 2 for brokers in replicas)
    assert all("with 2 replicas of a partition" in line for line in warnings)
