"""Certification that lapses: the owners of resources confirm who has which access, or it ends.

- Adds: ``certify``.
- Begin with: ``rights.py``, which divides the access of a cluster among owners, then ``campaign.py``.
- The core does not know: campaigns, answers, packs.
- Uses of other parts: the editor of ``edit``, and what ``history`` knows of the past.
"""

COMMANDS = {
    "certify": ("Let owners confirm access; the rest ends", "reconciler.parts.certify.cli", "Evidence"),
}
