"""Files that share what takes long to start are one group or run where it is, and what is named has files."""

from pathlib import Path

import pytest

from tests.distribution import BROKER, LONG, WITH_BROKER, chosen, group_of, rank_of

_ROOT = Path(__file__).parents[2]
_TESTS = sorted(path.relative_to(_ROOT).as_posix() for path in (_ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("start", [start for _, starts in LONG for start in starts])
def test_what_is_named_is_there(start: str) -> None:
    assert [path for path in _TESTS if path.startswith(start)]


def test_a_group_is_run_in_one_go() -> None:
    ranks: dict[str, set[int]] = {}
    for path in _TESTS:
        ranks.setdefault(group_of(path), set()).add(rank_of(path))
    assert [group for group, places in ranks.items() if len(places) > 1] == []


def test_files_of_a_group_are_together_and_others_apart() -> None:
    assert group_of("tests/faults/test_no_window.py") == group_of("tests/faults/test_faults.py")
    assert group_of("tests/unit/test_retry.py") == "tests/unit/test_retry.py"
    assert (
        rank_of("tests/integration/test_sandbox.py")
        < rank_of("tests/faults/test_faults.py")
        < rank_of("tests/unit/x.py")
    )


def test_the_longest_are_first() -> None:
    seconds = [seconds for seconds, _ in LONG]
    assert seconds == sorted(seconds, reverse=True)


_NOTHING: frozenset[str] = frozenset()
_SHARES = frozenset({BROKER, "tests::log"})
_ENOUGH = [_SHARES] * WITH_BROKER


@pytest.mark.parametrize(
    ("needed", "has", "others", "last_first", "place"),
    [
        pytest.param([_NOTHING, _SHARES, _SHARES], _SHARES, _ENOUGH, False, 1, id="who has a broker uses it"),
        pytest.param([_NOTHING, _NOTHING], _SHARES, _ENOUGH, False, 0, id="and then does what others do"),
        pytest.param(
            [_SHARES, _NOTHING], _NOTHING, _ENOUGH[1:], False, 0, id="while there are few, another one starts"
        ),
        pytest.param([_SHARES, _NOTHING, _SHARES], _NOTHING, _ENOUGH, False, 1, id="who has none leaves it to them"),
        pytest.param([_NOTHING, _NOTHING, _SHARES], _NOTHING, _ENOUGH, True, 1, id="in its own order"),
        pytest.param([_SHARES] * WITH_BROKER, _NOTHING, _ENOUGH, False, None, id="each of them has one of the last"),
        pytest.param([_SHARES] * (WITH_BROKER + 1), _NOTHING, _ENOUGH, False, WITH_BROKER, id="one too many for them"),
        pytest.param([], _SHARES, [], False, None, id="nothing is left"),
    ],
)
def test_few_processes_start_a_broker(
    needed: list[frozenset[str]],
    has: frozenset[str],
    others: list[frozenset[str]],
    last_first: bool,
    place: int | None,
) -> None:
    assert chosen(needed, has, others, last_first=last_first) == place


def test_the_fixture_of_the_broker_has_this_name(request: pytest.FixtureRequest) -> None:
    definitions = request.session._fixturemanager.getfixturedefs("broker", request.node)
    assert definitions is not None
    assert [f"{one.baseid}::{one.argname}" for one in definitions] == [BROKER]
    assert definitions[0].scope == "session"
