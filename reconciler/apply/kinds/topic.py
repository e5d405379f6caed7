"""Topics: how many go into a request, what Kafka can be asked about in advance, and how a change is reverted."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from reconciler.apply.kinds.interface import Batch, Copying, Kind, Marks, Remaining, Right, UndoDraft
from reconciler.codec.document import differences
from reconciler.model.acl import CLUSTER_NAME, AclOperation, ResourceType
from reconciler.model.characters import counted
from reconciler.model.desired import DesiredTopic
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Change, Create, Delete, Update, resource_of
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import (
    TOPIC_ATTRIBUTES,
    MoveLimits,
    PartitionLayout,
    Topic,
    TopicConfigs,
    TopicPartitions,
    TopicReplicas,
)
from reconciler.model.topic_configs import FOLLOWERS, LEADERS, THROTTLE_CONFIGS, normal_form
from reconciler.plan.kinds.topic import touched_names
from reconciler.plan.observed import StepState, observed_creation
from reconciler.plan.step import Step
from reconciler.ports import ReadRequest

_MAX_TOPICS: Final = 100
#: A request of more than 10,000 records is refused as a whole; topics whose partitions the broker chooses count 1.
_MAX_RECORDS: Final = 5_000


def _moves(change: Change) -> bool:
    return isinstance(change.after, TopicReplicas)


def _waits(partition: PartitionLayout, to: Sequence[int]) -> bool:
    return not partition.is_moving and partition.replicas != to


def _copied(partition: PartitionLayout, to: Sequence[int]) -> int:
    return partition.size * len({*to} - {*partition.replicas})


def _records(change: Change) -> int:
    match change:
        case Create(Topic() as topic):
            return 1 + (topic.num_partitions or 1) + len(topic.configs)
        case Update(TopicPartitions(_, before), TopicPartitions(_, after)):
            return after - before
        case Update(_, TopicConfigs(_, new)):
            return len(new)
    return 1


def _revert_creation(step: Step, created: Topic, draft: UndoDraft) -> Iterator[str]:
    """Take a topic away that is still the one that was created, as it was created, and without records."""
    name, by_runs = created.name, draft.created_by_runs
    topic, identity, use = draft.live.topics.get(name), by_runs.identities.get(step.id), by_runs.uses.get(name)
    if topic is None:
        return
    if identity and topic.topic_id and topic.topic_id != identity:
        yield f"topic {name} stays: it is another one of that name, which somebody has created since"
    elif observed_creation(created, topic).state is not StepState.DONE:
        yield f"topic {name} stays: somebody has changed it since: {differences(*_forms(created, topic))}"
    elif use is not None and use.written:
        yield f"topic {name} stays: somebody has written to it since, {counted(use.written, 'record')}"
    else:
        _want(draft, Topic(name), absent=True)
        doubts = []
        if not identity or not topic.topic_id:
            doubts.append("its id is not in the journal, so somebody may have created it again")
        if use is None or use.written is None:
            doubts.append("whether it holds records could not be read")
        if doubts:
            yield f"topic {name} goes, and {', and '.join(doubts)}: look at it first"
        else:
            draft.own.append(name)


def _forms(created: Topic, present: Topic) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a run created and what is there, as documents; without what the broker was left to choose."""
    sides = [
        {
            **{field: getattr(item, name) for field, name in TOPIC_ATTRIBUTES.items()},
            "replicas": item.replica_assignments and [list(brokers) for brokers in item.replica_assignments],
            "configs": {key: _normal(key, value) for key, value in item.configs.items()},
        }
        for item in (created, present)
    ]
    chosen = {key for key, value in sides[0].items() if value is not None}
    before, after = ({key: value for key, value in side.items() if key in chosen} for side in sides)
    return before, after


def _revert_configs(before: TopicConfigs, after: TopicConfigs, draft: UndoDraft) -> Iterator[str]:
    topic = draft.live.topics.get(after.name)
    if topic is None:
        yield f"the settings of topic {after.name} stay: the topic no longer exists"
        return
    drafted = draft.topics.get(after.name)
    configs = dict(drafted.topic.configs if drafted else topic.configs)
    # Config by config: others may have changed some of them since, and theirs stay.
    for key, value in after.configs.items():
        if _normal(key, topic.configs.get(key)) != _normal(key, value):
            moved = differences({key: value}, {key: topic.configs.get(key)})
            yield f"{key} of topic {after.name} stays: somebody has changed it since: {moved}"
        elif (old := before.configs[key]) is None and key in THROTTLE_CONFIGS:
            yield f"{key} of topic {after.name} stays: whoever moves replicas removes the throttle"
        elif old is None:
            configs.pop(key, None)
        else:
            configs[key] = old
    back = drafted.topic if drafted else Topic(after.name)
    _want(draft, replace(back, configs=FrozenMap(configs)))


