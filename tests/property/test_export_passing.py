"""An export of a cluster in the middle of a move, or after one that was cut off, writes nothing that will pass."""

import datetime
from itertools import product

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.manifests import cluster_document, export_manifests
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.model.topic_configs import THROTTLE_CONFIGS
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose

DAY = datetime.date(2027, 1, 1)
REPLICAS = ((1,), (2,), (1, 2), (2, 3, 1))


def test_it_drifts_to_nothing_at_once_and_after_the_move() -> None:
    marks = dict.fromkeys(THROTTLE_CONFIGS, "*")
    for first, second, throttled, behind in product(REPLICAS, REPLICAS, (False, True), (False, True)):
        configs = {"retention.ms": "3600000", **(marks if throttled else {})}
        topic = Topic("t", 2, max(len(first), len(second)), configs, "id", (first, second))
        live = ClusterState("c", topics={"t": topic}, under_replicated=frozenset({"t"} if behind else ()))
        export = export_manifests(live, cluster="c")
        text = "".join(export.files.values())
        passing = throttled or behind or len(first) != len(second)
        assert ("replicationFactor:" in text) == (not passing)
        assert ("no replicationFactor is written" in text) == passing
        assert "throttled" not in text
        sources = [Source(path, one) for path, one in export.files.items()]
        sources.append(Source("cluster.yaml", cluster_document("c", ["b:9092"])))
        desired = desired_state(load(sources), "c", DAY)
        ended = Topic("t", 2, 1, {"retention.ms": "3600000"}, "id", ((3,), (3,)))
        for state in (live, ClusterState("c", topics={"t": ended if passing else topic})):
            plan = propose(desired, state, Terms("c", default_allow=False), Request(DAY, Options(allow_deletes=True)))
            assert (plan.steps, plan.skipped) == ((), ())
