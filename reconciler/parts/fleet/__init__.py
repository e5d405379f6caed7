"""Many clusters, compared and changed on Spark."""

COMMANDS = {
    "fleet": (
        "Snapshot, compare, plan and apply many clusters on Spark",
        "reconciler.parts.fleet.cli.fleet",
        "Many clusters",
    )
}
#: Packages of the extra.
NEEDS = ("pyspark", "pyarrow", "polars")
