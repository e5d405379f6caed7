"""``fleet drift`` says of each cluster what ``drift`` says of it alone: of marks, locks, bridges, topics, and ends."""

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from reconciler.app.plan import drift
from reconciler.apply.barrier import start_probe_acls
from reconciler.cli.main import run
from reconciler.model.acl import AclBinding
from reconciler.model.frozen import FrozenMap
from reconciler.model.locks import LockMark, lock_denials
from reconciler.model.markers import break_glass_mark, bridge_on, marker_of
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding

_MANIFESTS: Final = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: orders}
spec:
  principal: User:orders
  rules:
    - {allow: [READ, WRITE], topics: [orders.x]}
    - {allow: READ, groups: [g], expires: 2026-01-31}
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: t}
spec:
  topics:
    - {name: orders.x, partitions: 3, configs: {retention.ms: 1d}}
    - {name: gone, absent: true}
"""
_CLUSTER: Final = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: NAME}
spec:
  allowEveryoneIfNoAclFound: DEFAULT
  scope: {include: [{topics: {any: true}}, {groups: {any: true}}], exclude: [{topics: {prefix: out.}}]}
  ignore: [{principals: ["User:ignored"]}]
  prune: [topics]
"""
_NOW: Final = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
_HOUR: Final = datetime.timedelta(hours=1)
_READ, _WRITE = (binding(f"User:orders ALLOW {name} on TOPIC orders.x") for name in ("READ", "WRITE"))
_OVER = binding("User:orders ALLOW READ on GROUP g")
_OTHER = binding("User:other ALLOW READ on TOPIC orders.x")
_IGNORED = binding("User:ignored ALLOW READ on TOPIC orders.x")
_OUTSIDE = binding("User:other ALLOW READ on TOPIC out.x")
_AS_DECLARED: Final = Topic("orders.x", 3, 1, {"retention.ms": "86400000"})
_YOUNG: Final = f"{_NOW:%Y%m%dT%H%M%SZ}-young"
_LOCK: Final = LockMark("User:orders", _NOW - _HOUR, None, "me", "", "why")
#: What a cluster has beside what is declared, by its name.
_BESIDE: Final[dict[str, set[AclBinding]]] = {
    "nothing": set(),
    "more": {_OTHER, _IGNORED, _OUTSIDE},
    "expired": {_OVER},
    "running": {_OTHER, break_glass_mark(_OTHER, _NOW + _HOUR)},
    "running-besides": {_OTHER, _OVER, break_glass_mark(_OTHER, _NOW + _HOUR)},
    "over": {_OTHER, break_glass_mark(_OTHER, _NOW - _HOUR)},
    "declared": {break_glass_mark(_READ, _NOW + _HOUR)},
    "alone": {break_glass_mark(_OTHER, _NOW + _HOUR)},
    "locked": {*lock_denials(_LOCK.principal), _LOCK.binding},
    "denied": {*lock_denials(_LOCK.principal)},
    "bridge": {bridge_on(_READ.pattern), marker_of(_YOUNG, _READ.pattern)},
    "unmarked": {bridge_on(_READ.pattern)},
    "probe": {*start_probe_acls(_YOUNG, "User:acl-probe")},
    "dead": {*start_probe_acls("20260101T000000Z-dead", "User:acl-probe")},
}
#: Those of which a fleet counts what runs and locks put there, and a plan does not.
_SET_APART: Final = ("locked", "bridge")
_TOPICS: Final[dict[str, ClusterState]] = {
    "missing": ClusterState(""),
    "changed": ClusterState("", topics={"orders.x": replace(_AS_DECLARED, num_partitions=2)}),
    "more-topics": ClusterState("", topics={"orders.x": _AS_DECLARED, "extra": Topic("extra", 1, 1)}),
    "not-absent": ClusterState("", topics={"orders.x": _AS_DECLARED, "gone": Topic("gone", 1, 1)}),
    "outside": ClusterState("", topics={"orders.x": _AS_DECLARED, "out.x": Topic("out.x", 1, 1)}),
    "unreadable": ClusterState("", unreadable_topics=FrozenMap({"orders.x": "not authorized"})),
}
_STATES: Final = {
    **{
        name: ClusterState("", frozenset({_READ, _WRITE, *more}), {"orders.x": _AS_DECLARED})
        for name, more in _BESIDE.items()
    },
    **{name: replace(state, bindings=frozenset({_READ, _WRITE})) for name, state in _TOPICS.items()},
    "less": ClusterState("", frozenset({_READ}), {"orders.x": _AS_DECLARED}),
}


