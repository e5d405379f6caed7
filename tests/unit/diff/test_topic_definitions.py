"""Differences of topics stated topic by topic and config by config, over many small clusters and wishes."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from reconciler.model.acl import ResourceType
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic, Origin
from reconciler.model.flavor import APACHE, Flavor
from reconciler.model.listing import Change, Create, Delete, Impossible, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Layout, PartitionLayout, Topic, TopicConfigs, TopicPartitions
from reconciler.model.topic_configs import normal_form, refusal_of
from reconciler.plan.difference import DeclaredChange, DiffRules, SkipReason
from reconciler.plan.kinds.topic import Topics
from reconciler.plan.replicas import replica_changes, unfinished

#: Names that collide, one of Kafka's own, one of a run's own, and others.
NAMES: Final = ("a.b", "a_b", "a", "c", "__consumer_offsets", "__kr.lease")
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "flush.ms": ("1", "01", "2"),
    "cleanup.policy": ("compact,delete", "delete,compact", "compact"),
    "segment.bytes": ("1000", "1073741824"),
    "message.format.version": ("2.8",),
    "leader.replication.throttled.replicas": ("*", "0:1"),
}
#: A make of Kafka on which most of them can be set.
MAKE: Final = Flavor("make", "Make", settable_configs=frozenset(VALUES) - {"flush.ms"})
BROKERS: Final = (((1, 2),), ((1, 2), (2, 3)), ((1, 2), (2, 1), (3, 1)), ((1,), (2,)))
SCOPES: Final = (
    Scope(),
    Scope(include=(Selector(resource_type=ResourceType.TOPIC, names=NameSelector(any_name=True)),)),
    Scope(include=(Selector(resource_type=ResourceType.TOPIC, names=NameSelector(prefixes=("a",))),)),
    Scope(include=(Selector(principals=NameSelector(any_name=True)),)),
    Scope(
        include=(Selector(resource_type=ResourceType.TOPIC, names=NameSelector(any_name=True)),),
        exclude=(Selector(resource_type=ResourceType.TOPIC, names=NameSelector(("c",))),),
    ),
)
Case = tuple[DesiredState, ClusterState, Scope, DiffRules]


def _configs(chance: random.Random) -> dict[str, str]:
    return {name: chance.choice(values) for name, values in VALUES.items() if chance.random() < 0.4}


def _cases(count: int) -> Iterator[Case]:
    chance = random.Random(5)
    for _ in range(count):
        wanted, live = {}, {}
        for at, name in enumerate(chance.sample(NAMES, chance.randrange(5))):
            brokers = chance.choice((None, None, *BROKERS))
            topic = Topic(
                name, chance.choice((None, 1, 2, 3)), chance.choice((None, 1, 2)), _configs(chance), None, brokers
            )
            wanted[name] = DesiredTopic(topic, Origin("t.yaml", at, 1), absent=chance.random() < 0.25)
        for name in chance.sample(NAMES, chance.randrange(5)):
            there = chance.choice((None, *BROKERS))
            number = chance.choice((None, len(there or (1,))))
            live[name] = Topic(name, number, chance.choice((None, 1, 2)), _configs(chance), f"id-{name}", there)
        hidden = dict.fromkeys(chance.sample(NAMES, chance.choice((0, 0, 1, 2))), "refused")
        moving = PartitionLayout((1, 2), frozenset({1}), adding=(2,))
        state = ClusterState(
            "c",
            topics={name: topic for name, topic in live.items() if name not in hidden},
            unreadable_topics=hidden,
            kafka_version=chance.choice((None, (3, 9), (4, 1))),
            layout=Layout({1: None, 2: None, 3: None}, {"a": (moving,)}) if chance.random() < 0.2 else None,
        )
        rules = DiffRules(
            chance.choice(((), (Topic.KIND,))),
            chance.choice(((), ("flush.ms",))),
            report_topics=chance.random() < 0.7,
            flavor=chance.choice((APACHE, MAKE)),
        )
        yield DesiredState({}, wanted), state, chance.choice(SCOPES), rules


def _refused(name: str, value: str, version: tuple[int, int] | None, flavor: Flavor) -> bool:
    """Whether brokers take no such value: of their make, or of their release where it is known."""
    refusal = refusal_of(name, normal_form(name, value))
    return not flavor.may_set(name) or (refusal is not None and version is not None and version >= refusal.since)


def _altered(wanted: Topic, live: Topic, state: ClusterState, rules: DiffRules) -> Iterator[Change | str]:
    """What changes of a topic's configs, all at once, and before it the names of those that brokers refuse."""
    before, after = {}, {}
    for name in sorted(VALUES):
        new, old = wanted.configs.get(name), live.configs.get(name)
        if new is None and ("throttled" in name or name in rules.ignore_configs or not rules.flavor.may_set(name)):
            continue  # nobody wishes anything, and it is others' or fixed
        if (new and normal_form(name, new)) == (old and normal_form(name, old)):
            continue
        if new is not None and _refused(name, new, state.kafka_version, rules.flavor):
            yield name
        else:
            before[name], after[name] = old, new and normal_form(name, new)
    if after:
        yield Update(TopicConfigs(live.name, before, live.topic_id), TopicConfigs(live.name, after, live.topic_id))


