"""A server that looks again and again, and takes away what is expired."""

COMMANDS = {
    "serve": (
        "Watch clusters; revoke access that has expired; show metrics",
        "reconciler.parts.serve.cli",
        "Plan and apply",
    )
}
