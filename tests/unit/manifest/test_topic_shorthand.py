"""What topics have without saying so: defaults and overrides of cluster and document; owners and grants."""

import datetime

import pytest

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.model.desired import DesiredState
from reconciler.model.topic import Topic

_DAY = datetime.date(2026, 1, 1)
_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec:
  topicDefaults:
    partitions: 3
    replicationFactor: 3
    configs: {retention.ms: 7d, segment.ms: 1d, flush.ms: 1}
    overrides:
      - {matchLabels: {size: big}, partitions: 30}
      - {matchLabels: {size: big, data: personal}, configs: {retention.ms: 1d}}
"""
_TOPICS = """\
apiVersion: reconciler/v1
kind: Topics
metadata: {name: t, labels: {data: personal}}
spec:
"""


def desired(spec: str, cluster: str = _CLUSTER) -> DesiredState:
    indented = "".join(f"  {line}\n" for line in spec.splitlines())
    return desired_state(load([Source("c.yaml", cluster), Source("t.yaml", _TOPICS + indented)]), "c", _DAY)


def topic(spec: str) -> Topic:
    (found,) = desired(spec).topics.values()
    return found.topic


DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("spec", "partitions", "replicas", "configs"),
    [
        ("topics: [{name: a}]", 3, 3, {"retention.ms": 7 * DAY_MS, "segment.ms": DAY_MS, "flush.ms": 1}),
        # The document's labels count for its topics, and the last fitting override has the last word.
        (
            "topics: [{name: a, labels: {size: big}}]",
            *(30, 3, {"retention.ms": DAY_MS, "segment.ms": DAY_MS, "flush.ms": 1}),
        ),
        # A label of the topic counts more than one of the document.
        (
            "topics: [{name: a, labels: {size: big, data: public}}]",
            *(30, 3, {"retention.ms": 7 * DAY_MS, "segment.ms": DAY_MS, "flush.ms": 1}),
        ),
        (
            "defaults: {partitions: 6, configs: {flush.ms: 2}}\ntopics: [{name: a, labels: {size: big}}]",
            *(6, 3, {"retention.ms": DAY_MS, "segment.ms": DAY_MS, "flush.ms": 2}),
        ),
        (
            "defaults: {partitions: 6, overrides: [{matchLabels: {size: big}, replicationFactor: 2}]}\n"
            "topics: [{name: a, labels: {size: big}, partitions: 1, configs: {retention.ms: 5}}]",
            *(1, 2, {"retention.ms": 5, "segment.ms": DAY_MS, "flush.ms": 1}),
        ),
    ],
)
def test_the_nearest_word_counts(spec: str, partitions: int, replicas: int, configs: dict[str, int]) -> None:
    found = topic(spec)
    assert (found.num_partitions, found.replication_factor) == (partitions, replicas)
    assert dict(found.configs) == {name: str(value) for name, value in configs.items()}


def test_an_assignment_is_its_own_count() -> None:
    found = topic("defaults: {partitions: 6}\ntopics: [{name: a, replicaAssignments: [[1, 2], [2, 1]]}]")
    assert (found.num_partitions, found.replication_factor) == (2, 2)
    assert found.replica_assignments == ((1, 2), (2, 1))


def test_an_absent_topic_has_nothing() -> None:
    assert topic("topics: [{name: a, absent: true}]") == Topic("a")


def granted(spec: str) -> list[str]:
    return sorted(str(binding) for binding in desired(spec).bindings)


def test_an_owner_reads_and_writes_and_leaves_the_topic_to_the_manifests() -> None:
    assert granted("topics: [{name: a, owner: User:o}]") == [
        f"User:o ALLOW {operation} on TOPIC a" for operation in ("DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")
    ]


def test_an_owner_of_the_topic_replaces_that_of_the_document_and_grants_add_up() -> None:
    found = granted(
        "defaults: {owner: [User:o], grants: [{allow: READ, principal: User:all}]}\n"
        "topics:\n"
        "  - {name: a}\n"
        "  - {name: b, owner: User:p, grants: [{deny: WRITE, principals: [User:x, User:y], hosts: [10.0.0.1]}]}\n"
        "  - {name: c, absent: true}\n"
    )
    assert {line for line in found if "WRITE" in line} == {
        "User:o ALLOW WRITE on TOPIC a",
        "User:p ALLOW WRITE on TOPIC b",
        "User:x DENY WRITE from 10.0.0.1 on TOPIC b",
        "User:y DENY WRITE from 10.0.0.1 on TOPIC b",
    }
    assert [line for line in found if "User:all" in line] == [
        "User:all ALLOW READ on TOPIC a",
        "User:all ALLOW READ on TOPIC b",
    ]
    assert not [line for line in found if line.endswith(" c")]


def test_a_grant_by_role_takes_groups_beside_the_topic() -> None:
    spec = "topics: [{name: a, grants: [{role: consumer, principal: User:r, groups: {prefix: r-}}]}]"
    assert granted(spec) == [
        "User:r ALLOW DESCRIBE on TOPIC a",
        "User:r ALLOW READ on GROUP PREFIXED r-",
        "User:r ALLOW READ on TOPIC a",
    ]


def test_a_grant_that_has_expired_is_wanted_no_longer() -> None:
    state = desired("topics: [{name: a, grants: [{allow: READ, principal: User:r, expires: 2025-12-31}]}]")
    assert not state.bindings
    assert [str(binding) for binding in state.expired] == ["User:r ALLOW READ on TOPIC a"]


def test_a_binding_says_where_it_was_granted() -> None:
    state = desired(
        "topics:\n  - name: a\n    owner: User:o\n    grants:\n      - {role: producer, principal: User:p}\n"
    )
    assert {str(declared.origin) for declared in state.bindings.values()} == {"t.yaml:7:14", "t.yaml:9:11"}
