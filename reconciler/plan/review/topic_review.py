"""What the reviewer of topic steps wants to know beside them; no part of a plan's ids."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Annotated, Final

from reconciler.codec import REQUIRED, AnyText, Record, Says, record_of, text
from reconciler.dataclass import dataclass
from reconciler.model import FrozenMap, Origin, TopicUse
from reconciler.plan.kinds import kind_of
from reconciler.plan.step import Step


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

    step: Annotated[str, text("^[0-9a-f]{12}$"), Says("The step that the broker was asked about.", "0123456789ab")]
    subject: Annotated[str, Says("What it is about, in words.", "topic orders")]
    ruling: Annotated[Ruling, Says("What the broker would do.", "accepted")]
    code: Annotated[str, Says("Kafka's name of the answer.", "POLICY_VIOLATION", default=REQUIRED)] = ""
    message: Annotated[
        AnyText, Says("The broker's message, word for word.", "replication factor must be 3", default=REQUIRED)
    ] = ""
    origin: Annotated[
        Origin | None,
        Says("The place in the manifests; null where there is none.", "topics.yaml:8:5", default=REQUIRED),
    ] = None


@dataclass(frozen=True, slots=True)
class BrokerValidation:
    """What was asked, and when (RFC 3339 in UTC); one answer for each step that a cluster can be asked about."""

    asked: Annotated[str, Says("When the broker was asked, in UTC.", "2026-11-21T05:17:00Z")]
    answers: Annotated[
        tuple[BrokerAnswer, ...],
        Says("What the broker said to each step that it was asked about.", default=REQUIRED),
    ] = ()

    def count(self, ruling: Ruling) -> int:
        """How many answers are so."""
        return sum(answer.ruling is ruling for answer in self.answers)


@dataclass(frozen=True, slots=True)
class TopicReview:
    """``defaults``: what the broker chooses now where steps leave it the choice; ``uses``: what goes, by topic."""

    defaults: Annotated[
        Mapping[str, str],
        Says("What the brokers choose where a topic sets nothing.", name="brokerDefaults", default=REQUIRED),
    ] = field(default_factory=FrozenMap)
    uses: Annotated[
        Mapping[str, TopicUse], Says("Who uses a topic that goes: groups, records, size.", default=REQUIRED)
    ] = field(default_factory=FrozenMap)
    validation: Annotated[
        BrokerValidation | None,
        Says("What the broker said without changing anything; null: not asked.", default=REQUIRED),
    ] = None


TOPIC_REVIEW: Final[Record[TopicReview]] = record_of(TopicReview)


def review_topics(steps: Iterable[Step], broker_defaults: Mapping[str, str]) -> TopicReview:
    """The review before anybody was asked anything: the defaults that ``steps`` rely on."""
    wanted = {name for step in steps for name in kind_of(step.change).broker_defaults(step.change)}
    return TopicReview(FrozenMap({name: broker_defaults[name] for name in wanted if name in broker_defaults}))
