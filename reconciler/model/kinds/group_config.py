"""Dynamic configs of consumer, share and streams groups in Kafka's words (KIP-848, KIP-932, KIP-1071).

Sources: ``org.apache.kafka.coordinator.group.GroupConfig`` of 4.3.1 and 4.4.0, and the documentation of 4.1 and 4.2.
A group needs no members, and need not exist, to have configs.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.acl import ResourcePattern, ResourceType
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import EVERY_LEVEL, BrokerRefusal, FeatureLevel, Unmatched, unmatched_by_librdkafka
from reconciler.model.says import REQUIRED, AnyText, Name, Says
from reconciler.model.topic_configs import ConfigType

_4_1, _4_2, _4_3, _4_4 = (4, 1), (4, 2), (4, 3), (4, 4)
_OFFSET_RESET: Final = re.compile(r"latest|earliest|by_duration:P[0-9DTHMS.]+", re.ASCII)
_INT_MAX: Final = 2**31 - 1
DLQ_TOPIC: Final = "errors.deadletterqueue.topic.name"
DLQ_COPIES: Final = "errors.deadletterqueue.copy.record.enable"


class DeadLetterQueue(NamedTuple):
    """The topic to which brokers write what members of a share group reject or never finish (KIP-1191).

    With ``copies`` the record itself: key, value and headers. Else only its topic, partition and offset.
    """

    topic: str
    copies: bool


class GroupKey(NamedTuple):
    """The type of a config, its least value (of a number), its words (of a text), and the first release that has it."""

    type: ConfigType
    least: int = 0
    words: tuple[str, ...] = ()
    since: tuple[int, int] = _4_1


_MILLIS, _COUNT, _FLAG, _TEXT = ConfigType.MILLIS, ConfigType.INTEGER, ConfigType.BOOLEAN, ConfigType.STRING
#: Every config that Kafka 4.1 to 4.4 knows. Before 4.1 no request lists the groups that have configs (KIP-1142).
GROUP_KEYS: Final[Mapping[str, GroupKey]] = MappingProxyType(
    {
        "consumer.assignment.interval.ms": GroupKey(_MILLIS, since=_4_3),
        "consumer.assignor.offload.enable": GroupKey(_FLAG, since=_4_4),
        "consumer.heartbeat.interval.ms": GroupKey(_MILLIS, 1),
        "consumer.session.timeout.ms": GroupKey(_MILLIS, 1),
        DLQ_COPIES: GroupKey(_FLAG, since=_4_4),
        DLQ_TOPIC: GroupKey(_TEXT, since=_4_4),
        "share.assignment.interval.ms": GroupKey(_MILLIS, since=_4_3),
        "share.assignor.offload.enable": GroupKey(_FLAG, since=_4_4),
        "share.auto.offset.reset": GroupKey(_TEXT, words=("earliest", "latest", "by_duration:PnDTnHnMn.nS")),
        "share.delivery.count.limit": GroupKey(_COUNT, 2, since=_4_2),
        "share.heartbeat.interval.ms": GroupKey(_MILLIS, 1),
        "share.isolation.level": GroupKey(_TEXT, words=("read_committed", "read_uncommitted")),
        "share.partition.max.record.locks": GroupKey(_COUNT, 100, since=_4_2),
        "share.record.lock.duration.ms": GroupKey(_MILLIS, 1000),
        "share.renew.acknowledge.enable": GroupKey(_FLAG, since=_4_2),
        "share.session.timeout.ms": GroupKey(_MILLIS, 1),
        "streams.acceptable.recovery.lag": GroupKey(_COUNT, since=_4_4),
        "streams.assignment.interval.ms": GroupKey(_MILLIS, since=_4_3),
        "streams.assignor.name": GroupKey(_TEXT, since=_4_4),
        "streams.assignor.offload.enable": GroupKey(_FLAG, since=_4_4),
        "streams.heartbeat.interval.ms": GroupKey(_MILLIS, 1),
        "streams.initial.rebalance.delay.ms": GroupKey(_MILLIS, since=_4_2),
        "streams.num.standby.replicas": GroupKey(_COUNT),
        "streams.num.warmup.replicas": GroupKey(_COUNT, since=_4_4),
        "streams.rack.aware.assignment.tags": GroupKey(ConfigType.LIST, since=_4_4),
        "streams.session.timeout.ms": GroupKey(_MILLIS, 1),
        "streams.task.offset.interval.ms": GroupKey(_MILLIS, 1, since=_4_4),
    }
)


@dataclass(frozen=True, slots=True, order=True)
class GroupConfig:
    """The dynamic configs of one group, by Kafka's names; texts as a broker prints them."""

    KIND: ClassVar[str] = "groupConfigs"
    NOUN: ClassVar[str] = "GroupConfigs"
    WORDS: ClassVar[str] = "group configs"
    CAN_VALIDATE: ClassVar[bool] = True  # IncrementalAlterConfigs has a field for it
    ATOMIC: ClassVar[bool] = True  # one batch of records (``ConfigurationControlManager.incrementalAlterConfigs``)
    LEVEL: ClassVar[FeatureLevel] = EVERY_LEVEL  # it asks for none, nor for ``share.version``
    group: Annotated[Name, Says("The group's id.", "payments")]
    values: Annotated[
        Mapping[str, AnyText],
        Says("Its dynamic configs by Kafka's names.", {"share.isolation.level": "read_committed"}, default=REQUIRED),
    ] = field(default_factory=FrozenMap)

    def __post_init__(self) -> None:
        """Takes any mapping and keeps a sorted, immutable copy."""
        object.__setattr__(self, "values", FrozenMap(self.values))

    @property
    def key(self) -> str:
        """The group."""
        return self.group

    @property
    def enforced(self) -> str:
        """The group: brokers compare it letter by letter."""
        return self.group

    @property
    def again(self) -> None:
        """Nothing."""

    def with_again(self, again: "GroupConfig") -> "GroupConfig":
        """Never asked."""
        return self

    @property
    def subject(self) -> str:
        """``config of group payments``."""
        return f"config of group {self.group}"

    @property
    def principal(self) -> None:
        """None: any principal with READ on the group may be a member."""

    @property
    def place(self) -> ResourcePattern:
        """The group."""
        return ResourcePattern(ResourceType.GROUP, self.group)

    @property
    def is_disabled(self) -> bool:
        """Never: it keeps nobody from logging in."""
        return False

    @property
    def unmatched(self) -> Unmatched | None:
        """Why no client of a kind can be a member of the group."""
        return unmatched_by_librdkafka(self.group)

    @property
    def dead_letter_queue(self) -> DeadLetterQueue | None:
        """Where the group's undelivered records go; ``None``: no topic is named, and none is the default."""
        topic = self.values.get(DLQ_TOPIC)
        return DeadLetterQueue(topic, self.values.get(DLQ_COPIES) == "true") if topic else None

    def with_values(self, values: Mapping[str, str]) -> "GroupConfig":
        """Other configs of the same group."""
        return GroupConfig(self.group, values)

    def only(self, names: Collection[str]) -> "GroupConfig":
        """Some of the values."""
        return self.with_values({name: value for name, value in self.values.items() if name in names})

    def understands(self, name: str) -> bool:
        """Whether it is one of ``GROUP_KEYS``."""
        return name in GROUP_KEYS

    def refusal(self, release: tuple[int, int] | None = None) -> BrokerRefusal | None:
        """Why brokers refuse the configs, as far as a release is known; the brokers' own bounds are not."""
        message = next(self._problems(release), None)
        return None if message is None else BrokerRefusal("INVALID_CONFIG", message)

    def _problems(self, release: tuple[int, int] | None) -> Iterator[str]:
        for name, value in self.values.items():
            key = GROUP_KEYS.get(name)
            if key is not None and release is not None and release < key.since:
                yield f"{name} needs Kafka {key.since[0]}.{key.since[1]}, and this is {release[0]}.{release[1]}"
            elif key is not None and (problem := value_problem(name, value)) is not None:
                yield f"{name}: {problem}"
        if (why := contradiction(self.values)) is not None:
            yield why


