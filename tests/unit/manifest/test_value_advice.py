"""What a value is, and what is advised where it is none: written, the advice is accepted, and means what was meant."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from reconciler.manifest.parts import fields
from reconciler.manifest.parts.fields import BYTES, MILLISECONDS, amount, boolean, ending, integer, seconds

_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "end": ending,
    "time": partial(amount, units=MILLISECONDS),
    "size": partial(amount, units=BYTES),
    "duration": seconds,
    "rate": fields._bytes,
    "share": partial(fields._decimal, "%"),
    "integer": integer,
    "truth": boolean,
}
_UNITS: Final = "a whole number of bytes, or one with B/s, KiB/s, MiB/s, GiB/s, TiB/s"
_INSTANT: Final = "2027-01-31T18:00:00Z"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("time", "5s", 5000),
        ("time", "5 m", 300_000),
        ("time", "2h", 7_200_000),
        ("time", "1d", 86_400_000),
        ("time", "7ms", 7),
        ("time", "-1", -1),
        ("size", "5KiB", 5120),
        ("size", "2 MiB", 2_097_152),
        ("size", "1GiB", 1_073_741_824),
        ("size", "1TiB", 1_099_511_627_776),
        ("size", "3B", 3),
        ("duration", "2s", 2.0),
        ("duration", "500ms", 0.5),
        ("duration", "1 h", 3600.0),
        ("rate", "10MiB/s", 10_485_760),
        ("rate", "10", 10),
        ("share", "200%", 200.0),
        ("share", "2.5 %", 2.5),
        ("share", "3", 3.0),
        ("integer", "-5", -5),
        ("truth", "true", True),
        ("truth", "false", False),
    ],
)
def test_a_value_with_its_unit(kind: str, text: str, value: object) -> None:
    assert _READERS[kind](text) == value


@pytest.mark.parametrize(
    ("kind", "text", "advice"),
    [
        ("end", "2027-02-30", "a day that its month has"),
        ("end", "2027-01-31T18:00:00", f"{_INSTANT} for UTC"),
        ("end", "2027-01-31T18:00", f"{_INSTANT} for UTC"),
        ("end", "2027-01-31T18:00:01", "2027-01-31T18:00:01Z for UTC"),
        ("end", "2027-01-31 18:00:00Z", _INSTANT),
        ("end", "2027-01-31T18:00Z", _INSTANT),
        ("end", "2027-01-31t18:00:00z", _INSTANT),
        ("end", "2027-01-31 18:00+01:00", "2027-01-31T18:00:00+01:00"),
        ("end", "2027-01-31T18:00:00.5Z", _INSTANT),
        ("end", "2027-01-31T25:00:00", f"it as {_INSTANT}"),
        ("end", "31.1.2027", f"YYYY-MM-DD, or an instant such as {_INSTANT}"),
        ("time", "5 seconds", "5s"),
        ("time", "5S", "5s"),
        ("time", "5min", "5m"),
        ("time", "1e3", "1000"),
        ("time", "1.5h", "digits alone, such as 6"),
        ("size", "5kib", "5KiB"),
        ("size", "5KB", "5KiB"),
        ("size", "5M", "5MiB"),
        ("duration", "2", "a number and ms, s, m or h, such as 2s"),
        ("duration", "1d", "a number and ms, s, m or h, such as 2s"),
        ("rate", "10mib/s", "10MiB/s"),
        ("rate", "10 MB/s", "10MiB/s"),
        ("rate", "10KiB", "10KiB/s"),
        ("rate", "1.5MiB/s", _UNITS),
        ("rate", "10miles/s", _UNITS),
        ("rate", "-5", "a number above 0, 9007199254740992 at most"),
        ("rate", "0", "a number above 0, 9007199254740992 at most"),
        ("share", "0%", "a number above 0, 9007199254740992 at most"),
        ("share", "1e3%", "one such as 2.5%"),
        ("share", "0.1234567890%", "one such as 2.5%"),
        ("integer", "05", "5"),
        ("integer", "+5", "5"),
        ("integer", "5.0", "5"),
        ("integer", "1_000", "1000"),
        ("integer", "5 ", "5"),
        ("integer", "0x5", "digits alone, such as 6"),
        ("truth", "Yes", "true"),
        ("truth", "on", "true"),
        ("truth", "TRUE", "true"),
        ("truth", "no", "false"),
        ("truth", "off", "false"),
        ("truth", "0", "one of them"),
    ],
)
def test_what_is_advised_is_what_was_meant_and_is_accepted(kind: str, text: str, advice: str) -> None:
    with pytest.raises(ValueError, match=r": write ") as refused:
        _READERS[kind](text)
    assert str(refused.value).partition(": write ")[2] == advice
    word = re.search(r"(?:such as |as |^)(\S*[0-9]\S*|true|false)(?: for UTC)?$", advice)
    if word:
        _READERS[kind](word[1])


@pytest.mark.parametrize("number", [0, 1, 2**53 - 1, 2**53])
def test_a_limit_is_above_nothing_and_at_most_what_a_message_carries(number: int) -> None:
    if number == 0:
        with pytest.raises(ValueError, match="out of range"):
            fields._positive(number)
        return
    assert fields._positive(number) == number
    with pytest.raises(ValueError, match="out of range"):
        fields._positive(number + 2**53)


@pytest.mark.parametrize(
    ("number", "why"), [(2, "too small: at least 3"), (3, None), (5, None), (6, "too large: at most 5")]
)
def test_a_range_has_both_its_ends(number: int, why: str | None) -> None:
    if why is None:
        assert fields.in_range(number, 3, 5) == number
    else:
        with pytest.raises(ValueError, match=why):
            fields.in_range(number, 3, 5)
