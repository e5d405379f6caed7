"""Subscriptions to the metrics of clients (KIP-714): which metrics, how often, from which clients.

Sources: ``org.apache.kafka.server.metrics.ClientMetricsConfigs`` and ``ClientMetricsInstanceMetadata`` of 3.9.2 to
4.4.0. A client pushes what any subscription that it matches asks for; without a receiver on the brokers none does.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, ClassVar, Final

from reconciler.dataclass import dataclass
from reconciler.model.config_resource import ConfigDocument, ConfigKey, ConfigResource, Listed, config_problem, items_of
from reconciler.model.frozen import FrozenMap
from reconciler.model.says import REQUIRED, AnyText, Name, Says
from reconciler.model.topic_configs import ConfigType

MATCH: Final = "match"
INTERVAL: Final = "interval.ms"
DEFAULT_INTERVAL: Final = "300000"
METRICS: Final = "metrics"
ALL_METRICS: Final = "*"
_SINCE: Final = (3, 7)
#: The first release whose lists hold no empty value (KIP-1161); of one that stands twice it drops the second.
_CHECKED_LISTS: Final = (4, 2)
#: What a client can be matched by.
MATCH_KEYS: Final = (
    "client_id",
    "client_instance_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
_NUMBER: Final = re.compile(r"-?[0-9]{1,10}", re.ASCII)
#: A Java regular expression without a backslash, a class or a quotation: its brackets can be counted.
_PLAIN: Final = re.compile(r"[^\\\[\]]*")


@dataclass(frozen=True, slots=True, order=True)
class ClientMetrics(ConfigResource):
    """One subscription: metrics by prefix, an interval, and what clients have to match."""

    KIND: ClassVar[str] = "clientMetrics"
    NOUN: ClassVar[str] = "ClientMetrics"
    WORDS: ClassVar[str] = "client metrics subscriptions"
    CONFIG: ClassVar[str] = "client metrics config"
    LISTED: ClassVar[Listed] = Listed(
        16, 7, 0, "brokers before Kafka 3.7, and other software without KIP-714, have no client metrics subscriptions"
    )
    DOCUMENT: ClassVar[ConfigDocument] = ConfigDocument(
        items="subscriptions",
        item="subscription",
        about="Subscriptions to the metrics of clients (KIP-714).",
        name="The subscription's name, or a list of names; each is literal.",
        names=("producers", "consumers"),
        configs="Kafka's configs of a subscription: metrics, interval.ms, match. One that is left out is reset.",
        values=(
            {"metrics": "org.apache.kafka.producer.", "interval.ms": "30s", "match": "client_id=payments-.*"},
            {"metrics": "*", "match": "client_id=payments-.*"},
        ),
        absent="With true, there must be no such subscription.",
        reason="latency of payments",
        no_default="Kafka has no default configs of all subscriptions",
    )
    KEYS: ClassVar[Mapping[str, ConfigKey]] = {
        INTERVAL: ConfigKey(ConfigType.MILLIS, 100, since=_SINCE, most=3_600_000),
        MATCH: ConfigKey(ConfigType.LIST, since=_SINCE),
        METRICS: ConfigKey(ConfigType.LIST, since=_SINCE),
    }
    name: Annotated[Name, Says("The subscription's name.", "producers")]
    values: Annotated[
        Mapping[str, AnyText],
        Says("Its configs by Kafka's names.", {"metrics": "org.apache.kafka.producer."}, default=REQUIRED),
    ] = field(default_factory=FrozenMap)

    @property
    def key(self) -> str:
        """Its name."""
        return self.name

    @property
    def subject(self) -> str:
        """``client metrics subscription producers``."""
        return f"client metrics subscription {self.name}"

    @property
    def takes_all_clients(self) -> bool:
        """Whether every client matches it that can push metrics."""
        return not items_of(self.values.get(MATCH, ""))

    @classmethod
    def error_code(cls, name: str, value: str) -> str:
        """An interval out of bounds is an ``InvalidRequestException``."""
        return "INVALID_REQUEST" if name == INTERVAL and _NUMBER.fullmatch(value) else "INVALID_CONFIG"

    @classmethod
    def value_problem(cls, name: str, value: str, release: tuple[int, int] | None = None) -> str | None:
        """Also what clients cannot be matched by, and since 4.2 a list that holds an empty value."""
        if name == INTERVAL:
            return config_problem(cls.KEYS[name], value)
        items = items_of(value)
        if release is not None and release >= _CHECKED_LISTS and "" in items:
            return "the list holds an empty value"
        return next(_match_problems(items), None) if name == MATCH else None

    @classmethod
    def trap(cls, name: str, value: str) -> str | None:
        """Of two patterns with one key, brokers keep the last; an empty metric is a prefix of every name."""
        items = items_of(value)
        keys = [item.partition("=")[0].strip() for item in items] if name == MATCH else []
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            return f"{twice} stands twice, and brokers keep the last alone: join them as one|other"
        if "" in items:
            return "the list holds an empty value"
        return None


def _match_problems(patterns: list[str]) -> Iterator[str]:
    """Why ``ClientMetricsConfigs.parseMatchingPatterns`` refuses a list."""
    for pattern in patterns:
        # Java's split drops empty texts at the end.
        parts = re.sub("=+$", "", pattern).split("=")
        if len(parts) != 2:
            yield f"{pattern!r} is not one key, = and one regular expression, which holds no comma and no ="
        elif parts[0].strip() not in MATCH_KEYS:
            yield f"clients are not matched by {parts[0].strip()!r}, only by {', '.join(MATCH_KEYS)}"
        elif not _may_be_java(parts[1].strip()):
            yield f"{parts[1].strip()!r} is no regular expression of Java: all is .*"


def _may_be_java(pattern: str) -> bool:
    """False only for what ``java.util.regex.Pattern`` refuses for sure; brokers decide the rest."""
    if pattern.startswith(("*", "+", "?")):
        return False
    return not _PLAIN.fullmatch(pattern) or _balanced(pattern)


def _balanced(pattern: str) -> bool:
    depth = 0
    for character in pattern:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0
