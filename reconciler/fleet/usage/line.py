"""The decisions in one line of a log: in text, in documents of any shape, or audit events. No line makes this raise."""

import re
from typing import Final

from reconciler.fleet.usage.document import decisions_of_document
from reconciler.fleet.usage.event import UnreadableReason
from reconciler.fleet.usage.message import OPENING
from reconciler.fleet.usage.text import HALF, Found, as_text, decisions_of_text, is_sign

OPENING_BYTES: Final = OPENING.encode()
#: Fields of audit events; elsewhere than in a document they show that it was cut.
_STRUCTURED: Final = (b'authorizationInfo"', b'"kafka rpc protocol')
#: Without one of these there is no sign of a decision; the last one begins a character that JSON may escape.
_HINTS: Final = (
    b"Principal",
    b"peration",
    b"resourceRefCount",
    b"based on rule",
    b"Auth request ",
    b"active since ",
    *_STRUCTURED,
    b"\\u00",
)
_HALF_BYTES = re.compile(HALF.encode())


def decisions_in(line: bytes) -> tuple[Found, ...]:
    """The decisions in a line, or why they cannot be read; nothing if the line is not about decisions.

    Only a document with several log events has more than one.
    """
    line = line.strip(b" \t\r\n\0")
    if b"\0" in line:
        # Also what UTF-16 looks like.
        bare = line.replace(b"\0", b"")
        return (UnreadableReason.NOT_TEXT,) if _hinted(bare) and _signed(bare) else ()
    if not _hinted(line):
        return ()
    found = decisions_of_document(line)
    if found is not None:
        return tuple(found)
    text = as_text(line)
    if text is None:
        return (UnreadableReason.NOT_TEXT,) if _signed(line) else ()
    if any(word in line for word in _STRUCTURED):
        return (UnreadableReason.CUT,)
    return tuple(decisions_of_text(text))


def is_second_half(line: bytes) -> bool:
    """Whether a line is the end of a message that began in an earlier line."""
    return OPENING_BYTES not in line and _HALF_BYTES.search(line) is not None


def _hinted(line: bytes) -> bool:
    return any(hint in line for hint in _HINTS)


def _signed(line: bytes) -> bool:
    return is_sign(line.decode("utf-8", "replace")) or any(word in line for word in _STRUCTURED)
