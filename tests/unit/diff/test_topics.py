"""One declared topic against the live one: counts, brokers, settings; what Kafka cannot do, and what is saved of it."""

import datetime
import itertools
from collections.abc import Mapping

import pytest

from reconciler.model.desired import DesiredState, DesiredTopic, Origin
from reconciler.model.listing import Change, Create, Delete, Impossible, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions
from reconciler.model.topic_configs import KEEPING_CONFIGS, THROTTLE_CONFIGS, data_loss
from reconciler.plan.difference import DiffRules
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.kinds import compare, kind_of
from reconciler.plan.kinds.topic import losses
from reconciler.plan.observed import PENDING
from reconciler.plan.proposal import Terms
from reconciler.plan.propose import Request, propose
from tests.worlds import binding

_PLACE = Origin("t.yaml", 1, 1)
Brokers = tuple[tuple[int, ...], ...]


def assigned(name: str, brokers: Brokers, topic_id: str | None = None) -> Topic:
    return Topic(name, len(brokers), len(brokers[0]), topic_id=topic_id, replica_assignments=brokers)


def desired(*wanted: Topic) -> DesiredState:
    return DesiredState({}, {topic.name: DesiredTopic(topic, _PLACE) for topic in wanted})


def changes(wanted: Topic, live: Topic) -> list[Change | None]:
    state = ClusterState("c", topics={live.name: live})
    found = compare(desired(wanted), state, Scope(), DiffRules())
    return [*(change for change, _ in found.changes), *(left.change for left in found.skipped)]


def test_a_topic_on_its_brokers_is_no_difference() -> None:
    assert changes(assigned("a", ((1, 2), (2, 3))), assigned("a", ((1, 2), (2, 3)))) == []


def test_where_replicas_are_is_of_no_concern_unless_it_is_declared() -> None:
    assert changes(Topic("a", 2, 2), assigned("a", ((1, 2), (2, 3)))) == []


def test_new_partitions_go_where_they_are_declared() -> None:
    found = changes(assigned("a", ((1, 2), (2, 3), (3, 1))), assigned("a", ((1, 2),), "id"))
    assert found == [Update(TopicPartitions("a", 1, "id"), TopicPartitions("a", 3, "id", ((2, 3), (3, 1))))]


def test_replicas_that_would_have_to_move_are_impossible_and_said_one_by_one() -> None:
    one, two = changes(assigned("a", ((1, 2), (3, 2), (1, 3))), assigned("a", ((2, 1), (2, 3), (1, 3))))
    assert isinstance(one, Impossible)
    assert isinstance(two, Impossible)
    assert (one.what, one.before, one.after) == ("replicas of partition 0", "2, 1", "1, 2")
    assert (two.what, two.before, two.after) == ("replicas of partition 1", "2, 3", "3, 2")
    assert one.reason.startswith("plan on the cluster itself")


def test_new_partitions_with_another_number_of_replicas_have_to_wait() -> None:
    found = changes(assigned("a", ((1, 2), (2, 3))), assigned("a", ((1,),)))
    assert [(item.what, item.after) for item in found if isinstance(item, Impossible)] == [
        ("partitions", "2"),
        ("replication factor", "2"),
    ]
    assert len(found) == 2


def test_two_new_topics_that_collide_are_found_although_kafka_would_make_both() -> None:
    found = compare(desired(Topic("a.b", 1), Topic("a_b", 1)), ClusterState("c"), Scope(), DiffRules())
    assert [type(change) for change, _ in found.changes] == [Create]
    (left,) = found.skipped
    assert "collides with the topic a.b" in left.detail


def test_a_name_that_a_deleted_topic_still_takes_has_to_wait() -> None:
    wish = DesiredState({}, {**desired(Topic("a_b", 1)).topics, "a.b": DesiredTopic(Topic("a.b"), _PLACE, absent=True)})
    live = ClusterState("c", topics={"a.b": assigned("a.b", ((1,),), "id")})
    found = compare(wish, live, Scope(), DiffRules())
    assert [change for change, _ in found.changes] == [Delete(Topic("a.b", 1, 1, topic_id="id"))]
    assert found.skipped[0].detail.endswith("once that one is deleted, plan again")


