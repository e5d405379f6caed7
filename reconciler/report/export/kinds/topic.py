"""Live topics as ``Topics`` documents, with all that is set on them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from reconciler.model import ClusterState, DesiredState, Topic, collision_key, normal_form, readable
from reconciler.report.export.expressible import topic_problem
from reconciler.report.export.file_names import stem
from reconciler.report.export.kinds.interface import Inexpressible, Part
from reconciler.report.export.yaml_text import document_head, mapping, scalar

#: More than these are split into files by what stands before the first dot.
ONE_FILE: Final = 50


def exported(state: ClusterState, *, roles: bool) -> Part:
    """``topics.yaml``, or ``topics/<prefix>.yaml`` where there are many.

    Of topics whose names collide, which a broker can have and a manifest cannot, the first one is written.
    """
    expressible: dict[str, Topic] = {}
    left = []
    for topic in sorted(state.topics.values()):
        key = collision_key(topic.name)
        problem = topic_problem(topic)
        if problem is None and key in expressible:
            problem = f"the name collides with {expressible[key].name}"
        if problem is None:
            expressible[key] = topic
        else:
            left.append(Inexpressible(topic, f"topic {topic.name}", problem))
    comments = [f"Topic {item.item.name}: {item.reason}" for item in left if isinstance(item.item, Topic)]
    comments += [f"Topic {name} could not be read: {problem}" for name, problem in state.unreadable_topics.items()]
    comments += [f"The topics may not be whole: {state.topic_gap}"] if state.topic_gap is not None else []
    return Part(topic_files(list(expressible.values())), tuple(left), tuple(comments))


def differences(state: ClusterState, wanted: DesiredState, left: Collection[object]) -> Iterator[str]:
    """Topics that the manifests have otherwise, or too many."""
    topics = {name: _in_normal_form(topic) for name, topic in state.topics.items() if topic not in left}
    declared = {name: topic.topic for name, topic in wanted.topics.items() if not topic.absent}
    yield from (f"topic {name} differs" for name in sorted(topics) if declared.get(name) != topics[name])
    yield from (f"too much: topic {name}" for name in sorted(declared.keys() - topics.keys()))


def _in_normal_form(topic: Topic) -> Topic:
    """The topic with its configs as manifests are read: two spellings of one value are no difference."""
    return replace(topic, configs={name: normal_form(name, text) for name, text in topic.configs.items()})


def topic_files(topics: Sequence[Topic]) -> dict[str, list[str]]:
    """Lines by path: ``topics.yaml``, or ``topics/<prefix>.yaml`` where there are many."""
    if not topics:
        return {}
    if len(topics) <= ONE_FILE:
        return {"topics.yaml": topics_document("topics", topics)}
    groups: dict[str, list[Topic]] = {}
    for topic in topics:
        prefix, dot, _ = topic.name.partition(".")
        groups.setdefault(stem(prefix).lower() if dot else "others", []).append(topic)
    return {f"topics/{name}.yaml": topics_document(name, group) for name, group in sorted(groups.items())}


def topics_document(name: str, topics: Iterable[Topic]) -> list[str]:
    """The lines of one ``Topics`` document, topics in the order of their names."""
    lines = [*document_head("Topics", name), "  topics:"]
    for topic in sorted(topics):
        lines.extend(_topic_lines(topic))
    return lines


def _topic_lines(topic: Topic) -> list[str]:
    lines = [f"    - name: {scalar(topic.name)}"]
    if topic.num_partitions is not None:
        lines.append(f"      partitions: {topic.num_partitions}")
    if topic.replication_factor is not None:
        lines.append(f"      replicationFactor: {topic.replication_factor}")
    if topic.configs:
        settings = {name: readable(name, normal_form(name, text)) for name, text in topic.configs.items()}
        lines.extend(mapping("configs", settings, 6))
    return lines
