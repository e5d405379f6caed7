"""What the port promises of client quotas: each entity succeeds and fails alone, and only its own keys change."""

import pytest

from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Create, Delete, Update
from reconciler.model.state import ClusterState
from reconciler.ports import AnswerStatus, ReadRequest
from tests.contract.subject import Subject, codes, verdicts

QUOTAS = ReadRequest(acls=False, all_topics=False, listings=[ClientQuota.KIND])


def quota(entity: QuotaEntity, **values: float) -> ClientQuota:
    return ClientQuota(entity, values)


def shows(subject: Subject, own: str, *expected: ClientQuota) -> None:
    """Waits until the quotas of entities with ``own`` in a name are exactly these."""

    def as_expected(state: ClusterState) -> bool:
        found = state.listing(ClientQuota)
        assert found.items is not None, found.gap
        return {one for one in found.items if own in str(one.entity)} == set(expected)

    subject.shows(QUOTAS, as_expected)


def test_nothing_asked_is_nothing_answered(subject: Subject) -> None:
    assert subject.cluster.send([]) == []
    assert subject.read(ReadRequest(acls=False, all_topics=False)).listing(ClientQuota).items is None


@pytest.mark.parametrize(
    ("user", "client"),
    [("{}", None), (None, "{}"), ("{}", "app"), ("{}", ""), ("", "{}"), ("{} ü<default>/:é", None)],
)
def test_a_quota_comes_back_as_it_was_created_and_goes(
    subject: Subject, own: str, user: str | None, client: str | None
) -> None:
    entity = QuotaEntity.of(user and user.format(own), client and client.format(own))
    made = quota(entity, producer_byte_rate=1_048_576, request_percentage=12.5, controller_mutation_rate=0.25)
    assert verdicts(subject.cluster.send([Create(made)])) == [AnswerStatus.DONE]
    shows(subject, own, made)
    assert verdicts(subject.cluster.send([Delete(made)])) == [AnswerStatus.DONE]
    shows(subject, own)
    assert verdicts(subject.cluster.send([Delete(made)])) == [AnswerStatus.DONE]


def test_an_update_sets_and_removes_its_own_keys_only(subject: Subject, own: str) -> None:
    entity = QuotaEntity.of(own)
    subject.cluster.send([Create(quota(entity, producer_byte_rate=1, consumer_byte_rate=2, request_percentage=3))])
    change = Update(quota(entity, producer_byte_rate=1, consumer_byte_rate=2), quota(entity, producer_byte_rate=5))
    assert verdicts(subject.cluster.send([change])) == [AnswerStatus.DONE]
    shows(subject, own, quota(entity, producer_byte_rate=5, request_percentage=3))


@pytest.mark.parametrize(
    "values",
    [
        {"producer_byte_rate": -1.0},
        {"producer_byte_rate": 1.5},
        {"producer_byte_rate": 0.0},
        {"connection_creation_rate": 1.0},
        {"no_such_key": 1.0},
    ],
)
def test_what_kafka_refuses_is_refused_alone(subject: Subject, own: str, values: dict[str, float]) -> None:
    good, other = (
        quota(QuotaEntity.of(f"{own}1"), request_percentage=1),
        quota(QuotaEntity.of(f"{own}3"), request_percentage=2),
    )
    bad = ClientQuota(QuotaEntity.of(f"{own}2"), values)
    answers = subject.cluster.send([Create(other), Create(bad), Create(good)])
    assert verdicts(answers) == [AnswerStatus.DONE, AnswerStatus.FAILED, AnswerStatus.DONE]
    assert codes(answers) == ["", "INVALID_REQUEST", ""]
    shows(subject, own, good, other)


def test_addresses_have_their_own_key(subject: Subject, own: str) -> None:
    address = QuotaEntity.of(ip=f"10.{int(own[1:3], 16)}.{int(own[3:5], 16)}.{int(own[5:7], 16)}")
    answers = subject.cluster.send([Create(quota(address, producer_byte_rate=1))])
    assert codes(answers) == ["INVALID_REQUEST"]
    made = quota(address, connection_creation_rate=7)
    assert verdicts(subject.cluster.send([Create(made)])) == [AnswerStatus.DONE]
    shows(subject, dict(address.parts)["ip"], made)
