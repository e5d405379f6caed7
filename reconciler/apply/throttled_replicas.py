"""The configs of a topic that say which of its replicas are throttled (KIP-73): whose they are, and how they go."""

from collections.abc import Mapping, Sequence
from typing import Final

from reconciler.model import Change, PartitionLayout, Topic, TopicConfigs, Update

#: The new replicas of partitions that move, and those that they copy from.
FOLLOWERS: Final = "follower.replication.throttled.replicas"
LEADERS: Final = "leader.replication.throttled.replicas"


def brokers_of(configs: Mapping[str, str], partitions: Sequence[PartitionLayout]) -> frozenset[int]:
    """The brokers of a throttle that is about the move of ``partitions``; empty where there is none, or another's.

    ``apply`` and ``kafka-reassign-partitions.sh`` write it alike: for each partition that a move touches its new
    replicas among the followers, and those that it had among the leaders. That has to fit what is read, whether the
    partition is moving, is through, or has not begun.
    """
    followers, leaders = _parsed(configs.get(FOLLOWERS, "")), _parsed(configs.get(LEADERS, ""))
    if not followers or not leaders or followers.keys() != leaders.keys():
        return frozenset()
    if not all(
        number < len(partitions) and _fits(partitions[number], followers[number], leaders[number])
        for number in followers
    ):
        return frozenset()
    return frozenset().union(*followers.values(), *leaders.values())


def _fits(one: PartitionLayout, added: frozenset[int], old: frozenset[int]) -> bool:
    replicas = frozenset(one.replicas)
    if one.is_moving:
        return added == frozenset(one.adding) and old == frozenset(one.reverted)
    # Through, with the new ones among the replicas; or not begun, or cancelled, with none of them.
    return not added & old and (added <= replicas or (old == replicas and not added & replicas))


def _parsed(text: str) -> dict[int, frozenset[int]]:
    """``0:1,0:2,1:3`` by partition; nothing for ``*`` and whatever is written otherwise."""
    found: dict[int, frozenset[int]] = {}
    for item in filter(None, text.split(",")):
        number, _, broker = item.partition(":")
        if not (number.isdecimal() and broker.isdecimal()):
            return {}
        found[int(number)] = found.get(int(number), frozenset()) | {int(broker)}
    return found


def unmarked(topic: Topic) -> Change | None:
    """The change after which no replica of a topic is throttled; ``None`` where none is."""
    there: dict[str, str | None] = {key: topic.configs[key] for key in (FOLLOWERS, LEADERS) if topic.configs.get(key)}
    if not there:
        return None
    gone = TopicConfigs(topic.name, dict.fromkeys(there), topic.topic_id)
    return Update(TopicConfigs(topic.name, there, topic.topic_id), gone)
