"""What the reviewer of topic steps wants to know beside them; no part of a plan's ids."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum

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

    step: str
    subject: str
    ruling: Ruling
    code: str = ""
    message: str = ""
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class BrokerValidation:
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
    validation: BrokerValidation | None = None


def review_topics(steps: Iterable[Step], broker_defaults: Mapping[str, str]) -> TopicReview:
    """The review before anybody was asked anything: the defaults that ``steps`` rely on."""
    wanted = {name for step in steps for name in kind_of(step.change).broker_defaults(step.change)}
    return TopicReview(FrozenMap({name: broker_defaults[name] for name in wanted if name in broker_defaults}))
