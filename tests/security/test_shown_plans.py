"""What people read of a saved plan: its rows are the word of whoever wrote the file, until somebody plans again."""

import json
from dataclasses import replace

import pytest

from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_review import AccessReview
from reconciler.show.formats import FORMATS
from tests.unit.cli.test_refusals import OPERATORS, RULES, WISH, Place, place

__all__ = ["place"]
AGAINST = ("m", "--cluster", "c=snapshot:live.json", *OPERATORS)


def _calm(plan: Plan) -> Plan:
    """The plan as a forger would have it read: nobody gains or loses anything."""
    return replace(plan, access=AccessReview(effects=(None,) * len(plan.steps)))


def test_a_plan_that_was_only_read_says_so_first(place: Place) -> None:
    """The attacker empties the access rows and seals the file again: what is printed begins with whose word it is."""
    place.altered(_calm)
    shown = place.run("show", "plan.json")
    assert shown.out.startswith("Not verified against a cluster: access, effects, callouts, facts, counts")
    document = json.loads(place.run("show", "plan.json", "--output", "json").out)
    assert document["verification"]["verified"] is False
    assert document["verification"]["note"].startswith("Not verified against a cluster")


@pytest.mark.parametrize("form", sorted({"text", "markdown", "html", "summary", "github", "sarif"} & FORMATS.keys()))
def test_every_report_for_people_says_so(place: Place, form: str) -> None:
    """The attacker has the forged file reported: the comment, the page and the text say that nobody verified it."""
    place.altered(_calm)
    assert "erified against a cluster" in place.run("report", "plan.json", "-o", form).out


def test_verified_is_what_planning_gives_again(place: Place) -> None:
    """An honest plan is planned again, by manifests and cluster or snapshot, and is the same."""
    shown = place.run("show", "plan.json", *AGAINST)
    assert shown.status == 0, shown.out + shown.err
    assert shown.out.startswith("Verified: planned again for cluster c, it is the same plan.")
    result = place.run("show", "plan.json", *AGAINST, "--output", "json").out
    (place.root / "shown.json").write_text(result)
    assert json.loads(result)["verification"]["verified"] is True
    assert "Not verified" not in place.run("report", "shown.json").out


def test_a_forged_plan_does_not_verify(place: Place) -> None:
    """The attacker empties the rows: planning again shows where the file is false, and ends with 4."""
    place.altered(_calm)
    shown = place.run("show", "plan.json", *AGAINST)
    assert shown.status == 4
    assert "These differ:\n  access" in shown.out
    result = place.run("show", "plan.json", *AGAINST, "--output", "json").out
    (place.root / "shown.json").write_text(result)
    assert json.loads(result)["verification"]["differences"]
    assert "not the plan that the manifests give" in place.run("report", "shown.json").out


def test_a_plan_for_other_manifests_does_not_verify(place: Place) -> None:
    """The manifests have moved on: the plan is not what they give."""
    place.write(WISH + RULES % ("b", "User:b") + "    - {allow: READ, topics: [other]}\n")
    assert place.run("show", "plan.json", *AGAINST).status == 4


def test_a_path_without_a_cluster_verifies_nothing(place: Place) -> None:
    """Somebody names manifests and no cluster: refused, instead of a plan that looks verified."""
    assert place.run("show", "plan.json", "m").status == 64
