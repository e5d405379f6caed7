"""A snapshot that cannot be read."""

from reconciler.codec import SchemaError
from reconciler.ports import ClusterError


class SnapshotError(ClusterError):
    """A snapshot that cannot be trusted. ``place`` is where: ``topics[3].partitions``, ``line 4, column 9``."""

    def __init__(self, error: SchemaError) -> None:
        """Keeps the place; the message names it."""
        super().__init__("invalid_snapshot", str(error), "Take the snapshot again, or correct the file there.")
        self.place = error.place or "the document"
