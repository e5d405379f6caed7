"""One decision in an authorizer's log: message, layout, time, vocabulary.

The message of one decision in Kafka's three formats: ``StandardAuthorizerData``, ``AclAuthorizer``, and before 2.4.

Names are untrusted: a principal or a group may contain the words that separate the fields. A message that can be read
in two ways is refused. Where a message may begin and end is said here; lines that a name
with line breaks forges cannot be recognised here; see ``scan``.
"""

import datetime
import re
from collections.abc import Iterator, Mapping
from enum import Enum, IntEnum, StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar

from reconciler.access.authorizer import PROBE, AccessRequest
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

# Kafka's words for operations and resource types, in the two spellings that logs have (``SecurityUtils``).

Member = TypeVar("Member", bound=IntEnum)


def pascal(member: IntEnum) -> str:
    """``TransactionalId`` for ``TRANSACTIONAL_ID``, as ``SecurityUtils.toPascalCase`` writes it."""
    return "".join(part.capitalize() for part in member.name.split("_"))


def _spellings(members: list[Member]) -> Mapping[str, Member]:
    return MappingProxyType({spelling: member for member in members for spelling in (member.name, pascal(member))})


#: What a request can ask for; not ALL, ANY and UNKNOWN.
OPERATIONS: Final = _spellings([operation for operation in AclOperation if operation >= AclOperation.READ])
#: The resource types of requests.
RESOURCE_TYPES: Final = _spellings([kind for kind in ResourceType if kind >= ResourceType.TOPIC])
#: What a binding can name in addition.
BINDING_OPERATIONS: Final = MappingProxyType({**OPERATIONS, "ALL": AclOperation.ALL, "All": AclOperation.ALL})


# One decision in an authorizer's log, and why a line could not be read as one.


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


#: How every message begins.
OPENING: Final = "Principal = "
_HEAD = re.compile(
    r" is (Allowed|Denied) (operation|Operation) = ([A-Za-z_]+) from host = (\S+) on resource = ([A-Za-z_]+):", re.ASCII
)
_MIDDLE = re.compile(r" for request = (\w+) with resourceRefCount = (\d+)(?!\d)", re.ASCII)
_REASON: Final = " based on rule "
_PLAIN = re.compile(r"(SuperUser|DefaultAllow|DefaultDeny)(?!\w)", re.ASCII)
_PLAIN_GROUNDS: Final = {
    "SuperUser": (LoggedReason.SUPER_USER, True),
    "DefaultAllow": (LoggedReason.DEFAULT_ALLOW, True),
    "DefaultDeny": (LoggedReason.DEFAULT_DENY, False),
}
#: How a binding is printed, and how it ends: with a bracket if it is a Java record (Kafka 4.3; not yet in 4.1).
_ACL_ENDS: Final = {
    f"MatchingAcl(acl=StandardAcl{opening}resourceType=": re.compile(
        rf", operation=([A-Za-z_]+), permissionType=(ALLOW|DENY){closing}", re.ASCII
    )
    for opening, closing in (("(", r"\)\)"), ("[", r"\]\)"))
}
#: What the layout of Kafka's default configuration adds, ``%m (%c)``: only it shows where an old message ends.
_LOGGER = re.compile(r" \(kafka\.authorizer\.logger\)(?:\s*\[[^\s\[\]]*\])?\s*\Z")


class ReadMessage(NamedTuple):
    """A decision, and what is written after its message."""

    event: Event
    rest: str


def parse_message(text: str, start: int = 0) -> ReadMessage | UnreadableReason:
    """The decision whose message begins at ``start``, or why it cannot be read."""
    heads = list(_HEAD.finditer(text, start))
    middles = list(_MIDDLE.finditer(text, start))
    if len(heads) > 1 or len(middles) > 1:
        return UnreadableReason.AMBIGUOUS
    if not heads:
        return UnreadableReason.CUT
    principal = text[start + len(OPENING) : heads[0].start()]
    return _message(text, principal, heads[0], middles[0] if middles else None)


