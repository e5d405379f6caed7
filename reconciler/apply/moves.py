"""Changes that brokers accept at once and perform over hours: begun only where nothing moves, awaited, told truly.

What was accepted goes on in the brokers, whatever becomes of this run: the next one of the same plan waits for it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from reconciler.apply.audit import CANCELLATION, AboutCommand, CancellationRecord, CancelledPartition, line_parts
from reconciler.apply.environment import Outcome, StepOutcome
from reconciler.apply.kinds import kind_of
from reconciler.apply.kinds.interface import Copying, Marks, Remaining
from reconciler.apply.run import OUTCOMES, VISIBLE_SECONDS, Run, StoppedError, answered, changed_meanwhile, read
from reconciler.dataclass import dataclass
from reconciler.model.listing import Change, Update
from reconciler.model.state import ClusterState
from reconciler.model.topic import PartitionLayout, Topic, TopicConfigs
from reconciler.model.topic_configs import FOLLOWERS, LEADERS
from reconciler.plan.kinds import describe
from reconciler.plan.observed import Observed, StepState, lacks_replicas
from reconciler.plan.step import Step
from reconciler.ports import (
    REPLICATION_RATES,
    Answer,
    AnswerStatus,
    Clock,
    Cluster,
    ClusterError,
    InspectableCluster,
    ReadRequest,
)
from reconciler.retry import polls

#: Seconds in which something has to move: a broker that is down holds a move up until it is back.
STALLED_SECONDS: Final = 600.0
#: The code of an outcome that ends the run: whatever holds this move up would hold up the next one.
STALLED: Final = "stalled"
#: Seconds in which nothing of a move that was accepted is told to be moving, though it is not where it should be.
CANCELLED_SECONDS: Final = 30.0
CANCELLED: Final = "cancelled"
_CANCELLED: Final = "brokers do not move it any more: somebody has cancelled it"
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 10.0
_GOES_ON: Final = "brokers accepted it and go on with it: apply the same plan again to wait for it"
_PERHAPS: Final = "whether brokers go on with it is not known: apply the same plan again to see"
_NOT_BEGUN: Final = "what had begun is moved, and the rest has not begun: apply the same plan again to go on"


def is_gradual(run: Run, step: Step) -> bool:
    """Whether brokers go on with a change after they accepted it."""
    return kind_of(step.change).remaining(step.change, run.start) is not None


def unchanged(run: Run, batch: Sequence[Step]) -> list[Step]:
    """The steps that are still to be done, read anew: what came before them may have taken hours."""
    live, ready, settled = read(run), [], []
    for step in batch:
        observed = step.observed(live)
        if observed.state in (StepState.PENDING, StepState.UNREADABLE):  # what hides, :func:`move` waits for
            ready.append(step)
        elif observed.state is StepState.DONE:
            settled.append(StepOutcome(step, Outcome.ALREADY))
        else:
            settled.append(changed_meanwhile(step, observed))
    run.record_outcomes(settled)
    return ready


def move(run: Run, step: Step) -> StepOutcome:
    """Perform one gradual step, as much at a time as is permitted, and wait until brokers are through with each batch.

    What moves already is waited for and not sent again. It ends early where you ask to stop, where nothing moves for
    ``STALLED_SECONDS``, or where somebody else has changed what moves: then nothing is done, and nothing is undone.
    """
    environment, kind = run.environment, kind_of(step.change)
    while True:
        live = _settled(run, step)
        observed = step.observed(live)
        if observed.state is StepState.DONE:
            return StepOutcome(step, Outcome.DONE)
        if observed.state is StepState.UNREADABLE:
            return StepOutcome(step, Outcome.UNKNOWN, "unreadable", f"{observed.subject}: {observed.found}; {_PERHAPS}")
        if observed.state is not StepState.PENDING:
            return changed_meanwhile(step, observed)
        batch = kind.next_batch(step.change, live, environment.move_limits)
        if isinstance(batch, str):
            return StepOutcome(step, Outcome.FAILED, "not_begun", batch)
        if not batch.begun:
            if environment.interrupted():
                return StepOutcome(step, Outcome.UNKNOWN, "unfinished", _NOT_BEGUN)
            (answer,) = answered(run.send, [batch.change], environment.clock)
            if not answer.good:
                return StepOutcome(step, OUTCOMES[answer.status], answer.code, answer.message)
        if (early := _await_batch(run, step, replace(step, change=batch.change))) is not None:
            return early


def _settled(run: Run, step: Step) -> ClusterState:
    """The cluster once every replica of what is to move is seen and in sync, or after ``STALLED_SECONDS``.

    Between two batches a broker may restart: nothing more begins meanwhile.
    """
    noted = False
    for _ in polls(run.environment.clock, STALLED_SECONDS):
        live = read(run)
        observed = step.observed(live)
        hidden = observed.state is StepState.UNREADABLE
        if not (lacks_replicas(observed) or hidden) or run.environment.interrupted():
            break
        if not noted:
            why = observed.found if hidden else f"{observed.found} in sync"
            run.environment.progress.note(f"{describe(step.change)}: waiting, {why}")
            noted = True
        run.lease_guard.renew()
    return live


def _await_batch(run: Run, step: Step, part: Step) -> StepOutcome | None:
    """Wait for a batch of ``step``; why the step ends with it, ``None`` where brokers are through."""
    clock, progress = run.environment.clock, run.environment.progress
    shown, since, pause = "", clock.monotonic(), _FIRST_PAUSE
    idle_since: float | None = None
    while True:
        now, remaining, observed = _look(run, step, part)
        if observed is not None and observed.state is StepState.DONE:
            return None
        if observed is not None and observed.state is not StepState.PENDING:
            return changed_meanwhile(step, observed)
        if now != shown:
            shown, since = now, clock.monotonic()
            progress.moving(now, remaining.copied if remaining is not None else 0)
        # A broker that answers by what it knew may not show yet what another one has accepted or done.
        if remaining is None or remaining.moving:
            idle_since = None
        elif idle_since is None:
            idle_since = clock.monotonic()
        if idle_since is not None and clock.monotonic() - idle_since > CANCELLED_SECONDS:
            return StepOutcome(step, Outcome.FAILED, CANCELLED, _CANCELLED)
        if clock.monotonic() - since > STALLED_SECONDS:
            why = f"nothing moved for {STALLED_SECONDS / 60:.0f} minutes; {_GOES_ON}"
            return StepOutcome(step, Outcome.UNKNOWN, STALLED, why)
        if run.environment.interrupted():
            return StepOutcome(step, Outcome.UNKNOWN, "unfinished", _GOES_ON)
        run.lease_guard.renew()
        clock.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _look(run: Run, step: Step, part: Step) -> tuple[str, Remaining | None, Observed | None]:
    """What is left of a step, in words and as numbers, and what is found of the batch.

    A reading that fails, or does not show where the replicas are, tells nothing.
    """
    try:
        live = read(run)
    except StoppedError as error:
        return f"waiting; {error}", None, None
    observed = part.observed(live)
    if observed.state is StepState.UNREADABLE:
        return f"waiting; {observed.subject}: {observed.found}", None, None
    remaining = kind_of(step.change).remaining(step.change, live)
    if remaining is None:
        return "", None, observed
    waiting = f", of which {remaining.waiting:,} wait" if remaining.waiting else ""
    count = remaining.moving + remaining.waiting
    words = f"{describe(step.change)}: {count:,} partitions left{waiting}, {_amount(remaining.copied)} to copy"
    return words, remaining, observed


def _amount(size: int) -> str:
    for unit, divisor in (("GiB", 2**30), ("MiB", 2**20)):
        if size >= divisor:
            return f"{size / divisor:.1f} {unit}"
    return f"{size:,} bytes"


# Limiting how fast brokers copy replicas for one move, and taking the limit away again, also one of a killed run.
#
# Two things make a throttle (KIP-73): which replicas of the topic it is about, in two configs of the topic, and a
# rate on each broker. The configs of the topic follow from the move, so they tell whose throttle it is: they are set
# before the rates and removed after them. A run that finds them as its plan would set them has found its own.

_AGAIN: Final = "apply the same plan again to remove it"


def begin(run: Run, batch: Sequence[Step]) -> str:
    """Limit the copying of moves that are about to begin, if somebody asked for it; returns why they must not begin.

    The throttle of an earlier run of this plan is taken over. One of somebody else is never changed.
    """
    rate, rates = run.environment.throttle, run.environment.rates
    copies = _copied(run, batch) if rate is not None else []
    if rate is None or not copies:
        return ""
    if rates is None:
        return "nobody here can set a throttle"
    for copying in copies:
        if copying.marks is Marks.OTHERS:
            return f"{copying.subject} is throttled by somebody else: remove that first, or apply without a throttle"
        if problem := _taken(run, copying):
            return problem
        run.throttled("set", copying.subject, copying.brokers, rate)
        if problem := _sent(run.environment.cluster, copying.mark):
            return f"the throttled replicas of {copying.subject} could not be set: {problem}"
        refused = rates.set_replication_rates(copying.brokers, rate)
        if refused:
            settle(run, batch)
            return f"the throttle could not be set: {_named(refused)}"
    return ""


def settle(run: Run, steps: Iterable[Step]) -> None:
    """Remove the throttles of moves that are over; what stays, and why, is in ``run.still_throttled``."""
    rates = run.environment.rates
    steps = [step for step in steps if kind_of(step.change).copying(step.change, run.start) is not None]
    if rates is None or not steps:
        return
    try:
        for copying in _copied(run, steps):
            if copying.marks is not Marks.OURS:
                run.still_throttled.pop(copying.subject, None)
                continue
            run.still_throttled[copying.subject] = f"{copying.subject} stays throttled while it moves: {_AGAIN}"
            if copying.is_moving:
                continue
            refused = rates.set_replication_rates(copying.brokers, None)
            problem = _named(refused) if refused else _sent(run.environment.cluster, copying.unmark)
            if problem:
                run.still_throttled[copying.subject] = f"{copying.subject} stays throttled: {problem}; {_AGAIN}"
                continue
            del run.still_throttled[copying.subject]
            run.throttled("removed", copying.subject, copying.brokers, None)
    except (StoppedError, ClusterError) as error:
        run.still_throttled[""] = f"a throttle may be left: {error}"


def _copied(run: Run, steps: Iterable[Step]) -> list[Copying]:
    live = read(run)
    return [copying for step in steps if (copying := kind_of(step.change).copying(step.change, live)) is not None]


def _taken(run: Run, copying: Copying) -> str:
    """Whose rates brokers have already, where they are not ours; a broker that does not tell may have one."""
    rates = run.environment.rates
    if rates is None or copying.marks is Marks.OURS:
        return ""
    try:
        settings = rates.broker_settings(REPLICATION_RATES, features=False)
    except ClusterError as error:
        return f"nobody knows which throttles brokers have: {error}"
    for broker in sorted(copying.brokers):
        if settings.gap or broker not in settings.configs:
            why = settings.gap or settings.silent.get(broker, "the cluster does not name it")
            return f"nobody knows which throttle broker {broker} has: {why}"
        for name, config in settings.configs[broker].items():
            if config.value is not None or config.hidden:
                return f"broker {broker} has {name} already: somebody else throttles there"
    return ""


def _named(refused: Mapping[int, str]) -> str:
    return "; ".join(f"broker {broker}: {why}" for broker, why in sorted(refused.items()))


# The configs of a topic that say which of its replicas are throttled (KIP-73): whose they are, and how they go.


def brokers_of(configs: Mapping[str, str], partitions: Sequence[PartitionLayout]) -> frozenset[int]:
    """The brokers of a throttle that is about the move of ``partitions``; empty where there is none, or another's.

    ``apply`` and ``kafka-reassign-partitions.sh`` write it alike: for each partition that a move touches its new
    replicas among the followers, and those that it had among the leaders. That has to fit what is read, whether the
    partition is moving, is through, or has not begun.
    """
    followers, leaders = _parsed(configs.get(FOLLOWERS, "")), _parsed(configs.get(LEADERS, ""))
    if not followers or not leaders or followers.keys() != leaders.keys():
        return frozenset()
    if not all(
        number < len(partitions) and _fits(partitions[number], followers[number], leaders[number])
        for number in followers
    ):
        return frozenset()
    return frozenset().union(*followers.values(), *leaders.values())


def _fits(partition: PartitionLayout, added: frozenset[int], old: frozenset[int]) -> bool:
    replicas = frozenset(partition.replicas)
    if partition.is_moving:
        return added == frozenset(partition.adding) and old == frozenset(partition.reverted)
    # Through, with the new ones among the replicas; or not begun, or cancelled, with none of them.
    return not added & old and (added <= replicas or (old == replicas and not added & replicas))


def _parsed(text: str) -> dict[int, frozenset[int]]:
    """``0:1,0:2,1:3`` by partition; nothing for ``*`` and whatever is written otherwise."""
    by_partition: dict[int, frozenset[int]] = {}
    for item in filter(None, text.split(",")):
        number, _, broker = item.partition(":")
        if not (number.isdecimal() and broker.isdecimal()):
            return {}
        by_partition[int(number)] = by_partition.get(int(number), frozenset()) | {int(broker)}
    return by_partition


def unmarked(topic: Topic) -> Change | None:
    """The change after which no replica of a topic is throttled; ``None`` where none is."""
    there: dict[str, str | None] = {key: topic.configs[key] for key in (FOLLOWERS, LEADERS) if topic.configs.get(key)}
    if not there:
        return None
    gone = TopicConfigs(topic.name, dict.fromkeys(there), topic.topic_id)
    return Update(TopicConfigs(topic.name, there, topic.topic_id), gone)


# Unfinished reassignments cancelled: brokers go back to the replicas before (KIP-455), and the throttle goes too.
#
# Nothing here begins a move. What was cancelled is told by reading again, for each partition by itself.

_NOTHING_MOVES: Final = "NO_REASSIGNMENT_IN_PROGRESS"


class Ending(StrEnum):
    """What became of one partition."""

    CANCELLED = "cancelled"
    #: Nothing was moving any more when the controller got the request: finished, or cancelled by somebody else.
    OVER = "over"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TopicMove:
    """A topic with all of its partitions as they were read; ``live`` has its configs, where they were read."""

    topic: str
    partitions: tuple[PartitionLayout, ...]
    live: Topic | None = None

    @property
    def moving(self) -> Mapping[int, PartitionLayout]:
        """The partitions of which a reassignment is unfinished, by number."""
        return {number: item for number, item in enumerate(self.partitions) if item.is_moving}

    @property
    def bytes_left(self) -> int:
        """About how many bytes are still to be copied."""
        return sum(partition.bytes_left for partition in self.partitions)

    @property
    def throttle(self) -> frozenset[int]:
        """The brokers of a throttle as ``apply --throttle`` sets it for this move; empty: none, or somebody else's."""
        return frozenset() if self.live is None else brokers_of(self.live.configs, self.partitions)

    @property
    def is_marked(self) -> bool:
        """Whether replicas of the topic are throttled, whoever did that."""
        return self.live is not None and unmarked(self.live) is not None


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """What became of one partition: its replicas at the last reading, ``None`` where it did not show.

    ``code`` and ``message`` are the broker's words, or ours for what was read.
    """

    topic: str
    partition: int
    ending: Ending
    replicas: tuple[int, ...] | None
    code: str = ""
    message: str = ""


