"""The file behind a snapshot cluster: replaced whole or not at all, and never in silence."""

import os
from pathlib import Path

import pytest

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.ports import AnswerStatus, ClusterError, ReadRequest
from reconciler.snapshot.document import BrokerFacts, parse_document, snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.topic_changes import partitions
from tests.verbs import creations, deletions

BINDING = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "t"),
    AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "prod.json"
    path.write_text(snapshot_text(ClusterState("c"), BrokerFacts(default_partitions=6)), encoding="utf-8")
    return path


def test_what_is_written_is_in_the_file(path: Path) -> None:
    assert SnapshotCluster(path).send(creations([BINDING]))[0].status is AnswerStatus.DONE
    assert SnapshotCluster(path).read(ReadRequest()).bindings == {BINDING}


def test_the_facts_of_the_brokers_survive_and_ids_go_on(path: Path) -> None:
    for name in ("a", "b"):
        SnapshotCluster(path).send(creations([Topic(name)]))
    document = parse_document(path.read_text(encoding="utf-8"))
    assert document.broker == BrokerFacts(default_partitions=6, topics_created=2)
    assert len({topic.topic_id for topic in document.state.topics.values()}) == 2
    assert document.state.topics["a"].num_partitions == 6


def test_the_same_writes_give_the_same_bytes(path: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin.json"
    twin.write_bytes(path.read_bytes())
    for file in (path, twin):
        SnapshotCluster(file).send(creations([Topic("a"), Topic("b")]))
    assert path.read_bytes() == twin.read_bytes()


def test_a_write_that_changes_nothing_leaves_the_file(path: Path) -> None:
    before = path.stat()
    assert SnapshotCluster(path).send(deletions([BINDING]))[0].status is AnswerStatus.DONE
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_write_keeps_the_mode_and_leaves_nothing_beside_it(path: Path) -> None:
    path.chmod(0o640)
    SnapshotCluster(path).send(creations([BINDING]))
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(path)
    SnapshotCluster(link).send(creations([BINDING]))
    assert link.is_symlink()
    assert SnapshotCluster(path).read(ReadRequest()).bindings == {BINDING}


def test_a_missing_file_is_an_error_and_no_empty_cluster(tmp_path: Path) -> None:
    cluster = SnapshotCluster(tmp_path / "none.json")
    with pytest.raises(ClusterError) as caught:
        cluster.read(ReadRequest())
    assert caught.value.code == "snapshot_unreadable"
    assert [answer.code for answer in cluster.send(creations([BINDING]))] == ["snapshot_unreadable"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"formatVersion": "9.0"}'])
def test_a_file_that_cannot_be_believed_is_neither_read_nor_replaced(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    cluster = SnapshotCluster(path)
    with pytest.raises(ClusterError) as caught:
        cluster.read(ReadRequest())
    assert caught.value.code == "invalid_snapshot"
    answers = cluster.send(
        [
            partitions("a", 1, 2),
            partitions("b", 1, 2),
        ]
    )
    assert [answer.status for answer in answers] == [AnswerStatus.FAILED] * 2
    assert path.read_bytes() == content


def test_a_replace_that_fails_refuses_every_item_and_leaves_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    answers = SnapshotCluster(path).send(creations([BINDING]))
    assert [(answer.status, answer.code) for answer in answers] == [(AnswerStatus.FAILED, "snapshot_unwritable")]
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_binding_that_is_no_unicode_is_refused(path: Path) -> None:
    bad = BINDING._replace(pattern=ResourcePattern(ResourceType.TOPIC, "\ud800"))
    assert SnapshotCluster(path).send(creations([bad]))[0].status is AnswerStatus.FAILED
    assert SnapshotCluster(path).read(ReadRequest()).bindings == frozenset()