def test_brokers_survive_being_saved() -> None:
    live = ClusterState("c", topics={"grows": assigned("grows", ((1,),), "id")})
    wish = desired(assigned("grows", ((1,), (2,))), assigned("new", ((1, 2),)))
    plan = propose(wish, live, Terms("c", default_allow=False), Request(datetime.date(2026, 1, 1)))
    assert parse_plan(plan_text(plan)) == plan
    assert {step.action for step in plan.steps} == {"CreateTopic", "CreatePartitions"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"cleanup.policy": "compact,delete"}, {"cleanup.policy": "delete,compact"}),
        ({"leader.replication.throttled.replicas": "0:1, 1:2"}, {"leader.replication.throttled.replicas": "0:1,1:2"}),
        ({"retention.ms": "007"}, {"retention.ms": "7"}),
        ({"min.cleanable.dirty.ratio": ".50"}, {"min.cleanable.dirty.ratio": "0.5"}),
        ({"preallocate": "TRUE"}, {"preallocate": "true"}),
    ],
)
def test_values_that_mean_the_same_are_no_difference(before: dict[str, str], after: dict[str, str]) -> None:
    assert changes(Topic("a", configs=after), Topic("a", 1, 1, before)) == []


def test_a_setting_that_nobody_declares_returns_to_the_brokers_default() -> None:
    (change,) = changes(Topic("a"), Topic("a", 1, 1, {"flush.ms": "5"}, "id"))
    assert change == Update(TopicConfigs("a", {"flush.ms": "5"}, "id"), TopicConfigs("a", {"flush.ms": None}, "id"))


@pytest.mark.parametrize(
    ("name", "before", "after", "words"),
    [
        ("retention.ms", "-1", "3600000", "records older than 1h go"),
        ("retention.ms", "604800000", None, "records older than the broker's default go"),
        ("retention.ms", "1000", "-1", None),
        ("retention.ms", "1000", "2000", None),
        ("retention.bytes", "2048", "1024", "the oldest records of partitions larger than 1KiB go"),
        ("local.retention.ms", "-2", "1000", "records older than 1s go from the brokers' disks"),
        ("local.retention.ms", "1000", "-2", "from the brokers' disks"),
        ("cleanup.policy", "delete", "compact", "of each key only the newest record stays"),
        ("cleanup.policy", "compact", "compact,delete", "records past the retention go"),
        ("cleanup.policy", "compact,delete", "compact", None),
        ("cleanup.policy", "compact", None, "records past the retention go"),
        ("unclean.leader.election.enable", None, "true", "acknowledged records"),
        ("unclean.leader.election.enable", "true", "false", None),
        ("max.compaction.lag.ms", "9000", "1000", "old values of a key go sooner, after 1s"),
        ("delete.retention.ms", "9000", "1000", "old values of a key go sooner, after 1s"),
        ("remote.log.delete.on.disable", None, "true", "delete the remote log"),
        ("flush.ms", "9000", "1000", None),
    ],
)
def test_what_a_change_loses_is_said(name: str, before: str | None, after: str | None, words: str | None) -> None:
    found = data_loss(name, before, after)
    assert (found is None) if words is None else (found is not None and words in found)


_LIMIT = ("1", "1024", "604800000", "9007199254740991")
#: Values of each config that decides what is kept, and how it is known that the second value keeps less.
_VALUES = {
    "cleanup.policy": ("delete", "compact", "compact,delete"),
    **dict.fromkeys(("unclean.leader.election.enable", "remote.log.delete.on.disable"), ("false", "true")),
}


def _keeps_less(key: str, old: str, new: str) -> bool:
    if key == "cleanup.policy":
        return not set(new.split(",")) <= set(old.split(","))
    return int(new) < int(old) if key not in _VALUES else (old, new) == ("false", "true")


def _configs_change(key: str, old: str | None, new: str | None, defaults: Mapping[str, str]) -> Change:
    live = ClusterState(
        "c", topics={"t": Topic("t", 1, 1, {} if old is None else {key: old}, "id")}, broker_defaults=defaults
    )
    [found] = compare(desired(Topic("t", 1, 1, {} if new is None else {key: new})), live, Scope(), DiffRules()).changes
    return found.change


@pytest.mark.parametrize("key", sorted(KEEPING_CONFIGS))
def test_a_loss_is_judged_by_the_values_that_hold_and_never_by_whose_they_are(key: str) -> None:
    """Each side the topic's own, a known default, or an unknown one, which may have any value."""
    values = _VALUES.get(key, _LIMIT)
    possible = _VALUES.get(key, ("0", *_LIMIT, str(2**53)))
    for old, new in itertools.permutations((None, *values), 2):
        for default in (None, *values):
            found = losses(_configs_change(key, old, new, {key: default} if default else {}))
            known = [side or default for side in (old, new)]
            sides: list[tuple[str, ...]] = [(held,) if held else possible for held in known]
            assert bool(found) is any(_keeps_less(key, *held) for held in itertools.product(*sides)), (
                old,
                new,
                default,
            )
            assert None in known or not any("not known" in text for text in found)


