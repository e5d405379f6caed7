"""A Kafka on this machine: sandbox, demo, tour.

A Kafka on this machine, with access control, and tours on it.

- Adds: ``sandbox``, ``demo``.
- Needs: Java, and the extra ``sandbox`` (PySpark, only for its Ivy).
- Begin with: ``sandbox/lifecycle.py``.
- The core does not know: jars, Java, processes of brokers.
"""

COMMANDS = {
    "sandbox": ("Run a local Kafka cluster with access control", "reconciler.parts.local.cli", "On this machine"),
    "demo": (
        "Tour on a sandbox: validate, plan, apply, drift",
        "reconciler.parts.local.cli:demo_command",
        "On this machine",
    ),
}
#: Packages of the extra.
NEEDS = ("pyspark",)