def _message(
    text: str, principal: str, head: re.Match[str], middle: re.Match[str] | None
) -> ReadMessage | UnreadableReason:
    verdict, spelling, operation, host, kind = head.groups()
    if ":" not in principal:
        return UnreadableReason.CUT
    if operation not in OPERATIONS or kind not in RESOURCE_TYPES:
        return UnreadableReason.UNKNOWN_WORD
    name, rest = _name(text, head, middle)
    if name is None:
        return UnreadableReason.CUT
    request = AccessRequest(principal, host, OPERATIONS[operation], RESOURCE_TYPES[kind], name)
    api, references = (middle[1], int(middle[2])) if middle else ("", 1)
    event = Event(request, verdict == "Allowed", api=api, on_some=references == 0 and name == PROBE)
    if spelling == "Operation":
        return ReadMessage(event, rest)
    # Only StandardAuthorizer writes it in lower case, and always with a reason: a message without one was cut.
    return _reasoned(event, rest.removeprefix(_REASON)) if rest.startswith(_REASON) else UnreadableReason.CUT


def _name(text: str, head: re.Match[str], middle: re.Match[str] | None) -> tuple[str | None, str]:
    """The resource's name and the text after it; no name if it may be cut off."""
    if middle is not None:
        resource, rest = text[head.end() : middle.start()], text[middle.end() :]
    else:
        logger = _LOGGER.search(text, head.end())
        if logger is None or head[2] == "operation":
            return None, ""
        resource, rest = text[head.end() : logger.start()], ""
    if resource.startswith("LITERAL:"):
        return resource.removeprefix("LITERAL:"), rest
    # Before 2.0 there were no pattern types, and messages did not name the request.
    return (resource, rest) if middle is None else (None, rest)


def _reasoned(event: Event, reason: str) -> ReadMessage | UnreadableReason:
    plain = _PLAIN.match(reason)
    if plain is not None:
        ground, allowed = _PLAIN_GROUNDS[plain[1]]
        if allowed is not event.allowed:
            return UnreadableReason.CUT
        return ReadMessage(event._replace(ground=ground), reason[plain.end() :])
    for opening, closing in _ACL_ENDS.items():
        if reason.startswith(opening):
            body = reason.removeprefix(opening)
            ends = [end for end in closing.finditer(body) if (end[2] == "ALLOW") is event.allowed]
            bindings = {binding for end in ends for binding in _bindings(event, body, end)}
            acl = bindings.pop() if len(bindings) == 1 else None
            if not ends:
                return UnreadableReason.CUT
            return ReadMessage(event._replace(ground=LoggedReason.ACL, acl=acl), body[ends[-1].end() :])
    return UnreadableReason.CUT


def _bindings(event: Event, body: str, end: re.Match[str]) -> Iterator[AclBinding]:
    """Every binding that the text can mean and that applies to the request; its names may contain separators."""
    operation = BINDING_OPERATIONS.get(end[1])
    kind, comma, rest = body[: end.start()].partition(", resourceName=")
    if operation is None or not comma or RESOURCE_TYPES.get(kind) is not event.request.resource_type:
        return
    for principal in (event.request.principal, WILDCARD_PRINCIPAL):
        for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED):
            separator = f", patternType={pattern_type.name}, principal={principal}, host="
            place = rest.find(separator)
            while place >= 0:
                host = rest[place + len(separator) :]
                if _fits(event, rest[:place], pattern_type, host):
                    pattern = ResourcePattern(event.request.resource_type, rest[:place], pattern_type)
                    permission = AclPermissionType[end[2]]
                    yield AclBinding(pattern, AccessControlEntry(principal, host, operation, permission))
                place = rest.find(separator, place + 1)


def _fits(event: Event, name: str, pattern_type: PatternType, host: str) -> bool:
    """Whether a binding on ``name`` for ``host`` can have decided the request; a host with a ``/`` is a range."""
    wanted = event.request
    if not name or " " in host or (host not in (WILDCARD, wanted.host) and "/" not in host):
        return False
    if pattern_type is PatternType.PREFIXED:
        return wanted.resource_name.startswith(name)
    return name in (WILDCARD, wanted.resource_name)


# Times in logs, and the requested window.
#
# Times are kept as days, ``YYYY-MM-DD``, which sort by time. A time with a zone is converted to UTC; one without a
# zone is taken as is: ``%d`` of log4j prints the broker's local time.

