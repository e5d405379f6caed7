"""Moves that are throttled: set before they begin, taken away at the end and after a kill, never somebody else's."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from reconciler.apply.environment import Outcome, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.listing import Change, Update
from reconciler.model.state import BrokerConfig, BrokerSettings
from reconciler.model.topic import TopicConfigs, TopicReplicas
from reconciler.plan.proposal import Plan
from reconciler.ports import REPLICATION_RATES, Answer, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock
from tests.slow_moves import SlowMoves
from tests.unit.apply.test_moving import Told, plan, topic, wish

EVERY = ReadRequest()
RATE = 50 * 2**20
LISTS = {"follower.replication.throttled.replicas": "0:2,1:3", "leader.replication.throttled.replicas": "0:1,1:2"}


class Killed(BaseException):
    """The process is gone: nothing after it happens."""


class Throttled(SlowMoves):
    """Brokers that keep rates; ``events`` are the writes, of which the one numbered ``kill`` is the last."""

    def __init__(self, readings: int | None = 3) -> None:
        super().__init__(topic("t", (1,), (2,)), readings=readings)
        self.rates: dict[int, dict[str, str]] = {1: {}, 2: {}, 3: {}}
        self.events: list[str] = []
        self.kill: int | None = None
        self.refusing: set[int] = set()
        self.silent: set[int] = set()

    def _happens(self, event: str) -> None:
        self.events.append(event)

    def _dies(self) -> None:
        if self.kill is not None and len(self.events) > self.kill:
            raise Killed

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        (change,) = changes
        lists = isinstance(change, Update) and isinstance(change.after, TopicConfigs)
        self._happens(f"lists {'set' if any(change.after.configs.values()) else 'gone'}" if lists else "move")  # type: ignore[union-attr]
        answers = super().send(changes)
        self._dies()
        return answers

    def broker_settings(self, configs: Collection[str], *, features: bool) -> BrokerSettings:
        told = {
            broker: {name: BrokerConfig(value) for name, value in found.items()}
            for broker, found in self.rates.items()
            if broker not in self.silent
        }
        return BrokerSettings(told, dict.fromkeys(self.silent, "TIMED_OUT"))

    def set_replication_rates(self, brokers: Collection[int], rate: int | None) -> Mapping[int, str]:
        self._happens("rates gone" if rate is None else "rates set")
        for broker in set(brokers) - self.refusing:
            self.rates[broker] = {} if rate is None else dict.fromkeys(REPLICATION_RATES, str(rate))
        self._dies()
        return dict.fromkeys(set(brokers) & self.refusing, "refused")

    @property
    def lists(self) -> dict[str, str]:
        """What is set of the topic's throttled replicas."""
        return dict(self.state.topics["t"].configs)


def made(cluster: SlowMoves) -> Plan:
    wanted = topic("t", (1, 2), (2, 3))
    return plan(cluster, wish(replace(wanted, topic_id=None)))


def run(found: Plan, cluster: Throttled, throttle: int | None = RATE, *, stop: bool = False) -> Result:
    live = cluster.read(replace(EVERY, layout=sorted(cluster.state.topics)))
    environment = ApplyEnvironment(
        cluster, StillClock(), Told(), lambda: stop and bool(cluster.sent), throttle=throttle, rates=cluster
    )
    return perform(found, live, check(found, live, found.terms), environment)


def outcomes(result: Result) -> list[tuple[Outcome, str]]:
    return [(item.outcome, item.code) for item in result.outcomes]


def test_a_throttle_is_set_before_the_move_and_taken_away_after_it() -> None:
    cluster = Throttled()
    result = run(made(cluster), cluster)
    assert (outcomes(result), result.differences) == ([(Outcome.DONE, "")], ())
    assert cluster.events == ["lists set", "rates set", "move", "rates gone", "lists gone"]
    assert (cluster.lists, set(map(str, cluster.rates.values()))) == ({}, {"{}"})


def test_it_is_about_the_replicas_that_are_copied_and_their_brokers() -> None:
    cluster = Throttled(readings=None)
    result = run(made(cluster), cluster, stop=True)
    assert outcomes(result) == [(Outcome.UNKNOWN, "unfinished")]
    assert cluster.lists == LISTS
    assert cluster.rates == {broker: dict.fromkeys(REPLICATION_RATES, str(RATE)) for broker in (1, 2, 3)}
    # Brokers go on copying: without the rate they would do so at full speed.
    assert result.differences == ("topic t stays throttled while it moves: apply the same plan again to remove it",)


