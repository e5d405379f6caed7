"""What the reviewer of topic steps wants to know beside them; no part of a plan's ids."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from reconciler.model import Create, Delete, FrozenMap, Origin, Topic, TopicConfigs, TopicUse, Update
from reconciler.plan.step import Step

#: Whether brokers make a topic when a client asks for it.
AUTO_CREATE: Final = "auto.create.topics.enable"
PARTITIONS: Final = "num.partitions"
REPLICAS: Final = "default.replication.factor"


class Ruling(StrEnum):
    """What a cluster said when it was asked about a step, without doing it.

    ``AFTER_GRANT``: it refused for want of a right that the plan itself grants first, so it could not be asked.
    ``UNKNOWN``: no answer about this step; the code and message tell what there was instead.
    """

    ACCEPTED = "accepted"
    REFUSED = "refused"
    AFTER_GRANT = "after-grant"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class BrokerAnswer:
    """One step's answer; ``code`` and ``message`` are the broker's, word for word."""

    step: str
    subject: str
    ruling: Ruling
    code: str = ""
    message: str = ""
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    """What was asked, and when (RFC 3339 in UTC); one answer for each step that a cluster can be asked about."""

    asked: str
    answers: tuple[BrokerAnswer, ...] = ()

    def count(self, ruling: Ruling) -> int:
        """How many answers are so."""
        return sum(answer.ruling is ruling for answer in self.answers)


@dataclass(frozen=True, slots=True)
class TopicReview:
    """``defaults``: what the broker chooses now where steps leave it the choice; ``uses``: what goes, by topic."""

    defaults: Mapping[str, str] = field(default_factory=FrozenMap)
    uses: Mapping[str, TopicUse] = field(default_factory=FrozenMap)
    validation: Validation | None = None


def review_topics(steps: Iterable[Step], broker_defaults: Mapping[str, str]) -> TopicReview:
    """The review before anybody was asked anything: the defaults that ``steps`` rely on."""
    wanted = {name for step in steps for name in _left_to_the_broker(step)}
    return TopicReview(FrozenMap({name: broker_defaults[name] for name in wanted if name in broker_defaults}))


def _left_to_the_broker(step: Step) -> Iterator[str]:
    match step.change:
        case Create(Topic() as topic):
            if topic.num_partitions is None:
                yield PARTITIONS
            if topic.replication_factor is None:
                yield REPLICAS
        case Update(TopicConfigs(_, before), TopicConfigs(_, after)):
            yield from (name for name in after if after[name] is None or before[name] is None)
        case Delete(Topic()):
            yield AUTO_CREATE
        case _:
            return
