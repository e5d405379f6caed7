"""A fleet's tightening as text: what needs a look first, the rest by its number."""

from reconciler.parts.evidence.show import fleet_tighten_lines
from reconciler.results.tightened import FailedClusterEntry, FleetTightenOutput, TightenOutput


def _one(cluster: str, *thin: str) -> TightenOutput:
    return TightenOutput(cluster, "declared", None, None, 0, 0, 1, thin, (), (), 0)


def test_thin_evidence_comes_first_and_many_clusters_are_counted() -> None:
    clusters = (*(_one(f"c{number}") for number in range(9)), _one("late", "the logs end long ago"))
    found = FleetTightenOutput(clusters, (FailedClusterEntry("gone", "not read"),))
    lines = list(fleet_tighten_lines(found, shown=2))
    assert [line for line in lines if line.startswith("Cluster ")] == ["Cluster late, declared", "Cluster c0, declared"]
    assert lines[-2].startswith("… and 8 more clusters")
    assert lines[-1] == "10 clusters: 0 with narrower rights, 1 with too thin evidence, 1 unknown"
