"""A canonical JSON file as a cluster: read, written, and under the rules of Kafka's own code.

:class:`MemoryCluster` keeps the same rules without a file. Shape: ``schema/snapshot.json``.
"""

from reconciler.adapters.snapshot.broker import BrokerFacts, Snapshot
from reconciler.adapters.snapshot.document import (
    FORMAT_VERSION,
    parse_document,
    parse_snapshot,
    read_document,
    snapshot_pieces,
    snapshot_schema_text,
    snapshot_text,
)
from reconciler.adapters.snapshot.error import SnapshotError
from reconciler.adapters.snapshot.file import SnapshotCluster
from reconciler.adapters.snapshot.memory import MemoryCluster

__all__ = [
    "FORMAT_VERSION",
    "BrokerFacts",
    "MemoryCluster",
    "Snapshot",
    "SnapshotCluster",
    "SnapshotError",
    "parse_document",
    "parse_snapshot",
    "read_document",
    "snapshot_pieces",
    "snapshot_schema_text",
    "snapshot_text",
]
