"""What the reconciler does, as functions of ports and values: the floor that commands, workers and notebooks share.

Each use case raises a :class:`WorkflowError`, whose subclass is the reason, and knows nothing of terminals. Paths are
texts; a cluster is ``NAME``, ``snapshot:FILE`` or ``NAME=snapshot:FILE``. ``docs/python.md`` has examples. Fleets are
in ``reconciler.parts.fleet.app``, which needs Spark.

Each name is imported when it is first used, so that a command line starts fast.
"""
