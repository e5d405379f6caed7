"""What Hypothesis tries in an ordinary run depends on nothing but the test."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

_TRIED: list[int] = []


def test_nothing_is_taken_from_the_sources_of_what_is_loaded() -> None:
    if settings.get_current_profile_name() == "fast":
        assert len(providers._get_local_constants()) == 0


@given(st.integers())
def _try(number: int) -> None:
    _TRIED.append(number)


def test_two_runs_try_the_same() -> None:
    if settings.get_current_profile_name() == "fast":
        _try()
        first = _TRIED.copy()
        _TRIED.clear()
        _try()
        assert first == _TRIED
