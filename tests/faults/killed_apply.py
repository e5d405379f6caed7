"""Apply a saved plan until the process kills itself: ``python -m tests.faults.killed_apply CLUSTER PLAN NUMBER``.

CLUSTER is a snapshot file, or the JSON of client settings by which a broker is reached.
"""

import json
import sys
from contextlib import ExitStack
from pathlib import Path

from reconciler.adapters.clock import SystemClock
from reconciler.adapters.journal_file import RecordFile
from reconciler.adapters.plan_files import read_plan
from reconciler.adapters.snapshot import SnapshotCluster
from reconciler.apply import ApplyEnvironment, Identity, Silent, check, perform
from reconciler.plan import touched_topics
from reconciler.ports import Cluster, ReadRequest
from tests.faults.kill_points import WatchedCluster, WatchedLedger, killing_at


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
            Silent(),
            identity=Identity(f"killed-at-{number}", "test", digest),
            journal=WatchedLedger(journal, at),
            max_batch=1,
        )
        perform(plan, live, check(plan, live, plan.terms), world)


def _cluster(target: str, stack: ExitStack) -> Cluster:
    text = Path(target).read_text()
    if "bootstrap.servers" not in text:
        return SnapshotCluster(Path(target))
    from reconciler.adapters.kafka.cluster import connect
    from reconciler.adapters.kafka.settings import SecretSource, client_settings

    client = json.loads(text)
    return stack.enter_context(connect(client_settings(client.pop("bootstrap.servers"), client, SecretSource())))


if __name__ == "__main__":
    main(*sys.argv[1:])
