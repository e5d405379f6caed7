"""The kind ``Cluster``: connection, facts that no Kafka API exposes, scope and limits."""
