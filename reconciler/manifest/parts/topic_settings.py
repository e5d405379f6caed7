"""Topic settings in normal form, and the layers of defaults.

Topic settings in Kafka's normal form: units for times and sizes, types checked where the setting is known.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypeAliasType

from reconciler.manifest.parts import fields
from reconciler.manifest.read.findings import (
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Trouble,
    quoted,
    scalars,
    trouble_of,
)
from reconciler.manifest.read.problem import Code, did_you_mean
from reconciler.model.frozen import FrozenMap
from reconciler.model.topic import Topic
from reconciler.model.topic_configs import (
    RETIRED_CONFIGS,
    TOPIC_CONFIGS,
    ConfigType,
    contradiction,
    normal_form,
    refusal_of,
    risk_of,
)

_DOUBLE = re.compile(r"-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,17})?(?:[eE]-?[0-9]{1,2})?", re.ASCII)
_INT = (-(2**31), 2**31 - 1)
_LONG = (-(2**63), 2**63 - 1)
#: Ranges that are narrower than the type's own (``LogConfig``); 32-bit settings are among them.
_RANGES: Final = {
    "flush.messages": (1, _LONG[1]),
    "min.insync.replicas": (1, _INT[1]),
    "compression.gzip.level": (-1, 9),
    "compression.lz4.level": (1, 17),
    "compression.zstd.level": (-131072, 22),
    "index.interval.bytes": (0, _INT[1]),
    "max.message.bytes": (0, _INT[1]),
    "segment.bytes": (14, _INT[1]),
    "segment.index.bytes": (4, _INT[1]),
    "segment.ms": (1, _LONG[1]),
    "max.compaction.lag.ms": (1, _LONG[1]),
    "retention.ms": (-1, _LONG[1]),
    "retention.bytes": _LONG,
    "local.retention.ms": (-2, _LONG[1]),
    "local.retention.bytes": (-2, _LONG[1]),
}
_WORDS: Final = {
    "cleanup.policy": frozenset({"compact", "delete"}),
    "compression.type": frozenset({"gzip", "lz4", "producer", "snappy", "uncompressed", "zstd"}),
    "message.timestamp.type": frozenset({"CreateTime", "LogAppendTime"}),
}
_UNITS: Final = {ConfigType.INTEGER: {}, ConfigType.MILLIS: fields.MILLISECONDS, ConfigType.BYTES: fields.BYTES}


#: Broker settings with another name on a topic, and the unit of those that are not in the topic's own
#: (``ServerTopicConfigSynonyms``).
_ON_BROKERS: Final = {
    "log.cleaner.delete.retention.ms": ("delete.retention.ms", ""),
    "log.cleaner.max.compaction.lag.ms": ("max.compaction.lag.ms", ""),
    "log.cleaner.min.cleanable.ratio": ("min.cleanable.dirty.ratio", ""),
    "log.cleaner.min.compaction.lag.ms": ("min.compaction.lag.ms", ""),
    "log.cleanup.policy": ("cleanup.policy", ""),
    "log.flush.interval.messages": ("flush.messages", ""),
    "log.flush.interval.ms": ("flush.ms", ""),
    "log.flush.scheduler.interval.ms": ("flush.ms", ""),
    "log.index.interval.bytes": ("index.interval.bytes", ""),
    "log.index.size.max.bytes": ("segment.index.bytes", ""),
    "log.local.retention.bytes": ("local.retention.bytes", ""),
    "log.local.retention.ms": ("local.retention.ms", ""),
    "log.message.downconversion.enable": ("message.downconversion.enable", ""),
    "log.message.format.version": ("message.format.version", ""),
    "log.message.timestamp.after.max.ms": ("message.timestamp.after.max.ms", ""),
    "log.message.timestamp.before.max.ms": ("message.timestamp.before.max.ms", ""),
    "log.message.timestamp.difference.max.ms": ("message.timestamp.difference.max.ms", ""),
    "log.message.timestamp.type": ("message.timestamp.type", ""),
    "log.preallocate": ("preallocate", ""),
    "log.retention.bytes": ("retention.bytes", ""),
    "log.retention.hours": ("retention.ms", "h"),
    "log.retention.minutes": ("retention.ms", "m"),
    "log.retention.ms": ("retention.ms", ""),
    "log.roll.hours": ("segment.ms", "h"),
    "log.roll.jitter.hours": ("segment.jitter.ms", "h"),
    "log.roll.jitter.ms": ("segment.jitter.ms", ""),
    "log.roll.ms": ("segment.ms", ""),
    "log.segment.bytes": ("segment.bytes", ""),
    "log.segment.delete.delay.ms": ("file.delete.delay.ms", ""),
    "message.max.bytes": ("max.message.bytes", ""),
}


def unknown_setting_advice(name: str, otherwise: str, text: str = "") -> str:
    """What may be meant by a name that no topic setting has; ``text`` is its value, if there is one."""
    if name not in _ON_BROKERS:
        return did_you_mean(name, TOPIC_CONFIGS, otherwise)
    meant, unit = _ON_BROKERS[name]
    value = f"{meant}: {text}{unit}" if text.isdigit() else meant
    return f"that is the name of a broker's setting: on a topic write {value}"


def warn_of_unknown_setting(name: str, key: Node, otherwise: str, findings: Findings, text: str = "") -> None:
    """A setting that Kafka does not know is not refused: a newer broker may have it."""
    if name not in TOPIC_CONFIGS and not findings.marks(key):
        advice = unknown_setting_advice(name, otherwise, text)
        trouble = Trouble(Code.UNKNOWN_SETTING, f"Kafka 4.4 has no topic setting {quoted(name)}", advice)
        findings.add(trouble, key, severity="warning")


def declare_settings(node: Node | None, findings: Findings) -> dict[str, str]:
    """The settings of a ``configs`` mapping in normal form; problems are reported, unknown names as warnings."""
    settings: dict[str, str] = {}
    if not isinstance(node, MappingNode):
        return settings
    for name, value in node.values.items():
        if findings.marks(value) or isinstance(value, MappingNode):
            continue
        text = value.plain if isinstance(value, ScalarNode) else ""
        warn_of_unknown_setting(name, node.keys[name], "it is passed on as it is; the broker decides", findings, text)
        settings[name] = _setting(name, value, findings)
        if (refusal := refusal_of(name, settings[name])) is not None:
            message = f"Kafka since {refusal.release} refuses {name}: {refusal.reason}"
            advice = f"{refusal.advice}, unless the cluster is older: plan asks it for its release"
            place = node.keys[name] if name in RETIRED_CONFIGS else value
            findings.add(Trouble(Code.REFUSED_SETTING, message, advice), place, severity="warning")
        if (risk := risk_of(name, settings[name])) is not None:
            trouble = Trouble(Code.REFUSED_SETTING, f"{name}: {risk}", "write 8KiB or more, or leave it out")
            findings.add(trouble, value, severity="warning")
    if (why := contradiction(settings)) is not None:
        findings.add(Trouble(Code.SETTING_VALUE, why, "make the first the smaller one"), node)
    return settings


def _setting(name: str, node: ScalarNode | SequenceNode, findings: Findings) -> str:
    config_type = TOPIC_CONFIGS.get(name, ConfigType.STRING)
    if isinstance(node, SequenceNode) and config_type is not ConfigType.LIST:
        findings.add(
            Trouble(Code.SETTING_VALUE, f"{name} takes a single value, not a list", "write one, without brackets"), node
        )
        return ""
    text = ",".join(item.plain.strip() for item in scalars(node))
    try:
        return normal_form(name, setting_value(name, config_type, text))
    except ValueError as error:
        findings.add(trouble_of(Code.SETTING_VALUE, error, name), _faulty(name, config_type, node))
        return ""


def _faulty(name: str, config_type: ConfigType, node: ScalarNode | SequenceNode) -> Node:
    """The first item of a list that is wrong by itself, as a variable is before it is filled in; else all of it."""
    for item in node.items if isinstance(node, SequenceNode) else ():
        if isinstance(item, ScalarNode):
            try:
                setting_value(name, config_type, item.plain.strip())
            except ValueError:
                return item
    return node


def setting_value(name: str, config_type: ConfigType, text: str) -> str:
    """``text`` as Kafka reads it, units resolved; raises ``ValueError`` with words for a person."""
    if config_type in _UNITS:
        number = fields.amount(text, _UNITS[config_type])
        low, high = _RANGES.get(name, (0, _LONG[1]))
        if name == "compression.gzip.level" and number == 0:
            raise ValueError("0 is not a level: write 1 to 9, or -1 for the codec's own")
        return str(fields.in_range(number, low, high))
    if config_type is ConfigType.BOOLEAN:
        return str(fields.boolean(text.lower())).lower()
    if config_type is ConfigType.DOUBLE:
        if not _DOUBLE.fullmatch(text):
            raise ValueError(f"{quoted(text)} is not a number: write one between 0 and 1, such as 0.5")
        if not 0 <= float(text) <= 1:
            raise ValueError(f"{text} is out of range: write one between 0 and 1, such as 0.5")
        return text
    return _words(name, text)


def setting_problem(name: str, text: str) -> str | None:
    """Why no manifest can say that a setting has the value that Kafka spells ``text``; ``None`` if one can."""
    wanted = normal_form(name, text)
    try:
        read = normal_form(name, setting_value(name, TOPIC_CONFIGS.get(name, ConfigType.STRING), wanted.strip()))
    except ValueError as error:
        return f"{name}: {str(error).partition(': ')[0]}"
    return None if read == wanted else f"{name}: {quoted(text)} is not how Kafka writes {quoted(read)}"


def _words(name: str, text: str) -> str:
    words = _WORDS.get(name)
    if words is None:
        return text
    items = [text]
    if name == "cleanup.policy":  # brokers take an empty list too: nothing is cleaned up
        items = [item.strip() for item in text.split(",")] if text else []
    for item in items:
        if item not in words:
            raise ValueError(
                f"{quoted(item)} is not a valid value: {did_you_mean(item, words, ', '.join(sorted(words)))}"
            )
    return ",".join(items)


# What topics have unless they say otherwise: layers, of which a later one counts more.
#
# From the bottom: the cluster's defaults, its overrides, the document's defaults, its overrides; then the topic
# itself. Settings merge by name, counts replace each other.

SettingValue = Annotated[
    Annotated[fields.Text, Tag(fields.TEXT_TAG)] | Annotated[list[fields.Text], Tag(fields.LIST_TAG)],
    Discriminator(fields.one_or_list),
]


_VALUE: Final = {"type": ["string", "number", "boolean", "array"]}
_OF_TYPE: Final[Mapping[ConfigType, tuple[str, object]]] = {
    ConfigType.BOOLEAN: ("true or false.", True),
    ConfigType.INTEGER: ("A whole number.", 2),
    ConfigType.MILLIS: ("Milliseconds, or a number with ms, s, m, h or d.", "7d"),
    ConfigType.BYTES: ("Bytes, or a number with B, KiB, MiB, GiB or TiB.", "1GiB"),
    ConfigType.DOUBLE: ("A decimal number.", 0.5),
    ConfigType.LIST: ("A list.", ["delete"]),
    ConfigType.STRING: ("A text.", "producer"),
}


def _settings_schema(schema: dict[str, Any]) -> None:
    """Every config that Kafka knows by its name, so that editors propose it; what its value may be says its type."""
    schema["properties"] = {
        name: {
            "description": f"Topic config of Kafka. {_OF_TYPE[config_type][0]}",
            "examples": [sorted(_WORDS[name])[0] if name in _WORDS else _OF_TYPE[config_type][1]],
            **({"anyOf": [{"enum": sorted(_WORDS[name])}, _VALUE]} if name in _WORDS else _VALUE),
        }
        for name, config_type in sorted(TOPIC_CONFIGS.items())
    }


#: One definition, to which every schema refers.
TopicConfigs = TypeAliasType(
    "TopicConfigs", Annotated[dict[str, SettingValue], Field(json_schema_extra=_settings_schema)]
)


class TopicProperties(fields.ManifestModel):
    """What a topic has, or takes from the defaults."""

    partitions: fields.Partitions | None = Field(
        None, description="How many partitions; without it the broker's default.", examples=[12]
    )
    replication_factor: fields.Replicas | None = Field(
        None, description="How many replicas each partition has; without it the broker's default.", examples=[3]
    )
    configs: TopicConfigs = Field(
        default_factory=dict,
        description="Settings of the topic itself. Times take ms, s, m, h, d and sizes B, KiB, MiB, GiB, TiB.",
        examples=[{"cleanup.policy": "compact", "retention.ms": "7d"}],
    )


class TopicOverride(TopicProperties):
    """What topics with certain labels have instead."""

    match_labels: dict[str, fields.Text] = Field(
        description="The labels that a topic must have, all of them: its own, or those of its document.",
        examples=[{"data": "personal"}],
    )


OverridesField = Annotated[
    list[TopicOverride],
    Field(
        default_factory=list,
        description="What topics with certain labels have instead; a later one counts more.",
        examples=[[{"matchLabels": {"data": "personal"}, "configs": {"retention.ms": "30d"}}]],
    ),
]


class ClusterTopicDefaults(TopicProperties):
    """What the topics of a cluster have unless a ``Topics`` document says otherwise."""

    overrides: OverridesField


class Layer(NamedTuple):
    """What topics with these labels have; ``None`` where it does not say."""

    match_labels: Mapping[str, str] = FrozenMap()
    partitions: int | None = None
    replication_factor: int | None = None
    configs: Mapping[str, str] = FrozenMap()

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Whether a topic with these labels is meant."""
        return all(labels.get(key) == value for key, value in self.match_labels.items())


