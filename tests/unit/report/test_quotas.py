"""Client quotas in reports and exports: whose they are, before and after, with units."""

from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Change, Create, Delete, Update
from reconciler.plan.review.topics import TopicReview
from reconciler.results.access import Basis
from reconciler.show.kinds import kind_of
from reconciler.show.quota import Client, QuotaView, quota_lines

ALICE = QuotaEntity.of("alice")


def lines(change: Change) -> list[str]:
    found = kind_of(change).words([change], TopicReview())
    return [found.about, found.text, *(f"{line.role}: {line.text}" for line in found.details)]


def test_each_limit_is_shown_before_and_after() -> None:
    old = ClientQuota(ALICE, {"producer_byte_rate": 5, "consumer_byte_rate": 2**20, "request_percentage": 7})
    new = ClientQuota(ALICE, {"producer_byte_rate": 10 * 2**20, "request_percentage": 7})
    assert lines(Update(old, new)) == [
        "User:alice",
        "quota of user alice",
        "change: consumer_byte_rate: 1048576 (1MiB/s) → not set",
        "change: producer_byte_rate: 5 bytes/s → 10485760 (10MiB/s)",
    ]
    assert lines(Create(ClientQuota(QuotaEntity.of("", "app"), {"controller_mutation_rate": 0.5}))) == [
        "default user, client-id app",
        "quota of default user, client-id app",
        "add: controller_mutation_rate = 0.5 partitions/s",
    ]
    assert lines(Delete(ClientQuota(QuotaEntity.of(ip=""), {"connection_creation_rate": 20}))) == [
        "default ip",
        "quota of default ip",
        "remove: connection_creation_rate: 20 connections/s → not set",
    ]


def test_a_limit_of_an_address_is_found_in_any_spelling_and_of_two_nobody_knows_which_holds() -> None:
    one, other = (ClientQuota(QuotaEntity.of(ip=text), {"connection_creation_rate": 1}) for text in ("::1", "0::1"))
    for quotas, more in (([other], []), ([one, other], ["or 1 connections/s, if that was set last, by ip 0::1"])):
        view = QuotaView("c", Basis.LIVE, frozenset(quotas), {})
        lines = [line.strip() for line in quota_lines([view], Client(ip="::1"))]
        assert lines[1:-1] == [f"connection_creation_rate = 1 connections/s by {quotas[0].entity}", *more]