@pytest.mark.parametrize("default", ["true", "false"])
def test_a_fleet_says_of_each_cluster_what_drift_says_of_it_alone(
    tmp_path: Path, default: str, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests, live = tmp_path / "m", tmp_path / "live"
    manifests.mkdir()
    live.mkdir()
    (manifests / "all.yaml").write_text(_MANIFESTS, encoding="utf-8")
    clusters = [_CLUSTER.replace("NAME", name).replace("DEFAULT", default) for name in _STATES]
    (manifests / "clusters.yaml").write_text("---\n".join(clusters), encoding="utf-8")
    for name, state in _STATES.items():
        text = snapshot_text(replace(state, cluster_id=f"id-{name}"))
        (live / f"{name}.json").write_text(text, encoding="utf-8")
    store = ["--store", str(tmp_path / "store"), "--engine", "local"]
    assert run(["fleet", "snapshot", str(manifests), *store, "--snapshots", str(live)]) == 0
    capsys.readouterr()
    run(["fleet", "drift", str(manifests), *store, "-o", "json"])
    found = {one["cluster"]: one for one in json.loads(capsys.readouterr().out)["clusters"]}
    assert found.keys() == _STATES.keys()
    for name in _STATES:
        counts = found[name]["counts"]
        plan = drift(str(manifests), f"{name}=snapshot:{live / f'{name}.json'}").plan
        words = [str(step.change) for step in plan.steps]
        of_acls = [step for step in plan.steps if isinstance(step.change.after or step.change.before, AclBinding)]
        creates = [step for step in of_acls if step.change.after is not None]
        assert counts["creates"] == len(creates), (name, words)
        assert counts["deletes"] == len(of_acls) - len(creates), (name, words)
        assert counts["others"] == len(plan.steps) - len(of_acls), (name, words)
        assert counts["left"] == len(plan.skipped), (name, plan.skipped)
        assert found[name]["failure"] is None
        if name not in _SET_APART:
            numbers = (plan.counts.owned, plan.counts.ignored, plan.counts.outside)
            assert (counts["owned"], counts["ignored"], counts["outside"]) == numbers, name


def test_what_a_partial_listing_does_not_show_is_not_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "m").mkdir()
    cluster = _CLUSTER.replace("NAME", "c").replace("DEFAULT", "false")
    (tmp_path / "m" / "all.yaml").write_text(f"{_MANIFESTS}---\n{cluster}", encoding="utf-8")
    for gap, others, left in (("not authorized to list all topics", 0, 2), (None, 1, 0)):
        state = ClusterState("id", frozenset({_READ, _WRITE}), topic_gap=gap)
        (tmp_path / "live" / "c.json").write_text(snapshot_text(state), encoding="utf-8")
        store = ["--store", str(tmp_path / "store"), "--engine", "local"]
        assert run(["fleet", "snapshot", str(tmp_path / "m"), *store, "--snapshots", str(tmp_path / "live")]) == 0
        capsys.readouterr()
        run(["fleet", "drift", str(tmp_path / "m"), *store, "-o", "json"])
        (found,) = json.loads(capsys.readouterr().out)["clusters"]
        assert (found["counts"]["others"], found["counts"]["left"]) == (others, left)
        plan = drift(str(tmp_path / "m"), f"c=snapshot:{tmp_path / 'live' / 'c.json'}").plan
        assert (len(plan.steps), len(plan.skipped)) == (others, left)
