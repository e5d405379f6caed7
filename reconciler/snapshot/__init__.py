"""A canonical JSON file as a cluster: read, written, and under the rules of Kafka's own code.

:class:`MemoryCluster` keeps the same rules without a file. Shape: ``schema/snapshot.json``.
"""