def _revert_replicas(before: TopicReplicas, after: TopicReplicas, draft: UndoDraft) -> Iterator[str]:
    topic = draft.live.topics.get(after.name)
    if topic is None:
        yield f"the replicas of topic {after.name} stay: the topic no longer exists"
        return
    if topic.replica_assignments != after.assignments:
        yield f"the replicas of topic {after.name} stay: somebody has moved them since, or is moving them"
        return
    drafted = draft.topics.get(after.name)
    back = drafted.topic if drafted else Topic(after.name, configs=topic.configs)
    count, factor = len(before.assignments), max(map(len, before.assignments))
    _want(
        draft,
        replace(back, num_partitions=count, replication_factor=factor, replica_assignments=before.assignments),
    )


def _want(draft: UndoDraft, topic: Topic, *, absent: bool = False) -> None:
    draft.topics[topic.name] = DesiredTopic(topic, draft.origin, absent=absent)


def _normal(key: str, value: str | None) -> str | None:
    return None if value is None else normal_form(key, value)


class Topics(Kind):
    """Topics."""

    TYPES = (Topic, TopicPartitions, TopicConfigs, TopicReplicas)
    #: A broker that forwards a request sends it again if the controller dies before it answers.
    REPEATED = frozenset({"TOPIC_ALREADY_EXISTS", "UNKNOWN_TOPIC_OR_PARTITION", "INVALID_PARTITIONS"})

    def request(self, changes: Iterable[Change], request: ReadRequest) -> ReadRequest:
        """The topics that change, by name, where those are whose replicas move, and the defaults that judged a loss."""
        all_changes = tuple(changes)
        moving = tuple(change.after.name for change in all_changes if isinstance(change.after, TopicReplicas))
        judged = any(
            isinstance(side, TopicConfigs) and side.effective
            for item in all_changes
            for side in (item.before, item.after)
        )
        return replace(request, topic_names=touched_names(all_changes), layout=moving, broker_defaults=judged)

    def batches(self, steps: Sequence[Step], live: ClusterState) -> Iterator[Sequence[Step]]:
        """No request makes more records than a broker takes."""
        batch: list[Step] = []
        records = 0
        for step in steps:
            weight = _records(step.change)
            # One topic after the other: limits of what moves at once, and a throttle, are about one topic.
            if batch and (_moves(step.change) or len(batch) == _MAX_TOPICS or records + weight > _MAX_RECORDS):
                yield batch
                batch, records = [], 0
            batch.append(step)
            records += weight
        if batch:
            yield batch

    def remaining(self, change: Change, live: ClusterState) -> Remaining | None:
        """The partitions of a topic that are still moving or have yet to, and the bytes that new replicas lack."""
        match change:
            case Update(TopicReplicas(), TopicReplicas(name, new)) if live.layout is not None:
                parts = live.layout.topics.get(name, ())
            case _:
                return None
        moving = [part for part in parts if part.is_moving]
        waiting = [_copied(item, to) for item, to in zip(parts, new, strict=False) if _waits(item, to)]
        return Remaining(len(moving), len(waiting), sum(waiting) + sum(item.bytes_left for item in moving))

    def next_batch(self, change: Change, live: ClusterState, limits: MoveLimits) -> Batch | str:
        """What is moving already, else the next partitions by number, as many as ``limits`` permits, at least one."""
        match change:
            case Update(TopicReplicas(name, _, topic_id), TopicReplicas(_, new, _, copied)):
                pass
            case _:
                raise TypeError(f"{change!r} moves no replicas")
        parts = () if live.layout is None else live.layout.topics.get(name, ())
        there = tuple(part.target for part in parts)
        before = TopicReplicas(name, tuple(part.reverted for part in parts), topic_id)
        if any(part.is_moving for part in parts):
            return Batch(Update(before, TopicReplicas(name, there, topic_id, copied)), begun=True)
        target, count, size = list(there), 0, 0
        for number, (item, to) in enumerate(zip(parts, new, strict=True)):
            if not _waits(item, to):
                continue
            count, size = count + 1, size + _copied(item, to)
            if count > 1 and (count > limits.partitions or size > limits.size):
                break
            target[number] = to
        return Batch(Update(before, TopicReplicas(name, tuple(target), topic_id, copied)), begun=False)

    def copying(self, change: Change, live: ClusterState) -> Copying | None:
        """The replicas that a move adds, and the configs by which Kafka throttles them, as its own tool writes them."""
        match change:
            case Update(TopicReplicas(name, old, topic_id), TopicReplicas(_, new)):
                pass
            case _:
                return None
        pairs = enumerate(zip(old, new, strict=True))
        moved = [(n, was, added) for n, (was, now) in pairs if (added := [item for item in now if item not in was])]
        topic = live.topics.get(name)
        if not moved or topic is None:
            return None
        wanted: dict[str, str | None] = {
            FOLLOWERS: ",".join(f"{n}:{item}" for n, _, added in moved for item in added),
            LEADERS: ",".join(f"{n}:{item}" for n, was, _ in moved for item in was),
        }
        there = {key: topic.configs.get(key) for key in wanted}
        nothing = dict.fromkeys(wanted)
        # Set and removed in one request, and so together; an empty list is as good as none.
        marks = Marks.OURS if there == wanted else Marks.OTHERS if any(there.values()) else Marks.NOBODYS
        return Copying(
            f"topic {name}",
            frozenset(item for _, was, added in moved for item in (*was, *added)),
            Update(TopicConfigs(name, there, topic_id), TopicConfigs(name, wanted, topic_id)),
            Update(TopicConfigs(name, wanted, topic_id), TopicConfigs(name, nothing, topic_id)),
            marks,
            live.layout is None or any(True for _ in live.layout.moving(name)),
        )

    def outside(self, change: Change, scope: Scope) -> str | None:
        """The topic, if it is not in scope."""
        name = resource_of(change).name
        return None if scope.owns_topic(name, declared=True) else f"topic {name}"

    def is_recreated(self, change: Change, live: ClusterState) -> bool:
        """Whether the topic that a change deletes is there under the same name with another id."""
        if not isinstance(change, Delete):
            return False
        before, now = change.before, live.topics.get(change.before.name)
        return now is not None and before.topic_id is not None and now.topic_id not in (None, before.topic_id)

    def identity(self, change: Change, live: ClusterState) -> str | None:
        """The id of a topic that is created: by its name, somebody else may have made it anew."""
        if not isinstance(change, Create):
            return None
        topic = live.topics.get(change.after.name)
        return (topic.topic_id or "") if topic is not None else ""

    def right(self, change: Change) -> Right | None:
        """On the topic; a topic can also be created by whoever may on the cluster. Nobody is asked about deletions."""
        match change:
            case Create(Topic(name)):
                return Right(AclOperation.CREATE, ((ResourceType.TOPIC, name), (ResourceType.CLUSTER, CLUSTER_NAME)))
            case Update(_, TopicPartitions(name)):
                return Right(AclOperation.ALTER, ((ResourceType.TOPIC, name),))
            case Update(_, TopicReplicas()):
                return None
            case Update(_, TopicConfigs(name)):
                return Right(AclOperation.ALTER_CONFIGS, ((ResourceType.TOPIC, name),))
        return None

    def revert(self, step: Step, draft: UndoDraft) -> Iterator[str]:
        """Take a created topic away, make a deleted one again, and put configs back that nobody has changed since."""
        match step.change:
            case Create(Topic() as topic):
                yield from _revert_creation(step, topic, draft)
            case Delete(Topic() as topic) if topic.name in draft.live.topics:
                yield f"topic {topic.name} stays: somebody has created it again"
            case Delete(Topic() as topic):
                # Kafka gives a new id; the brokers of the old assignment may not exist any more.
                _want(draft, replace(topic, topic_id=None, replica_assignments=None))
                yield f"topic {topic.name} is made again without its records: they are gone"
            case Update(TopicPartitions(name, before), TopicPartitions(_, after)):
                yield f"topic {name} keeps {after} partitions: they cannot be reduced to {before}"
            case Update(TopicConfigs() as old, TopicConfigs() as new):
                yield from _revert_configs(old, new, draft)
            case Update(TopicReplicas() as before, TopicReplicas() as after):
                yield from _revert_replicas(before, after, draft)


KIND: Final = Topics()
