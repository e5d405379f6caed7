"""Guards that count: for every small number on either side of every limit."""

from dataclasses import replace
from itertools import product

import pytest

from reconciler.model.acl import AclBinding
from reconciler.model.flavor import APACHE
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.topic import Topic
from reconciler.plan.guards import DeleteLimits, Surroundings, refusals
from reconciler.plan.overlap import CoverageChange
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Counts, Options, Plan, Terms
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.step import Bridge, Bridges, Means, Side, Step
from tests.property.transitions import DAY
from tests.worlds import acl


def steps(*, created: int = 0, deleted: int = 0, topics: int = 0) -> list[Step]:
    changes: list[Change] = [Create(acl(f"new{number}", "User:a")) for number in range(created)]
    changes += [Delete(acl(f"old{number}", "User:a")) for number in range(deleted)]
    changes += [Delete(Topic(f"gone{number}", 1, 1)) for number in range(topics)]
    return [Step(Phase.DELETE_ALLOW, change) for change in changes]


def refused(found: list[Step], around: Surroundings) -> list[str]:
    """What limits refuse; that each topic needs a word of its own is no limit."""
    every = refusals(found, around, [AcceptedGuard(Guard.TOPIC_DELETE, f"gone{number}") for number in range(9)])
    return [one.object if one.guard is Guard.LIMIT else str(one.guard) for one in every]


NOTHING = CoverageChange()


def test_deletions_are_held_to_a_number_of_all_and_a_share_of_bindings() -> None:
    for deleted, topics, most in product(range(4), range(3), (None, 0, 1, 2)):
        limits = DeleteLimits(max_deletes=most)
        over = most is not None and deleted + topics > most
        around = Surroundings("c", 100, 100, limits, False, NOTHING)
        assert refused(steps(created=1, deleted=deleted, topics=topics), around) == ["maxDeletes"] * over
    for deleted, owned, percent, above in product(range(4), (3, 4, 10, 200), (None, 0, 1, 25, 50), (0, 1, 2)):
        around = Surroundings("c", owned, 100, DeleteLimits(None, percent, above), False, NOTHING)
        over = percent is not None and deleted > above and deleted / owned > percent / 100
        assert refused(steps(deleted=deleted, topics=2), around) == ["maxDeletePercent"] * over, (
            deleted,
            owned,
            percent,
        )


def test_what_is_refused_is_said_with_the_numbers() -> None:
    around = Surroundings("c", 4, 1, DeleteLimits(1, 10, 1), False, NOTHING)
    number, share = refusals(steps(deleted=2), around, ())
    assert number.message == "2 deletions, but deleteLimits.maxDeletes is 1"
    assert share.message == (
        "2 of 4 bindings in scope would go, but deleteLimits.maxDeletePercent is 10, and more than 1 go"
    )
    assert (
        "and more than" not in refusals(steps(deleted=2), replace(around, limits=DeleteLimits(None, 10)), ())[0].message
    )
    assert share.remedy == "if this is meant: --accept limit=maxDeletePercent"


def test_no_plan_creates_more_than_a_service_takes_before_anything_goes() -> None:
    service = replace(APACHE, max_bindings=5)
    for created, live, flavor in product(range(4), range(2, 8), (APACHE, service)):
        around = Surroundings("c", 9, 9, DeleteLimits(), False, NOTHING, live=live, flavor=flavor)
        over = flavor is service and created > 0 and created + live > 5
        assert refused(steps(created=created, deleted=3), around) == ["maxBindings"] * over


def test_nothing_declared_and_nothing_found_are_more_often_mistakes() -> None:
    gone = [step.change.before for step in steps(deleted=2)]
    every = tuple(one for one in gone if isinstance(one, AclBinding))
    for deleted, desired, ended in product(range(3), (0, 1), range(3)):
        around = Surroundings("c", 9, desired, DeleteLimits(), False, NOTHING, expired=every[:ended])
        assert refused(steps(deleted=deleted), around) == ["empty-desired"] * (not desired and deleted > ended)
    for expected, owned in product((None, 0, 1), (0, 1)):
        around = Surroundings("c", owned, 9, DeleteLimits(), False, NOTHING, expected_live=expected)
        assert refused(steps(created=1), around) == ["empty-live"] * bool(expected and not owned)


@pytest.mark.parametrize("default_allow", [True, False, None])
def test_what_default_allow_opens_or_shuts_needs_a_word_where_it_is_on(default_allow: bool | None) -> None:
    opened, closed, used = (acl(name, "User:a").pattern for name in ("opened", "closed", "used"))
    coverage = CoverageChange((closed, used), (opened,))
    around = Surroundings("c", 9, 9, DeleteLimits(), default_allow, coverage, in_use=(used,))
    found = [(one.guard, one.object) for one in refusals(steps(created=1), around, ())]
    said = [(Guard.OPEN_BY_DEFAULT, "TOPIC opened"), (Guard.CLOSED_BY_DEFAULT, "TOPIC used")]
    assert found == (said if default_allow else [])


def test_the_estimate_adds_up_what_each_step_costs() -> None:
    pattern = acl("x", "").pattern
    bridges = Bridges((Bridge(pattern, Side.CLOSING, Means.BRIDGE),) * 300)
    few = Counts(live_bindings=1_000)
    for probe, bridged, topics in product((None, "User:p"), (False, True), (0, 50)):
        terms = Terms("c", barrier_wait=5.0, probe=probe)
        found = [*steps(created=2_000), *steps(deleted=4_000, topics=topics)]
        found[:2_000] = [Step(Phase.CREATE_ALLOW, step.change) for step in found[:2_000]]
        plan = Plan("c", terms, Options(), DAY, tuple(found), counts=few, bridges=bridges if bridged else Bridges())
        # A bridge is two bindings, created and deleted; each deletion scans what is there, and the pause is as long.
        own = 600 if bridged else 0
        created, deleted = 2_000 + own, 4_000 + own
        live = sum(max(0, 1_000 + created - number) for number in range(deleted))
        scans = 2 * 0.35e-6 * (live if created + 1_000 > deleted else deleted * max(0, 1_000 + created - deleted / 2))
        wait = len(plan.barriers) * (5.0 if probe is None else 0.1)
        assert plan.estimated_seconds == pytest.approx(1 + created * 1e-4 + scans + topics * 0.02 + wait, abs=0.06)
        assert plan.barriers
