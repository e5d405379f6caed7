"""Numbers, booleans, ends and durations as people write them; readers raise ``ValueError`` with words for a person."""

import re
from decimal import Decimal
from typing import Final

from reconciler.manifest.reader.source import quoted
from reconciler.model import Expiry

#: Longer numbers fit no field of Kafka (Java's ``long`` has 19 digits).
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,19})?([eE][+-]?[0-9]{1,2})?", re.ASCII)
_AMOUNT = re.compile(r"([0-9]{1,19})[ ]?([A-Za-z]+)", re.ASCII)
#: What somebody may have meant for a day, and for an instant.
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_INSTANT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(\.[0-9]+)?(.*)", re.ASCII)

MILLISECONDS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
BYTES: Final = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def integer(text: str) -> int:
    """A decimal integer without leading zeros, signs of plus, or underscores."""
    if _INTEGER.fullmatch(text):
        return int(text)
    meant = _whole(text.strip().replace("_", "").replace(",", "").lstrip("+"))
    advice = "write digits alone, such as 6" if meant is None else f"write {meant}"
    raise ValueError(f"{quoted(text)} is not a whole number: {advice}")


def _whole(text: str) -> int | None:
    """The whole number that somebody wrote in another way, as ``6.048e+8``; ``None`` if it is none."""
    if not _DECIMAL.fullmatch(text):
        return None
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() and abs(number) < 10**19 else None


def in_range(number: int, low: int, high: int) -> int:
    """``number`` if it is neither below ``low`` nor above ``high``."""
    if number < low:
        raise ValueError(f"{number} is too small: at least {low}")
    if number > high:
        raise ValueError(f"{number} is too large: at most {high}")
    return number


def boolean(text: str) -> bool:
    """``true`` or ``false``, nothing else."""
    if text in ("true", "false"):
        return text == "true"
    meant = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}
    word = meant.get(text.strip().lower(), "one of them")
    raise ValueError(f"{quoted(text)} is neither true nor false: write {word}")


def ending(text: str) -> Expiry:
    """A day as YYYY-MM-DD, or an instant as RFC 3339 writes it, with an offset and whole seconds."""
    try:
        return Expiry.of(text)
    except ValueError:
        raise ValueError(_no_ending(text)) from None


def _no_ending(text: str) -> str:
    if _DAY.fullmatch(text):
        return f"{text} is not a date: write a day that its month has"
    found = _INSTANT.fullmatch(text)
    if found is None:
        return f"{quoted(text)} is not a date: write YYYY-MM-DD, or an instant such as 2027-01-31T18:00:00Z"
    # Without an offset it would end at another instant wherever it is read.
    offset = "Z" if found[5] in ("", "z") else found[5]
    meant = f"{found[1]}T{found[2]}{found[3] or ':00'}{offset}"
    try:
        Expiry.of(meant)
    except ValueError:
        return f"{quoted(text)} is not an instant: write it as 2027-01-31T18:00:00Z"
    what = "has no offset" if not found[5] else "is not an instant"
    return f"{quoted(text)} {what}: write {meant}" + ("" if found[5] else " for UTC")


def seconds(text: str) -> float:
    """A duration such as ``2s``, ``500ms`` or ``1m``, in seconds."""
    found = _AMOUNT.fullmatch(text)
    if found and found[2] in ("ms", "s", "m"):
        return int(found[1]) * MILLISECONDS[found[2]] / 1000
    raise ValueError(f"{quoted(text)} is not a duration: write a number and ms, s or m, such as 2s")


def amount(text: str, units: dict[str, int]) -> int:
    """An integer, or a number with one of ``units``."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return integer(text)
    if found[2] in units:
        return int(found[1]) * units[found[2]]
    raise ValueError(f"{quoted(text)} has no known unit: write a whole number, or one with {', '.join(units)}")
