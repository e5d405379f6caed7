"""Ends: days and instants, written in one way, over at one instant."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.desired import Expiry, instant_of, moment_text, read_moment

_INSTANTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC)).map(
    lambda at: at.replace(microsecond=0)
)


def test_a_day_is_over_when_the_next_one_begins_in_utc() -> None:
    last = Expiry.of("2027-01-31")
    assert last.end == datetime(2027, 2, 1, tzinfo=UTC)
    assert not last.over(date(2027, 1, 31))
    assert not last.over(datetime(2027, 1, 31, 23, 59, 59, tzinfo=UTC))
    assert last.over(date(2027, 2, 1))
    assert last.over(datetime(2027, 2, 1, tzinfo=UTC))
    assert (str(last), last.past) == ("2027-01-31", "after 2027-01-31")


def test_an_instant_is_over_as_soon_as_it_is_there() -> None:
    end = Expiry.of("2027-01-31T19:00:00+01:00")
    assert end == Expiry.of("2027-01-31T18:00:00Z")
    assert not end.over(date(2027, 1, 31))
    assert not end.over(datetime(2027, 1, 31, 17, 59, 59, tzinfo=UTC))
    assert end.over(datetime(2027, 1, 31, 18, tzinfo=UTC))
    assert (str(end), end.past) == ("2027-01-31T18:00:00Z", "at 2027-01-31T18:00:00Z")


@pytest.mark.parametrize(
    "text",
    [
        "2027-01-31T18:00:00",
        "2027-01-31 18:00:00Z",
        "2027-01-31t18:00:00z",
        "2027-01-31T18:00Z",
        "2027-01-31T18:00:00.5Z",
        "2027-01-31T24:00:00Z",
        "2027-01-31T23:59:60Z",
        "2027-02-29",
        "2027-02-29T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "20270131",
        "2027-W04-7",
        "",
        "2027-01-31Z",
        "٢027-01-31",
    ],
)
def test_what_is_no_end(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Expiry.of(text)


def test_the_last_day_that_there_is_has_an_end() -> None:
    assert not Expiry(date.max).over(date.max)


@given(_INSTANTS, st.integers(-14 * 60, 14 * 60))
def test_one_instant_is_one_end_in_whatever_offset(at: datetime, minutes: int) -> None:
    there = at.astimezone(timezone(timedelta(minutes=minutes)))
    assert Expiry.of(there.isoformat()) == Expiry(at) == Expiry.of(moment_text(at))
    assert read_moment(moment_text(there)) == at
    assert Expiry(at).over(at)
    assert not Expiry(at).over(at - timedelta(seconds=1))


@given(st.dates(max_value=date(9998, 12, 31)), _INSTANTS)
def test_a_day_ends_with_its_last_second(last: date, at: datetime) -> None:
    assert Expiry(last).over(at) == (at.date() > last)
    assert instant_of(last) < Expiry(last).end
