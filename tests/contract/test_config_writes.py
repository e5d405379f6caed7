"""What the port promises of group configs and client metrics: each succeeds and fails alone, and changes its own."""

import pytest

from reconciler.model.kinds.client_metrics import ClientMetrics
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.listing import Create, Delete, Listing, Update
from reconciler.model.state import ClusterState
from reconciler.ports import AnswerStatus, ReadRequest
from reconciler.snapshot.document import BrokerFacts
from reconciler.snapshot.file import MemoryCluster
from tests.contract.subject import Subject, codes, verdicts

GROUPS = ReadRequest(acls=False, all_topics=False, listings=[GroupConfig.KIND])
#: The first release that lists the groups that have configs (KIP-1142).
SINCE = (4, 1)


def shows(listed: Subject, own: str, *expected: GroupConfig) -> None:
    """Waits until the configs of groups with ``own`` in their names are exactly these."""

    def as_expected(state: ClusterState) -> bool:
        found = state.listing(GroupConfig)
        assert found.items is not None, found.gap
        return {one for one in found.items if own in one.group} == set(expected)

    listed.shows(GROUPS, as_expected)


def test_releases_that_cannot_list_them_never_look_empty(subject: Subject) -> None:
    assert subject.read(ReadRequest(acls=False, all_topics=False)).listing(GroupConfig).items is None
    found = subject.read(GROUPS).listing(GroupConfig)
    assert (found.items is None) == (subject.version < SINCE)
    if found.items is None:
        assert found.gap == "brokers before Kafka 4.1 do not list the groups that have configs (KIP-1142)"


@pytest.fixture
def listed(subject: Subject) -> Subject:
    """A cluster that lists groups with configs, or a newer one in memory that does."""
    if subject.version >= SINCE:
        return subject
    state = ClusterState("newer", listings={GroupConfig.KIND: Listing(frozenset())}, kafka_version=SINCE)
    return Subject(MemoryCluster(state, BrokerFacts(broker_ids=(1,))), SINCE)


def test_configs_come_back_as_they_were_set_and_go(listed: Subject, own: str) -> None:
    made = GroupConfig(
        f"{own} ü:/é",
        {
            "consumer.session.timeout.ms": "50000",
            "share.auto.offset.reset": "by_duration:PT1H",
            "share.isolation.level": "read_committed",
            "streams.num.standby.replicas": "1",
        },
    )
    assert verdicts(listed.cluster.send([Create(made)])) == [AnswerStatus.DONE]
    shows(listed, own, made)
    less = made.with_values({"consumer.session.timeout.ms": "55000", "share.isolation.level": "read_committed"})
    assert verdicts(listed.cluster.send([Update(made, less)])) == [AnswerStatus.DONE]
    shows(listed, own, less)
    assert verdicts(listed.cluster.send([Delete(less)])) == [AnswerStatus.DONE]
    shows(listed, own)
    assert verdicts(listed.cluster.send([Delete(less)])) == [AnswerStatus.DONE]


@pytest.mark.parametrize(
    "values",
    [
        {"share.isolation.level": "dirty"},
        {"share.record.lock.duration.ms": "999"},
        {"consumer.session.timeout.ms": "a while"},
        {"consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": "45000"},
        {"share.renew.acknowledge.enable": "perhaps"},
    ],
)
def test_what_kafka_refuses_is_refused_alone(listed: Subject, own: str, values: dict[str, str]) -> None:
    good, other = (GroupConfig(f"{own}{end}", {"share.isolation.level": "read_committed"}) for end in "13")
    bad = GroupConfig(f"{own}2", values)
    answers = listed.cluster.send([Create(other), Create(bad), Create(good)])
    assert verdicts(answers) == [AnswerStatus.DONE, AnswerStatus.FAILED, AnswerStatus.DONE]
    assert codes(answers) == ["", "INVALID_CONFIG", ""]
    shows(listed, own, good, other)
    listed.cluster.send([Delete(other), Delete(good)])


METRICS = ReadRequest(acls=False, all_topics=False, listings=[ClientMetrics.KIND])
#: The first release whose lists hold no empty value (KIP-1161).
CHECKED_LISTS = (4, 2)


