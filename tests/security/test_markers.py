"""Markers against whoever may write ACLs: a name under ``__kr.`` hides no grant, and makes nothing deletable."""

import datetime
import json
import time
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.apply.cleanup import YOUNG, going_on, leftovers, without_live_bridges
from reconciler.apply.lease import LONGEST, marker
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import CLUSTER_NAME, AclBinding, ResourcePattern, ResourceType
from reconciler.model.markers import bridge_on, marker_of
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import parse_snapshot, snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.worlds import acl

_DOCUMENTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {superUsers: [User:admin], allowEveryoneIfNoAclFound: %s, scope: {include: [{topics: {any: true}}]}}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: payroll}
spec:
  principal: User:svc-payroll
  rules: [{allow: READ, topics: [payroll.salaries]}]
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: payroll}
spec:
  tests:
    - {name: only payroll reads, onlyReaders: ["User:svc-payroll"], topics: [payroll.salaries]}
"""
_SALARIES = ResourcePattern(ResourceType.TOPIC, "payroll.salaries")
_GRANT = acl("payroll.salaries", "User:svc-payroll")
_OLD, _TOMORROW = "20260101T000000Z-aaaa", "20991122T000000Z-aaaa"
_NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


#: Stands for the name of a run that begins when the test does: names of tests must not hold the time.
_BEGINS_NOW = "begins now"


class _Cluster:
    """Manifests, and a snapshot file as the cluster."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._capsys = root, capsys
        self.declare("false")

    def declare(self, default_allow: str, *more: str) -> None:
        text = "---\n".join([_DOCUMENTS % default_allow, *more])
        (self.root / "m").mkdir(exist_ok=True)
        (self.root / "m" / "all.yaml").write_text(text)

    def has(self, *bindings: AclBinding) -> None:
        state = ClusterState("c", frozenset({_GRANT, *bindings}))
        (self.root / "live.json").write_text(snapshot_text(state))

    def run(self, *words: str, path: bool = True) -> tuple[int, str]:
        """The status, and everything that was printed."""
        where = [str(self.root / "m")] if path else ["--path", str(self.root / "m")]
        self._capsys.readouterr()
        status = run([words[0], *words[1:], *where, "--cluster", f"prod=snapshot:{self.root / 'live.json'}"])
        shown = self._capsys.readouterr()
        return status, shown.out + shown.err

    @property
    def bindings(self) -> Collection[AclBinding]:
        return parse_snapshot((self.root / "live.json").read_text()).bindings


@pytest.fixture
def cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> _Cluster:
    return _Cluster(tmp_path, capsys)


def _forged(run: str, pattern: ResourcePattern = _SALARIES) -> tuple[AclBinding, AclBinding]:
    young = f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}-aaaa"
    return bridge_on(pattern), marker_of(young if run == _BEGINS_NOW else run, pattern)


@pytest.mark.parametrize("run", [_OLD, _TOMORROW, "aaaa", _BEGINS_NOW])
@pytest.mark.parametrize("pattern", [_SALARIES, ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)])
def test_a_forged_bridge_is_drift_where_default_allow_is_off(
    cluster: _Cluster, run: str, pattern: ResourcePattern
) -> None:
    """A public grant with a marker of any age, on a cluster where no run builds bridges: drift exits 2 and shows it."""
    cluster.has(*_forged(run, pattern))
    scope = "include: [{topics: {any: true}}, {cluster: true}]"
    cluster.declare("false")
    text = (cluster.root / "m" / "all.yaml").read_text()
    (cluster.root / "m" / "all.yaml").write_text(text.replace("include: [{topics: {any: true}}]", scope))
    status, shown = cluster.run("drift")
    assert status == Exit.DIFFERENT
    assert "User:*" in shown


@pytest.mark.parametrize("run", [_OLD, _TOMORROW, "aaaa"])
def test_a_forged_bridge_is_drift_where_default_allow_is_on(cluster: _Cluster, run: str) -> None:
    """The same with a marker that is old, of tomorrow, or without a time, where runs do build bridges."""
    cluster.declare("true")
    cluster.has(*_forged(run))
    status, shown = cluster.run("drift")
    assert status == Exit.DIFFERENT
    assert "a bridge without a run" in shown
    document = json.loads(cluster.run("drift", "--output", "json")[1])
    assert {item["reason"] for item in document["left"]} == {"leftover"}
    assert any(item["rule"] == "left-open" for item in document["callouts"])


