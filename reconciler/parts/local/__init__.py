"""A Kafka on this machine: sandbox, demo, tour."""
