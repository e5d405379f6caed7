"""What brokers' logs show in use, and least privilege from it.

Which access is used. It reads the authorizer's logs of brokers, and proposes manifests that allow only what was used.

- Adds: ``usage`` and ``tighten``.
- Uses: ``edit``, to write the proposal.
- Begin with: ``usage/``, then ``suggestion.py``.
- The core does not know: logs and their layouts, how long an access must be unseen, stages of a tightening.
"""

COMMANDS = {
    "usage": ("Find unused ACLs in the brokers' logs", "reconciler.parts.evidence.cli:usage_command", "Evidence"),
    "tighten": (
        "Narrow access to what the brokers' logs show in use",
        "reconciler.parts.evidence.cli:tighten_command",
        "Evidence",
    ),
}
