"""Where replicas should be: pure, from brokers with racks and live assignments to target assignments."""

from reconciler.placement.replicas import PlacedPartition, PlacementBroker, copied_bytes, target_replicas

__all__ = ["PlacedPartition", "PlacementBroker", "copied_bytes", "target_replicas"]
