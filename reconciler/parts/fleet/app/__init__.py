"""Many clusters at once, on Spark: snapshots of a fleet, drift, plans, waves. Needs the extra ``fleet``.

``spark()`` gives a session, ``store_at(place)`` a store; the functions take both, and raise a
:class:`reconciler.app.reasons.WorkflowError`.

Each name is imported when it is first used: Spark can start while the rest is loaded.
"""
