"""A cluster of a stated flavor, as Apache Kafka would show and take it."""

from reconciler.adapters.flavored.cluster import FlavoredCluster, flavored

__all__ = ["FlavoredCluster", "flavored"]
