"""The decisions in a document: JSON of any shape that a layout or a collector writes, and ``key=value`` lines.

Every string of a document is searched, because collectors name their fields as they like. Objects inside of each other
describe one log event; elements of a list are log events of their own.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from reconciler.fleet.usage.clock import time_at, time_of
from reconciler.fleet.usage.confluent import is_audit_event, parse_audit_event
from reconciler.fleet.usage.event import Event, ParsedLine, UnreadableReason
from reconciler.fleet.usage.layout import Logger, layout_before, logger_of
from reconciler.fleet.usage.ocsf import is_ocsf_event, parse_ocsf_event
from reconciler.fleet.usage.text import NO_CONTEXT, Context, Found, as_text, decisions_of_text, is_sign

#: Names of fields, as letters alone: ``@timestamp``, ``log.level`` and ``logger_name`` are each written in many ways.
_TIMES: Final = (
    "timestamp",
    "time",
    "instant",
    "timemillis",
    "timestampmillis",
    "sourcerealtimetimestamp",
    "realtimetimestamp",
    "timeunixnano",
    "observedtimeunixnano",
    "ts",
    "eventtime",
    "datetime",
    "date",
)
_LEVELS: Final = frozenset({"level", "loglevel", "severity", "severitytext", "levelname", "priority"})
_LOGGERS: Final = frozenset({"logger", "loggername", "loglogger"})
#: Objects whose fields are about the message beside them.
_BESIDE: Final = frozenset(
    {"log", "logger", "fields", "attributes", "labels", "scope", "instrumentationscope", "stream"}
)
_LETTERS = re.compile(r"[^a-z]")
_TRACE = re.compile(r"\btrace\b", re.ASCII | re.IGNORECASE)
_OPENING = re.compile(rb'\{\s*"')
_NESTED = re.compile(r'(?:\[\s*)?\{\s*"')
_SEPARATORS = re.compile(r"[\s,\x1e]*")
_PAIR = re.compile(r'([\w.@-]+)=("(?:[^"\\]|\\.)*"|[^\s"]*)(?:\s+|\Z)')
#: Seconds, milliseconds, microseconds and nanoseconds since 1970, by their number of digits.
_EPOCHS: Final = {10: 1, 13: 1_000, 16: 1_000_000, 19: 1_000_000_000}


class _RepeatedNameError(ValueError):
    """An object has two fields of one name: readers differ about which one counts."""


def decisions_of_document(line: bytes) -> list[Found] | None:
    """The decisions in a line that is a document, or a document behind a prefix of a collector; else ``None``."""
    opening = _OPENING.search(line)
    place = opening.start() if opening else -1
    if line[:1] == b'"':
        return _field_of_pretty_json(line)
    if place < 0 or b"Principal = " in line[:place]:
        return _logfmt(line)
    whole = place == 0 or (line[:1] == b"[" and not line[1:place].strip())
    text = as_text(line if whole else line[place:])
    if text is None:
        return [UnreadableReason.NOT_TEXT] if whole else None
    prefix = line[:place].decode("utf-8", "replace")
    before = layout_before("" if whole else prefix)
    if before is None:
        return None
    around = NO_CONTEXT if whole else Context(before.time, before.traced, before.logger)
    try:
        return [found for document in _documents(text) for found in _found(document, around)]
    except UnicodeEncodeError:
        return [UnreadableReason.NOT_TEXT]
    except (ValueError, RecursionError):
        return [UnreadableReason.CUT] if whole else None


def _documents(text: str) -> Iterator[Any]:
    """Documents one after the other, as collectors write them into files; raises ``ValueError``."""
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    place = 0
    while place < len(text):
        document, end = decoder.raw_decode(text, place)
        if "\\ud" in text or "\\uD" in text:
            # Half of a surrogate pair is a lost character.
            json.dumps(document, ensure_ascii=False).encode()
        yield document
        separators = _SEPARATORS.match(text, end)
        place = separators.end() if separators else end


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _RepeatedNameError
    return found


def _field_of_pretty_json(line: bytes) -> list[Found] | None:
    """A field, or an element of a list, of a document that is written over several lines."""
    text = as_text(line)
    if text is None:
        return None
    bare = text.rstrip(", ")
    for opening, closing in ("{}", "[]"):
        try:
            return _found(json.loads(opening + bare + closing), NO_CONTEXT)
        except (ValueError, RecursionError):
            continue
    return None


def _logfmt(line: bytes) -> list[Found] | None:
    """A line of ``key=value`` from its beginning to its end."""
    text = as_text(line)
    if text is None or _PAIR.match(text) is None:
        return None
    pairs: list[tuple[str, Any]] = []
    place = 0
    while place < len(text):
        found = _PAIR.match(text, place)
        if found is None:
            return None
        try:
            value = json.loads(found[2]) if found[2].startswith('"') else found[2]
        except ValueError:
            return None
        pairs.append((found[1], value))
        place = found.end()
    try:
        return _found(_object(pairs), NO_CONTEXT)
    except ValueError:
        return [UnreadableReason.AMBIGUOUS]


def _found(value: Any, around: Context) -> list[Found]:
    """The decisions in a part of a document."""
    if isinstance(value, str):
        return _of_string(value, around)
    if isinstance(value, list):
        return _of_list(value, around)
    return _of_object(value, around) if isinstance(value, dict) else []


def _of_string(text: str, around: Context) -> list[Found]:
    nested = text.strip()
    if _NESTED.match(nested) and (is_sign(nested) or "authorizationInfo" in nested or "\\u00" in nested):
        try:
            return [found for document in _documents(nested) for found in _found(document, around)]
        except UnicodeEncodeError:
            return [UnreadableReason.NOT_TEXT]
        except ValueError:
            return [UnreadableReason.CUT]
    return decisions_of_text(text.rstrip("\r\n"), around) if is_sign(text) else []


def _of_list(values: Sequence[Any], around: Context) -> list[Found]:
    if values and all(isinstance(one, dict) and one.keys() >= {"field", "value"} for one in values):
        # A row of CloudWatch Logs Insights.
        return _of_object({str(one["field"]): one["value"] for one in values}, around)
    if values and isinstance(values[0], str) and values[0].isdecimal():
        # Loki: a time, then a line.
        around = around._replace(time=_time(values[0]) or around.time)
    return [found for one in values for found in _found(one, around)]


def _of_object(document: Mapping[str, Any], around: Context) -> list[Found]:
    around = _context(document, around)
    event: Event | UnreadableReason | None = None
    if is_audit_event(document):
        event = parse_audit_event(document)
    elif is_ocsf_event(document):
        event = parse_ocsf_event(document)
    if event is not None:
        return [ParsedLine(around.time, event) if isinstance(event, Event) else event]
    texts = [one for one in document.values() if isinstance(one, str)]
    parts = [
        _found(value, around)
        for value in document.values()
        # The beginning of another field is that field, shortened.
        if not (isinstance(value, str) and any(other != value and other.startswith(value) for other in texts))
    ]
    named = [[UnreadableReason.AMBIGUOUS] for name in document if is_sign(name)]
    return _alternatives([*parts, *named])


def _alternatives(parts: Sequence[Sequence[Found]]) -> list[Found]:
    """What several fields say of one log event: the same decision in two of them is one."""
    parts = [part for part in parts if part]
    if len(parts) < 2:
        return list(parts[0]) if parts else []
    found: list[Found] = []
    held: Counter[object] = Counter()
    for part in parts:
        own: Counter[object] = Counter()
        for one in part:
            key = one.event if isinstance(one, ParsedLine) else one
            own[key] += 1
            if own[key] > held[key]:
                found.append(one)
        held |= own
    return found


def _context(document: Mapping[str, Any], around: Context) -> Context:
    """What an object says about its messages, and what is said around it."""
    fields = {_plain(name): value for name, value in document.items()}
    times = (time for name in _TIMES if name in fields and (time := _time(fields[name])))
    time = next(times, around.time)
    traced, loggers = around.traced, [around.logger]
    for name, value in _about(fields):
        if name in _LEVELS and isinstance(value, str):
            traced = traced or _TRACE.search(value) is not None
        elif name in _LOGGERS and isinstance(value, str) and value.strip():
            loggers.append(logger_of(value))
    # The innermost word counts, but nothing inside of another class's message is a decision.
    logger = Logger.FOREIGN if Logger.FOREIGN in loggers else loggers[-1]
    if len(loggers) > 2 and Logger.OURS in loggers[1:]:
        logger = logger if logger is Logger.FOREIGN else Logger.OURS
    return Context(time, traced, logger)


def _about(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        yield name, value
        if name in _BESIDE and isinstance(value, dict):
            for inner, said in value.items():
                # A scope without a class of Java is a collector's, not a logger.
                scope = inner == "name" and isinstance(said, str) and logger_of(said) is not Logger.UNKNOWN
                if scope or (name == "logger" and inner == "name"):
                    yield "logger", said
                else:
                    yield _plain(inner), said


@lru_cache(maxsize=4_096)
def _plain(name: str) -> str:
    return _LETTERS.sub("", name.lower())


def _time(given: Any) -> str:
    if isinstance(given, dict) and isinstance(given.get("epochSecond"), int):
        return time_at(given["epochSecond"])
    if isinstance(given, str):
        if given.isdecimal() and given.isascii():
            return time_at(int(given) / _EPOCHS[len(given)]) if len(given) in _EPOCHS else ""
        return time_of(given)
    if isinstance(given, int | float) and not isinstance(given, bool):
        for size in (1_000_000_000, 1_000_000, 1_000):
            # Since 1973 milliseconds have 12 digits and more.
            if given > 100_000_000 * size:
                return time_at(given / size)
        return time_at(given)
    return ""
