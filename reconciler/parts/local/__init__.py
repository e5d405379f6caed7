"""A Kafka on this machine: sandbox, demo, tour."""

COMMANDS = {
    "sandbox": ("Run a local Kafka cluster with access control", "reconciler.parts.local.cli", "On this machine"),
    "demo": ("Tour on a sandbox: validate, plan, apply, drift", "reconciler.parts.local.demo", "On this machine"),
}
#: Packages of the extra.
NEEDS = ("pyspark",)
