"""Lines break between words, at the width of a terminal, and nowhere else."""

import io
import re

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cli.console import fitted, width_of


def test_a_long_line_goes_on_below_and_no_name_is_broken() -> None:
    line = "  + User:svc-analytics: READ on topics starting with `payments.` (3 topics known: payments.audit.ledger)"
    assert fitted(line, 60) == (
        "  + User:svc-analytics: READ on topics starting with\n"
        "      `payments.` (3 topics known: payments.audit.ledger)"
    )


def test_colours_do_not_count() -> None:
    line = click.style("a" * 30, fg="green") + " " + click.style("b" * 30, dim=True)
    assert fitted(line, 61) == line
    first, second = fitted(line, 60).split("\n")
    assert (click.unstyle(first), click.unstyle(second)) == ("a" * 30, "    " + "b" * 30)


@given(st.text(alphabet="ab .中", max_size=200), st.integers(40, 90))
def test_no_word_is_lost_and_only_words_without_room_are_too_long(line: str, width: int) -> None:
    lines = fitted(line, width).split("\n")
    assert " ".join(lines).split() == line.split()
    longest = max((len(word) * 2 for word in line.split()), default=0)
    if longest <= width // 2:
        assert all(len(re.sub("中", "中 ", one)) <= width for one in lines if len(one) > 0 and one.strip())


def test_what_nobody_looks_at_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert width_of(io.StringIO()) is None
    monkeypatch.setenv("COLUMNS", "100")
    assert width_of(io.StringIO()) == 100
    monkeypatch.setenv("COLUMNS", "3")
    assert width_of(io.StringIO()) == 40
