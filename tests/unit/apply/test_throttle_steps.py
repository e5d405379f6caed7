"""A throttle against all that it may meet: whose configs and rates are there, what brokers refuse, what moves."""

import datetime
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Final, cast

from reconciler.apply.environment import NoLedger, Progress
from reconciler.apply.moves import begin, settle
from reconciler.apply.run import ApplyEnvironment, Run
from reconciler.model.listing import Change, Update
from reconciler.model.state import BrokerConfig, BrokerSettings, ClusterState
from reconciler.model.topic import Layout, PartitionLayout, Topic, TopicConfigs, TopicReplicas
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.step import Step
from reconciler.ports import REPLICATION_RATES, Answer, AnswerStatus, ClusterError, InspectableCluster, ReadRequest
from tests.property.clock import StillClock
from tests.property.transitions import DAY
from tests.unit.apply.test_throttle import Kept

RATE: Final = 5
STEP: Final = Step(Phase.MOVE_REPLICAS, Update(TopicReplicas("t", ((1,),), "id"), TopicReplicas("t", ((1, 2),), "id")))
PLAN: Final = Plan("c", Terms("c"), Options(), DAY, (STEP,))
LISTS: Final = {"follower.replication.throttled.replicas": "0:2", "leader.replication.throttled.replicas": "0:1"}
CONFIGS: Final[Mapping[str, Mapping[str, str]]] = {
    "nobody": {},
    "ours": LISTS,
    "others": dict.fromkeys(LISTS, "*"),
}
ERROR: Final = ClusterError("TIMED_OUT", "late")
_NAME: Final = REPLICATION_RATES[0]
#: What brokers tell of their rates, and why no other rate may be set then.
TOLD: Final[Mapping[str, tuple[BrokerSettings | ClusterError, str]]] = {
    "none": (BrokerSettings({1: {}, 2: {}}), ""),
    "unset": (BrokerSettings({1: {_NAME: BrokerConfig(None)}, 2: {}}), ""),
    "rate": (
        BrokerSettings({1: {}, 2: {_NAME: BrokerConfig("7")}}),
        f"broker 2 has {_NAME} already: somebody else throttles there",
    ),
    "hidden": (
        BrokerSettings({1: {_NAME: BrokerConfig(None, hidden=True)}, 2: {}}),
        f"broker 1 has {_NAME} already: somebody else throttles there",
    ),
    "elsewhere": (BrokerSettings({1: {}, 2: {}, 3: {_NAME: BrokerConfig("7")}}), ""),
    "silent": (BrokerSettings({1: {}}, {2: "off"}), "nobody knows which throttle broker 2 has: off"),
    "unnamed": (BrokerSettings({2: {}}), "nobody knows which throttle broker 1 has: the cluster does not name it"),
    "gap": (BrokerSettings(gap="no right"), "nobody knows which throttle broker 1 has: no right"),
    "error": (ERROR, "nobody knows which throttles brokers have: TIMED_OUT: late"),
}
ANSWERS: Final[tuple[tuple[Answer | ClusterError, str], ...]] = (
    (Answer(AnswerStatus.DONE), ""),
    (Answer(AnswerStatus.FAILED, "NO", "words"), "NO: words"),
    (ERROR, "TIMED_OUT: late"),
)
REFUSED: Final[tuple[tuple[Mapping[int, str], str], ...]] = (
    ({}, ""),
    ({2: "no", 1: "never"}, "broker 1: never; broker 2: no"),
)


class Brokers:
    """Keeps what it is asked to write, and answers as told."""

    def __init__(self, configs: Mapping[str, str], told: BrokerSettings | ClusterError = ERROR) -> None:
        self.configs, self.told = dict(configs), told
        self.answer: Answer | ClusterError = Answer(AnswerStatus.DONE)
        self.refusing: Mapping[int, str] = {}
        self.moving = self.gone = False
        self.events: list[str] = []

    def read(self, request: ReadRequest) -> ClusterState:
        part = (
            PartitionLayout((1, 2), frozenset({1}), {}, (2,)) if self.moving else PartitionLayout((1,), frozenset({1}))
        )
        topics = {} if self.gone else {"t": Topic("t", 1, 1, self.configs, "id")}
        return ClusterState("c", topics=topics, layout=Layout({}, {"t": (part,)}))

    def controller_time(self) -> datetime.datetime | None:
        return None

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        (change,) = changes
        assert isinstance(change, Update)
        assert isinstance(change.after, TopicConfigs)
        self.events.append("lists set" if any(change.after.configs.values()) else "lists gone")
        if isinstance(self.answer, ClusterError):
            raise self.answer
        if self.answer.good:
            self.configs = {name: value for name, value in change.after.configs.items() if value is not None}
        return [self.answer]

    def broker_settings(self, configs: Collection[str], *, features: bool) -> BrokerSettings:
        assert (tuple(configs), features) == (REPLICATION_RATES, False)
        if isinstance(self.told, ClusterError):
            raise self.told
        return self.told

    def set_replication_rates(self, brokers: Collection[int], rate: int | None) -> Mapping[int, str]:
        assert {*brokers} == {1, 2}
        self.events.append("rates gone" if rate is None else f"rates {rate}")
        return self.refusing