def test_a_bridge_of_a_run_that_is_going_on_is_no_drift_but_counts_in_answers(cluster: _Cluster) -> None:
    """An apply is under way: drift does not cry, and no answer about access is a lie meanwhile."""
    cluster.declare("true")
    cluster.has(*_forged(_BEGINS_NOW))
    assert cluster.run("drift")[0] == Exit.OK
    _, shown = cluster.run("who-can", "READ", "topic/payroll.salaries", path=False)
    assert "everybody else" in shown
    assert "may be going on" in shown


@pytest.mark.parametrize(
    ("hours", "said"), [(0, "left out: "), (1, "begun 60 min ago"), (-1, "a bridge without a run")]
)
def test_whether_a_run_is_going_on_is_told_by_the_controllers_clock(
    cluster: _Cluster, monkeypatch: pytest.MonkeyPatch, hours: int, said: str
) -> None:
    """A machine whose clock is wrong takes no run for another one's: leases too are written by that clock."""
    cluster.declare("true")
    cluster.has(*_forged(_BEGINS_NOW))
    told = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)
    monkeypatch.setattr(SnapshotCluster, "controller_time", lambda _: told)
    words = ("who-can", "READ", "topic/payroll.salaries") if hours > 0 else ("drift",)
    status, shown = cluster.run(*words, path=hours <= 0)
    assert said in shown
    assert (status == Exit.OK) == (hours >= 0)
    assert ("that run is over" in shown) == (hours > 0)


@pytest.mark.parametrize("run", [_OLD, _TOMORROW, _BEGINS_NOW])
def test_answers_count_a_forged_bridge(cluster: _Cluster, run: str) -> None:
    """Everybody may read salaries behind a marker: ``test`` fails, and no question says that a stranger may not."""
    cluster.has(*_forged(run))
    assert cluster.run("test")[0] == Exit.FAILED_CHECK
    assert cluster.run("can-i", "User:mallory", "READ", "topic/payroll.salaries", path=False)[0] == Exit.OK
    assert "User:*" in cluster.run("explain", "User:mallory", "READ", "topic/payroll.salaries", path=False)[1]
    assert "everybody else" in cluster.run("who-can", "READ", "topic/payroll.salaries", path=False)[1]
    assert "payroll.salaries" in cluster.run("access", "User:mallory", path=False)[1]
    assert "User:*" in cluster.run("lint")[1]
    exported = cluster.run("export")[1]
    assert "a bridge that a run left" in exported
    assert 'principal: "User:*"' not in exported


def test_a_grant_on_a_reserved_name_is_drift_and_counts(cluster: _Cluster) -> None:
    """Names under ``__kr.`` are left out of every comparison: whoever hides data there is found all the same."""
    cluster.has(acl("__kr.exfiltrated", "User:mallory"))
    status, shown = cluster.run("drift")
    assert status == Exit.DIFFERENT
    assert "no run of this tool writes this" in shown
    assert cluster.run("can-i", "User:mallory", "READ", "topic/__kr.exfiltrated", path=False)[0] == Exit.OK


def test_cleanup_leaves_what_the_manifests_declare(cluster: _Cluster) -> None:
    """A marker beside a declared public grant: cleanup takes the marker and not the grant."""
    public = "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: all}\nspec:\n"
    public += '  principal: "User:*"\n  rules: [{allow: ALL, topics: [payroll.salaries]}]\n'
    cluster.declare("true", public)
    cluster.has(*_forged(_OLD))
    status, shown = cluster.run("cleanup", "--yes")
    assert status == Exit.OK
    assert "the manifests declare it" in shown
    assert set(cluster.bindings) == {_GRANT, bridge_on(_SALARIES)}


def test_cleanup_removes_no_bridge_without_manifests(cluster: _Cluster) -> None:
    """Whether a marked grant is declared somewhere is not known without manifests: it stays, marker and all."""
    cluster.has(*_forged(_OLD))
    where = f"snapshot:{cluster.root / 'live.json'}"
    assert run(["cleanup", "--cluster", where, "--yes"]) == Exit.ERROR
    assert set(cluster.bindings) == {_GRANT, *_forged(_OLD)}


