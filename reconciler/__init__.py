"""A declarative GitOps reconciler for Kafka ACLs and topics."""

__version__ = "0.1.0"
