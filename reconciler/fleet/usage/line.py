"""The decisions in one line of a log: in text, in documents of any shape, or audit events. No line makes this raise."""

import re
from typing import Final

from reconciler.fleet.usage.document import decisions_of_document
from reconciler.fleet.usage.event import UnreadableReason
from reconciler.fleet.usage.message import OPENING
from reconciler.fleet.usage.text import HALF, Found, as_text, decisions_of_text, is_sign

OPENING_BYTES: Final = OPENING.encode()
#: The beginning of a character that JSON may escape.
_ESCAPED: Final = b"\\u00"
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
    if not _hinted(line) or not (_ESCAPED in line or _signed(line)):
        return ()
    found = decisions_of_document(line)
    if found is not None:
        return tuple(found)
    text = as_text(line)
    if text is None:
        return (UnreadableReason.NOT_TEXT,) if _signed(line) else ()
    if _is_structured(line):
        return (UnreadableReason.CUT,)
    return tuple(decisions_of_text(text))


def is_second_half(line: bytes) -> bool:
    """Whether a line is the end of a message that began in an earlier line."""
    return OPENING_BYTES not in line and _HALF_BYTES.search(line) is not None


def _hinted(line: bytes) -> bool:
    """Whether there may be a sign of a decision: most lines have none, and are not looked at any further."""
    return (
        b"Principal" in line
        or b"peration" in line
        or b"resourceRefCount" in line
        or b"based on rule" in line
        or b"Auth request " in line
        or b"active since " in line
        or _ESCAPED in line
        or _is_structured(line)
    )


def _signed(line: bytes) -> bool:
    return is_sign(line.decode("latin-1")) or _is_structured(line)


def _is_structured(line: bytes) -> bool:
    """Whether a field of an audit event is in the line; elsewhere than in a document it shows that one was cut."""
    return b'authorizationInfo"' in line or b'"kafka rpc protocol' in line