def subscribed(subject: Subject, own: str, *expected: ClientMetrics) -> None:
    """Waits until the subscriptions with ``own`` in their names are exactly these."""

    def as_expected(state: ClusterState) -> bool:
        found = state.listing(ClientMetrics)
        assert found.items is not None, found.gap
        return {one for one in found.items if own in one.name} == set(expected)

    subject.shows(METRICS, as_expected)


def test_subscriptions_come_back_as_they_were_set_and_go_with_their_last_config(subject: Subject, own: str) -> None:
    """Every release since 3.7 lists them, whether its brokers have a receiver or not."""
    match = " client_id=a.*, client_software_name = apache-kafka-java "
    made = ClientMetrics.of(f"{own} ü:/é", {"metrics": "b, a ,b", "interval.ms": "100", "match": match})
    assert made.values["metrics"] == "b,a"
    assert verdicts(subject.cluster.send([Create(made)])) == [AnswerStatus.DONE]
    subscribed(subject, own, made)
    less = made.with_values({"metrics": "", "interval.ms": "3600000"})
    assert verdicts(subject.cluster.send([Update(made, less)])) == [AnswerStatus.DONE]
    subscribed(subject, own, less)
    assert verdicts(subject.cluster.send([Delete(less)])) == [AnswerStatus.DONE]
    subscribed(subject, own)
    assert verdicts(subject.cluster.send([Delete(less)])) == [AnswerStatus.DONE]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"interval.ms": "99"}, "INVALID_REQUEST"),
        ({"interval.ms": "3600001"}, "INVALID_REQUEST"),
        ({"interval.ms": "often"}, "INVALID_CONFIG"),
        ({"match": "client_id"}, "INVALID_CONFIG"),
        ({"match": "client_id="}, "INVALID_CONFIG"),
        ({"match": "client_id=a=b"}, "INVALID_CONFIG"),
        ({"match": "client_id=a{1,2}"}, "INVALID_CONFIG"),
        ({"match": "principal=a"}, "INVALID_CONFIG"),
        ({"match": "client_id=*"}, "INVALID_CONFIG"),
        ({"match": "client_id=(a"}, "INVALID_CONFIG"),
        ({"match": "client_id=a)"}, "INVALID_CONFIG"),
    ],
)
def test_what_kafka_refuses_of_a_subscription_is_refused_alone(
    subject: Subject, own: str, values: dict[str, str], code: str
) -> None:
    good, other = (ClientMetrics(f"{own}{end}", {"metrics": "*"}) for end in "13")
    answers = subject.cluster.send([Create(other), Create(ClientMetrics(f"{own}2", values)), Create(good)])
    assert codes(answers) == ["", code, ""]
    subscribed(subject, own, good, other)
    subject.cluster.send([Delete(other), Delete(good)])


@pytest.mark.parametrize("metrics", ["a,,b", "a,", ","])
def test_lists_hold_no_empty_value_since_4_2(subject: Subject, own: str, metrics: str) -> None:
    made = ClientMetrics(f"{own}l", {"metrics": metrics})
    answers = subject.cluster.send([Create(made)])
    assert codes(answers) == (["INVALID_CONFIG"] if subject.version >= CHECKED_LISTS else [""])
    subject.cluster.send([Delete(made)])
    subscribed(subject, own)


@pytest.mark.parametrize("metrics", ["a,a", " a , a", "a ,a "])
def test_brokers_before_4_2_keep_a_list_as_it_was_written_and_it_is_read_as_newer_ones_print_it(
    subject: Subject, own: str, metrics: str
) -> None:
    made = ClientMetrics(f"{own}l", {"metrics": metrics})
    assert codes(subject.cluster.send([Create(made)])) == [""]
    subscribed(subject, own, ClientMetrics(f"{own}l", {"metrics": "a"}))
    subject.cluster.send([Delete(made)])


@pytest.mark.parametrize("match", ["client_id=a==", "client_id=[)(]", "client_id=\\Q(\\E", "client_id=a,client_id=b"])
def test_what_kafka_takes_is_taken(subject: Subject, own: str, match: str) -> None:
    made = ClientMetrics(f"{own}t", {"match": match})
    assert codes(subject.cluster.send([Create(made)])) == [""]
    subscribed(subject, own, made)
    subject.cluster.send([Delete(made)])
