"""One decision in an authorizer's log, and why a line could not be read as one."""

from enum import StrEnum
from typing import NamedTuple

from reconciler.access import AccessRequest
from reconciler.model import AclBinding


class LoggedReason(StrEnum):
    """The reason in the log; ``UNSAID`` if the format has none (``AclAuthorizer``)."""

    ACL = "acl"
    SUPER_USER = "super user"
    DEFAULT_ALLOW = "default allow"
    DEFAULT_DENY = "default deny"
    ROLE = "role"
    UNSAID = "unsaid"


class Event(NamedTuple):
    """One decision, without its time and count, so that equal decisions are equal.

    ``request.host`` is empty if the event has none. ``acl`` is the deciding binding, if the log contains it and it is
    unambiguous. ``asked_only``: logged at TRACE, so rights were looked up without an access (``Action.logIfAllowed``,
    ``logIfDenied``). ``on_some``: the request was for the made-up name of ``authorizeByResourceType``. ``cluster_id``
    is from Confluent's events.
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
    """Why a line that is or may be about a decision cannot be trusted."""

    CUT = "cut off or garbled"
    NOT_TEXT = "not text in UTF-8"
    TOO_LONG = "too long"
    AMBIGUOUS = "can be read in several ways"
    UNKNOWN_WORD = "an operation or a type that is not known"
    NO_TIME = "no time, so in no window"
    INSIDE = "like a decision, but inside of other text: the log's layout is not known, or a name forges it"
    FORMAT = "a decision in a form that is not read"


class ParsedLine(NamedTuple):
    """One parsed line: its day (``YYYY-MM-DD``, empty if unknown) and its decision."""

    time: str
    event: Event
