"""Client quotas: values, and which of them holds (KIP-55; a real broker judges the order in tests/integration)."""

import pytest

from reconciler.model.kinds.quota import ClientQuota, QuotaEntity, levels, levels_of_ip, limits
from reconciler.model.listing import altered


def test_the_levels_are_kafkas_eight() -> None:
    assert [str(entity) for entity in levels("alice", "app")] == [
        "user alice, client-id app",
        "user alice, default client-id",
        "user alice",
        "default user, client-id app",
        "default user, default client-id",
        "default user",
        "client-id app",
        "default client-id",
    ]
    assert [str(entity) for entity in levels_of_ip("10.0.0.7")] == ["ip 10.0.0.7", "default ip"]


def test_a_client_without_an_id_has_the_levels_that_name_none() -> None:
    assert list(levels("alice", "")) == [entity for entity in levels("alice", "app") if "client-id" not in str(entity)]


def test_each_key_is_limited_by_the_first_level_that_has_it() -> None:
    both = ClientQuota(QuotaEntity.of("alice", "app"), {"producer_byte_rate": 1})
    user = ClientQuota(QuotaEntity.of("alice"), {"producer_byte_rate": 2, "request_percentage": 3})
    default = ClientQuota(QuotaEntity.of(client_id=""), {"request_percentage": 4, "consumer_byte_rate": 5})
    other = ClientQuota(QuotaEntity.of("bob"), {"consumer_byte_rate": 6})
    found = limits({default, user, both, other}, levels("alice", "app"))
    assert found == {
        "producer_byte_rate": [both, user],
        "request_percentage": [user, default],
        "consumer_byte_rate": [default],
    }
    assert limits([other], levels("alice", "app")) == {}


def test_a_change_moves_its_own_keys_only() -> None:
    alice = QuotaEntity.of("alice")
    live = {"producer_byte_rate": 1.0, "key_of_a_newer_kafka": 2.0}
    before, after = ClientQuota(alice, {"producer_byte_rate": 1}), ClientQuota(alice, {"request_percentage": 3})
    assert altered(live, before, after) == {"key_of_a_newer_kafka": 2, "request_percentage": 3}
    assert altered(live, before, None) == {"key_of_a_newer_kafka": 2}
    assert altered({}, None, after) == {"request_percentage": 3}


@pytest.mark.parametrize(
    ("entity", "principal"),
    [
        (QuotaEntity.of("alice", "x"), "User:alice"),
        (QuotaEntity.of(""), None),
        (QuotaEntity.of(client_id="x"), None),
        (QuotaEntity.of("<default>"), "User:<default>"),
    ],
)
def test_whose_quota_it_is(entity: QuotaEntity, principal: str | None) -> None:
    assert entity.principal == principal


def test_equal_quotas_are_equal_whatever_the_order_and_the_type_of_numbers() -> None:
    one = ClientQuota(QuotaEntity.of("a"), {"request_percentage": 1.0, "producer_byte_rate": 2.0})
    other = ClientQuota(QuotaEntity.of("a"), {"producer_byte_rate": 2, "request_percentage": 1})
    assert one == other
    assert repr(one) == repr(other)
    assert len({one, other}) == 1
