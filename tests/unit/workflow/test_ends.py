"""A grant that ends at an instant: one second before it holds, and then every use case says that it is over."""

import datetime
from pathlib import Path

import pytest

from reconciler.app.apply import apply, apply_plan
from reconciler.app.lint import lint
from reconciler.app.options import PlanOptions, StateRequest
from reconciler.app.plan import drift, plan
from reconciler.app.reasons import WorkflowError
from reconciler.app.validate import validate
from reconciler.model.desired import Expiry
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.plan.file import parse_plan, plan_text
from reconciler.snapshot.document import snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.worlds import binding

END = datetime.datetime(2027, 1, 31, 18, tzinfo=datetime.UTC)
BEFORE = END - datetime.timedelta(seconds=1)
MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  bootstrapServers: [unused.invalid:9092]
  allowEveryoneIfNoAclFound: false
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
    - {allow: READ, topics: [x], expires: "2027-01-31T19:00:00+01:00"}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "all.yaml").write_text(MANIFESTS, encoding="utf-8")
    return tmp_path


def cluster(place: Path, *live: str) -> str:
    file = place.parent / f"{place.name}.json"
    file.write_text(snapshot_text(ClusterState("abc", frozenset(map(binding, live)), {})), encoding="utf-8")
    return f"prod=snapshot:{file}"


def test_it_is_drift_from_the_instant_on(place: Path) -> None:
    there = cluster(place, "User:a ALLOW READ on TOPIC x")
    assert not drift(str(place), there, as_of=BEFORE).plan.steps
    (step,) = drift(str(place), there, as_of=END).plan.steps
    assert step.action == "DeleteAcl"


def test_a_plan_file_keeps_the_instant(place: Path) -> None:
    made = plan(str(place), cluster(place), PlanOptions(as_of=BEFORE)).plan
    again = parse_plan(plan_text(made))
    assert again == made
    assert (again.as_of, again.steps[0].expires) == (BEFORE, Expiry(END))
    assert not plan(str(place), cluster(place), PlanOptions(as_of=END)).plan.steps


def test_validate_and_lint_say_so_at_the_instant(place: Path) -> None:
    assert not validate(str(place), BEFORE).clusters[0].warnings
    (warning,) = validate(str(place), END).clusters[0].warnings
    assert "expired at 2027-01-31T18:00:00Z" in str(warning.message)
    rules = {
        at: {one.rule.name for one in lint(StateRequest(str(place), as_of=at))[0].findings} for at in (BEFORE, END)
    }
    assert "expires-soon" in rules[BEFORE]
    assert "expired" in rules[END]


def test_one_run_reads_the_clock_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The grant ends while the plan is made: declared and as-of are of one time, whichever side it is."""
    readings = iter([BEFORE, *[END] * 20])
    monkeypatch.setattr("reconciler.app.planning.moment", lambda: next(readings))
    made = plan(str(place), cluster(place))
    assert made.plan.as_of == BEFORE
    assert [step.expires for step in made.plan.steps] == [Expiry(END)]


@pytest.mark.parametrize("apart", [-3_600.0, 3_600.0])
def test_by_a_clock_that_is_not_the_controllers_no_apply_begins_or_ends_a_grant(
    place: Path, monkeypatch: pytest.MonkeyPatch, apart: float
) -> None:
    """Neither in one go, nor of a plan file; a plan without an end asks nobody for the time."""
    manifests, now = place / "all.yaml", datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    state = {"apart": apart, "asked": 0.0}

    def controller_time(_: SnapshotCluster) -> datetime.datetime:
        state["asked"] += 1
        return datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=state["apart"])

    monkeypatch.setattr(SnapshotCluster, "controller_time", controller_time)
    text, stays = (
        MANIFESTS + "    - {allow: READ, topics: [y, z]}\n",
        [f"User:a ALLOW READ on TOPIC {name}" for name in "yz"],
    )
    for minutes, live in ((10, stays), (-10, ["User:a ALLOW READ on TOPIC x", *stays])):
        end = now + datetime.timedelta(minutes=minutes)
        manifests.write_text(text.replace("2027-01-31T19:00:00+01:00", f"{end:%Y-%m-%dT%H:%M:%SZ}"))
        there, planning = cluster(place, *live), PlanOptions(allow_deletes=True)
        file = place.parent / f"{minutes}.json"
        file.write_text(plan_text(plan(str(place), there, planning).plan), encoding="utf-8")
        state["apart"] = apart
        refused = pytest.raises(WorkflowError, match=r"this machine's clock is 3[56]\d\d s .* nothing was sent")
        with refused:
            apply(str(place), there, planning)
        with refused:
            apply_plan(str(file), str(place), there)
        state["apart"] = 0.0
        assert len(apply_plan(str(file), str(place), there).outcomes) == 1
    manifests.write_text(text.replace(', expires: "2027-01-31T19:00:00+01:00"', ""))
    state |= {"apart": apart, "asked": 0.0}
    assert len(apply(str(place), cluster(place, *stays)).outcomes) == 1
    assert state["asked"] == 0


def test_by_a_clock_that_is_not_the_controllers_no_apply_ends_a_quota(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listed kind's end is a deletion as well; the law asks for the time of whatever kind has ended."""
    over = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=10)
    manifests = MANIFESTS.partition("---")[0] + (
        "---\napiVersion: reconciler/v1\nkind: Quotas\nmetadata: {name: q}\nspec:\n  quotas:\n"
        f'    - {{user: a, expires: "{over:%Y-%m-%dT%H:%M:%SZ}", limits: {{producer_byte_rate: 7}}}}\n'
    )
    (place / "all.yaml").write_text(manifests, encoding="utf-8")
    quota = ClientQuota(QuotaEntity.of("a"), {"producer_byte_rate": 7})
    live = ClusterState("abc", listings={ClientQuota.KIND: Listing(frozenset({quota}))})
    file = place.parent / "quotas.json"
    file.write_text(snapshot_text(live), encoding="utf-8")
    apart = {"hours": 1}

    def controller_time(_: SnapshotCluster) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC) - datetime.timedelta(**apart)

    monkeypatch.setattr(SnapshotCluster, "controller_time", controller_time)
    planning = PlanOptions(allow_deletes=True)
    with pytest.raises(WorkflowError, match="nothing was sent"):
        apply(str(place), f"prod=snapshot:{file}", planning)
    apart["hours"] = 0
    assert len(apply(str(place), f"prod=snapshot:{file}", planning).outcomes) == 1
