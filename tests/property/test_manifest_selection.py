"""Which documents are for a cluster: those whose every label it has, however many selectors there are."""

import random

import hypothesis.strategies as st
from hypothesis import given

from reconciler.manifest.documents.fleet import FleetDeclaration
from reconciler.manifest.manifests import load
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.findings import Source

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