def cancel(cluster: InspectableCluster, moves: Collection[TopicMove], clock: Clock) -> tuple[PartitionEnd, ...]:
    """Cancel what is moving in ``moves``, and read until it shows, for ``VISIBLE_SECONDS`` at the most."""
    before = {(move.topic, number): item for move in moves for number, item in move.moving.items()}
    places = list(before)
    if not places:
        return ()
    answers = dict(zip(places, answered(cluster.cancel_reassignments, places, clock), strict=True))
    names = sorted({topic for topic, _ in places})
    ends: dict[tuple[str, int], PartitionEnd] = {}
    for _ in polls(clock, VISIBLE_SECONDS):
        try:
            seen = _layout(cluster, names)
        except ClusterError as error:
            ends = {place: _unread(place, answers[place], str(error)) for place in places}
            continue
        ends = {place: _end(place, item, answers[place], seen.get(place)) for place, item in before.items()}
        if not any(end.ending is Ending.UNKNOWN for end in ends.values()):
            break
    return tuple(ends.values())


def _layout(cluster: InspectableCluster, names: Sequence[str]) -> dict[tuple[str, int], PartitionLayout]:
    layout = cluster.read(ReadRequest(acls=False, all_topics=False, layout=names)).layout
    if layout is None:
        raise ClusterError("layout_unread", "the cluster did not say where replicas are")
    return {(name, number): item for name, parts in layout.topics.items() for number, item in enumerate(parts)}


