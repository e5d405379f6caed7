"""Client quotas on real brokers: which of them holds for a client, and what is said where they may not be read."""

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Set

import pytest

from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import ClientSettings, client_settings
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity, levels, limits
from reconciler.model.listing import Create, Delete
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ReadRequest

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # its way of reading its own files
    from kafka.admin import KafkaAdminClient
    from kafka.protocol.admin import CreateTopicsRequest

pytestmark = pytest.mark.broker

QUOTAS = ReadRequest(acls=False, all_topics=False, listings=[ClientQuota.KIND])
KEY = "controller_mutation_rate"
USER, CLIENT = "admin", "judged"
#: For a broker to show what was sent, on a machine that is busy with other things.
PATIENCE_SECONDS = 120
#: So many partitions at once; the token bucket of a rate holds that of 11 seconds (``quota.window.num``).
PARTITIONS, BURST_SECONDS = 9_000, 11
#: No two of them are mistaken for each other, however often a bucket is emptied. A bucket also fills between two takes:
#: at such rates by 0.1 % in a minute, so that no slow machine makes one look like another.
RATES = (0.03, 0.05, 0.07, 0.11, 0.13, 0.17, 0.19, 0.23)
#: Changed after the others, and for nobody who asks.
LAST = QuotaEntity.of("judged-last")


def settings_of(sandbox: Sandbox, user: str) -> ClientSettings:
    settings = sandbox.settings(user)
    return client_settings(settings.pop("bootstrap.servers"), settings, SecretSource())


@pytest.fixture
def cluster(broker: Sandbox) -> Iterator[KafkaCluster]:
    with connect(settings_of(broker, "reconciler")) as found:
        yield found


def enforced_rate(sandbox: Sandbox, turn: int) -> float:
    """By which rate the broker throttles USER with CLIENT: it asks for topics, and creates none.

    Levels that name the same parts share a bucket, from which this is the ``turn``-th to take.
    """
    settings = sandbox.settings(USER)
    client = KafkaAdminClient(
        bootstrap_servers=settings["bootstrap.servers"],
        security_protocol=settings["security.protocol"],
        sasl_mechanism=settings["sasl.mechanism"],
        sasl_plain_username=settings["sasl.username"],
        sasl_plain_password=settings["sasl.password"],
        client_id=CLIENT,
    )
    topic = CreateTopicsRequest.CreatableTopic
    request = CreateTopicsRequest(
        topics=[topic(name="judged", num_partitions=PARTITIONS, replication_factor=1, assignments=[], configs=[])],
        timeout_ms=20_000,
        validate_only=True,
        max_version=5,  # from 6 on the broker refuses instead of throttling
    )
    try:
        answer = client._manager.run(client._manager.send, request)
        assert answer.topics[0].error_code == 0, answer
        return float(turn * PARTITIONS / (answer.throttle_time_ms / 1000 + BURST_SECONDS))
    finally:
        client.close()


def enforced(cluster: KafkaCluster, expected: Set[ClientQuota], turn: int) -> None:
    """Wait until the broker enforces these quotas, and none but these for their entities.

    It publishes one change of metadata after the other, to what it shows before to what it enforces. So when it shows a
    change that was sent after these were shown, these are in force.
    """
    entities = set(levels(USER, CLIENT))
    shown(cluster, lambda found: {one for one in found if one.entity in entities} == expected)
    last = ClientQuota(LAST, {KEY: float(turn)})
    assert cluster.send([Create(last)])[0].status is AnswerStatus.DONE
    shown(cluster, lambda found: last in found)


def shown(cluster: KafkaCluster, expected: Callable[[frozenset[ClientQuota]], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not ((found := cluster.read(QUOTAS).listing(ClientQuota)).items is not None and expected(found.items)):
        assert time.monotonic() < end, found
        time.sleep(0.05)


def test_the_broker_takes_the_quota_that_our_precedence_names(broker: Sandbox, cluster: KafkaCluster) -> None:
    quotas = [ClientQuota(entity, {KEY: rate}) for entity, rate in zip(levels(USER, CLIENT), RATES, strict=True)]
    assert {answer.status for answer in cluster.send(list(map(Create, quotas)))} == {AnswerStatus.DONE}
    turns: Counter[tuple[str, ...]] = Counter()
    try:
        while quotas:
            enforced(cluster, set(quotas), turns.total() + 1)
            winner = limits(quotas, levels(USER, CLIENT))[KEY][0]
            assert winner == quotas[0]
            bucket = tuple(kind for kind, _ in winner.entity.parts)
            turns[bucket] += 1
            assert enforced_rate(broker, turns[bucket]) == pytest.approx(winner.values[KEY], rel=0.02), winner.entity
            assert cluster.send([Delete(quotas.pop(0))])[0].status is AnswerStatus.DONE
    finally:
        cluster.send([Delete(quota) for quota in (*quotas, ClientQuota(LAST, {KEY: 1.0}))])


def test_quotas_that_may_not_be_read_are_said_to_be_unread(broker: Sandbox) -> None:
    with connect(settings_of(broker, "nobody")) as cluster:
        state = cluster.read(QUOTAS)
        refused = cluster.send([Create(ClientQuota(QuotaEntity.of("x"), {KEY: 1}))])
    listing = state.listing(ClientQuota)
    assert listing.items is None
    assert listing.gap is not None
    assert "DESCRIBE_CONFIGS" in listing.gap
    assert [(one.status, one.code) for one in refused] == [(AnswerStatus.FAILED, "CLUSTER_AUTHORIZATION_FAILED")]


def test_whether_we_may_alter_them_is_known_beforehand(cluster: KafkaCluster) -> None:
    assert cluster.read(QUOTAS).listing(ClientQuota).may_alter is True