def declare_layers(node: Node | None, model: ClusterTopicDefaults | None, findings: Findings) -> tuple[Layer, ...]:
    """The layers of a ``defaults`` mapping, the lowest first; problems of settings are reported."""
    if not isinstance(node, MappingNode):
        return ()
    overrides = node.get("overrides")
    nodes = overrides.items if isinstance(overrides, SequenceNode) else []
    wants: Sequence[TopicOverride | None] = model.overrides if model else [None] * len(nodes)
    return (
        _layer(node, model, FrozenMap(), findings),
        *(
            _layer(item, want, FrozenMap(want.match_labels) if want else FrozenMap(), findings)
            for item, want in zip(nodes, wants, strict=True)
        ),
    )


def _layer(node: Node, model: TopicProperties | None, labels: Mapping[str, str], findings: Findings) -> Layer:
    configs = declare_settings(node.get("configs") if isinstance(node, MappingNode) else None, findings)
    if model is None:
        return Layer(labels, configs=FrozenMap(configs))
    return Layer(labels, model.partitions, model.replication_factor, FrozenMap(configs))


def instead(layers: Iterable[Layer], topic: Topic) -> Topic:
    """The topic with what the layers say in place of what it says itself; a later one counts more."""
    for layer in layers:
        topic = topic.with_settings(
            topic.num_partitions if layer.partitions is None else layer.partitions,
            topic.replication_factor if layer.replication_factor is None else layer.replication_factor,
            {**topic.configs, **layer.configs},
        )
    return topic


def upon(layers: Iterable[Layer], topic: Topic, labels: Mapping[str, str]) -> Topic:
    """The topic with what the fitting layers say and it does not; counts of an explicit assignment are its own."""
    partitions = replicas = None
    stated: list[Mapping[str, str]] = []
    for layer in layers:
        if layer.fits(labels):
            partitions = partitions if layer.partitions is None else layer.partitions
            replicas = replicas if layer.replication_factor is None else layer.replication_factor
            stated.append(layer.configs)
    stated = [configs for configs in (*stated, topic.configs) if configs]
    return topic.with_settings(
        partitions if topic.num_partitions is None else topic.num_partitions,
        replicas if topic.replication_factor is None else topic.replication_factor,
        # Most topics have what one layer says: they share it.
        stated[0] if len(stated) == 1 else {name: value for configs in stated for name, value in configs.items()},
    )