#: A time in a line, with an optional fraction and zone.
TIME: Final = re.compile(
    rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,:](\d{1,9}))?(Z|[+-]\d\d:?\d\d(?!\d))?(?![\d:])", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Window:
    """Whole days, both inclusive; ``None`` is no limit."""

    since: datetime.date | None = None
    until: datetime.date | None = None

    @property
    def limited(self) -> bool:
        """Whether the window has a limit, so that an event without a time cannot be placed."""
        return self.since is not None or self.until is not None

    def contains(self, time: str) -> bool:
        """Whether a day is in the window; an empty text only if the window has no limit."""
        if not time:
            return not self.limited
        return (self.since is None or time >= self.since.isoformat()) and (
            self.until is None or time <= self.until.isoformat()
        )


def normal_time(match: re.Match[bytes]) -> str:
    """A match of :data:`TIME` as a day; empty if it is not a valid time."""
    text = f"{match[1].decode()} {match[2].decode()}"
    zone = (match[4] or b"").decode()
    try:
        moment = datetime.datetime.fromisoformat(text)
        if zone and zone != "Z":
            moment = datetime.datetime.fromisoformat(f"{text}{zone[:3]}:{zone[-2:]}").astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.strftime("%Y-%m-%d")


def time_of(text: str) -> str:
    """The first time in a text, or an empty text."""
    match = TIME.search(text.encode("utf-8", "replace"))
    return normal_time(match) if match else ""


def time_at(seconds: float) -> str:
    """Seconds since 1970 as a day; empty if it is not a valid time."""
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return ""


# What a log's layout writes around a message: times, levels, threads, loggers, and what collectors put before a line.
#
# Whoever may reach a broker chooses names that stand in other messages too. So a decision is one only where the
# message begins: nothing but layout may stand before it, and nothing but layout after it. Words that no layout is
# known to write make the line unreadable; the logger of another class makes it another message.

#: Longer than what any layout writes.
_LONGEST: Final = 2_000
_ZEROS: Final = str.maketrans("123456789", "000000000")
_MOST_HEADERS: Final = 4

_TIME: Final = (
    r"(?:\d{4}[-/.]\d\d[-/.]\d\d[ T_]\d\d:\d\d(?::\d\d)?(?:[.,:]\d{1,9})?(?:Z| ?(?:UTC|GMT|[+-]\d\d:?\d\d))?"
    r"|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: [A-Z]{3,4})?(?: \d{4})?"
    r"|\d{1,2}[-/. ](?:\d\d|[A-Z][a-z]{2})[-/. ]\d{4}[ :T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: [+-]\d{4})?"
    r"|\d{8}[T ]?\d{6}(?:[.,]?\d{1,9})?Z?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?![\w:])"
)
_LEVEL: Final = (
    r"(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|NOTICE|trace|debug|info|warn(?:ing)?|error|fatal|notice"
    r"|Trace|Debug|Info|Warn(?:ing)?|Error|Fatal)(?![\w.-])"
)
#: ``%c`` in its lengths, and ``%C``, ``%F``, ``%L`` and ``%M`` of the classes that log decisions.
_OUR_CLASS: Final = (
    r"(?:[a-z]\w*\.)*(?:StandardAuthorizerData|StandardAuthorizer|AclAuthorizer|SimpleAclAuthorizer|ConfluentServerAuthorizer"
    r"|CompositeAuthorizer)\$?\w*"
)
_OUR_LOGGER: Final = r"(?:(?:k(?:afka)?\.)?a(?:uthorizer)?\.)?logger"
_OURS: Final = rf"(?:{_OUR_LOGGER}|{_OUR_CLASS})(?:\.java)?(?:[.#:]\w+\$?\w*)?(?:\([\w.]*(?::\d+)?\))?(?:[:@]\d+)?"
_ours = re.compile(_OURS, re.ASCII)
#: A class of Java with its package, or a logger of Kafka that is none: a host's name looks like neither.
_JAVA: Final = r"(?:[a-z][\w$]*\.)+[A-Z][\w$]*|state\.change\.logger|kafka\.request\.logger"
_java = re.compile(rf"(?:{_JAVA})(?:\.java)?(?:[.#:][\w$]+)*", re.ASCII)
_CLASS = re.compile(r"[A-Z][a-z0-9]+[A-Z][\w$]*", re.ASCII)
_THREAD: Final = (
    r"(?:[\w.-]*(?:kafka-request-handler|kafka-network-thread|request-handler|executor)-[\w.()-]+|main)(?![\w])"
)

