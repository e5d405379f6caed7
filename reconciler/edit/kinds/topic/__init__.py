"""Topics: items of ``Topics`` documents, their counts and configs changed in place."""

from collections.abc import Mapping
from dataclasses import replace

from reconciler.edit.kinds.interface import Changes, Wanted
from reconciler.edit.kinds.topic.items import extend
from reconciler.edit.kinds.topic.reduction import TopicReduction
from reconciler.edit.pages import Book
from reconciler.model import (
    Change,
    ClusterState,
    Create,
    Declaration,
    Delete,
    DesiredState,
    DesiredTopic,
    Impossible,
    Topic,
    TopicConfigs,
    TopicPartitions,
    Update,
    normal_form,
)
from reconciler.report.export.expressible import topic_problem

DOCUMENT: str = "Topics"
CONTENT: tuple[str, ...] = ("topics",)
WRITTEN: frozenset[str] = frozenset((*CONTENT, "defaults"))


def told(state: DesiredState) -> dict[str, tuple[object, ...]]:
    """Every topic with what is declared of it."""
    return {name: said(wish) for name, wish in state.topics.items()}


def reduce(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Remove the items of topics that are not wanted, and change those that are wanted otherwise."""
    for page in book.of("Topics"):
        differing = {
            name: _differing(book.desired[name].topics, wanted[name].topics) for name in sorted(book.where(page))
        }
        if any(differing.values()):
            changes.at(page, TopicReduction(book, page, differing).splices())


def _differing(
    before: Mapping[str, DesiredTopic], wanted: Mapping[str, DesiredTopic]
) -> dict[str, DesiredTopic | None]:
    """Topics that are wanted otherwise, ``None`` for those that are not to be declared."""
    return {
        name: wanted.get(name)
        for name, topic in before.items()
        if name not in wanted or said(wanted[name]) != said(topic)
    }


def said(wish: DesiredTopic) -> tuple[object, ...]:
    """What is declared of a topic, with one spelling for each value."""
    topic = wish.topic
    configs = {name: normal_form(name, text) for name, text in topic.configs.items()}
    return wish.absent, topic.num_partitions, topic.replication_factor, topic.replica_assignments, configs


def second(state: DesiredState, old: str, new: str) -> DesiredState:
    """The same: a topic is nobody's."""
    return state


def without(state: DesiredState, old: str) -> DesiredState:
    """The same."""
    return state


def _note(said: Declaration) -> str | None:
    """Why it is there, as a comment: nothing in a manifest says that of a topic."""
    return ": ".join(text for text in (said.ticket, said.reason) if text) or None


def adopted(state: DesiredState, change: Change, live: ClusterState, said: Declaration) -> DesiredState | str | None:
    """What is declared with one topic as the cluster has it, in what the change is about."""
    match change:
        case Create(Topic() as topic):
            return replace(state, topics={name: one for name, one in state.topics.items() if name != topic.name})
        case Delete(Topic() as topic):
            problem = topic_problem(topic)
            if problem is not None:
                return problem
            wish = DesiredTopic(replace(topic, topic_id=None, replica_assignments=None), said.origin, note=_note(said))
        case Update(TopicConfigs(name=name, configs=before)):
            there = state.topics[name]
            configs = {key: text for key, text in there.topic.configs.items() if before.get(key, text) is not None}
            configs |= {key: text for key, text in before.items() if text is not None}
            wish = replace(there, topic=replace(there.topic, configs=configs))
        case Update(TopicPartitions(name=name)) | Impossible(name=name):
            if name not in live.topics or name not in state.topics or state.topics[name].absent:
                return "the cluster has it in a way that no manifest can declare"
            there, found = state.topics[name], live.topics[name]
            counted = replace(
                there.topic,
                num_partitions=_as_live(there.topic.num_partitions, found.num_partitions),
                replication_factor=_as_live(there.topic.replication_factor, found.replication_factor),
                replica_assignments=None,
            )
            wish = replace(there, topic=counted)
            if isinstance(change, Impossible) and change.what.startswith("config "):
                return "brokers of this release refuse the config: remove it"
        case _:
            return None
    return replace(state, topics={**state.topics, wish.topic.name: wish})


def _as_live(declared: int | None, live: int | None) -> int | None:
    """A count as the cluster has it, where the manifests say one."""
    return declared if declared is None else live


__all__ = ["CONTENT", "DOCUMENT", "WRITTEN", "adopted", "extend", "reduce", "second", "told", "without"]
