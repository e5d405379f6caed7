"""Who belongs to which wave."""

import pytest

from reconciler.manifest.manifests import Manifests, load
from reconciler.manifest.read.findings import Source
from reconciler.parts.fleet.app.query import FleetBasis
from reconciler.parts.fleet.cli.pack import _required
from reconciler.parts.fleet.membership import FleetLimits, UnknownFleetError, Wave, fleet_of
from reconciler.results.fleet_drift import ClusterDrift, Failure, FleetDrift, FleetRun, Reading

CLUSTERS = "".join(
    f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: {name}, labels: {labels}}}\nspec: {{}}\n---\n"
    for name, labels in (("a", "{ring: canary, env: prod}"), ("b", "{env: prod}"), ("c", "{env: test}"))
)
WORLD = """\
apiVersion: reconciler/v1
kind: Fleet
metadata: {name: world}
spec:
  waves:
    - {name: canary, clusters: {matchLabels: {ring: canary}}, gate: {soak: 90m, maxFailures: 2}}
    - {name: rest, clusters: {matchLabels: {env: prod}}}
  limits: {maxDeletes: 7}
"""


def manifests(*texts: str) -> Manifests:
    return load([Source(f"{number}.yaml", text) for number, text in enumerate(texts)])


def test_a_cluster_belongs_to_the_first_wave_that_fits() -> None:
    fleet = fleet_of(manifests(CLUSTERS, WORLD))
    assert fleet.waves == (Wave("canary", ("a",), 5400.0, 2), Wave("rest", ("b",)))
    assert fleet.unassigned == ("c",)
    assert fleet.limits == FleetLimits(None, 7)
    assert fleet.clusters == ("a", "b")


def test_without_a_fleet_document_all_clusters_are_one_wave() -> None:
    assert fleet_of(manifests(CLUSTERS)).waves == (Wave("all", ("a", "b", "c")),)


def test_several_fleets_are_told_apart_by_name() -> None:
    found = manifests(CLUSTERS, WORLD, WORLD.replace("world", "moon"))
    assert fleet_of(found, "moon").name == "moon"
    with pytest.raises(UnknownFleetError, match="moon, world"):
        fleet_of(found)
    with pytest.raises(UnknownFleetError, match="'sun'"):
        fleet_of(found, "sun")


def test_no_answer_has_what_could_not_be_read_or_compared() -> None:
    run = FleetRun("r", "now", (Reading("a", "id-a", "now", "1", "s", ()),), (Failure("b", "timed_out", "why"),))
    drift = FleetDrift(
        "r", "now", 0, 0, 0, (ClusterDrift("a", failure=Failure("a", "damaged", "why")), ClusterDrift("c"))
    )
    assert FleetBasis(run).unread == {"b"}
    assert FleetBasis(run, drift).unread == {"a", "b"}


def test_what_is_packed_is_all_that_this_package_needs_but_what_spark_brings() -> None:
    names = {package.name.lower().replace("_", "-") for package in _required()}
    assert names >= {"click", "polars", "pyarrow", "confluent-kafka", "pydantic", "pydantic-core"}
    assert names.isdisjoint({"pyspark", "py4j", "kafka-reconciler"})
