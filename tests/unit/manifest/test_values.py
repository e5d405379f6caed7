"""Single values: hosts, numbers, settings."""

import re

import pytest

from reconciler.manifest.parts.fields import ending, integer, seconds
from reconciler.manifest.parts.resources import right_form
from reconciler.manifest.parts.topic_settings import setting_value
from reconciler.manifest.read.findings import quoted
from reconciler.manifest.read.problem import Problem, render_problem
from reconciler.model.desired import Origin
from reconciler.model.topic_configs import TOPIC_CONFIGS, normal_form


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("010.000.0.07", "10.0.0.7"),
        ("::", "0:0:0:0:0:0:0:0"),
        ("2001:DB8::a", "2001:db8:0:0:0:0:0:a"),
        ("2001:0db8:0:0:0:0:0:000a", "2001:db8:0:0:0:0:0:a"),
        ("::ffff:a00:7", "10.0.0.7"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("10.0.0", None),
        ("10.0.0.256", None),
        ("localhost", None),
        ("١.2.3.4", None),
    ],
)
def test_the_form_in_which_a_broker_writes_an_address(text: str, expected: str | None) -> None:
    assert right_form(text) == expected


@pytest.mark.parametrize("text", ["", "-", "+1", "01", "1_0", "1e3", "٣", "9" * 5000, " 1", "0x10"])
def test_no_integer(text: str) -> None:
    with pytest.raises(ValueError, match="whole number"):
        integer(text)


@pytest.mark.parametrize(("text", "expected"), [("2s", 2.0), ("500ms", 0.5), ("1m", 60.0), ("0s", 0.0), ("2 s", 2.0)])
def test_durations(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("retention.ms", "1h", "3600000"),
        ("retention.ms", "90s", "90000"),
        ("retention.ms", "-1", "-1"),
        ("retention.bytes", "10GiB", "10737418240"),
        ("retention.bytes", "1TiB", "1099511627776"),
        ("segment.bytes", "64MiB", "67108864"),
        ("preallocate", "False", "false"),
        ("min.cleanable.dirty.ratio", "0.5", "0.5"),
        ("cleanup.policy", "delete , compact", "compact,delete"),
        ("cleanup.policy", "compact,compact", "compact"),
        ("cleanup.policy", "", ""),
        ("compression.type", "zstd", "zstd"),
        ("local.retention.ms", "-2", "-2"),
        ("leader.replication.throttled.replicas", "0:1,0:2", "0:1,0:2"),
    ],
)
def test_settings_in_normal_form(name: str, text: str, expected: str) -> None:
    assert normal_form(name, setting_value(name, TOPIC_CONFIGS[name], text)) == expected


def test_long_lines_are_shown_around_the_mark() -> None:
    line = "x" * 500 + "HERE" + "y" * 500
    shown = render_problem(Problem("KR026", Origin("a.yaml", 3, 501), "what", line, 4)).splitlines()
    assert len(shown[2]) < 140
    assert shown[2][shown[3].index("^") : shown[3].rindex("^") + 1] == "HERE"


def test_quotes_hide_nothing_and_break_no_line() -> None:
    assert quoted("a\nb\u202e") == "'a\\nb\\u202e'"
    assert len(quoted("x" * 1000)) < 90


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2027-01-31T18:00:00", "has no offset: write 2027-01-31T18:00:00Z for UTC"),
        ("2027-01-31 18:00", "has no offset: write 2027-01-31T18:00:00Z for UTC"),
        ("2027-01-31T18:00+01:00", "is not an instant: write 2027-01-31T18:00:00+01:00"),
        ("2027-01-31t18:00:00z", "is not an instant: write 2027-01-31T18:00:00Z"),
        ("2027-01-31T18:00:00.5Z", "is not an instant: write 2027-01-31T18:00:00Z"),
        ("2027-01-31T25:00:00Z", "is not an instant: write it as 2027-01-31T18:00:00Z"),
        ("2027-02-30", "is not a date: write a day that its month has"),
        ("in June", "is not a date: write YYYY-MM-DD, or an instant such as 2027-01-31T18:00:00Z"),
    ],
)
def test_ends_that_are_refused_with_what_was_meant(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=re.escape(expected)):
        ending(text)
