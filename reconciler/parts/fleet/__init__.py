"""Many clusters, compared and changed on Spark.

Many clusters as one. It reads all of them into a store on Spark, compares each with its manifests, plans them, and
applies the plans wave by wave.

- Adds: ``fleet`` with ``snapshot``, ``drift``, ``plan``, ``apply``, ``query``, ``usage`` and ``tighten``; the
  functions of ``parts/fleet/api.py``.
- Needs: the extra ``fleet`` (PySpark, pyarrow, Polars).
- Begin with: ``membership.py`` (which clusters, in which waves), ``store.py``, ``app/plan.py``.
- The core does not know: that there are several clusters, waves and gates, the store, Spark. It has the document
  ``Fleet`` and the results, because manifests and reports hold them.
"""

COMMANDS = {
    "fleet": (
        "Snapshot, compare, plan and apply many clusters on Spark",
        "reconciler.parts.fleet.cli.fleet",
        "Many clusters",
    )
}
#: Packages of the extra.
NEEDS = ("pyspark", "pyarrow", "polars")