def record_copies(configs: Iterable[GroupConfig]) -> Mapping[str, str]:
    """The topic that gets copies of a group's records, by the group's id: who reads that topic reads these records.

    A group is left out that has no dead letter queue, or one that gets no copies. Whether brokers write to it depends
    on ``share.version`` 2, on the topic's ``errors.deadletterqueue.group.enable`` and on the cluster's prefix: that a
    copy may happen is all that the configs of groups say.
    """
    queues = ((config.group, config.dead_letter_queue) for config in configs)
    return {group: queue.topic for group, queue in queues if queue is not None and queue.copies}


def value_problem(name: str, value: str) -> str | None:
    """Why no broker takes this value of a known config, as it would print it; ``None`` if they take it."""
    key = GROUP_KEYS[name]
    if key.type in (_MILLIS, _COUNT):
        if not re.fullmatch(r"-?[0-9]{1,10}", value, re.ASCII):
            return f"{value!r} is not a whole number"
        if not key.least <= int(value) <= _INT_MAX:
            return f"{value} is not between {key.least} and {_INT_MAX}"
    elif key.type is _FLAG and value not in ("true", "false"):
        return f"{value!r} is neither true nor false"
    elif name == "share.auto.offset.reset":
        return None if _OFFSET_RESET.fullmatch(value) else f"{value!r} is none of {', '.join(key.words)}"
    elif key.words and value not in key.words:
        return f"{value!r} is none of {', '.join(key.words)}"
    elif name == DLQ_TOPIC and value.startswith("__"):
        return f"{value!r} begins with __, as internal topics do"
    return None


def contradiction(values: Mapping[str, str]) -> str | None:
    """Why every broker refuses these configs together (``GroupConfig.validateValues``); ``None``: it does not."""
    for protocol in ("consumer", "share", "streams"):
        timeout, interval = f"{protocol}.session.timeout.ms", f"{protocol}.heartbeat.interval.ms"
        both = values.get(timeout, ""), values.get(interval, "")
        if all(text.isascii() and text.isdigit() for text in both) and int(both[0]) <= int(both[1]):
            return f"{timeout} has to be longer than {interval}"
    return None
