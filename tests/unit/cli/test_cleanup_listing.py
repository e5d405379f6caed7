"""What ``cleanup`` lists is what it removes: a bridge that the manifests declare is named as kept, and nowhere else."""

import json
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.markers import bridge_on, marker_of
from reconciler.model.state import ClusterState
from reconciler.ports import ReadRequest
from reconciler.snapshot.document import snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.worlds import acl

MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {principal: User:us, superUsers: [User:us], allowEveryoneIfNoAclFound: true}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec: {principal: "User:*", rules: [{allow: ALL, topics: [pub]}]}
"""


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_declared_bridge_is_not_listed_as_going(
    output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    public, other = bridge_on(acl("pub", "").pattern), bridge_on(acl("other", "").pattern)
    marks = {marker_of("20260101T000000Z-0", one.pattern) for one in (public, other)}
    (tmp_path / "live.json").write_text(snapshot_text(ClusterState("id", frozenset({public, other, *marks}))), "utf-8")
    (tmp_path / "m.yaml").write_text(MANIFESTS, "utf-8")
    cluster = f"c=snapshot:{tmp_path / 'live.json'}"
    assert run(["cleanup", str(tmp_path / "m.yaml"), "--cluster", cluster, "--yes", "--output", output]) == 0
    told = capsys.readouterr()
    assert f"kept: {public}" in told.err
    if output == "json":
        assert json.loads(told.out)["runs"][0]["bridges"] == [str(other)]
    else:
        assert f"bridge: {other}" in told.out
        assert str(public) not in told.out
    assert SnapshotCluster(tmp_path / "live.json").read(ReadRequest()).bindings == {public}
