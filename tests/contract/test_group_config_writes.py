"""What the port promises of group configs: each group succeeds and fails alone, and only its own configs change."""

import pytest

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