def test_cleanup_leaves_grants_outside_the_scope(cluster: _Cluster) -> None:
    """A marker beside another team's public grant, which its own manifests may declare: it is not ours to delete."""
    cluster.has(*_forged(_OLD, ResourcePattern(ResourceType.GROUP, "theirs")))
    status, shown = cluster.run("cleanup", "--yes")
    assert status == Exit.OK
    assert "outside the scope" in shown
    assert len(cluster.bindings) == 3


def test_cleanup_removes_a_forged_bridge_that_nobody_declares(cluster: _Cluster) -> None:
    """What is left after an incident goes, and drift is quiet again."""
    cluster.declare("true")
    cluster.has(*_forged(_OLD), acl("__kr.exfiltrated", "User:mallory"))
    assert cluster.run("cleanup", "--yes")[0] == Exit.OK
    assert set(cluster.bindings) == {_GRANT}
    assert cluster.run("drift")[0] == Exit.OK


_TIMES = st.integers(-10 * int(YOUNG), 10 * int(YOUNG))


@given(_TIMES, st.none() | _TIMES, st.sampled_from([True, False, None]))
def test_a_bridge_is_hidden_only_while_its_run_is_provably_alive(
    began: int, until: int | None, default_allow: bool | None
) -> None:
    """Whatever time a marker and a lease claim: hidden is only a bridge of a run with a lease that counts, or a young
    one, where default-allow is declared on.
    """
    run = f"{_NOW + datetime.timedelta(seconds=began):%Y%m%dT%H%M%SZ}-aaaa"
    bindings = {*_forged(run)}
    if until is not None:
        bindings.add(marker("mallory", run, _NOW + datetime.timedelta(seconds=until)))
    live = ClusterState("c", frozenset(bindings))
    shown = without_live_bridges(live, going_on(live, _NOW), default_allow=default_allow)
    leased = until is not None and -30 <= until <= LONGEST + 30
    alive = leased or -YOUNG <= began <= 30
    assert (bridge_on(_SALARIES) not in shown.bindings) is (alive and default_allow is True)
    assert len(leftovers(live)) == 1


def _flood(runs: int) -> ClusterState:
    """A marker each of so many runs, and one of them marks a bridge on the salaries."""
    other = (ResourcePattern(ResourceType.TOPIC, f"x{number}") for number in range(runs))
    marks = {marker_of(f"20260101T000000Z-{number:05}", pattern) for number, pattern in enumerate(other)}
    return ClusterState("c", frozenset({*marks, marker_of(_OLD, _SALARIES), bridge_on(_SALARIES), _GRANT}))


def test_a_flood_of_markers_ends_soon() -> None:
    """Whoever may alter ACLs writes 20,000 markers of as many runs, and no drift report ended any more."""
    live = _flood(20_000)
    started = time.process_time()
    found = leftovers(live)
    assert time.process_time() - started < 20
    assert len(found) == 20_001
    assert [leftover.run for leftover in found if leftover.bridges] == [_OLD]


def test_a_bridge_that_two_runs_mark_is_neithers_alone() -> None:
    """What one of them left goes without the bridge, which stays for the other."""
    two = _flood(1).bindings | {marker_of("20260101T000000Z-bbbb", _SALARIES)}
    assert [leftover.bridges for leftover in leftovers(ClusterState("c", two))] == [(), (), ()]


def test_a_flood_of_markers_hides_no_bridge_in_what_is_noted(cluster: _Cluster) -> None:
    """An answer about access notes what runs left: the one with a bridge first, then some, then a number."""
    cluster.has(*_flood(300).bindings)
    _, shown = cluster.run("can-i", "User:eve", "READ", "topic/payroll.salaries", path=False)
    first, *_, last = (line for line in shown.splitlines() if line.startswith("counted: "))
    assert first.startswith(f"counted: 1 bridge and 1 binding on reserved names of run {_OLD}")
    assert last == "counted: what 281 more runs left; “reconciler cleanup” lists all of it"
