"""Duties that nobody may hold together, control topics, and how far rights are followed; in the words of manifests."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from reconciler.model.acl import AclOperation, ResourcePattern
from reconciler.model.desired import Origin


class Through(StrEnum):
    """Which rights count as held, each word with those before it: own ones, those as somebody else, moved records."""

    ACL = "acl"
    IDENTITY = "identity"
    FLOW = "flow"


class Duty(NamedTuple):
    """Any of the operations on any name of the patterns."""

    operations: tuple[AclOperation, ...]
    patterns: tuple[ResourcePattern, ...]


class Control(NamedTuple):
    """Topics whose records a service obeys: a writer acts as the principal of that service."""

    patterns: tuple[ResourcePattern, ...]
    acts: str
    origin: Origin


class Links(NamedTuple):
    """Besides ACLs, what connects principals and topics.

    ``dead_letters``: by share group the topic that gets the records it gives up; ``None``: not known. ``memberships``
    are types of principals, such as ``Group``, that stand for several users who no ACL names. ``tokens``: of each
    delegation token that is there the owner, and who else may read its secret without an ACL.
    """

    controls: tuple[Control, ...] = ()
    dead_letters: Mapping[str, str] | None = None
    memberships: frozenset[str] = frozenset()
    tokens: tuple[tuple[str, frozenset[str]], ...] = ()


NO_LINKS: Final = Links()
