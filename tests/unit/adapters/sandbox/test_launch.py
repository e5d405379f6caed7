"""Nodes that Kafka's tool did not format have what it would have written."""

from pathlib import Path

import javaproperties
import pytest

from reconciler.parts.local.sandbox.launch import _copy_storage, random_uuid
from reconciler.parts.local.sandbox.layout import NodeFiles


@pytest.fixture
def formatted(tmp_path: Path) -> NodeFiles:
    """A controller of 4.x."""
    files = NodeFiles(tmp_path, 101)
    (files.data / "__cluster_metadata-0").mkdir(parents=True)
    (files.data / "__cluster_metadata-0" / "0.checkpoint").write_bytes(b"records")
    (files.data / "meta.properties").write_text("#\nnode.id=101\ndirectory.id=abc\nversion=1\ncluster.id=c\n")
    return files


@pytest.mark.parametrize("controller", [True, False])
def test_another_node_has_ids_of_its_own(formatted: NodeFiles, tmp_path: Path, controller: bool) -> None:
    files = NodeFiles(tmp_path, 2)
    _copy_storage(formatted, files, controller=controller)
    written = javaproperties.loads((files.data / "meta.properties").read_text())
    assert {**written, "directory.id": ""} == {"node.id": "2", "directory.id": "", "version": "1", "cluster.id": "c"}
    assert written["directory.id"] not in ("abc", "")
    assert (files.data / "__cluster_metadata-0").exists() is controller


def test_ids_are_as_kafka_makes_them() -> None:
    made = {random_uuid() for _ in range(100)}
    assert len(made) == 100
    assert all(len(one) == 22 and not one.startswith("-") for one in made)