def test_it_is_taken_away_at_once_where_somebody_else_moved_the_replicas_while_it_was_set() -> None:
    """To set it takes a while: what is there after that is not what was planned. The next topic may move for hours."""

    class Overtaken(Throttled):
        def set_replication_rates(self, brokers: Collection[int], rate: int | None) -> Mapping[int, str]:
            if not self.events[1:]:
                here, elsewhere = (TopicReplicas("t", ((broker,), (2,)), "id-t") for broker in (1, 3))
                MemoryCluster.send(self, [Update(here, elsewhere)])
            return super().set_replication_rates(brokers, rate)

    cluster = Overtaken()
    SlowMoves.__init__(cluster, topic("t", (1,), (2,)), topic("u", (3,)))
    targets = (topic("t", (1, 2), (2, 3)), topic("u", (3, 1)))
    result = run(plan(cluster, wish(*(replace(item, topic_id=None) for item in targets))), cluster)
    assert outcomes(result) == [(Outcome.FAILED, "changed_meanwhile"), (Outcome.DONE, "")]
    throttle, none = ["lists set", "rates set"], ["rates gone", "lists gone"]
    assert cluster.events == [*throttle, *none, *throttle, "move", *none]
    assert (cluster.lists, set(map(str, cluster.rates.values())), result.differences) == ({}, {"{}"}, ())


def test_without_a_throttle_nothing_is_set() -> None:
    cluster = Throttled()
    assert outcomes(run(made(cluster), cluster, None)) == [(Outcome.DONE, "")]
    assert cluster.events == ["move"]


@pytest.mark.parametrize("again", [RATE, None])
@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize("kill", range(5))
def test_after_a_kill_the_same_plan_takes_the_throttle_away(kill: int, again: int | None, finished: bool) -> None:
    """Whichever write was the last, and whether the brokers were through meanwhile."""
    cluster = Throttled(readings=4)
    found = made(cluster)
    cluster.kill = kill
    with pytest.raises(Killed):
        run(found, cluster)
    cluster.kill = None
    if finished:
        for _ in range(6):
            cluster.read(replace(EVERY, layout=["t"]))
    result = run(found, cluster, again)
    assert outcomes(result)[0][0] in (Outcome.DONE, Outcome.ALREADY)
    assert (cluster.lists, result.differences) == ({}, ())
    assert cluster.state.topics["t"].replica_assignments == ((1, 2), (2, 3))
    assert set(map(str, cluster.rates.values())) == {"{}"}


@pytest.mark.parametrize("whose", ["rate", "lists", "unknown"])
def test_a_throttle_of_somebody_else_is_never_changed(whose: str) -> None:
    cluster = Throttled()
    found = made(cluster)
    if whose == "rate":
        cluster.rates[3] = {REPLICATION_RATES[0]: "7"}
    elif whose == "unknown":
        cluster.silent = {3}
    else:
        before = TopicConfigs("t", dict.fromkeys(LISTS), "id-t")
        SlowMoves.send(cluster, [Update(before, TopicConfigs("t", dict.fromkeys(LISTS, "*"), "id-t"))])
    rates, lists = dict(cluster.rates), cluster.lists
    result = run(found, cluster)
    assert outcomes(result) == [(Outcome.FAILED, "not_throttled")]
    assert (cluster.rates, cluster.lists, cluster.events) == (rates, lists, [])
    # Without a throttle of ours theirs stays, too.
    assert outcomes(run(found, cluster, None)) == [(Outcome.DONE, "")]
    assert (cluster.rates, cluster.lists) == (rates, lists)


def test_a_broker_that_refuses_the_rate_stops_the_move_and_nothing_is_left() -> None:
    cluster = Throttled()
    found = made(cluster)
    cluster.refusing = {2}
    result = run(found, cluster)
    assert outcomes(result) == [(Outcome.FAILED, "not_throttled")]
    assert "broker 2: refused" in result.outcomes[0].message
    assert "move" not in cluster.events
    # Taking away is refused, too: that is said, and the lists still tell whose it is.
    assert result.differences == ("topic t stays throttled: broker 2: refused; apply the same plan again to remove it",)
    cluster.refusing = set()
    result = run(found, cluster)
    assert (outcomes(result), cluster.lists, result.differences) == ([(Outcome.DONE, "")], {}, ())
    assert set(map(str, cluster.rates.values())) == {"{}"}


def test_a_throttle_that_is_set_and_removed_is_written_down_both_times() -> None:
    cluster, told = Throttled(), Kept()
    found = made(cluster)
    live = cluster.read(replace(EVERY, layout=["t"]))
    environment = ApplyEnvironment(
        cluster, StillClock(), Told(), journal=told, audit=told, throttle=RATE, rates=cluster
    )
    perform(found, live, check(found, live, found.terms), environment)
    said = [(one["action"], one["subject"], one["brokers"], one["rate"]) for one in told.records if "rate" in one]
    assert said == [("set", "topic t", [1, 2, 3], RATE)] * 2 + [("removed", "topic t", [1, 2, 3], None)] * 2


class Kept:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.records: list[Mapping[str, Any]] = []

    def write(self, *records: Mapping[str, Any]) -> None:
        self.records.extend(records)
