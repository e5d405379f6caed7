"""Manifests that lose most of what they declare: nothing is deleted unless somebody raised the limit."""

from dataclasses import replace

import pytest

from reconciler.apply.preflight import RefusedError, check
from reconciler.manifest.guardrail_meaning import Meaning
from reconciler.manifest.guardrails import guardrail_changes
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.manifests import cluster_document
from reconciler.model.desired import Declaration, DesiredState, Origin
from reconciler.plan.guards import DeleteLimits
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import Guard
from reconciler.policy.laws import (
    laws,
)
from tests.security.test_laws import ALL, DAY, SAMPLES, declared, live
from tests.unit.cli.test_refusals import CLUSTER, RULES, Place, place

__all__ = ["place"]


def _cluster(place: Place, live: int, declared: int, limits: str = "") -> None:
    rules = "".join(f"    - {{allow: READ, topics: [t{number}]}}\n" for number in range(declared))
    place.live(*(f"User:a ALLOW READ on TOPIC t{number}" for number in range(live)))
    (place.root / "m" / "all.yaml").write_text(CLUSTER + limits + RULES % ("a", "User:a") + rules)


@pytest.mark.parametrize(
    ("live", "declared", "limits", "status"),
    [
        pytest.param(40, 29, "", 5, id="11 of 40 are 27 %"),
        pytest.param(55, 44, "", 0, id="11 of 55 are 20 %"),
        pytest.param(11, 1, "", 0, id="10 of 11 are few"),
        pytest.param(40, 29, "  deleteLimits: {maxDeletePercent: 100}\n", 0, id="raised"),
        pytest.param(40, 29, "  deleteLimits: {maxDeletePercent: 20, percentAbove: 11}\n", 0, id="more are few"),
        pytest.param(40, 29, "  deleteLimits: {maxDeletes: 100}\n", 5, id="another limit does not lift it"),
        pytest.param(
            11, 8, "  deleteLimits: {maxDeletePercent: 20}\n", 5, id="a stated share counts from the first binding"
        ),
    ],
)
def test_a_mass_deletion_is_refused_by_default(
    place: Place, live: int, declared: int, limits: str, status: int
) -> None:
    """A directory is emptied by mistake, or to cause an outage: a safety check refuses unless a limit says more."""
    _cluster(place, live, declared, limits)
    ended = place.plan()
    assert ended.status == status, ended.out + ended.err
    assert ("--accept limit=maxDeletePercent" in ended.out) is (status == 5)


def test_a_person_can_accept_one_mass_deletion(place: Place) -> None:
    """What is meant is possible: by name, for one plan."""
    _cluster(place, 40, 29)
    assert place.plan("--accept", "limit=maxDeletePercent").status == 0
    assert place.apply().status == 0


def test_apply_refuses_a_mass_deletion_that_the_plan_did_not_see(place: Place) -> None:
    """The plan was made under a raised limit, which is gone by now: apply refuses."""
    _cluster(place, 40, 29, "  deleteLimits: {maxDeletePercent: 100}\n")
    assert place.plan().status == 0
    _cluster(place, 40, 29)
    place.assert_refused(5, "maxDeletePercent")


def test_export_writes_the_limit_where_somebody_can_raise_it() -> None:
    """Nobody has to look up what holds where nothing is written."""
    assert "  deleteLimits:\n    maxDeletePercent: 20\n    percentAbove: 10\n" in cluster_document("c", ["b:9092"])


@pytest.mark.parametrize(
    ("limits", "meaning"),
    [
        ("{maxDeletePercent: 100}", Meaning.UNCLEAR),
        ("{percentAbove: 100}", Meaning.UNCLEAR),
        ("{maxDeletes: 100}", Meaning.TIGHTER),
    ],
)
def test_a_limit_that_is_written_for_the_first_time_may_be_looser(limits: str, meaning: Meaning) -> None:
    """The proposer adds maxDeletePercent 100 where nothing was written: that is not called tighter."""
    base, proposal = Source("c.yaml", CLUSTER), Source("c.yaml", f"{CLUSTER}  deleteLimits: {limits}\n")
    assert [change.meaning for change in guardrail_changes([base], [proposal])] == [meaning]


@pytest.mark.parametrize("kind", [kind for kind in SAMPLES if kind not in ("topics", "replicas")])
def test_no_kind_loses_a_large_share_at_once(kind: str) -> None:
    """Topics need no share, for each that goes needs a word. An apply counts as the plan did, also on its way."""
    law, make = laws()[kind], SAMPLES[kind].item
    items = [make(f"n{number}") for number in range(40)]
    limits = DeleteLimits(None, 20, 10)
    terms = Terms("c", ALL, default_allow=False, prune=frozenset({kind}), limits=limits)
    request = Request(DAY, Options(allow_deletes=True))
    wanted = DesiredState({item: Declaration(Origin("x.yaml", 1, 1)) for item in items if kind == "acls"})
    for kept, refused in ((31, False), (30, False), (29, True)):
        some = [declared(law, item) for item in items[:kept]]
        there = {key: item for one in some for key, item in one.listed.get(kind, {}).items()}
        desired = replace(
            wanted, bindings={item: said for item, said in wanted.bindings.items() if item in items[:kept]}
        )
        plan = propose(replace(desired, listed={kind: there}), live(law, *items), terms, request)
        assert [one.guard for one in plan.refusals] == [Guard.LIMIT] * refused
        assert len(plan.steps) == 40 - kept
        halfway = live(law, *items[:35])
        for state in (live(law, *items), halfway):
            if refused:
                with pytest.raises(RefusedError, match="of 40"):
                    check(plan, state, terms)
            else:
                check(plan, state, terms)
