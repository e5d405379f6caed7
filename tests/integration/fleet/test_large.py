"""A thousand clusters of very different sizes: the same answer as the local engine, and heavy ones cut into buckets."""

from random import Random
from typing import TYPE_CHECKING

import pytest

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredState, Origin
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.differences import changes_of
from reconciler.parts.fleet.readings import Place, write_desired, write_live
from reconciler.parts.fleet.spark.engine import SparkEngine
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.fleet.tasks.comparing import Rules, compare_fleet
from reconciler.plan.difference import DiffRules
from reconciler.plan.kinds import compare
from reconciler.results.fleet_drift import FleetRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]

SIZES = [100_000, *([10_000] * 5), *range(1, 995)]
DECLARATION = Declaration(Origin("a.yaml", 1, 1))


def binding(number: int) -> AclBinding:
    entry = AccessControlEntry(f"User:é{number % 97}", "*", AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, f"t.{number}🦀"), entry)


def test_a_thousand_clusters(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> None:
    store = store_at(str(tmp_path_factory.mktemp("store")))
    random, scope = Random(1), Scope()
    live, desired, fleet = [], [], {}
    for number, size in enumerate(SIZES):
        name = f"c{number}"
        everything = [binding(n) for n in range(size)]
        found = ClusterState(name, frozenset(b for b in everything if random.random() > 0.01))
        wanted = DesiredState({b: DECLARATION for b in everything if random.random() > 0.01})
        live.append(write_live(found, scope, Place(store.files, "taken=a", name, "0", 8_192), "now"))
        desired.append(write_desired(wanted, scope, Place(store.files, "key=a", name, "0", 8_192), "now"))
        fleet[name] = (wanted, found)
    assert len(live[0].buckets) == 16
    rules = {name: Rules(scope, DiffRules()) for name in fleet}
    drift = compare_fleet(
        SparkEngine(spark), store, FleetRun("a", "", tuple(desired)), FleetRun("a", "", tuple(live)), rules, "a"
    )
    assert not drift.failed
    for item in drift.clusters:
        expected = compare(*fleet[item.cluster], scope, DiffRules())
        assert item.counts is not None
        assert item.counts.changes == len(expected.changes)
        if len(expected.changes) > 150:  # the files of a task hold many clusters: reading all of them takes minutes
            assert tuple(changes_of(store.files, item.files, item.cluster)[0]) == expected.changes
