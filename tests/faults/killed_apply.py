"""Apply a saved plan until the process kills itself: ``python -m tests.faults.killed_apply CLUSTER PLAN NUMBER``.

CLUSTER is a snapshot file, or the JSON of client settings by which a broker is reached.
"""

import json
import sys
from contextlib import ExitStack
from pathlib import Path

from reconciler.apply.environment import Identity, Progress
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.ports import Cluster, ReadRequest
from reconciler.snapshot.file import SnapshotCluster
from reconciler.system.files import read_plan
from reconciler.system.journal import RecordFile
from reconciler.system.process import SystemClock
from tests.faults.kill_points import WatchedCluster, WatchedLedger, killing_at
from tests.topic_changes import touched_topics


def main(target: str, plan_file: str, number: str) -> None:
    """Perform the plan, one step a request, up to the place with that number."""
    plan, digest = read_plan(plan_file)
    at = killing_at(int(number))
    with ExitStack() as stack:
        cluster = _cluster(target, stack)
        live = cluster.read(ReadRequest(all_topics=False, topic_names=touched_topics(plan.steps)))
        journal = stack.enter_context(RecordFile(f"{plan_file}.journal"))
        world = ApplyEnvironment(
            WatchedCluster(cluster, at),
            SystemClock(),
            Progress(),
            identity=Identity(f"killed-at-{number}", "test", digest),
            journal=WatchedLedger(journal, at),
            max_batch=1,
        )
        perform(plan, live, check(plan, live, plan.terms), world)


def _cluster(target: str, stack: ExitStack) -> Cluster:
    text = Path(target).read_text()
    if "bootstrap.servers" not in text:
        return SnapshotCluster(Path(target))
    from reconciler.kafka.cluster import connect
    from reconciler.kafka.secret_source import SecretSource
    from reconciler.kafka.settings import client_settings

    client = json.loads(text)
    return stack.enter_context(connect(client_settings(client.pop("bootstrap.servers"), client, SecretSource())))


if __name__ == "__main__":
    main(*sys.argv[1:])
