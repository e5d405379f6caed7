"""The tour's part about fleets: every step shows what it claims."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reconciler.app.manifests import load
from reconciler.app.options import today
from reconciler.manifest.manifests import desired_state
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.spark.session import spark_session
from reconciler.parts.local.tour import BINDINGS, TOPICS, FleetTour, TourStep
from reconciler.snapshot.document import snapshot_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
EXAMPLE = Path(__file__).parents[3] / "examples" / "acls"


def binding(principal: str, operation: AclOperation, topic: str) -> AclBinding:
    entry = AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, topic), entry)


def taken(directory: Path) -> list[TourStep]:
    """The tour over snapshots as the first part leaves them."""
    manifests = load(str(EXAMPLE))
    wanted, scope = desired_state(manifests, "demo", today()), manifests.clusters["demo"].scope
    others = {found for found in BINDINGS if not scope.owns(found)}
    topics = {item.topic.name: item.topic for item in wanted.topics.values()}
    states = {
        "demo-before": (frozenset(BINDINGS), {topic.name: topic for topic in TOPICS}),
        "demo": ({*wanted.bindings, *others, binding("User:svc-batch", AclOperation.WRITE, "orders.placed")}, topics),
    }
    (directory / "snapshots").mkdir()
    for name, (bindings, found) in states.items():
        text = snapshot_text(ClusterState("sandbox", frozenset(bindings), found))  # the same cluster, twice
        (directory / "snapshots" / f"{name}.json").write_text(text, encoding="utf-8")
    tour = FleetTour(directory, lambda style, text: None, spark_session)
    tour.prepare(EXAMPLE)
    return list(tour.steps())


def test_every_step_shows_what_it_claims(spark: "SparkSession", tmp_path: Path) -> None:
    steps = taken(tmp_path)
    assert [step.done.split()[2] for step in steps] == ["snapshot", "drift", "query", "query", "plan"]
    assert [(step.claim, step.output) for step in steps if not step.holds] == []
