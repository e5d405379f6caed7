"""Access in the past: who could, on that day, since when, and by whose doing.

A table of intervals, derived from readings in the store of snapshots and from audit logs.

- Adds: ``history``, and ``--store`` of the questions.
- Begin with: ``intervals.py``, which says when a fact held, then ``evidence.py``, which says where that is known from.
- The core does not know: intervals, the store. It asks a state at a time as it asks a snapshot.
- Uses of other parts: the store and the readings of ``fleet``, without Spark, and the logs of ``evidence``.
"""

COMMANDS = {
    "history": (
        "Show since when access has been there, and by whose doing",
        "reconciler.parts.history.cli",
        "Evidence",
    )
}
#: What options of the core's commands need of this part.
OPTIONS = {
    "--store": "reconciler.parts.history.app",
    "--keep": "reconciler.parts.history.update",
    "certify --store": "reconciler.parts.history.app",
    "drift --store": "reconciler.parts.history.cli",
    "serve --store": "reconciler.parts.history.update",
}
NEEDS = ("pyarrow",)