def _unread(place: tuple[str, int], answer: Answer, why: str) -> PartitionEnd:
    ending = Ending.REFUSED if answer.status is AnswerStatus.FAILED else Ending.UNKNOWN
    return PartitionEnd(*place, ending, None, answer.code, answer.message or f"it could not be read again: {why}")


def _end(place: tuple[str, int], before: PartitionLayout, answer: Answer, now: PartitionLayout | None) -> PartitionEnd:
    """What an answer and a reading say together; ``UNKNOWN`` where a later reading may say more."""
    if now is None:
        return PartitionEnd(*place, Ending.OVER, None, message="the topic is gone")
    if now.is_moving and answer.status is AnswerStatus.FAILED and answer.code != _NOTHING_MOVES:
        return PartitionEnd(*place, Ending.REFUSED, now.replicas, answer.code, answer.message)
    if now.is_moving:
        text = answer.message or "accepted, and brokers still show it as moving"
        return PartitionEnd(*place, Ending.UNKNOWN, now.replicas, answer.code, text)
    if now.replicas == before.reverted and answer.status is not AnswerStatus.FAILED:
        return PartitionEnd(*place, Ending.CANCELLED, now.replicas)
    if answer.good:
        text = "accepted, and brokers do not show the replicas before"
        return PartitionEnd(*place, Ending.UNKNOWN, now.replicas, answer.code, text)
    how = {before.target: "it had finished", before.reverted: "somebody else had cancelled it"}
    return PartitionEnd(*place, Ending.OVER, now.replicas, message=how.get(now.replicas, "somebody else moved it"))


