"""Limiting how fast brokers copy replicas for one move, and taking the limit away again, also one of a killed run.

Two things make a throttle (KIP-73): which replicas of the topic it is about, in two configs of the topic, and a rate on
each broker. The configs of the topic follow from the move, so they tell whose throttle it is: they are set before the
rates and removed after them. A run that finds them as its plan would set them has found its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from reconciler.apply.kinds import kind_of
from reconciler.apply.kinds.interface import Copying, Marks
from reconciler.apply.run import Run, StoppedError
from reconciler.apply.verification import read
from reconciler.model import Change
from reconciler.plan import Step
from reconciler.ports import REPLICATION_RATES, ClusterError

_AGAIN: Final = "apply the same plan again to remove it"


def begin(run: Run, batch: Sequence[Step]) -> str:
    """Limit the copying of moves that are about to begin, if somebody asked for it; returns why they must not begin.

    The throttle of an earlier run of this plan is taken over. One of somebody else is never changed.
    """
    rate, rates = run.environment.throttle, run.environment.rates
    found = _copied(run, batch) if rate is not None else []
    if rate is None or not found:
        return ""
    if rates is None:
        return "nobody here can set a throttle"
    for copying in found:
        if copying.marks is Marks.OTHERS:
            return f"{copying.subject} is throttled by somebody else: remove that first, or apply without a throttle"
        if problem := _taken(run, copying):
            return problem
        run.throttled("set", copying.subject, copying.brokers, rate)
        if problem := _sent(run, copying.mark):
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
            problem = _named(refused) if refused else _sent(run, copying.unmark)
            if problem:
                run.still_throttled[copying.subject] = f"{copying.subject} stays throttled: {problem}; {_AGAIN}"
                continue
            del run.still_throttled[copying.subject]
            run.throttled("removed", copying.subject, copying.brokers, None)
    except (StoppedError, ClusterError) as error:
        run.still_throttled[""] = f"a throttle may be left: {error}"


def _copied(run: Run, steps: Iterable[Step]) -> list[Copying]:
    live = read(run)
    return [found for step in steps if (found := kind_of(step.change).copying(step.change, live)) is not None]


def _taken(run: Run, copying: Copying) -> str:
    """Whose rates brokers have already, where they are not ours; a broker that does not tell may have one."""
    rates = run.environment.rates
    if rates is None or copying.marks is Marks.OURS:
        return ""
    try:
        told = rates.broker_settings(REPLICATION_RATES, features=False)
    except ClusterError as error:
        return f"nobody knows which throttles brokers have: {error}"
    for broker in sorted(copying.brokers):
        if told.gap or broker not in told.configs:
            why = told.gap or told.silent.get(broker, "the cluster does not name it")
            return f"nobody knows which throttle broker {broker} has: {why}"
        for name, config in told.configs[broker].items():
            if config.value is not None or config.hidden:
                return f"broker {broker} has {name} already: somebody else throttles there"
    return ""


def _sent(run: Run, change: Change) -> str:
    """Why a change was not performed; empty where it was."""
    try:
        (answer,) = run.environment.cluster.send([change])
    except ClusterError as error:
        return str(error)
    return "" if answer.good else f"{answer.code}: {answer.message}"


def _named(refused: Mapping[int, str]) -> str:
    return "; ".join(f"broker {broker}: {why}" for broker, why in sorted(refused.items()))
