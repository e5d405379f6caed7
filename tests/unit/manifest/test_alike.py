"""Clusters of a fleet that are alike have one desired state, and no cluster has that of one that is not."""

import datetime
from itertools import permutations

import pytest

from reconciler.manifest.manifests import Manifests, desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError

_DAY = datetime.date(2027, 1, 1)
_CLUSTERS = {
    "one": "metadata: {name: one, labels: {env: prod}}\nspec: {}",
    "alike": "metadata: {name: alike, labels: {env: prod}}\nspec: {principal: User:us}",
    "labelled": "metadata: {name: labelled, labels: {env: prod, site: eu}}\nspec: {}",
    "narrow": "metadata: {name: narrow, labels: {env: prod}}\nspec: {scope: {exclude: [{topics: [a]}]}}",
    "defaults": "metadata: {name: defaults, labels: {env: prod}}\nspec: {topicDefaults: {partitions: 7}}",
    "shut": "metadata: {name: shut, labels: {env: prod}}\nspec: {scope: {exclude: [{topics: [b]}]}}",
    "other": "metadata: {name: other, labels: {env: test}}\nspec: {}",
}
_ACLS = """apiVersion: reconciler/v1
kind: Acls
metadata: {{name: {name}}}
spec: {{principal: "User:{name}", clusters: {{matchLabels: {{{labels}}}}}, rules: [{{allow: READ, topics: [{topic}]}}]}}
---
"""
_TOPICS = """apiVersion: reconciler/v1
kind: Topics
metadata: {name: topics}
spec: {topics: [{name: b, replicationFactor: 3}]}
---
"""


def _text(clusters: dict[str, str]) -> str:
    declared = "".join(f"apiVersion: reconciler/v1\nkind: Cluster\n{text}\n---\n" for text in clusters.values())
    rules = (("p", "env: prod", "b"), ("t", "env: test", "b"), ("e", "site: eu", "b"))
    return declared + _TOPICS + "".join(_ACLS.format(name=n, labels=w, topic=t) for n, w, t in rules)


def _told(manifests: Manifests, name: str) -> object:
    try:
        state = desired_state(manifests, name, _DAY)
    except ManifestError as error:
        return str(error)
    return dict(state.bindings.items()), state.topics


def test_each_cluster_has_what_it_has_alone_whichever_was_asked_before() -> None:
    source = Source("all.yaml", _text(_CLUSTERS))
    alone = {name: _told(load([source]), name) for name in _CLUSTERS}
    together = load([source])
    for names in permutations(_CLUSTERS, 2):
        for name in names:
            assert _told(together, name) == alone[name], names
    assert [alone["one"] == alone[name] for name in ("alike", "labelled", "defaults", "shut")] == [True, *[False] * 3]
    assert desired_state(together, "one", _DAY) is desired_state(together, "alike", _DAY)
    assert desired_state(together, "one", _DAY) is not desired_state(together, "one", _DAY + datetime.timedelta(1))


def test_variables_and_problems_are_each_cluster_s_own() -> None:
    same = {
        name: f"metadata: {{name: {name}}}\nspec: {{vars: {{who: {who}}}}}" for name, who in (("a", "x"), ("b", "y"))
    }
    filled = _ACLS.replace("User:{name}", "User:${{vars.who}}").format(name="v", labels="", topic="b")
    manifests = load([Source("all.yaml", _text(same) + filled)])
    found = [{str(item.entry.principal) for item in desired_state(manifests, name, _DAY).bindings} for name in same]
    assert found == [{"User:x"}, {"User:y"}]
    outside = {name: f"metadata: {{name: {name}}}\nspec: {{scope: {{exclude: [{{topics: [b]}}]}}}}" for name in "ab"}
    manifests = load([Source("all.yaml", _text(outside) + _ACLS.format(name="v", labels="", topic="b"))])
    for name in outside:
        with pytest.raises(ManifestError, match=f"outside the scope of the cluster {name}"):
            desired_state(manifests, name, _DAY)
