"""One line of a log in any layout: text that contains a message, a message inside JSON, or an audit event.

No line makes this raise; a line that cannot be trusted is reported with a reason.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from reconciler.fleet.usage.clock import TIME, normal_time, time_at, time_of
from reconciler.fleet.usage.confluent import is_audit_event, parse_audit_event
from reconciler.fleet.usage.event import Event, ParsedLine, UnreadableReason
from reconciler.fleet.usage.message import OPENING, parse_message
from reconciler.fleet.usage.ocsf import is_ocsf_event, parse_ocsf_event

OPENING_BYTES: Final = OPENING.encode()
#: Level names of log4j; at TRACE rights are looked up without an access.
_TRACE = re.compile(rb"\bTRACE\b")
#: What the second half of a cut line can still show.
_HALF = re.compile(rb"with resourceRefCount = |based on rule MatchingAcl\(")
#: What JSON about a decision contains; some writers escape the character after the first one.
_SIGNS: Final = (b"Principal", b"authorizationInfo", b"kafka rpc protocol")
_MESSAGES: Final = ("message", "log", "msg", "@message", "textPayload")
_TIMES: Final = ("@timestamp", "timestamp", "time", "instant", "timeMillis", "timestampMillis")
_LEVELS: Final = ("level", "log.level", "severity", "loglevel")


def parse_line(line: bytes) -> ParsedLine | UnreadableReason | None:
    """The decision in a line, why it cannot be read, or ``None`` if the line is not about a decision."""
    line = line.strip(b" \t\r\n\0")
    if line.startswith(b"{"):
        return _json(line)
    place = line.find(OPENING_BYTES)
    if place < 0:
        return UnreadableReason.CUT if _HALF.search(line) else None
    found = TIME.search(line, 0, place)
    time = normal_time(found) if found else ""
    return _told(line[place:], time, asked_only=_TRACE.search(line, 0, place) is not None)


def is_second_half(line: bytes) -> bool:
    """Whether a line is the end of a message that began in an earlier line."""
    return OPENING_BYTES not in line and _HALF.search(line) is not None


def _told(message: bytes, time: str, *, asked_only: bool) -> ParsedLine | UnreadableReason | None:
    event = _event(message, asked_only=asked_only)
    return ParsedLine(time, event) if isinstance(event, Event) else event


@lru_cache(maxsize=20_000)
def _event(message: bytes, *, asked_only: bool) -> Event | UnreadableReason | None:
    """Cached, because logs repeat few messages a million times."""
    text = as_text(message)
    return UnreadableReason.NOT_TEXT if text is None else parse_message(text, asked_only=asked_only)


def as_text(data: bytes) -> str | None:
    """UTF-8, or ``None`` if a character is lost: invalid bytes, a NUL, or a replacement character."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text or "\ufffd" in text else text


def _json(line: bytes) -> ParsedLine | UnreadableReason | None:
    if not any(sign in line for sign in _SIGNS):
        return None
    text = as_text(line)
    if text is None:
        return UnreadableReason.NOT_TEXT
    try:
        document = json.loads(text)
        # Half of a surrogate pair is a lost character.
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return UnreadableReason.NOT_TEXT
    except (ValueError, RecursionError):
        return UnreadableReason.CUT
    if not isinstance(document, dict):
        return None
    if is_audit_event(document):
        event = parse_audit_event(document)
        return event if isinstance(event, UnreadableReason) else ParsedLine(_time(document), event)
    if is_ocsf_event(document):
        event = parse_ocsf_event(document)
        return event if isinstance(event, UnreadableReason) else ParsedLine(_time(document), event)
    return _wrapped(document)


def _wrapped(document: Mapping[str, Any]) -> ParsedLine | UnreadableReason | None:
    """A message that a JSON layout or a log collector put into an object."""
    for field in _MESSAGES:
        inner = document.get(field)
        if isinstance(inner, str) and OPENING in inner:
            place = inner.find(OPENING)
            level = " ".join(str(document.get(name)) for name in _LEVELS)
            before = f"{inner[:place]} {level}".encode()
            time = time_of(inner[:place]) or _time(document)
            return _told(inner[place:].encode(), time, asked_only=_TRACE.search(before) is not None)
    return None


def _time(document: Mapping[str, Any]) -> str:
    for field in _TIMES:
        given = document.get(field)
        if isinstance(given, str) and (time := time_of(given)):
            return time
        if isinstance(given, dict) and isinstance(given.get("epochSecond"), int):
            return time_at(given["epochSecond"])
        if isinstance(given, int | float) and not isinstance(given, bool):
            # Milliseconds since 1970 have 12 digits and more since 1973.
            return time_at(given / 1000 if given > 100_000_000_000 else given)
    return ""