_TOKEN = re.compile(
    rf"(?P<time>{_TIME})|(?P<level>{_LEVEL})|(?P<ours>(?:{_OURS})(?![\w.]))|(?P<java>(?:{_JAVA})(?!\w))"
    rf"|(?P<thread>{_THREAD})|(?P<group>\[[^\s\[\]]+\])|(?P<number>\d+(?:\.\d+)?(?!\w))"
    r"|(?P<space>[\s\](){}<>|,;:\"'*-]+|\[)",
    re.ASCII,
)
_WORD: Final = rf"(?!{_LEVEL}|\d{{1,4}}[-/.]\d\d[-/.]|\d\d:\d\d)[\w./:@-]{{1,200}}"
_ANY: Final = r"[^\s|]{1,200}"
_TAG: Final = r"[\w./-]{1,200}"
#: What stands before the layout.
_HEADER = re.compile(
    "|".join(
        (
            rf"{_TIME} (?:stdout|stderr) [FP] ",  # a container runtime
            rf"<\d{{1,3}}>\d {_TIME} {_ANY} {_ANY} {_ANY} {_ANY} (?:-|(?:\[[^\]]{{0,500}}\])+) ",  # RFC 5424
            rf"(?:<\d{{1,3}}>)?{_TIME} {_ANY} {_TAG}\[\d+\]: ?",  # RFC 3164, journalctl
            rf"(?:<\d{{1,3}}>)?[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d {_ANY} {_TAG}: ?",
            rf"{_ANY} *\| *",  # docker compose
            rf"{_TAG}:(?:\d+:)?(?=[\[(<]?{_TIME})",  # grep
            rf"(?:{_TIME} |\[?{_WORD}\]? )?\[?{_WORD}\]? +(?=[\[(<]?{_TIME})",  # kubectl, stern, aws
            rf"(?:(?!{_LEVEL})[\w./:@-]*\t){{1,8}}",  # fields with tabs between them
            rf"{_TAG}[ \t]+(?=\{{)",
        )
    ),
    re.ASCII,
)
#: The logger at the end of a line, in which something else may stand before.
_TRAILING = re.compile(r"[ \t]\(([\w.$]+)\)(?:\s*\[[^\]]*\])?\s*\Z", re.ASCII)


class Logger(Enum):
    """Whose message it is."""

    UNSAID = "unsaid"
    OURS = "kafka.authorizer.logger"
    FOREIGN = "another class of the broker"
    UNKNOWN = "not known"


class LineLayout(NamedTuple):
    """What a layout says beside the message: the day, and whether the message stands in quotation marks."""

    time: str = ""
    logger: Logger = Logger.UNSAID
    traced: bool = False
    quoted: bool = False


def logger_of(name: str) -> Logger:
    """Whose logger has that name; ``UNKNOWN`` for one that is no class of Java, such as a collector's."""
    name = name.strip()
    if _ours.fullmatch(name):
        return Logger.OURS
    return Logger.FOREIGN if _java.fullmatch(name) or _CLASS.fullmatch(name) else Logger.UNKNOWN


def layout_before(text: str) -> LineLayout | None:
    """What the text before a message says; ``None`` if it is more than layout."""
    if len(text) > _LONGEST:
        return None
    layout = _of_shape(text.translate(_ZEROS))
    return layout and layout._replace(time=time_of(text))


@lru_cache(maxsize=4_096)
def _of_shape(text: str) -> LineLayout | None:
    """Cached, because prefixes differ in the digits of their times: no rule asks which digit it is."""
    place = 0
    for _ in range(_MOST_HEADERS):
        match = _HEADER.match(text, place)
        if match is None:
            break
        place = match.end()
    return _layout(text, place)


def layout_after(text: str) -> LineLayout | None:
    """What the text after a message says; ``None`` if it is more than layout."""
    return _layout(text, 0) if len(text) <= _LONGEST else None


def trailing_logger(text: str) -> Logger:
    """The logger in brackets at the end of a line of the broker's default layout, whatever is before it."""
    match = _TRAILING.search(text, max(0, len(text) - _LONGEST))
    return logger_of(match[1]) if match else Logger.UNSAID


