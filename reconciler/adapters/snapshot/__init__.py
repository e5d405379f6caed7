"""A canonical JSON file as a cluster: read, written, and under the rules of Kafka's own code.

:class:`MemoryCluster` keeps the same rules without a file. Shape: ``schema/snapshot.json``.
"""

from reconciler.adapters.snapshot.broker import BrokerFacts, Snapshot
from reconciler.adapters.snapshot.file import SnapshotCluster
from reconciler.adapters.snapshot.memory import MemoryCluster
from reconciler.adapters.snapshot.parse import SnapshotError, parse_document, parse_snapshot
from reconciler.adapters.snapshot.text import FORMAT_VERSION, snapshot_text

__all__ = [
    "FORMAT_VERSION",
    "BrokerFacts",
    "MemoryCluster",
    "Snapshot",
    "SnapshotCluster",
    "SnapshotError",
    "parse_document",
    "parse_snapshot",
    "snapshot_text",
]
