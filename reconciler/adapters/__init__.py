"""Implementations of ``reconciler.ports``: the only packages that import Kafka clients and engines."""