def _layout(text: str, place: int) -> LineLayout | None:
    logger, traced = Logger.UNSAID, False
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        place = match.end()
        kind = match.lastgroup
        if kind == "level":
            traced = traced or match[0].lower() == "trace"
        elif kind == "java" or (kind == "group" and _java.fullmatch(match[0][1:-1])):
            return LineLayout(logger=Logger.FOREIGN)
        elif kind == "ours" or (kind == "group" and _ours.fullmatch(match[0][1:-1])):
            logger = Logger.OURS
        elif kind == "group":
            traced = traced or match[0].lower() == "[trace]"
    return LineLayout(time_of(text), logger, traced, any(text.count(mark) % 2 for mark in "\"'"))


# The decision in a text: a line of a log, or a string inside of a document.
#
# A text that shows any sign of a decision is read, or counts as unreadable, or is certainly another class's message.

ReadDecision: TypeAlias = ParsedLine | UnreadableReason
#: What the second half of a cut line can still show.
HALF: Final = r"with resourceRefCount = |based on rule MatchingAcl\("
#: What only a decision says, however a collector escapes its characters.
_SIGN = re.compile(
    rf"{HALF}|{OPENING}|\bis.{{1,12}}(?:Allowed|Denied).{{1,12}}[oO]peration|Principal.{{1,8}}=.{{1,8}}\w+:", re.DOTALL
)
#: Aiven's authorizer, and its audit log (``AivenAclAuthorizerV2``, ``PrincipalFormatter``).
_OTHER_FORMS = re.compile(r"\[(?:ALLOW|DENY)\] Auth request \w|\w:.+ was active since \d")


class Context(NamedTuple):
    """What is said around a text: the day, whether it was logged at TRACE, and by which logger."""

    time: str = ""
    traced: bool = False
    logger: Logger = Logger.UNSAID


NO_CONTEXT: Final = Context()


def is_sign(text: str) -> bool:
    """Whether a text may be about a decision."""
    return _SIGN.search(text) is not None or _OTHER_FORMS.search(text) is not None


def decisions_of_text(text: str, around: Context = NO_CONTEXT) -> list[ReadDecision]:
    """The decision in a text of some layout, at most one."""
    start = text.find(OPENING)
    if start < 0 or around.logger is Logger.FOREIGN:
        return [] if around.logger is Logger.FOREIGN else _without_opening(text)
    before = layout_before(text[:start])
    if before is None:
        return [] if trailing_logger(text) is Logger.FOREIGN else [UnreadableReason.INSIDE]
    if before.logger is Logger.FOREIGN:
        return []
    read = _read(text[start:])
    if isinstance(read, UnreadableReason):
        return [read]
    event, after = read
    if after is None:
        return [] if trailing_logger(text) is Logger.FOREIGN else [UnreadableReason.INSIDE]
    if after.logger is Logger.FOREIGN:
        return []
    # Quotation marks escape what they enclose in ways that are not told.
    if before.quoted and ("\\" in text[start:] or '""' in text[start:]):
        return [UnreadableReason.AMBIGUOUS]
    if around.logger is Logger.UNKNOWN and Logger.OURS not in (before.logger, after.logger):
        return [UnreadableReason.INSIDE]
    time = before.time or after.time or around.time
    traced = before.traced or after.traced or around.traced
    return [ParsedLine(time, event._replace(asked_only=True) if traced else event)]


@lru_cache(maxsize=20_000)
def _read(message: str) -> tuple[Event, LineLayout | None] | UnreadableReason:
    """Cached, because logs repeat few messages a million times."""
    parsed = parse_message(message)
    return parsed if isinstance(parsed, UnreadableReason) else (parsed.event, layout_after(parsed.rest))


def _without_opening(text: str) -> list[ReadDecision]:
    if _OTHER_FORMS.search(text):
        return [UnreadableReason.FORMAT]
    if not _SIGN.search(text) or trailing_logger(text) is Logger.FOREIGN:
        return []
    return [UnreadableReason.CUT]


def as_text(data: bytes) -> str | None:
    """UTF-8, or ``None`` if a character is lost: invalid bytes, a NUL, or a replacement character."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text or "\ufffd" in text else text
