"""The kinds of resources that are compared: one module each. Adding a kind is one file and its place in ``KINDS``."""

from typing import Final

from reconciler.diff.kinds import acl, quota, topic
from reconciler.diff.kinds.interface import Kind

__all__ = ["KINDS", "Kind"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, quota)
