"""A line that could not be read, made safe to show: short, escaped, and without possible secrets."""

import re
from typing import Final

_MOST: Final = 160
_ASSIGNED = re.compile(
    r"(?i)((?:pass(?:word|wd|phrase)?|secret|token|credentials?|api[-_.]?key|jaas[-_.]?config|authorization)"
    r"[\"']?\s*[=:]\s*|bearer\s+)(\S.*)"
)
#: Keys and tokens: long runs without a space that mix letters and digits.
_OPAQUE = re.compile(r"(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{28,}", re.ASCII)


def example(line: bytes) -> str:
    """The beginning of the line, at most about 160 printable ASCII characters."""
    text = line[: 4 * _MOST].decode("utf-8", "backslashreplace")
    text = _ASSIGNED.sub(lambda found: f"{found[1]}[redacted]", text)
    text = _OPAQUE.sub("[redacted]", text)
    shown = text.encode("unicode_escape").decode("ascii")
    cut = len(shown) > _MOST or len(line) > 4 * _MOST
    return shown[:_MOST] + "…" if cut else shown
