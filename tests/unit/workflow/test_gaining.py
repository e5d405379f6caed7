"""Who gains access is shown with the client quotas that limit it, by whoever reads a plan, and bound by no id."""

import datetime
import html
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from reconciler.app.options import PlanOptions
from reconciler.app.plan import plan as run_plan
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.plan.file import change_id, parse_plan, plan_id, plan_text
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_change import GainingPrincipal, PrincipalLimit
from reconciler.show.formats import FormatOptions, format_named
from reconciler.show.plan import plan_lines
from reconciler.show.reading import Report
from reconciler.snapshot.document import snapshot_text

MANIFEST = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false, superUsers: [User:admin]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec: {principals: ["User:a", "User:b", "Service:b", "User:*"], rules: [{allow: READ, topics: [t]}]}
"""
A, ANYBODY = QuotaEntity.of("a"), QuotaEntity.of("")
KEY = "producer_byte_rate"


Planned: TypeAlias = Callable[..., Plan]
OPTIONS = FormatOptions("1", datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC))


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """A plan for a snapshot with these quotas; ``None``: nobody could read them."""

    def plan(*quotas: ClientQuota, gap: str | None = None, more: str = "") -> Plan:
        (tmp_path / "manifests").mkdir(exist_ok=True)
        (tmp_path / "manifests" / "all.yaml").write_text(MANIFEST + more, encoding="utf-8")
        listing: Listing[ClientQuota] = Listing(None if gap else frozenset(quotas), gap)
        snapshot = tmp_path / "s.json"
        snapshot.write_text(snapshot_text(ClusterState("id", listings={"quotas": listing})), encoding="utf-8")
        options = PlanOptions(as_of=datetime.date(2027, 1, 1))
        return run_plan(str(tmp_path / "manifests"), f"snapshot:{snapshot}", options).plan

    return plan


def of(entity: QuotaEntity, rate: float) -> ClientQuota:
    return ClientQuota(entity, {KEY: rate})


def test_the_quota_that_wins_is_shown_once_the_plan_is_applied(planned: Planned) -> None:
    """That of the name, before the default; whatever the type of the principal, and not of everybody."""
    plan = planned(of(ANYBODY, 1024), of(A, 2048), of(QuotaEntity.of("a", "app"), 9))
    default = PrincipalLimit(KEY, 1024, "default user")
    assert plan.gaining == (
        GainingPrincipal("Service:b", (default,)),
        GainingPrincipal("User:a", (PrincipalLimit(KEY, 2048, "user a"),)),
        GainingPrincipal("User:b", (default,)),
    )
    text = "\n".join(plan_lines(plan))
    assert f"Service:b, User:b: {KEY} = 1024 (1KiB/s) by `default user`" in text
    assert f"User:a: {KEY} = 2048 (2KiB/s) by `user a`" in text


def test_a_quota_of_the_same_plan_counts(planned: Planned) -> None:
    declared = """---
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: q}
spec: {quotas: [{user: b, limits: {producer_byte_rate: 3KiB/s}}]}
"""
    plan = planned(more=declared)
    assert {one.principal: [limit.value for limit in one.limits] for one in plan.gaining} == {
        "Service:b": [3072],
        "User:a": [],
        "User:b": [3072],
    }
    assert "User:a: unlimited" in "\n".join(plan_lines(plan))


def test_nothing_is_said_of_quotas_that_do_not_exist_or_are_not_known(planned: Planned) -> None:
    assert planned().gaining == ()
    assert planned(gap="not authorised").gaining == ()


@pytest.mark.parametrize("name", ["markdown", "html", "text"])
def test_every_form_of_a_report_shows_them(planned: Planned, name: str) -> None:
    plan = planned(of(A, 2048))
    assert "2KiB/s" in html.unescape(format_named(name)(Report((plan,)), OPTIONS))


def test_a_plan_keeps_them_and_no_id_binds_them(planned: Planned) -> None:
    """The login of a review may not be allowed to read quotas."""
    plan = planned(of(A, 2048))
    assert parse_plan(plan_text(plan)).gaining == plan.gaining
    unread = replace(plan, gaining=())
    assert (plan_id(unread), change_id(unread)) == (plan_id(plan), change_id(plan))


def test_a_name_in_an_entity_cannot_end_its_sentence(planned: Planned) -> None:
    plan = planned(of(A, 2048))
    (limit,) = next(one for one in plan.gaining if one.limits).limits
    forged = replace(limit, entity="user a; User:b: unlimited")
    text = "\n".join(plan_lines(replace(plan, gaining=(GainingPrincipal("User:a", (forged,)),))))
    assert "by `user a; User:b: unlimited`" in text
