"""Every change there is: a closed union, matched with ``match`` and ``assert_never``.

A change says what is before and what is after; the operation follows from which side is present.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from reconciler.model.acl import AclBinding
from reconciler.model.frozen import FrozenMap
from reconciler.model.topic import Topic


@dataclass(frozen=True, slots=True)
class CreateAcl:
    """A binding that is not there and shall be."""

    binding: AclBinding


@dataclass(frozen=True, slots=True)
class DeleteAcl:
    """A binding that is there and shall not be."""

    binding: AclBinding


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """A topic that is not there and shall be."""

    topic: Topic


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """A topic that is there and shall not be; ``topic`` is the live one, its id included."""

    topic: Topic


@dataclass(frozen=True, slots=True)
class CreatePartitions:
    """More partitions for a live topic: ``before`` to ``after``; ``assignments`` are the brokers of the new ones."""

    name: str
    before: int
    after: int
    topic_id: str | None = None
    assignments: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class AlterConfigs:
    """Settings of one topic that differ; ``None`` means not set on the topic. Both sides have the same keys."""

    name: str
    before: Mapping[str, str | None]
    after: Mapping[str, str | None]
    topic_id: str | None = None

    def __post_init__(self) -> None:
        """Keeps both sides sorted and immutable."""
        for side in ("before", "after"):
            object.__setattr__(self, side, FrozenMap(getattr(self, side)))


@dataclass(frozen=True, slots=True)
class Impossible:
    """A wish that Kafka cannot fulfil, with what a person would do about it."""

    kind: str
    name: str
    before: str
    after: str
    reason: str


Change: TypeAlias = CreateAcl | DeleteAcl | CreateTopic | DeleteTopic | CreatePartitions | AlterConfigs | Impossible
AclChange: TypeAlias = CreateAcl | DeleteAcl
TopicChange: TypeAlias = CreateTopic | DeleteTopic | CreatePartitions | AlterConfigs
