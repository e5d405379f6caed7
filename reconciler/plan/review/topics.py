"""Topics in a review: what they hold, what is for good, room on disks.

What the reviewer of topic steps wants to know beside them; no part of a plan's ids.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Annotated, Final

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import text
from reconciler.dataclass import dataclass
from reconciler.model.desired import Origin
from reconciler.model.flavor import Flavor
from reconciler.model.frozen import FrozenMap
from reconciler.model.says import REQUIRED, AnyText, Says
from reconciler.model.state import ClusterState
from reconciler.model.topic import TopicUse
from reconciler.plan.kinds import kind_of
from reconciler.plan.kinds.acl import created_bindings
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


TOPIC_REVIEW: Final = record_of(TopicReview)


def review_topics(steps: Iterable[Step], broker_defaults: Mapping[str, str]) -> TopicReview:
    """The review before anybody was asked anything: the defaults that ``steps`` rely on."""
    wanted = {name for step in steps for name in kind_of(step.change).broker_defaults(step.change)}
    return TopicReview(FrozenMap({name: broker_defaults[name] for name in wanted if name in broker_defaults}))


# What no undo brings back: it is said before anybody agrees.


def irreversible(steps: Iterable[Step]) -> Iterator[str]:
    """A sentence for each step that is not reversible (:attr:`Step.reversible`), in their order."""
    for step in steps:
        if (sentence := kind_of(step.change).irreversible(step.change)) is not None:
            yield sentence


# What a plan says where a service takes no more than so many ACLs, and how full it is.

#: From this share of the most on, it is said.
_FULL: Final = 0.9


def room_warnings(live: ClusterState, steps: Sequence[Step], flavor: Flavor) -> Iterator[str]:
    """Near the most that any cluster of the make takes, or beyond what its smallest type takes; guards refuse more."""
    most, fewest = flavor.max_bindings, flavor.fewest_bindings
    there = len(live.bindings) + len(live.opaque)
    creates = len(created_bindings(step.change for step in steps))
    if most is not None and there + creates > most * _FULL:
        has = f"{there:,} ACLs are live, the plan creates {creates:,}"
        yield f"{has}, and {flavor.title} takes {most:,} at most, or fewer"
    elif fewest is not None and creates and there + creates > fewest:
        yield (
            f"{there:,} ACLs are live and the plan creates {creates:,}: the smallest type of cluster of {flavor.title} "
            f"takes {fewest:,}, and refuses the others"
        )