def unthrottle(
    cluster: InspectableCluster, moves: Collection[TopicMove], others: Collection[TopicMove]
) -> Iterator[str]:
    """Take the throttles of moves away that are over; yields why one stays.

    ``others`` are moves that go on: rates of a broker stay where one of those is throttled, too.
    """
    for move in moves:
        if move.live is None:
            yield f"whether topic {move.topic} is throttled is not known: its configs could not be read"
    mine = [move for move in moves if move.is_marked]
    kept = any(other.is_marked for other in others)
    for move in mine:
        subject = f"topic {move.topic} stays throttled"
        if not move.throttle:
            yield f"{subject}: that is not the throttle of this move; remove it with kafka-configs.sh"
            continue
        if kept:
            yield f"the rates of brokers {_listed(move.throttle)} stay: another topic that moves is throttled"
        elif problem := _without_rates(cluster, move.throttle):
            yield f"{subject}: {problem}"
            continue
        if move.live is not None and (problem := _sent(cluster, unmarked(move.live))):
            yield f"{subject}: {problem}"


def _sent(cluster: Cluster, change: Change | None) -> str:
    """Why a change was not performed; empty where it was, or where there is none."""
    try:
        answers = [] if change is None else cluster.send([change])
    except ClusterError as error:
        return str(error)
    return "; ".join(f"{answer.code}: {answer.message}" for answer in answers if not answer.good)


