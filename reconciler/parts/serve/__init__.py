"""A server that looks again and again, and takes away what is expired.

A server that looks at clusters again and again. It shows metrics, and takes away access that has expired.

- Adds: ``serve``.
- Begin with: ``rounds.py``, then ``narrowing.py``, which holds what it may do by itself.
- The core does not know: rounds, HTTP, health checks.
"""

COMMANDS = {
    "serve": (
        "Watch clusters; revoke access that has expired; show metrics",
        "reconciler.parts.serve.cli",
        "Plan and apply",
    )
}
