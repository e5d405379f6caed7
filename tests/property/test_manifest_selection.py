"""Which documents are for a cluster: those whose every label it has, however many selectors there are."""

import cProfile
import datetime
import random
from pathlib import Path
from typing import Any, cast

import hypothesis.strategies as st
from hypothesis import given

from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.manifest.documents.cluster import FleetDeclaration
from reconciler.manifest.manifests import load
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.findings import Source
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.app import plan as planning
from reconciler.parts.fleet.app.members import MemberConnections
from reconciler.parts.fleet.app.plan import PlanTerms
from reconciler.snapshot.document import snapshot_text

CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: c{number}, labels: {labels}}}\nspec: {{}}\n"
ACLS = """apiVersion: reconciler/v1
kind: Acls
metadata: {{name: a{number}}}
spec: {{clusters: {{matchLabels: {labels}}}, principal: "User:a", rules: [{{allow: READ, topics: [t{number}]}}]}}
"""
FLEET = """apiVersion: reconciler/v1
kind: Fleet
metadata: {name: all}
spec: {waves: [{name: every, clusters: {matchLabels: {in: all}}}]}
"""
LABELS = st.dictionaries(st.sampled_from(("env", "region", "tier")), st.sampled_from(("a", "b")), max_size=3)


def _text(labels: dict[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in labels.items()) + "}"


@given(st.lists(LABELS, min_size=1, max_size=4), st.lists(LABELS, max_size=6), LABELS, st.randoms())
def test_documents_are_those_whose_selector_fits_in_the_order_they_were_read(
    clusters: list[dict[str, str]], selectors: list[dict[str, str]], other: dict[str, str], shuffle: random.Random
) -> None:
    texts = [
        *(
            CLUSTER.format(number=number, labels=_text({**labels, "in": "all"}))
            for number, labels in enumerate(clusters)
        ),
        *(ACLS.format(number=number, labels=_text(labels)) for number, labels in enumerate(selectors)),
        FLEET,
    ]
    shuffle.shuffle(texts)
    manifests = load([Source("all.yaml", "---\n".join(texts))])
    for labels in clusters:
        for also in ((), (other,)):
            fitting = [
                item
                for item in manifests.documents
                if not isinstance(item, ClusterDeclaration | FleetDeclaration) and item.heading is not None
                if any(item.heading.applies_to(given) for given in (labels, *also))
            ]
            assert manifests.chosen(labels, *also) == fitting


OWN = """---
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: c{number}, labels: {{name: c{number}, in: all}}}}
spec: {{principal: User:us, superUsers: [User:us], allowEveryoneIfNoAclFound: false, vars: {{topic: t{number}}}}}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {{name: a{number}}}
spec:
  clusters: {{matchLabels: {{in: all, name: c{number}}}}}
  principal: "User:a"
  rules: [{{allow: READ, topics: [t]}}]
---
apiVersion: reconciler/v1
kind: Acls
metadata: {{name: v{number}}}
spec:
  clusters: {{matchLabels: {{name: c{number}}}}}
  principal: "User:a"
  rules: [{{allow: READ, topics: ["${{vars.topic}}"]}}]
"""


def _calls_to_plan(directory: Path, clusters: int) -> int:
    """How many calls it takes to plan a cluster among so many, each with documents of its own."""
    text = "".join(OWN.format(number=number) for number in range(clusters))
    manifests = load([Source("all.yaml", text)])
    (directory / "c7.json").write_text(snapshot_text(ClusterState("id", frozenset())), encoding="utf-8")
    members = MemberConnections(ConnectionOptions(), str(directory))
    terms = PlanTerms(cast("Any", None), members, PlanOptions(as_of=datetime.date(2026, 11, 26)), None)
    planning._plan_one("c7", manifests, terms)  # what is kept for all of them
    profile = cProfile.Profile()
    made = profile.runcall(planning._plan_one, "c7", manifests, terms)
    assert made.member is not None, made.failure
    assert made.member.steps == 2
    return int(sum(entry.callcount for entry in profile.getstats()))


def test_planning_a_cluster_costs_as_much_however_many_others_there_are(tmp_path: Path) -> None:
    few, many = _calls_to_plan(tmp_path, 10), _calls_to_plan(tmp_path, 150)
    assert many < few * 1.05
