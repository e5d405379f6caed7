"""What brokers' logs show in use, and least privilege from it."""

COMMANDS = {
    "usage": ("Find unused ACLs in the brokers' logs", "reconciler.parts.evidence.cli.usage", "Evidence"),
    "tighten": (
        "Narrow access to what the brokers' logs show in use",
        "reconciler.parts.evidence.cli.tighten",
        "Evidence",
    ),
}
