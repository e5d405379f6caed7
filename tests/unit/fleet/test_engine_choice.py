"""Which engine a fleet's command gets, by what was asked and by the work, and how far it is with that."""

from itertools import product
from pathlib import Path

import pytest

from reconciler.app.reasons import RequestError
from reconciler.cli.console import CommandError, Exit
from reconciler.cli.main import run
from reconciler.parts.fleet.app import engines
from reconciler.parts.fleet.app.engines import EngineName, EngineOptions, chosen_engine
from reconciler.parts.fleet.cli import fleet as module
from reconciler.parts.fleet.engine import LOCAL_TASKS, ForkingEngine, LocalEngine, is_small, reason, tallied


class _BegunError(Exception):
    """Spark begins."""


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> None:
        raise _BegunError

    monkeypatch.setattr(engines, "starting_session", start)
    monkeypatch.setattr(engines, "is_running", lambda: False)
    monkeypatch.setattr(engines, "remote_of", lambda _: None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


@pytest.mark.parametrize(
    ("name", "master", "submitted", "begins"),
    [
        (EngineName.AUTO, None, False, False),
        (EngineName.SPARK, None, False, True),
        (EngineName.AUTO, "local[2]", False, True),
        (EngineName.AUTO, None, True, True),
        (EngineName.LOCAL, None, True, False),
        (EngineName.LOCAL, None, False, False),
    ],
)
def test_spark_begins_at_once_where_it_is_named_or_there(
    name: EngineName, master: str | None, submitted: bool, begins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if submitted:
        monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    begun = False
    try:
        with chosen_engine(EngineOptions(name, master)) as choice:
            assert choice.is_local is (name is EngineName.LOCAL)
    except _BegunError:
        begun = True
    assert begun is begins


def test_the_work_decides_where_nobody_named_an_engine() -> None:
    for name, size, forks in product(
        (EngineName.AUTO, EngineName.LOCAL), (LOCAL_TASKS, LOCAL_TASKS + 1), (False, True)
    ):
        with chosen_engine(EngineOptions(name)) as choice:
            if forks:
                choice.computes()
            elif name is EngineName.AUTO and size > LOCAL_TASKS:
                with pytest.raises(_BegunError):
                    choice.sized(size, 1)
                continue
            else:
                choice.sized(size, 1)
            assert choice.is_local
            assert type(choice()) is (ForkingEngine if forks else LocalEngine)
    with chosen_engine(EngineOptions(EngineName.AUTO)) as choice:
        assert not choice.is_local, "nothing is decided yet"
        with pytest.raises(_BegunError):
            choice()
    assert is_small(LOCAL_TASKS * 7, 7)
    assert not is_small(LOCAL_TASKS * 7 + 1, 7)


def test_what_only_spark_answers_is_refused_of_another_engine() -> None:
    with chosen_engine(EngineOptions(EngineName.LOCAL)) as choice, pytest.raises(RequestError, match="needs Spark"):
        choice.needs_sql()
    with chosen_engine(EngineOptions(EngineName.AUTO)) as choice, pytest.raises(_BegunError):
        choice.needs_sql()


def test_work_is_shared_out_by_its_size_and_to_every_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    for size, in_a_task, local, forked in (
        (0, 10, 4, 4),
        (1, 10, 4, 4),
        (41, 10, 5, 5),
        (40, 10, 4, 4),
        (9999, 10, 1000, 32),
    ):
        assert LocalEngine().task_count(size, in_a_task) == local
        assert ForkingEngine().task_count(size, in_a_task) == forked
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert LocalEngine().cores == 1


def test_each_list_is_done_once_and_in_order_on_either_engine() -> None:
    lists = [[1, 2], [3], [], [4, 5, 6]]
    for engine in (LocalEngine, ForkingEngine):
        heard = list[tuple[int, int, int]]()
        found = engine(lambda _, ended, size, counts, into=heard: into.append((ended, size, counts["odd"])))  # type: ignore[misc]
        lines = found.run(
            lists,
            lambda units, name: [f"{name}: {unit}" for unit in units],
            "adding",
            tally=lambda line: {"odd": int(line[-1]) % 2},
        )
        assert [line.split(": ")[1] for line in lines] == ["1", "2", "3", "4", "5", "6"]
        assert heard == [(2, 6, 1), (3, 6, 2), (3, 6, 2), (6, 6, 3)]
        groups = found.grouped(lists, lambda units, _: [(unit % 2, bytes([unit])) for unit in units], 3, "grouping")
        assert groups.ask(lambda number, chunks: (number, sorted(chunks))) == [
            (0, [b"\x02", b"\x04", b"\x06"]),
            (1, [b"\x01", b"\x03", b"\x05"]),
            (2, []),
        ]
    assert tallied(lambda line: {line: 1}, "aab") == {"a": 2, "b": 1}


@pytest.mark.parametrize("engine", [LocalEngine, ForkingEngine])
def test_what_fails_in_a_task_says_where_and_nothing_else(engine: type[LocalEngine]) -> None:
    def fails(units: object, _: str) -> list[str]:
        raise ValueError(f"a secret of {units}")

    with pytest.raises(Exception, match=r"a task failed: ValueError") as failed:
        engine().run([[1], [2]], fails, "failing")
    assert "secret" not in str(failed.value)
    assert reason(OSError("x")) == "OSError"


@pytest.mark.parametrize(
    ("container", "refused"),
    [
        ("", False),
        ("container_1700000000000_0001_01_000001", False),
        ("container_1700000000000_0001_02_000001", True),
        ("container_e17_1700000000000_0001_02_000001", True),
        ("something else", False),
    ],
)
def test_a_driver_that_yarn_begins_anew_sends_nothing(
    container: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTAINER_ID", container)
    if refused:
        with pytest.raises(CommandError, match="YARN runs this a second time"):
            module.refuse_second_attempt()
    else:
        module.refuse_second_attempt()


def test_no_plan_is_performed_a_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even read: what the first attempt did is for people to look at."""
    monkeypatch.setenv("CONTAINER_ID", "container_1700000000000_0001_02_000001")
    assert run(["fleet", "apply", str(tmp_path), str(tmp_path), "--yes"]) == Exit.USAGE
    assert "YARN runs this a second time" in capsys.readouterr().err


def test_how_far_tasks_are_is_said_ever_less_often(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    ticker = module.Ticker()
    first = module._FIRST_TICK
    said = []
    for second in range(int(16 * first)):
        now[0] = 100.0 + second
        ticker("reading", second, 1_000, {"rows": second, "files": 2})
        if capsys.readouterr().err:
            said.append(second)
    assert said == [first, 3 * first, 7 * first, 15 * first]
    now[0] += 1_000 * first
    ticker("reading", 1_000, 1_000, {})
    assert capsys.readouterr().err == "", "what is done needs no word"
    ticker("reading", 999, 1_000, {"rows": 2_000, "files": 1})
    assert capsys.readouterr().err.strip() == "reading: 999 of 1,000 done, 1 files, 2,000 rows"


def test_a_master_is_sparks(capsys: pytest.CaptureFixture[str], tmp_path: object) -> None:
    words = ["fleet", "drift", str(tmp_path), "--store", str(tmp_path), "--engine", "local", "--master", "local[1]"]
    assert run(words) == Exit.USAGE
    assert "--master is Spark's" in capsys.readouterr().err
