"""Resources that are nothing but dynamic configs under a name: Kafka's ``ConfigResource`` of groups and client metrics.

``ListConfigResources`` names them, ``DescribeConfigs`` gives the values, ``IncrementalAlterConfigs`` sets and deletes
them; without a value left there is no such resource.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final, NamedTuple, Self

from reconciler.model.acl import ResourcePattern, ResourceType
from reconciler.model.flavor import KafkaVersion
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import EVERY_LEVEL, BrokerRefusal, FeatureLevel, ListedItem, Unmatched
from reconciler.model.topic_configs import ConfigType

INT_MAX: Final = 2**31 - 1


class ConfigKey(NamedTuple):
    """The type of a config, its bounds (of a number), its words (of a text), and the first release that has it."""

    type: ConfigType
    least: int = 0
    words: tuple[str, ...] = ()
    since: tuple[int, int] = (0, 0)
    most: int = INT_MAX


class Listed(NamedTuple):
    """How brokers list and describe such resources.

    ``type`` is the code of ``ConfigResource.Type``, ``source`` that of ``DescribeConfigsResponse.ConfigSource``.
    ``version`` is the first version of ``ListConfigResources`` that names them; ``gap`` is why older brokers do not.
    """

    type: int
    source: int
    version: int
    gap: str


class ConfigDocument(NamedTuple):
    """How manifests declare such resources: the key of the items, and descriptions and examples for the schema.

    ``item`` is what a person calls one, ``no_default`` what an empty name would be.
    """

    items: str
    item: str
    about: str
    name: str
    names: tuple[str, str]
    configs: str
    values: tuple[Mapping[str, str], Mapping[str, str]]
    absent: str
    reason: str
    no_default: str


class ConfigResource(ListedItem):
    """One resource with its configs, by Kafka's names; texts as a broker prints them.

    ``CONFIG`` is what people call one of them: ``group config``. ``COPIES_SINCE`` is the first release whose brokers
    copy records as these configs say (:meth:`copies`); ``None``: no broker does.
    """

    __slots__ = ()

    CAN_VALIDATE: ClassVar[bool] = True  # IncrementalAlterConfigs has a field for it
    ATOMIC: ClassVar[bool] = True  # one batch of records (``ConfigurationControlManager.incrementalAlterConfigs``)
    LEVEL: ClassVar[FeatureLevel] = EVERY_LEVEL
    PLACE: ClassVar[ResourceType | None] = None
    PERSONAL: ClassVar[bool] = False
    LISTED: ClassVar[Listed]
    DOCUMENT: ClassVar[ConfigDocument]
    KEYS: ClassVar[Mapping[str, ConfigKey]]
    CONFIG: ClassVar[str]
    COPIES_SINCE: ClassVar[KafkaVersion | None] = None
    values: Mapping[str, str]

    @classmethod
    def of(cls, name: str, values: Mapping[str, str]) -> Self:
        """The resource of that name, its lists as brokers since 4.2 print them."""
        lists = {key: ",".join(dict.fromkeys(items_of(text))) for key, text in values.items() if cls._is_list(key)}
        return cls(name, {**values, **lists})  # type: ignore[call-arg]  # every one is made of these two

    @classmethod
    def _is_list(cls, name: str) -> bool:
        return name in cls.KEYS and cls.KEYS[name].type is ConfigType.LIST

    def __post_init__(self) -> None:
        """Takes any mapping and keeps a sorted, immutable copy."""
        object.__setattr__(self, "values", FrozenMap(self.values))

    @property
    def principal(self) -> None:
        """None."""

    @property
    def place(self) -> ResourcePattern | None:
        """The named resource that it is about, if ACLs know its type."""
        return None

    @property
    def is_disabled(self) -> bool:
        """Never: it keeps nobody from logging in."""
        return False

    @property
    def unmatched(self) -> Unmatched | None:
        """Why it is about no client of a kind."""
        return None

    def with_values(self, values: Mapping[str, str]) -> Self:
        """Other configs under the same name."""
        return self.of(self.key, values)

    def _refusals(self, release: tuple[int, int] | None) -> Iterator[BrokerRefusal]:
        """As far as a release is known; the brokers' own bounds are not."""
        for name, value in self.values.items():
            key = self.KEYS.get(name)
            if key is not None and release is not None and release < key.since:
                since = f"{key.since[0]}.{key.since[1]}"
                yield BrokerRefusal(
                    self.error_code(name, value), f"{name} needs Kafka {since}, and this is {release[0]}.{release[1]}"
                )
            elif key is not None and (problem := self.value_problem(name, value, release)) is not None:
                yield BrokerRefusal(self.error_code(name, value), f"{name}: {problem}")
        if (why := self.contradiction(self.values)) is not None:
            yield BrokerRefusal("INVALID_CONFIG", why)

    @classmethod
    def error_code(cls, name: str, value: str) -> str:
        """Kafka's error for a bad value of a config."""
        return "INVALID_CONFIG"

    @classmethod
    def value_problem(cls, name: str, value: str, release: tuple[int, int] | None = None) -> str | None:
        """Why no broker takes this value of a known config, as it would print it; ``None`` if they take it."""
        return config_problem(cls.KEYS[name], value)

    @classmethod
    def contradiction(cls, values: Mapping[str, str]) -> str | None:
        """Why every broker refuses these configs together; ``None``: it does not."""
        return None

    @classmethod
    def copies(cls, items: Iterable[Self]) -> Mapping[str, str]:
        """The topic that gets copies of records, by the name of what has the configs; none."""
        return {}

    @classmethod
    def trap(cls, name: str, value: str) -> str | None:
        """Why a value that brokers take does not do what it says; no manifest may have it."""
        return None


def items_of(value: str) -> list[str]:
    """The items of a list as ``ConfigDef.parseType`` splits it."""
    text = value.strip()
    return re.split(r"\s*,\s*", text) if text else []


def config_problem(key: ConfigKey, value: str) -> str | None:
    """Why no broker takes a value of that type, as it would print it; ``None`` if they take it."""
    if key.type in (ConfigType.MILLIS, ConfigType.INTEGER):
        if not re.fullmatch(r"-?[0-9]{1,10}", value, re.ASCII):
            return f"{value!r} is not a whole number"
        if not key.least <= int(value) <= key.most:
            return f"{value} is not between {key.least} and {key.most}"
    elif key.type is ConfigType.BOOLEAN and value not in ("true", "false"):
        return f"{value!r} is neither true nor false"
    elif key.words and value not in key.words:
        return f"{value!r} is none of {', '.join(key.words)}"
    return None
