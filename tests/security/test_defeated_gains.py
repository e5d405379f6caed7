"""Gains that somebody reviewed and somebody else defeats: an apply says so before it sends, and does not end well."""

from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import parse_snapshot, snapshot_text
from tests.worlds import acl

_MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {allowEveryoneIfNoAclFound: false, barrier: {wait: 0s}, scope: {include: [{principals: ["User:svc"]}]}}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: svc}
spec:
  principal: User:svc
  rules: [{allow: READ, topics: {prefix: pay.}}]
"""
_SAID = "User:svc would not have READ"


def _deny(name: str, principal: str, host: str = "*") -> AclBinding:
    binding = acl(name, principal)
    entry = binding.entry._replace(permission_type=AclPermissionType.DENY, host=host)
    return binding._replace(entry=entry)


class _Cluster:
    """A plan that was made and reviewed, and a snapshot file as the cluster that goes on changing."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._capsys = root, capsys
        (root / "m").mkdir()
        (root / "m" / "all.yaml").write_text(_MANIFESTS)

    def has(self, *bindings: AclBinding) -> None:
        (self.root / "live.json").write_text(snapshot_text(ClusterState("c", frozenset(bindings))))

    def plan(self) -> None:
        assert self._run("plan", str(self.root / "m"), "--out", str(self.root / "plan.json"))[0] == Exit.OK

    def apply(self) -> tuple[int, str, str]:
        return self._run("apply", str(self.root / "plan.json"), str(self.root / "m"), "--yes")

    def _run(self, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        status = run([*words, "--cluster", f"prod=snapshot:{self.root / 'live.json'}"])
        shown = self._capsys.readouterr()
        return status, shown.out, shown.err


@pytest.fixture
def cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> _Cluster:
    return _Cluster(tmp_path, capsys)


@pytest.mark.parametrize(
    "foreign",
    [_deny("pay.t1", "User:svc"), _deny("pay.t1", "User:*"), _deny("pay.t1", "User:*", "10.0.0.1")],
)
def test_a_foreign_deny_that_defeats_a_reviewed_gain_is_said_before_and_after(
    cluster: _Cluster, foreign: AclBinding
) -> None:
    """Between review and apply somebody denies a topic below the granted prefix: rows match, access does not."""
    cluster.has()
    cluster.plan()
    cluster.has(foreign)
    status, out, err = cluster.apply()
    assert f"warning: reviewed, and not in force after this plan: {_SAID}" in err
    assert f"reviewed, and not in force: {_SAID}" in out + err
    assert status == Exit.ERROR


@pytest.mark.parametrize(
    "foreign",
    [_deny("ledger.t1", "User:svc"), _deny("pay.t1", "User:other"), acl("pay.t1", "User:svc")],
)
def test_what_takes_no_reviewed_gain_away_is_no_alarm(cluster: _Cluster, foreign: AclBinding) -> None:
    """Other names, other people, and somebody who granted a part of it already: the apply ends well."""
    cluster.has()
    cluster.plan()
    cluster.has(foreign)
    status, out, err = cluster.apply()
    assert status == Exit.OK, err
    assert "not in force" not in out + err
    assert foreign in parse_snapshot((cluster.root / "live.json").read_text()).bindings
