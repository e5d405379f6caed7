"""Dynamic configs of consumer, share and streams groups in Kafka's words (KIP-848, KIP-932, KIP-1071).

Sources: ``org.apache.kafka.coordinator.group.GroupConfig`` of 4.3.1 and 4.4.0, and the documentation of 4.1 and 4.2.
A group needs no members, and need not exist, to have configs.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, NamedTuple, Self

from reconciler.dataclass import dataclass
from reconciler.model.acl import ResourcePattern, ResourceType
from reconciler.model.config_resource import ConfigDocument, ConfigKey, ConfigResource, Listed, config_problem
from reconciler.model.flavor import KafkaVersion
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Unmatched, unmatched_by_librdkafka
from reconciler.model.says import REQUIRED, AnyText, Name, Says
from reconciler.model.topic_configs import ConfigType

_4_1, _4_2, _4_3, _4_4 = (4, 1), (4, 2), (4, 3), (4, 4)
_OFFSET_RESET: Final = re.compile(r"latest|earliest|by_duration:P[0-9DTHMS.]+", re.ASCII)
DLQ_TOPIC: Final = "errors.deadletterqueue.topic.name"
#: What a topic has that may be a queue, what brokers have of all queues, and the level from which there are any.
DLQ_ENABLE: Final = "errors.deadletterqueue.group.enable"
DLQ_PREFIX: Final = "errors.deadletterqueue.topic.name.prefix"
DLQ_AUTO_CREATE: Final = "errors.deadletterqueue.auto.create.topics.enable"
DLQ_SHARE_VERSION: Final = 2
DLQ_COPIES: Final = "errors.deadletterqueue.copy.record.enable"


class DeadLetterQueue(NamedTuple):
    """The topic to which brokers write what members of a share group reject or never finish (KIP-1191).

    With ``copies`` the record itself: key, value and headers. Else only its topic, partition and offset.
    """

    topic: str
    copies: bool


_MILLIS, _COUNT, _FLAG, _TEXT = ConfigType.MILLIS, ConfigType.INTEGER, ConfigType.BOOLEAN, ConfigType.STRING
#: Every config that Kafka 4.1 to 4.4 knows. Before 4.1 no request lists the groups that have configs (KIP-1142).
GROUP_KEYS: Final[Mapping[str, ConfigKey]] = MappingProxyType(
    {
        "consumer.assignment.interval.ms": ConfigKey(_MILLIS, since=_4_3),
        "consumer.assignor.offload.enable": ConfigKey(_FLAG, since=_4_4),
        "consumer.heartbeat.interval.ms": ConfigKey(_MILLIS, 1, since=_4_1),
        "consumer.session.timeout.ms": ConfigKey(_MILLIS, 1, since=_4_1),
        DLQ_COPIES: ConfigKey(_FLAG, since=_4_4),
        DLQ_TOPIC: ConfigKey(_TEXT, since=_4_4),
        "share.assignment.interval.ms": ConfigKey(_MILLIS, since=_4_3),
        "share.assignor.offload.enable": ConfigKey(_FLAG, since=_4_4),
        "share.auto.offset.reset": ConfigKey(
            _TEXT, words=("earliest", "latest", "by_duration:PnDTnHnMn.nS"), since=_4_1
        ),
        "share.delivery.count.limit": ConfigKey(_COUNT, 2, since=_4_2),
        "share.heartbeat.interval.ms": ConfigKey(_MILLIS, 1, since=_4_1),
        "share.isolation.level": ConfigKey(_TEXT, words=("read_committed", "read_uncommitted"), since=_4_1),
        "share.partition.max.record.locks": ConfigKey(_COUNT, 100, since=_4_2),
        "share.record.lock.duration.ms": ConfigKey(_MILLIS, 1000, since=_4_1),
        "share.renew.acknowledge.enable": ConfigKey(_FLAG, since=_4_2),
        "share.session.timeout.ms": ConfigKey(_MILLIS, 1, since=_4_1),
        "streams.acceptable.recovery.lag": ConfigKey(_COUNT, since=_4_4),
        "streams.assignment.interval.ms": ConfigKey(_MILLIS, since=_4_3),
        "streams.assignor.name": ConfigKey(_TEXT, since=_4_4),
        "streams.assignor.offload.enable": ConfigKey(_FLAG, since=_4_4),
        "streams.heartbeat.interval.ms": ConfigKey(_MILLIS, 1, since=_4_1),
        "streams.initial.rebalance.delay.ms": ConfigKey(_MILLIS, since=_4_2),
        "streams.num.standby.replicas": ConfigKey(_COUNT, since=_4_1),
        "streams.num.warmup.replicas": ConfigKey(_COUNT, since=_4_4),
        "streams.rack.aware.assignment.tags": ConfigKey(ConfigType.LIST, since=_4_4),
        "streams.session.timeout.ms": ConfigKey(_MILLIS, 1, since=_4_1),
        "streams.task.offset.interval.ms": ConfigKey(_MILLIS, 1, since=_4_4),
    }
)


@dataclass(frozen=True, slots=True, order=True)
class GroupConfig(ConfigResource):
    """The dynamic configs of one group."""

    KIND: ClassVar[str] = "groupConfigs"
    NOUN: ClassVar[str] = "GroupConfigs"
    WORDS: ClassVar[str] = "group configs"
    CONFIG: ClassVar[str] = "group config"
    PLACE: ClassVar[ResourceType | None] = ResourceType.GROUP
    COPIES_SINCE: ClassVar[KafkaVersion | None] = (4, 4)  # KIP-1191
    LISTED: ClassVar[Listed] = Listed(
        32, 8, 1, "brokers before Kafka 4.1 do not list the groups that have configs (KIP-1142)"
    )
    DOCUMENT: ClassVar[ConfigDocument] = ConfigDocument(
        items="groups",
        item="group",
        about="Dynamic configs of consumer, share and streams groups.",
        name="The group's id, or a list of ids; each is literal.",
        names=("payments", "refunds"),
        configs="Kafka's group configs by name; what is left out is reset to the broker's default.",
        values=(
            {"consumer.session.timeout.ms": "50s", "share.isolation.level": "read_committed"},
            {"share.auto.offset.reset": "earliest"},
        ),
        absent="With true, the group must have no configs. The group itself is not deleted.",
        reason="long pauses of batch jobs",
        no_default="Kafka has no default configs of all groups",
    )
    KEYS: ClassVar[Mapping[str, ConfigKey]] = GROUP_KEYS
    group: Annotated[Name, Says("The group's id.", "payments")]
    values: Annotated[
        Mapping[str, AnyText],
        Says("Its dynamic configs by Kafka's names.", {"share.isolation.level": "read_committed"}, default=REQUIRED),
    ] = field(default_factory=FrozenMap)

    @property
    def key(self) -> str:
        """The group."""
        return self.group

    @property
    def subject(self) -> str:
        """``config of group payments``."""
        return f"config of group {self.group}"

    @property
    def place(self) -> ResourcePattern:
        """The group; any principal with READ on it may be a member."""
        return ResourcePattern(ResourceType.GROUP, self.group)

    @property
    def unmatched(self) -> Unmatched | None:
        """Why no client of a kind can be a member of the group."""
        return unmatched_by_librdkafka(self.group)

    @property
    def dead_letter_queue(self) -> DeadLetterQueue | None:
        """Where the group's undelivered records go; ``None``: no topic is named, and none is the default."""
        topic = self.values.get(DLQ_TOPIC)
        return DeadLetterQueue(topic, self.values.get(DLQ_COPIES) == "true") if topic else None

    @classmethod
    def value_problem(cls, name: str, value: str, release: tuple[int, int] | None = None) -> str | None:
        """Also a reset by duration, and the name of an internal topic for a dead letter queue."""
        if name == "share.auto.offset.reset":
            words = GROUP_KEYS[name].words
            return None if _OFFSET_RESET.fullmatch(value) else f"{value!r} is none of {', '.join(words)}"
        if name == DLQ_TOPIC and value.startswith("__"):
            return f"{value!r} begins with __, as internal topics do"
        return config_problem(GROUP_KEYS[name], value)

    @classmethod
    def contradiction(cls, values: Mapping[str, str]) -> str | None:
        """``GroupConfig.validateValues``: a session is longer than a heartbeat."""
        for protocol in ("consumer", "share", "streams"):
            timeout, interval = f"{protocol}.session.timeout.ms", f"{protocol}.heartbeat.interval.ms"
            both = values.get(timeout, ""), values.get(interval, "")
            if all(text.isascii() and text.isdigit() for text in both) and int(both[0]) <= int(both[1]):
                return f"{timeout} has to be longer than {interval}"
        return None

    @classmethod
    def copies(cls, items: Iterable[Self]) -> Mapping[str, str]:
        """The topic that gets copies of a group's records, by the group's id: who reads that topic reads these records.

        A group is left out that has no dead letter queue, or one that gets no copies. Whether brokers write to it
        depends on ``share.version`` 2, on the topic's ``errors.deadletterqueue.group.enable`` and on the cluster's
        prefix: that a copy may happen is all that the configs of groups say.
        """
        queues = ((item.group, item.dead_letter_queue) for item in items)
        return {group: queue.topic for group, queue in queues if queue is not None and queue.copies}
