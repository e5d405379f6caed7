"""Clusters of a fleet that are alike share one desired state: what its declarations read is what they are alike in."""

import dataclasses
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

from reconciler.app.manifests import read_sources
from reconciler.manifest import manifests as module
from reconciler.manifest.manifests import Manifests, desired_state, load
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.desired import DesiredState, Origin
from tests.property.transitions import DAY

ROOT = Path(__file__).parents[3]
#: Beside the day, what :func:`desired_state` looks at before it gives one cluster the answer of another.
KEY = {"labels", "scope", "topic_defaults"}
#: Read for the words about a problem, and where a document has variables: then nothing is shared.
FOR_WORDS = {"name", "origin", "vars", "var_origins"}
#: What no declaration reads of its cluster. A new field belongs to one of the three.
UNREAD = {
    *("allow_everyone_if_no_acl_found", "barrier_wait", "bootstrap_servers", "brokers", "client", "client_origins"),
    *("emergency", "fact_origins", "flavor", "guard_exceptions", "guardrail", "ignore_configs", "ignore_origins"),
    *("inter_broker_principals", "kafka_version", "limits", "lint_exceptions", "only_scram_logins", "principal"),
    *("probe", "protect", "prune", "secret_permit", "short_wait", "sources", "super_users"),
}


class Watched(ClusterDeclaration):
    """Notes which of its fields are read."""

    read: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        Watched.read.add(name)
        return super().__getattribute__(name)


def _watched(cluster: ClusterDeclaration, **others: Any) -> Watched:
    fields = {one.name: getattr(cluster, one.name) for one in dataclasses.fields(ClusterDeclaration)}
    return Watched(**{**fields, **others})


def _examples() -> Iterator[tuple[Manifests, ClusterDeclaration]]:
    """Each cluster of all examples of which an answer would be shared."""
    for place in sorted({file.parent for file in (ROOT / "examples").rglob("*.yaml")}):
        with suppress(ManifestError):  # a part of an example
            manifests = load(read_sources(str(place)))
            for cluster in manifests.clusters.values():
                if not manifests.chosen_templates(cluster.labels):
                    yield manifests, cluster


def test_every_field_of_a_cluster_is_read_or_not() -> None:
    assert {one.name for one in dataclasses.fields(ClusterDeclaration)} == KEY | FOR_WORDS | UNREAD
    assert len(KEY) + len(FOR_WORDS) + len(UNREAD) == len(KEY | FOR_WORDS | UNREAD)


def test_declarations_read_of_their_cluster_only_what_alike_clusters_have_in_common(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read, documents = set[str](), set[str]()
    elsewhere = Origin("other.yaml", 99, 99)

    def desired(manifests: Manifests, cluster: ClusterDeclaration) -> DesiredState:
        manifests._last.clear()
        monkeypatch.setattr(module, "declared_cluster", lambda *_: cluster)
        return desired_state(manifests, "whatever", DAY)

    for manifests, cluster in _examples():
        Watched.read = set()
        with suppress(ManifestError):
            answer = desired(manifests, _watched(cluster))
            if manifests._last:
                read |= Watched.read
                documents |= {type(one).__name__ for one in manifests.chosen(cluster.labels, {})}
                other = _watched(cluster, name="other", origin=elsewhere, vars={"v": "w"}, var_origins={"v": elsewhere})
                assert desired(manifests, other) == answer
    assert read.intersection(KEY | FOR_WORDS | UNREAD) == KEY | FOR_WORDS
    assert documents == {
        *("AccessTestsDeclaration", "AclsDeclaration", "ListedDeclaration", "OwnershipDeclaration"),
        *("TopicPolicyDeclaration", "TopicsDeclaration"),
    }


class _AskedError(Exception):
    """An answer of its own was begun."""


@pytest.mark.parametrize("name", sorted(KEY))
def test_a_cluster_that_is_not_alike_gets_an_answer_of_its_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def begun(*_: object) -> None:
        raise _AskedError

    manifests, cluster = next((one, cluster) for one, cluster in _examples() if desired_state(one, cluster.name, DAY))
    answer = desired_state(manifests, cluster.name, DAY)
    clusters = [_watched(cluster, name="other"), _watched(cluster, **{name: ("unlike",)})]
    monkeypatch.setattr(module, "declared_cluster", lambda *_: clusters.pop(0))
    monkeypatch.setattr(module, "declared_for", begun)
    assert desired_state(manifests, "whatever", DAY) is answer
    with pytest.raises(_AskedError):
        desired_state(manifests, "whatever", DAY)
