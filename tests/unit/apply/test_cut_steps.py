"""A step that is sent as several requests, cut off between any two: the same plan finishes it, and undo names it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from reconciler.apply.environment import Outcome, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import Preflight
from reconciler.apply.records import PastRun
from reconciler.apply.run import ApplyEnvironment
from reconciler.apply.undo import doubts, performed_steps, revert_steps
from reconciler.kafka import listing
from reconciler.kafka.flavored import flavored
from reconciler.kafka.kinds import kind_of as sending_of
from reconciler.model.desired import DesiredState, Origin
from reconciler.model.flavor import CONFLUENT_CLOUD, Signs
from reconciler.model.kinds import listed_types
from reconciler.model.kinds.client_metrics import ClientMetrics
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, SCRAM_CODES, PasswordSource, ScramUser
from reconciler.model.listing import Change, Create, Delete, ListedItem, Listing, Update, resource_of, values_of
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions, TopicReplicas
from reconciler.plan.kinds import kind_of, kinds
from reconciler.plan.observed import StepState
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Plan
from reconciler.plan.step import Step
from reconciler.ports import Answer, AnswerStatus, Cluster, ClusterError, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.faults.scenario import before, plan_for, wish
from tests.property.clock import StillClock
from tests.worlds import acl

PLACE: Final = Origin("plan.json", 1, 1)
SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


def user(**iterations: int) -> ScramUser:
    values = {f"SCRAM-SHA-{name[1:]}": number for name, number in iterations.items()}
    return ScramUser("u", values, dict.fromkeys(values, PasswordSource("${env:P}")))


def both(first: int, second: int) -> ScramUser:
    return user(_256=first, _512=second)


def quota(**rates: float) -> ClientQuota:
    return ClientQuota(QuotaEntity.of("u"), rates)


def of_address(text: str, again: ClientQuota | None = None) -> ClientQuota:
    return ClientQuota(QuotaEntity.of(ip=text), {"connection_creation_rate": 1}, again)


def group(**values: str) -> GroupConfig:
    return GroupConfig("g", {name.replace("_", "."): value for name, value in values.items()})


def subscription(**values: str) -> ClientMetrics:
    return ClientMetrics("s", values)


SUBSCRIBED: Final = subscription(metrics="a.", match="client_id=a")
PAIR: Final = quota(producer_byte_rate=1, consumer_byte_rate=1)
TIMES: Final = group(consumer_session_timeout_ms="50000", consumer_heartbeat_interval_ms="5000")
#: Every action, with all that one step of it can hold at once.
CHANGES: Final[dict[str, Change]] = {
    "a binding": Create(acl("x", "User:a")),
    "a binding that goes": Delete(acl("x", "User:a")),
    "a topic": Create(Topic("new", 3, 1, {"retention.ms": "1", "flush.ms": "2"})),
    "a topic that goes": Delete(Topic("t", 3, 1)),
    "partitions": Update(TopicPartitions("t", 1), TopicPartitions("t", 9)),
    "configs": Update(TopicConfigs("t", {"a": "1", "b": None}), TopicConfigs("t", {"a": None, "b": "2"})),
    "replicas": Update(TopicReplicas("t", ((1,), (2,))), TopicReplicas("t", ((2,), (1,)))),
    "a quota": Create(PAIR),
    "two rates": Update(PAIR, quota(producer_byte_rate=2, consumer_byte_rate=2)),
    "a quota that goes": Delete(PAIR),
    "a quota of an address that stays": Delete(of_address("::ffff:127.0.0.9", of_address("127.0.0.9"))),
    "a group": Create(TIMES),
    "two times": Update(TIMES, group(consumer_session_timeout_ms="60000", consumer_heartbeat_interval_ms="6000")),
    "a group that goes": Delete(TIMES),
    "a subscription": Create(SUBSCRIBED),
    "two of its configs": Update(SUBSCRIBED, subscription(metrics="b.", match="client_id=c")),
    "a subscription that goes": Delete(SUBSCRIBED),
    "a user": Create(both(4096, 4096)),
    "two passwords": Update(both(4097, 4097), both(4098, 4098)),
    "disabled": Update(both(4097, 4097), both(DISABLED_ITERATIONS, DISABLED_ITERATIONS)),
    "another mechanism": Update(user(_256=4097), user(_512=4097)),
    "one more and one new": Update(user(_256=4097), both(4098, 4098)),
    "one goes and one is new": Update(both(4097, 4097), user(_512=4098)),
    "a user that goes": Delete(both(4097, 4097)),
}
CUTS: Final = [
    (name, number) for name, change in CHANGES.items() for number in range(len(kind_of(change).parts(change)))
]
HALF: Final = [cut for cut in CUTS if cut[1] > 0]


class CutOff(MemoryCluster):
    """Takes so many requests of a change, and then none: the connection is gone. ``sent`` are the changes it got."""

    def __init__(self, state: ClusterState, left: int = 1000) -> None:
        super().__init__(state)
        self.left, self.sent = left, list[Change]()

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        self.sent += changes
        for change in changes:
            for part in kind_of(change).parts(change):
                if not self.left:
                    raise ClusterError("NO_ANSWER", "the connection was closed")
                self.left -= 1
                assert super().send([part])[0].good
        return [Answer(AnswerStatus.DONE)] * len(changes)


def plan_of(change: Change) -> Plan:
    step = Step(Phase.ALTER_USERS, change)
    return replace(plan_for(before(1), wish(1)), steps=(step,))


def state_before(change: Change) -> ClusterState:
    item: ListedItem = resource_of(change)
    there: tuple[ListedItem, ...] = () if change.before is None else (item.with_values(values_of(change.before)),)
    there += () if item.again is None else (item.again,)
    state = ClusterState("cluster")
    return state.with_listing(type(item), Listing(frozenset(there)))


def applied(plan: Plan, cluster: Cluster) -> Result:
    live = cluster.read(ReadRequest(listings=[one.KIND for one in listed_types()]))
    findings = Preflight(tuple(step.observed(live) for step in plan.steps))
    return perform(plan, live, findings, ApplyEnvironment(cluster, StillClock(), Progress()))


def test_every_action_of_every_kind_is_tried_and_each_of_its_requests_is_counted() -> None:
    assert {kind_of(one).action(one) for one in CHANGES.values()} == {name for kind in kinds() for name in kind.codecs}
    assert {cut[0] for cut in HALF} == {
        name
        for name, one in CHANGES.items()
        if isinstance(resource_of(one), ScramUser) or getattr(resource_of(one), "again", None) is not None
    }


@pytest.mark.parametrize(("name", "requests"), HALF)
def test_the_same_plan_sends_what_is_left_and_nothing_else(name: str, requests: int) -> None:
    plan = plan_of(CHANGES[name])
    (step,) = plan.steps
    cluster = CutOff(state_before(step.change), requests)
    first = applied(plan, cluster)
    assert [one.outcome for one in first.outcomes] == [Outcome.UNKNOWN]
    assert "only a part of it is done" in first.outcomes[0].message

    cluster.left, cluster.sent = 1000, []
    second = applied(plan, cluster)
    assert second.succeeded, second
    assert [one.outcome for one in second.outcomes] == [Outcome.DONE]
    parts = kind_of(step.change).parts(step.change)
    sent = [part for one in cluster.sent for part in kind_of(one).parts(one)]
    # What an earlier run has deleted may be deleted once more: Kafka writes no record of it.
    assert [part for part in sent if part.after is not None or part not in parts[:requests]] == list(parts[requests:])
    assert step.observed(cluster.state).state is StepState.DONE


@pytest.mark.parametrize(("name", "requests"), HALF)
def test_undo_names_it_and_takes_back_what_can_be(name: str, requests: int) -> None:
    plan = plan_of(CHANGES[name])
    (step,) = plan.steps
    cluster = CutOff(state_before(step.change), requests)
    applied(plan, cluster)
    live = cluster.state
    run = PastRun("r", "p", "cluster", "", None, "", {step.id: None})
    (said,) = doubts(plan, [run], live)
    item: ListedItem = resource_of(step.change)
    assert item.subject in said
    assert "` was cut off" in said
    done = performed_steps(plan, [run], live)
    back = revert_steps(done, live, Scope(), DesiredState(), PLACE)
    halves = step.halves(live)
    assert halves is not None
    assert [one.change for one in done] == [halves.done]
    if Step(step.phase, halves.done).reversible:
        assert back.kept == ()
        undone = halves.done
        wanted = back.desired.of(type(resource_of(undone)))[resource_of(undone).key]
        if not isinstance(resource_of(undone), ScramUser):
            assert wanted.item == undone.before
            return
        assert wanted.absent == (step.change.before is None)
        assert wanted.absent or wanted.item == step.change.before
    else:
        assert "is gone: Kafka tells no password" in "".join(back.kept)


@pytest.mark.parametrize(
    "name", [name for name, change in CHANGES.items() if isinstance(resource_of(change), ScramUser)]
)
def test_what_somebody_else_set_is_no_half_of_ours(name: str) -> None:
    change = CHANGES[name]
    for value in (5000, 6000):
        other = ScramUser("u", {SHA_256: value, SHA_512: 4099})
        live = ClusterState("cluster").with_listing(ScramUser, Listing(frozenset({other})))
        step = Step(Phase.ALTER_USERS, change)
        assert step.observed(live).state is StepState.STALE
        assert step.halves(live) is None
        run = PastRun("r", "p", "cluster", "", None, "", {step.id: None})
        (said,) = doubts(plan_of(change), [run], live)
        assert f"SCRAM user u is now {SHA_256}={value}" in said


def test_what_was_sent_and_did_not_arrive_is_no_doubt() -> None:
    change = CHANGES["two passwords"]
    run = PastRun("r", "p", "cluster", "", None, "", {Step(Phase.ALTER_USERS, change).id: None})
    assert doubts(plan_of(change), [run], state_before(change)) == ()


OF_LISTED: Final = [name for name, one in CHANGES.items() if hasattr(resource_of(one), "ATOMIC")]


BOTH: Final = "compact,delete"
FLAVOR: Final = replace(CONFLUENT_CLOUD, signs=Signs(), acl_principals=None)


def test_a_config_that_a_service_changes_in_two_requests_is_finished_by_the_same_plan() -> None:
    change = Update(TopicConfigs("t", {"cleanup.policy": "delete"}), TopicConfigs("t", {"cleanup.policy": BOTH}))
    plan = plan_of(change)
    topic = Topic("t", 1, 1, {"cleanup.policy": "delete"})
    cluster = CutOff(ClusterState("cluster", topics={"t": topic}), 1)
    outcomes = applied(plan, flavored(cluster, FLAVOR)).outcomes
    assert [one.outcome for one in outcomes] == [Outcome.UNKNOWN]
    assert cluster.state.topics["t"].configs == {"cleanup.policy": "compact"}
    cluster.left = 1000
    assert applied(plan, flavored(cluster, FLAVOR)).succeeded
    assert cluster.state.topics["t"].configs == {"cleanup.policy": BOTH}


class _Settings:
    followed: Final = {"${env:P}": "geheim"}

    def redact(self, text: str) -> str:
        return text


class _Connection:
    settings: Final = _Settings()


@pytest.mark.parametrize("name", OF_LISTED)
def test_the_client_sends_a_change_in_these_parts_and_no_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change = CHANGES[name]
    asked: list[Any] = []

    def ask(settings: Any, question: str, *, alterations: Sequence[Any] = (), **asks: Any) -> Any:
        fields = asks.get("fields", {"entries": alterations})
        found = [one for several in fields.values() if not isinstance(several, bool) for one in several]
        asked.extend(found)
        return (
            "altered",
            [(one[0] if isinstance(one, tuple) else dict(one, user=one.get("name")), 0, "", "") for one in found],
        )

    monkeypatch.setattr(listing, "ask", ask)
    connection: Any = _Connection()
    assert [answer.good for answer in sending_of(change).send(connection, [change])] == [True]
    parts = kind_of(change).parts(change)
    assert len(asked) == len(parts)
    if isinstance(resource_of(change), ScramUser):
        sent = [(one["mechanism"], one.get("iterations")) for one in asked]
        assert sent == [_mechanism(part) for part in parts]


def _mechanism(part: Change) -> tuple[int, int | None]:
    ((name, iterations),) = resource_of(part).values.items()
    return SCRAM_CODES[name], None if part.after is None else iterations
