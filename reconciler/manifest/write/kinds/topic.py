"""Live topics as ``Topics`` documents, with all that is set on them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.manifest.write.kinds.interface import Inexpressible, Part
from reconciler.manifest.write.text import ExportStyle, comment, document_head, mapping, scalar, stem, topic_problem
from reconciler.model.desired import DesiredState
from reconciler.model.state import ClusterState
from reconciler.model.topic import TOPIC_ATTRIBUTES, Topic, collision_key
from reconciler.model.topic_configs import THROTTLE_CONFIGS, normal_form, readable

#: More than these are split into files by what stands before the first dot.
ONE_FILE: Final = 50
#: Why the number of a topic's replicas is none to declare.
PASSING: Final = "its partitions have unequal numbers of replicas, or replicas that move or are out of sync"
#: Fewer topics say for themselves what they are.
FEWEST_FOR_DEFAULTS: Final = 4


def exported(state: ClusterState, style: ExportStyle) -> Part:
    """``topics.yaml``, or ``topics/<prefix>.yaml`` where there are many.

    Of topics whose names collide, which a broker can have and a manifest cannot, the first one is written.
    """
    expressible: dict[str, Topic] = {}
    inexpressible = []
    for topic in sorted(lasting(topic, state) for topic in state.topics.values()):
        key = collision_key(topic.name)
        problem = topic_problem(topic)
        if problem is None and key in expressible:
            problem = f"the name collides with {expressible[key].name}"
        if problem is None:
            expressible[key] = topic
        else:
            inexpressible.append(Inexpressible(topic, f"topic {topic.name}", problem))
    absent = {name: topic_problem(Topic(name)) for name in sorted(style.absent)}
    inexpressible += [
        Inexpressible(name, f"absent topic {name}", problem) for name, problem in absent.items() if problem
    ]
    gone = _absent_document([name for name, problem in absent.items() if not problem], style)
    comments = [f"Topic {item.item.name}: {item.reason}" for item in inexpressible if isinstance(item.item, Topic)]
    comments += [f"Topic {name} could not be read: {problem}" for name, problem in state.unreadable_topics.items()]
    comments += [
        f"Topic {topic.name}: no replicationFactor is written: {PASSING}"
        for topic in expressible.values()
        if is_passing(state.topics[topic.name], state)
    ]
    comments += [f"The topics may not be whole: {state.topic_gap}"] if state.topic_gap is not None else []
    return Part({**_files(list(expressible.values()), style), **gone}, tuple(inexpressible), tuple(comments))


def differences(
    state: ClusterState, wanted: DesiredState, skipped: Collection[object], style: ExportStyle
) -> Iterator[str]:
    """Topics that the manifests have otherwise, or too many."""
    live = {name: lasting(topic, state) for name, topic in state.topics.items()}
    topics = {name: in_normal_form(topic) for name, topic in live.items() if topic not in skipped}
    declared = {name: topic.topic for name, topic in wanted.topics.items() if not topic.absent}
    yield from (f"topic {name} differs" for name in sorted(topics) if declared.get(name) != topics[name])
    yield from (f"too much: topic {name}" for name in sorted(declared.keys() - topics.keys()))
    absent = {name for name, topic in wanted.topics.items() if topic.absent}
    yield from (f"absent topic {name} differs" for name in sorted(absent ^ (style.absent - {*skipped})))


def is_passing(topic: Topic, state: ClusterState) -> bool:
    """Whether the number of its replicas is none to declare: unequal, throttled as in a move, or not all in sync."""
    unequal = len(set(map(len, topic.replica_assignments or ()))) > 1
    return unequal or not THROTTLE_CONFIGS.isdisjoint(topic.configs) or topic.name in state.under_replicated


def lasting(topic: Topic, state: ClusterState) -> Topic:
    """The topic without what a move of replicas sets and takes away."""
    configs = {name: text for name, text in topic.configs.items() if name not in THROTTLE_CONFIGS}
    unthrottled = topic if len(configs) == len(topic.configs) else topic.with_configs(configs)
    return replace(unthrottled, replication_factor=None) if is_passing(topic, state) else unthrottled


def in_normal_form(topic: Topic) -> Topic:
    """The topic with its configs as manifests are read: two spellings of one value are no difference."""
    return replace(topic, configs={name: normal_form(name, text) for name, text in topic.configs.items()})


def _files(topics: Sequence[Topic], style: ExportStyle) -> dict[str, list[str]]:
    """Lines by path: the places that the style names, and the usual files for the other topics."""
    placed: dict[str, list[Topic]] = defaultdict(list)
    for topic in topics:
        placed[style.places.get(topic.name, "")].append(topic)
    files = topic_files(placed.pop("", []), style)
    for place, grouped in sorted(placed.items()):
        files[f"{place}.yaml"] = topics_document(stem(place.replace("/", "-")), grouped, style)
    return files


def topic_files(topics: Sequence[Topic], style: ExportStyle) -> dict[str, list[str]]:
    """Lines by path: ``topics.yaml``, or ``topics/<prefix>.yaml`` where there are many."""
    if not topics:
        return {}
    if len(topics) <= ONE_FILE:
        return {"topics.yaml": topics_document("topics", topics, style)}
    groups: dict[str, list[Topic]] = {}
    for topic in topics:
        prefix, dot, _ = topic.name.partition(".")
        groups.setdefault(stem(prefix).lower() if dot else "others", []).append(topic)
    return {f"topics/{name}.yaml": topics_document(name, group, style) for name, group in sorted(groups.items())}


def topics_document(name: str, topics: Collection[Topic], style: ExportStyle) -> list[str]:
    """The lines of one ``Topics`` document, topics in the order of their names, what most share said once."""
    common = _common([_stated(topic) for topic in topics])
    lines = [*style.origin_lines(topic.name for topic in topics), *document_head("Topics", name)]
    if common:
        lines += ["  defaults:", *_value_lines(common, 4)]
    lines.append("  topics:")
    for topic in sorted(topics):
        own = {key: text for key, text in _stated(topic).items() if common.get(key) != text}
        lines += [f"    {comment(text)}" for text in style.notes.get(topic.name, ())]
        lines += [f"    - name: {scalar(topic.name)}", *_value_lines(own, 6)]
    return lines


def _absent_document(names: Sequence[str], style: ExportStyle) -> dict[str, list[str]]:
    """``topics-absent.yaml``, nothing without names."""
    items = [f"    - {{name: {scalar(name, flow=True)}, absent: true}}" for name in names]
    head = [*style.origin_lines(names), *document_head("Topics", "topics-absent"), "  topics:"]
    return {"topics-absent.yaml": [*head, *items]} if items else {}


#: A count, or a config with this in front.
_CONFIG: Final = "configs."


def _stated(topic: Topic) -> dict[str, str]:
    """What a document says of a topic, by the path of the field."""
    values = ((field, getattr(topic, name)) for field, name in TOPIC_ATTRIBUTES.items())
    stated = {field: str(value) for field, value in values if value is not None}
    configs = topic.configs.items()
    return stated | {f"{_CONFIG}{name}": readable(name, normal_form(name, text)) for name, text in configs}


def _common(stated: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What most of the topics have alike, as defaults; only what each of them says, because none can say "unset"."""
    if len(stated) < FEWEST_FOR_DEFAULTS:
        return {}
    common = {}
    for field in stated[0]:
        values = Counter(fields[field] for fields in stated if field in fields)
        text, count = values.most_common(1)[0]
        if values.total() == len(stated) and 2 * count > len(stated):
            common[field] = text
    return common


def _value_lines(stated: Mapping[str, str], indent: int) -> list[str]:
    margin = " " * indent
    lines = [f"{margin}{field}: {stated[field]}" for field in TOPIC_ATTRIBUTES if field in stated]
    configs = {name.removeprefix(_CONFIG): text for name, text in stated.items() if name.startswith(_CONFIG)}
    return [*lines, *mapping("configs", configs, indent)] if configs else lines