def run_on(cluster: Brokers, throttle: int | None = RATE, *, rates: bool = True, kept: Kept | None = None) -> Run:
    """A run of the one step."""
    environment = ApplyEnvironment(
        cluster,
        StillClock(),
        Progress(),
        journal=kept or NoLedger(),
        throttle=throttle,
        rates=cast("InspectableCluster", cluster) if rates else None,
    )
    return Run(PLAN, environment, cluster.read(ReadRequest()), default_allow=False)


def test_a_throttle_is_set_only_where_nobody_elses_is_and_lists_come_before_rates() -> None:
    for (whose, configs), (told, taken), (answer, problem), (refusing, words) in product(
        CONFIGS.items(), TOLD.values(), ANSWERS, REFUSED
    ):
        cluster, kept = Brokers(configs, told), Kept()
        cluster.answer, cluster.refusing = answer, refusing
        run = run_on(cluster, kept=kept)
        found = begin(run, [STEP])
        events: list[str]
        if whose == "others":
            expected, events = (
                "topic t is throttled by somebody else: remove that first, or apply without a throttle",
                [],
            )
        elif taken and whose != "ours":
            expected, events = taken, []
        elif problem:
            expected, events = f"the throttled replicas of topic t could not be set: {problem}", ["lists set"]
        elif refusing:
            expected, events = f"the throttle could not be set: {words}", ["lists set", "rates 5", "rates gone"]
        else:
            expected, events = "", ["lists set", "rates 5"]
        assert (found, cluster.events) == (expected, events), (whose, told, answer, refusing)
        # Written down before anything is set.
        assert [one["action"] for one in kept.records] == ["set"] * bool(events)
        # What a broker refuses to set it refuses to remove.
        stays = f"topic t stays throttled: {words}; apply the same plan again to remove it"
        assert run.still_throttled == ({"topic t": stays} if "rates gone" in events else {})


def test_without_a_rate_a_move_or_somebody_who_can_set_one_nothing_is_set() -> None:
    for throttle, rates, gone in product((None, RATE), (False, True), (False, True)):
        cluster = Brokers({}, TOLD["none"][0])
        cluster.gone = gone
        found = begin(run_on(cluster, throttle, rates=rates), [STEP])
        wanted = throttle is not None and not gone
        assert found == ("nobody here can set a throttle" if wanted and not rates else "")
        assert bool(cluster.events) is (wanted and rates)
    other = Step(Phase.ALTER_CONFIGS, Update(TopicConfigs("t", {"a": None}), TopicConfigs("t", {"a": "1"})))
    cluster = Brokers({})
    assert begin(run_on(cluster), [other]) == ""
    settle(run_on(cluster), [other])
    assert cluster.events == []


def test_a_throttle_of_ours_goes_once_nothing_moves_and_is_named_as_long_as_it_stays() -> None:
    again = "apply the same plan again to remove it"
    for (whose, configs), moving, (answer, problem), (refusing, words), before in product(
        CONFIGS.items(), (False, True), ANSWERS, REFUSED, (False, True)
    ):
        cluster, kept = Brokers(configs), Kept()
        cluster.answer, cluster.refusing, cluster.moving = answer, refusing, moving
        run = run_on(cluster, None, kept=kept)
        if before:
            run.still_throttled["topic t"] = "it was"
        settle(run, [STEP])
        events: list[str]
        if whose != "ours":
            stays, events = None, []
        elif moving:
            stays, events = f"topic t stays throttled while it moves: {again}", []
        elif words or problem:
            stays = f"topic t stays throttled: {words or problem}; {again}"
            events = ["rates gone"] if words else ["rates gone", "lists gone"]
        else:
            stays, events = None, ["rates gone", "lists gone"]
        assert run.still_throttled == ({} if stays is None else {"topic t": stays}), (whose, moving, answer, refusing)
        assert cluster.events == events
        removed = bool(events) and stays is None
        assert [(one["action"], one["rate"]) for one in kept.records] == [("removed", None)] * removed


def test_where_nobody_can_read_or_write_rates_that_is_said() -> None:
    cluster = Brokers(LISTS)
    settle(run_on(cluster, rates=False), [STEP])
    assert cluster.events == []

    class Silenced(Brokers):
        def read(self, request: ReadRequest) -> ClusterState:
            if request != ReadRequest():
                raise ERROR
            return super().read(request)

    run = run_on(Silenced(LISTS))
    settle(run, [STEP])
    assert [
        text.startswith("a throttle may be left: the cluster could not be read again")
        for text in run.still_throttled.values()
    ] == [True]
    gone = Brokers(LISTS)
    run = run_on(gone)
    gone.gone = True
    settle(run, [STEP])
    assert (run.still_throttled, gone.events) == ({}, [])
