"""A fleet moves replicas on three real brokers: in batches and throttled, and nothing of the throttle stays.

On the local engine: test_fleet_of_brokers.py applies on Spark, whose tasks start the same process.
"""

import json
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.ports import REPLICATION_RATES, ReadRequest
from tests.faults.cluster import Cluster
from tests.faults.test_reassignment import Declared, Moving

pytestmark = pytest.mark.broker
_FLEET = """\
apiVersion: reconciler/v1
kind: Fleet
metadata: {name: world}
spec: {waves: [{name: all, clusters: {matchLabels: {}}}]}
"""


@pytest.mark.usefixtures("forked_readers_of_members")
def test_fleet_apply_moves_replicas_in_batches_and_takes_its_throttle_away(
    three: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = Declared(three, tmp_path, capsys)
    with three.connect() as cluster:
        topic = Moving(cluster, declared.name)
        topic.create((1,), (2,), (3,))
        declared.produce(1_500)
        assert declared.run("drift", 2)[0] == 2
        (tmp_path / "m" / "fleet.yaml").write_text(_FLEET)
        manifests, plans = str(tmp_path / "m"), str(tmp_path / "plans")
        reach = ["--connections", declared.connections]
        assert run(["fleet", "plan", manifests, "--out", plans, *reach]) == 0
        apply = ["fleet", "apply", plans, manifests, *reach, "--yes", "--batch", "2", "--output", "json"]
        capsys.readouterr()

        status = run([*apply, "--throttle", "100MiB"])
        told = capsys.readouterr()
        assert status == 0, told
        assert json.loads(told.out)
        (journal,) = Path(plans).rglob("*.journal")
        records = [json.loads(line) for line in journal.read_text().splitlines()]
        assert [one["action"] for one in records if one["record"] == "throttle"] == ["set", "removed"]
        found = topic.layout().topics[declared.name]
        assert all(len(one.replicas) == 2 and one.in_sync == {*one.replicas} and not one.is_moving for one in found)
        left = cluster.broker_settings(REPLICATION_RATES, features=False).configs
        assert not any(config.value for found in left.values() for config in found.values())
        state = cluster.read(ReadRequest(acls=False, all_topics=False, topic_names=[declared.name]))
        assert not state.topics[declared.name].configs
        assert declared.run("drift", 2)[0] == 0
