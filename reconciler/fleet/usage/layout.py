"""What a log's layout writes around a message: times, levels, threads, loggers, and what collectors put before a line.

Whoever may reach a broker chooses names that stand in other messages too. So a decision is one only where the message
begins: nothing but layout may stand before it, and nothing but layout after it. Words that no layout is known to write
make the line unreadable; the logger of another class makes it another message.
"""

import re
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from reconciler.fleet.usage.clock import time_of

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
    found = _of_shape(text.translate(_ZEROS))
    return found and found._replace(time=time_of(text))


@lru_cache(maxsize=4_096)
def _of_shape(text: str) -> LineLayout | None:
    """Cached, because prefixes differ in the digits of their times: no rule asks which digit it is."""
    place = 0
    for _ in range(_MOST_HEADERS):
        found = _HEADER.match(text, place)
        if found is None:
            break
        place = found.end()
    return _layout(text, place)


def layout_after(text: str) -> LineLayout | None:
    """What the text after a message says; ``None`` if it is more than layout."""
    return _layout(text, 0) if len(text) <= _LONGEST else None


def trailing_logger(text: str) -> Logger:
    """The logger in brackets at the end of a line of the broker's default layout, whatever is before it."""
    found = _TRAILING.search(text, max(0, len(text) - _LONGEST))
    return logger_of(found[1]) if found else Logger.UNSAID


def _layout(text: str, place: int) -> LineLayout | None:
    logger, traced = Logger.UNSAID, False
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            return None
        place = found.end()
        kind = found.lastgroup
        if kind == "level":
            traced = traced or found[0].lower() == "trace"
        elif kind == "java" or (kind == "group" and _java.fullmatch(found[0][1:-1])):
            return LineLayout(logger=Logger.FOREIGN)
        elif kind == "ours" or (kind == "group" and _ours.fullmatch(found[0][1:-1])):
            logger = Logger.OURS
        elif kind == "group":
            traced = traced or found[0].lower() == "[trace]"
    return LineLayout(time_of(text), logger, traced, any(text.count(mark) % 2 for mark in "\"'"))
