"""Listed kinds in a state: what was not read never looks empty."""

from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import NOT_READ, Listing
from reconciler.model.state import ClusterState

ALICE = ClientQuota(QuotaEntity.of("alice"), {"producer_byte_rate": 1})


def test_a_kind_that_nobody_asked_for_is_not_read() -> None:
    assert ClusterState("c").listing(ClientQuota) == NOT_READ
    assert ClusterState("c", listings={"quotas": Listing()}) == ClusterState("c")
    assert ClusterState("c", listings={"quotas": Listing(frozenset())}) != ClusterState("c")


def test_one_kind_is_replaced_and_the_others_stay() -> None:
    other: Listing[ClientQuota] = Listing(gap="refused")
    state = ClusterState("c", listings={"users": other}).with_listing(ClientQuota, Listing(frozenset({ALICE})))
    assert state.listing(ClientQuota).by_key == {ALICE.key: ALICE}
    assert state.listings["users"] == other
    assert ClientQuota.KIND not in state.with_listing(ClientQuota, NOT_READ).listings


def test_every_gap_is_told() -> None:
    state = ClusterState("c", acl_gap="acls", topic_gap=None, listings={"quotas": Listing(gap="quotas")})
    assert state.gaps == ("acls", "quotas")