def test_a_local_retention_of_minus_two_is_the_retention_itself() -> None:
    live = Topic("t", 1, 1, {"local.retention.ms": "3600000", "retention.ms": "-1"}, "id")
    state = ClusterState("c", topics={"t": live}, broker_defaults={"local.retention.ms": "-2"})
    for wanted, lost in (({"retention.ms": "-1"}, False), ({"retention.ms": "1000"}, True)):
        [found] = compare(desired(Topic("t", 1, 1, wanted)), state, Scope(), DiffRules()).changes
        assert any("local" in text for text in losses(found.change)) is lost


def test_a_repair_that_keeps_more_is_no_loss_and_a_default_that_may_be_lowered_is_a_warning() -> None:
    for shortened, wanted, default, warned in (
        ("3600000", {}, "604800000", True),
        ("3600000", {}, "-1", True),
        (None, {"retention.ms": "2592000000"}, "604800000", False),
        (None, {"retention.ms": "604800000"}, "604800000", False),
    ):
        topic = Topic("t", 1, 1, {"retention.ms": shortened} if shortened else {}, "id")
        live = ClusterState("c", topics={"t": topic}, broker_defaults={"retention.ms": default})
        plan = propose(desired(Topic("t", 1, 1, wanted)), live, Terms("c"), Request(datetime.date(2026, 11, 26)))
        assert (plan.refusals, len(plan.steps), plan.steps[0].destructive) == ((), 1, False)
        assert any("follows the broker's default" in text for text in plan.warnings) is warned
        assert parse_plan(plan_text(plan)) == plan


def test_a_default_that_is_not_the_one_of_the_plan_is_stale() -> None:
    change = _configs_change("retention.ms", "1000", None, {"retention.ms": "2000"})
    topic = Topic("t", 1, 1, {"retention.ms": "1000"}, "id")
    for defaults, stands in (({"retention.ms": "2000"}, True), ({"retention.ms": "500"}, False), ({}, False)):
        live = ClusterState("c", topics={"t": topic}, broker_defaults=defaults)
        assert (kind_of(change).observe(change, live) == PENDING) is stands


@pytest.mark.parametrize(
    ("version", "refused"), [((3, 9), False), ((4, 1), True), ((4, 4), True), (None, False)], ids=str
)
def test_what_a_release_refuses_is_impossible_there_and_the_rest_is_done(
    version: tuple[int, int] | None, *, refused: bool
) -> None:
    live = Topic("old", 1, 1, {"segment.bytes": "1073741824"}, "id")
    configs = {"segment.bytes": "1048575", "flush.ms": "7"}
    state = ClusterState("c", topics={"old": live}, kafka_version=version)
    wanted = desired(Topic("old", 1, 1, configs), Topic("new", 1, 1, {"message.format.version": "2.8"}))
    found = compare(wanted, state, Scope(), DiffRules())
    impossible = [item.change for item in found.skipped]
    done = [change.change.after for change in found.changes]
    if not refused:
        assert impossible == []
        assert done == [Topic("new", 1, 1, {"message.format.version": "2.8"}), TopicConfigs("old", configs, "id")]
        return
    assert done == [TopicConfigs("old", {"flush.ms": "7"}, "id")]
    topic, config = impossible
    assert isinstance(topic, Impossible)
    assert (topic.name, "KIP-724" in topic.reason) == ("new", True)
    assert config == Impossible(
        "config segment.bytes",
        "old",
        "1073741824",
        "1048575",
        "Kafka since 4.1 refuses segment.bytes: less than 1 MiB (1048576) is refused (KIP-1030); write 1MiB or more",
    )


@pytest.mark.parametrize("key", sorted(THROTTLE_CONFIGS))
def test_a_throttle_that_manifests_do_not_mention_stays(key: str) -> None:
    """A tool that moves replicas sets it, and removes it."""
    assert changes(Topic("a", 1, 1), Topic("a", 1, 1, configs={key: "*"})) == []
    assert changes(Topic("a", 1, 1, configs={key: "1:2"}), Topic("a", 1, 1, configs={key: "*"})) != []


def test_bindings_of_the_cluster_are_counted_once_each() -> None:
    """In scope, ignored, or outside."""
    live = frozenset(binding(f"User:{name} ALLOW READ on TOPIC t") for name in ("ours", "kept", "other", "another"))
    ours, kept = (Selector(NameSelector(literal=(f"User:{name}",))) for name in ("ours", "kept"))
    found = compare(DesiredState(), ClusterState("c", live), Scope(include=(ours,), ignore=(kept,)), DiffRules())
    assert (found.owned, found.ignored, found.outside) == (1, 1, 2)
