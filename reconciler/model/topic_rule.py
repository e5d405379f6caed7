"""Rules for topics, as a ``TopicPolicy`` states them. Which topics break them is ``reconciler.policy``'s to say.

Every part has the place of its field; a code never changes its meaning (``docs/policies.md`` has a section for each).
"""

import datetime
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model.desired import Expiry, Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.scope import NameSelector

#: The numbers of a topic besides its settings, as manifests call them.
TopicNumber: TypeAlias = Literal["partitions", "replicationFactor"]


class TopicCheck(StrEnum):
    """What a topic can break, by code."""

    NAME = "KT001"
    PARTITIONS = "KT002"
    REPLICATION_FACTOR = "KT003"
    MISSING_SETTING = "KT004"
    FORBIDDEN_SETTING = "KT005"
    SETTING_VALUE = "KT006"
    SETTING_RANGE = "KT007"
    RELATION = "KT008"
    EXPRESSION = "KT009"

    @property
    def slug(self) -> str:
        """The check's name, ``replication-factor``: its anchor in the documentation."""
        return self.name.lower().replace("_", "-")


class Bound(NamedTuple):
    """A limit of a setting, and how it is written: ``2592000000`` and ``30d``."""

    number: float
    text: str


class Relation(StrEnum):
    """How two numbers of a topic have to compare; the values are the fields of a manifest."""

    BELOW = "below"
    AT_MOST = "atMost"
    ABOVE = "above"
    AT_LEAST = "atLeast"


@dataclass(frozen=True, slots=True)
class NameRule:
    """What a topic may be called: the whole name has to match ``pattern``, a regular expression of RE2."""

    origin: Origin
    pattern: str | None = None
    max_length: int | None = None


@dataclass(frozen=True, slots=True)
class CountRule:
    """Limits of one number, and for each broker. Where it is left to the broker, ``required`` decides.

    ``True``: that is a breach; ``False``: any default will do; ``None``: undecided, because the default is not known.
    """

    origin: Origin
    subject: TopicNumber
    minimum: int | None = None
    maximum: int | None = None
    min_per_broker: int | None = None
    max_per_broker: int | None = None
    required: bool | None = None


@dataclass(frozen=True, slots=True)
class SettingRule:
    """What one setting may be; ``required`` as in :class:`CountRule`, ``allowed`` in normal form."""

    origin: Origin
    name: str
    required: bool | None = None
    forbidden: bool = False
    allowed: tuple[str, ...] | None = None
    minimum: Bound | None = None
    maximum: Bound | None = None


@dataclass(frozen=True, slots=True)
class RelationRule:
    """How ``value`` compares with ``other``: settings, numbers of the topic, or ``brokers``; ``required`` as above."""

    origin: Origin
    value: str
    relation: Relation
    other: str
    required: bool | None = None


@dataclass(frozen=True, slots=True)
class ExpressionRule:
    """A text in CEL that has to be true; ``origin`` is the place of the text."""

    origin: Origin
    text: str


RulePart: TypeAlias = NameRule | CountRule | SettingRule | RelationRule | ExpressionRule


@dataclass(frozen=True, slots=True)
class TopicException:
    """Accepts what some topics break of one rule, until it ``expires``; without ``codes``, all of it."""

    topics: NameSelector
    reason: str
    expires: Expiry
    origin: Origin
    codes: frozenset[TopicCheck] = frozenset()
    ticket: str | None = None

    def stands(self, as_of: datetime.date) -> bool:
        """Whether it counts then."""
        return not self.expires.over(as_of)


@dataclass(frozen=True, slots=True)
class TopicRule:
    """One rule: which topics it is about, and what it asks of them.

    A topic is meant if ``topics`` selects its name (``None``: every name), ``excluded`` does not, and it has all
    ``labels``.
    """

    document: str
    origin: Origin
    parts: tuple[RulePart, ...]
    topics: NameSelector | None = None
    excluded: NameSelector | None = None
    labels: Mapping[str, str] = field(default_factory=FrozenMap)
    name: str | None = None
    message: str | None = None
    severity: Literal["error", "warning"] = "error"
    exceptions: tuple[TopicException, ...] = ()
