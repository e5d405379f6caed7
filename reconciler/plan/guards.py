"""What a plan must not do unless a person named it: one refusal for each thing, each with its own guard.

An acknowledgement names the guard and the object, is given when the plan is made, and is part of the plan's id.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reconciler.model import Delete, ResourcePattern, Topic, TopicConfigs, Update
from reconciler.plan.coverage import CoverageChange
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.plan.kinds.topic import losses
from reconciler.plan.step import Step


class Guard(StrEnum):
    """Names as ``--accept GUARD=OBJECT`` and ``Cluster.spec.acknowledge`` spell them."""

    TOPIC_DELETE = "topic-delete"
    DATA_LOSS = "data-loss"
    OPEN_BY_DEFAULT = "open-by-default"
    CLOSED_BY_DEFAULT = "closed-by-default"
    LIMIT = "limit"
    EMPTY_DESIRED = "empty-desired"
    EMPTY_LIVE = "empty-live"
    LOCKOUT = "lockout"
    PROTECTED = "protected"
    CLUSTER_ALTER = "cluster-alter"
    BROKEN_BINDING = "broken-binding"


@dataclass(frozen=True, slots=True, order=True)
class Acknowledgement:
    """A person's word that this guard may let this object pass, and why."""

    guard: Guard
    object: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A guard that nobody has acknowledged; ``remedy`` says what a person can do."""

    guard: Guard
    object: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Limits:
    """How many deletions one plan may hold; ``None`` is no limit. The share is of the live bindings in scope."""

    max_deletes: int | None = None
    max_delete_percent: int | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What guards look at besides the steps: the cluster's name, counts of bindings, coverage, default-allow.

    ``in_use`` are the patterns to be closed whose names somebody may use now. ``expected_live`` is the number of live
    bindings in scope that an earlier look (a saved plan, a baseline) saw.
    """

    cluster: str
    owned: int
    desired: int
    limits: Limits
    default_allow: bool | None
    coverage: CoverageChange
    in_use: tuple[ResourcePattern, ...] = ()
    expected_live: int | None = None


def refusals(
    steps: Sequence[Step], around: Surroundings, acknowledged: Collection[Acknowledgement]
) -> tuple[Refusal, ...]:
    """Every guard that refuses, less those acknowledged."""
    found = (*_topics(steps), *_limits(steps, around), *_empty(steps, around), *_default_allow(around))
    return unacknowledged(found, acknowledged)


def unacknowledged(found: Iterable[Refusal], acknowledged: Collection[Acknowledgement]) -> tuple[Refusal, ...]:
    """The refusals that nobody's word lifts."""
    given = {(ack.guard, ack.object) for ack in acknowledged}
    return tuple(refusal for refusal in found if (refusal.guard, refusal.object) not in given)


def _refusal(guard: Guard, name: str, message: str) -> Refusal:
    return Refusal(guard, name, message, f"if this is meant: --accept {guard}={name}")


def _topics(steps: Sequence[Step]) -> Iterator[Refusal]:
    for step in steps:
        match step.change:
            case Delete(Topic() as topic):
                yield _refusal(Guard.TOPIC_DELETE, topic.name, f"deletes topic {topic.name} and all its records")
            case Update(_, TopicConfigs(name)):
                for reason in losses(step.change):
                    yield _refusal(Guard.DATA_LOSS, name, f"may lose records of topic {name}: {reason}")
            case _:
                pass


def _limits(steps: Sequence[Step], around: Surroundings) -> Iterator[Refusal]:
    bindings = len(deleted_bindings(step.change for step in steps))
    deletes = sum(isinstance(step.change, Delete) for step in steps)
    most, percent = around.limits.max_deletes, around.limits.max_delete_percent
    if most is not None and deletes > most:
        yield _refusal(Guard.LIMIT, "maxDeletes", f"{deletes} deletions, but limits.maxDeletes is {most}")
    if percent is not None and bindings * 100 > percent * around.owned:
        share = f"{bindings} of {around.owned} bindings in scope would go"
        yield _refusal(Guard.LIMIT, "maxDeletePercent", f"{share}, but limits.maxDeletePercent is {percent}")


def _empty(steps: Sequence[Step], around: Surroundings) -> Iterator[Refusal]:
    deletes = bool(deleted_bindings(step.change for step in steps))
    if deletes and not around.desired:
        message = "the manifests declare no binding at all for this cluster, so every binding in scope would go"
        yield _refusal(Guard.EMPTY_DESIRED, around.cluster, message)
    if around.expected_live and not around.owned:
        message = f"no live binding in scope, where {around.expected_live} were seen before: the listing may be wrong"
        yield _refusal(Guard.EMPTY_LIVE, around.cluster, message)


def _default_allow(around: Surroundings) -> Iterator[Refusal]:
    if around.default_allow is not True:
        return
    for pattern in around.coverage.opened:
        message = f"the last binding on {pattern} goes, which opens it to everyone"
        yield _refusal(Guard.OPEN_BY_DEFAULT, str(pattern), message)
    for pattern in around.in_use:
        message = f"the first binding on {pattern} shuts out everyone else who uses it now"
        yield _refusal(Guard.CLOSED_BY_DEFAULT, str(pattern), message)
