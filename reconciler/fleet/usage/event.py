"""What an authorizer's log says of one decision, and why a line could not be read as one."""

from enum import StrEnum
from typing import NamedTuple

from reconciler.access import AccessRequest
from reconciler.model import AclBinding


class LoggedReason(StrEnum):
    """What the log names as the reason; ``UNSAID`` where the format has no room for it (``AclAuthorizer``)."""

    ACL = "acl"
    SUPER_USER = "super user"
    DEFAULT_ALLOW = "default allow"
    DEFAULT_DENY = "default deny"
    ROLE = "role"
    UNSAID = "unsaid"


class Event(NamedTuple):
    """One decision. Without its time and its count, so that equal decisions are equal.

    ``request.host`` is empty where the event has none. ``acl`` is the deciding binding where the log spells it out and
    it can be the only one meant. ``asked_only``: logged at TRACE, so somebody's rights were looked up and no access was
    tried (``Action.logIfAllowed``, ``logIfDenied``). ``on_some``: the made-up name of ``authorizeByResourceType``.
    ``cluster_id`` is what Confluent's events say of themselves.
    """

    request: AccessRequest
    allowed: bool
    ground: LoggedReason = LoggedReason.UNSAID
    acl: AclBinding | None = None
    api: str = ""
    asked_only: bool = False
    on_some: bool = False
    cluster_id: str = ""


class UnreadableReason(StrEnum):
    """Why a line that has, or may have, to do with a decision says nothing that could be believed."""

    CUT = "cut off or garbled"
    NOT_TEXT = "not text in UTF-8"
    TOO_LONG = "too long"
    AMBIGUOUS = "can be read in several ways"
    UNKNOWN_WORD = "an operation or a type that is not known"
    NO_TIME = "no time, so in no window"


class ParsedLine(NamedTuple):
    """One line that was understood: when (``YYYY-MM-DD``, empty if it does not say), and what."""

    time: str
    event: Event