def _without_rates(cluster: InspectableCluster, brokers: Collection[int]) -> str:
    """Why rates stay; empty where they are gone. Ours are the same on every broker of a move."""
    try:
        settings = cluster.broker_settings(REPLICATION_RATES, features=False)
    except ClusterError as error:
        return f"nobody knows which rates brokers have: {error}"
    for broker in sorted(brokers):
        if settings.gap or broker not in settings.configs:
            why = settings.gap or settings.silent.get(broker, "the cluster does not name it")
            return f"nobody knows which rates broker {broker} has: {why}"
    rates = {config.value for broker in brokers for config in settings.configs[broker].values()} - {None}
    if len(rates) > 1:
        return f"brokers {_listed(brokers)} have different rates: somebody else has set some of them"
    return _named(cluster.set_replication_rates(brokers, None)) if rates else ""


def _listed(brokers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(brokers)))


# What an audit log says of it.

#: As of bindings on a line of ``audit``.
_PARTITIONS_A_LINE: Final = 1_000


def cancelling(about: AboutCommand, moves: Collection[TopicMove], time: str) -> list[dict[str, Any]]:
    """What is about to be cancelled."""
    moving = [
        CancelledPartition(move.topic, number, item.target, item.reverted)
        for move in moves
        for number, item in move.moving.items()
    ]
    return _cancellations(about, "cancel", moving, _throttled(moves), (), time)


def cancelled(
    about: AboutCommand,
    moves: Collection[TopicMove],
    ends: Iterable[PartitionEnd],
    still_throttled: Iterable[str],
    time: str,
) -> list[dict[str, Any]]:
    """What became of it; ``moves`` are as they were read before."""
    before = {(move.topic, number): item for move in moves for number, item in move.moving.items()}
    partitions = []
    for end in ends:
        item = before[end.topic, end.partition]
        place = (end.topic, end.partition, item.target, item.reverted)
        partitions.append(CancelledPartition(*place, str(end.ending), end.code, end.message))
    return _cancellations(about, "cancelled", partitions, _throttled(moves), tuple(still_throttled), time)


def _cancellations(
    about: AboutCommand,
    action: str,
    partitions: Sequence[CancelledPartition],
    throttled: tuple[str, ...],
    still_throttled: tuple[str, ...],
    time: str,
) -> list[dict[str, Any]]:
    parts = line_parts(partitions, _PARTITIONS_A_LINE)
    written = (CancellationRecord(about, action, part, throttled, still_throttled, time) for part in parts)
    return [{"record": "cancellation", **CANCELLATION.write(item)} for item in written]


def _throttled(moves: Iterable[TopicMove]) -> tuple[str, ...]:
    return tuple(move.topic for move in moves if move.throttle)