def _grown(wanted: Topic, live: Topic) -> Iterator[Change | str]:
    old, new = live.num_partitions, wanted.num_partitions
    if old is None or new is None or new == old:
        return
    added = None if wanted.replica_assignments is None else wanted.replica_assignments[old:]
    if new < old or (added and len(added[0]) != live.replication_factor):
        yield "partitions"
    else:
        before, after = (
            TopicPartitions(live.name, old, live.topic_id),
            TopicPartitions(live.name, new, live.topic_id, added),
        )
        yield Update(before, after)


def _gone(live: Topic) -> Topic:
    """A topic as its deletion has it: wherever its replicas are."""
    return Topic(live.name, live.num_partitions, live.replication_factor, live.configs, live.topic_id)


def _key(name: str) -> str:
    return name.replace(".", "_")


def _topic(name: str, case: Case, taken: set[str]) -> Iterator[Change | str]:
    """The changes of one declared topic, in order; of those that are impossible, what they would change."""
    desired, state, _, rules = case
    wanted, live = desired.topics[name], state.topics.get(name)
    if wanted.absent and live is not None:
        if name == "__consumer_offsets":
            yield "topic"
        else:
            yield Delete(_gone(live))
    elif live is not None:
        yield from _grown(wanted.topic, live)
        for change in replica_changes(wanted.topic, live, state):
            yield change.what if isinstance(change, Impossible) else change
        for found in _altered(wanted.topic, live, state, rules):
            yield f"config {found}" if isinstance(found, str) else found
    elif not wanted.absent:
        configs = wanted.topic.configs
        refused = any(_refused(*one, state.kafka_version, rules.flavor) for one in configs.items())
        if refused or _key(name) in taken:
            yield "topic"
        else:
            taken.add(_key(name))
            yield Create(wanted.topic)


def test_every_topic_is_compared_by_itself_and_with_the_names_that_are_taken() -> None:
    met: Counter[str] = Counter()
    for case in _cases(3_000):
        desired, state, scope, rules = case
        changes: list[DeclaredChange] = []
        skipped: list[tuple[SkipReason, str, Origin | None]] = []
        taken = {_key(name) for name in (*state.topics, *state.unreadable_topics)}
        for name, wanted in sorted(desired.topics.items()):
            if name in state.unreadable_topics:
                skipped.append((SkipReason.UNREADABLE, f"topic {name}", wanted.origin))
                continue
            if (moving := unfinished(wanted, state)) is not None:
                skipped.append((moving.reason, moving.subject, moving.origin))
            for found in _topic(name, case, taken):
                if isinstance(found, str):
                    skipped.append((SkipReason.IMPOSSIBLE, f"topic {name}: {found}", wanted.origin))
                else:
                    changes.append(DeclaredChange(found, Declaration(wanted.origin)))
        silent = {*state.topics, *state.unreadable_topics} - desired.topics.keys()
        owned = sorted(
            name for name in silent if scope.owns_topic(name, declared=False) and name != "__consumer_offsets"
        )
        if Topic.KIND in rules.prune:
            changes += [DeclaredChange(Delete(_gone(state.topics[name]))) for name in owned if name in state.topics]
        elif rules.report_topics and desired.topics:
            skipped += [(SkipReason.UNDECLARED, f"topic {name}", None) for name in owned]
        result = Topics().differences(*case)
        assert [*result.changes] == changes
        assert [(one.reason, one.origin) for one in result.skipped] == [(reason, place) for reason, _, place in skipped]
        for one, (_, subject, _) in zip(result.skipped, skipped, strict=True):
            change = one.change
            said = f" {change.before} → {change.after}" if isinstance(change, Impossible) else ""
            assert one.subject == subject + said or one.reason is SkipReason.UNFINISHED
        assert result.owned == result.ignored == result.outside == 0
        met.update(type(one.change).__name__ for one in changes)
        met.update(reason for reason, *_ in skipped)
    assert {"Create", "Update", "Delete", *(SkipReason.UNREADABLE, SkipReason.UNFINISHED)} <= met.keys()
    assert {SkipReason.IMPOSSIBLE, SkipReason.UNDECLARED} <= met.keys()
