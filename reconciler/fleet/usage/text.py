"""The decision in a text: a line of a log, or a string inside of a document.

A text that shows any sign of a decision is read, or counts as unreadable, or is certainly another class's message.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from reconciler.fleet.usage.event import Event, ParsedLine, UnreadableReason
from reconciler.fleet.usage.layout import LineLayout, Logger, layout_after, layout_before, trailing_logger
from reconciler.fleet.usage.message import OPENING, parse_message

Found: TypeAlias = ParsedLine | UnreadableReason
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


def decisions_of_text(text: str, around: Context = NO_CONTEXT) -> list[Found]:
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
    found = parse_message(message)
    return found if isinstance(found, UnreadableReason) else (found.event, layout_after(found.rest))


def _without_opening(text: str) -> list[Found]:
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
