"""Characters that steer a terminal, turn text around or hide: names, principals and brokers' messages may hold any.

Text for people shows them by their code; JSON writes them as escapes, which read back to the same value.
"""

import re

_HIDING = (
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSAFE = re.compile(f"[\x00-\x1f{_HIDING}]")
_UNSAFE_IN_JSON = re.compile(f"[{_HIDING}]")


def escape_invisible(text: str) -> str:
    """``text`` on one line, every such character shown by its code."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def escape_invisible_json(text: str) -> str:
    """JSON with every such character escaped: the same value, and text that any encoding of Unicode can carry."""
    if text.isascii() and "\x7f" not in text:  # a plan or a snapshot may have 100 MB
        return text
    return _UNSAFE_IN_JSON.sub(lambda match: _escapes(ord(match.group())), text)


def _escapes(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
