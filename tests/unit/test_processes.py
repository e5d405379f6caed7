"""Every test runs once in one of several processes, whatever becomes of them, and none outlives the first."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_CONFTEST = """\
import pytest
from tests.processes import Processes


def pytest_addoption(parser):
    parser.addoption("--processes", type=int, default=1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    Processes(session).run(session.config.getoption("processes"))
    return True


@pytest.fixture(scope="session", autouse=True)
def log():
    import os
    with open({log!r}, "a") as lines:
        print("begins", os.getpid(), file=lines, flush=True)
        yield lines
        print("ends", os.getpid(), file=lines, flush=True)


@pytest.fixture(scope="session")
def dear(log):
    yield print("dear begins", file=log, flush=True)
    print("dear ends", file=log, flush=True)
"""

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts pytest in two processes, or more, on files of these texts; once."""
    running = ExitStack()

    def started(*texts: str, processes: int = 2) -> subprocess.Popen[str]:
        (tmp_path / "conftest.py").write_text(_CONFTEST.format(log=str(tmp_path / "log")))
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        for number, text in enumerate(texts):
            (tmp_path / f"test_{number:02}.py").write_text(text)
        without = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:syrupy")
        run = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "pytest",
                "--processes",
                str(processes),
                *without,
                "--rootdir",
                str(tmp_path),
                str(tmp_path),
            ],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        running.enter_context(run)
        running.callback(run.kill)
        return run

    with running:
        yield started


def _processes(log: Path, said: str, least: int) -> list[int]:
    """The processes that say so in the log, once there are as many."""
    for _ in range(600):
        text = log.read_text(encoding="ascii") if log.exists() else ""
        found = [int(pid) for pid in re.findall(rf"^{said} (\d+)$", text, re.MULTILINE)]
        if len(found) >= least:
            return found
        time.sleep(0.1)
    raise AssertionError(text)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _await_end(pids: list[int]) -> None:
    for _ in range(600):
        if not any(map(_is_there, pids)):
            return
        time.sleep(0.1)
    raise AssertionError(pids)


def test_a_process_that_dies_takes_one_test_with_it(start: Start) -> None:
    """All other tests run, of its own file too."""
    four = [
        "".join(
            f"def test_{name}():\n    {'import os; os._exit(1)' if (number, name) == (8, 'b') else 'pass'}\n"
            for name in "abcd"
        )
        for number in range(12)
    ]
    out, _ = start(*four).communicate(timeout=120)
    assert "test_08.py::test_b" in out
    assert "a process of the tests ended with 1 in this test" in out
    assert re.search(r"\b1 failed, 47 passed", out), out[-2_000:]


def test_of_three_processes_one_begins_at_the_end(start: Start, tmp_path: Path) -> None:
    """The first files mostly wait for brokers, and the last ones never do."""
    order = tmp_path / "order"
    waits = f"import os, time\ndef test_a():\n    while len(os.listdir({str(order)!r})) < 2: time.sleep(0.05)\n"
    notes = "import os\ndef test_a():\n    open({own!r}, 'w').close()\n"
    notes += "    assert sorted(os.listdir({there!r})) == {all!r}\n"
    last, second = (
        notes.format(there=str(order), own=str(order / own), all=there)
        for own, there in (("3", ["3"]), ("2", ["2", "3"]))
    )
    order.mkdir()
    out, _ = start(waits, waits, second, last, processes=3).communicate(timeout=120)
    assert "4 passed" in out, out[-2_000:]


def test_what_the_session_shares_ends_when_no_file_to_come_asks_for_it(start: Start, tmp_path: Path) -> None:
    """Not before: it would be started again."""
    asks, others = "def test_a(dear): pass\n", "def test_a(): pass\n"
    here, there = (
        f"def test_a():\n    assert ('dear ends' in open({str(tmp_path / 'log')!r}).read()) is {is_over}\n"
        for is_over in (False, True)
    )
    out, _ = start(others, asks, here, asks, there, processes=1).communicate(timeout=120)
    assert "5 passed" in out, out[-2_000:]
    assert (tmp_path / "log").read_text().count("dear begins") == 1


def test_what_fails_is_reported_with_what_it_printed(start: Start, tmp_path: Path) -> None:
    fails = "def test_a(tmp_path):\n    print(tmp_path)\n    assert 6 == 7\n"
    out, _ = start(fails, "def test_b(): pass\n").communicate(timeout=120)
    assert "assert 6 == 7" in out
    assert re.search(r"/p[12]/test_a0$", out, re.MULTILINE), out
    assert "1 failed, 1 passed" in out
    assert set(_processes(tmp_path / "log", "ends", 1)) == set(_processes(tmp_path / "log", "begins", 1))


def test_a_session_that_cannot_be_taken_down_is_no_success(start: Start) -> None:
    bad = "import pytest\n@pytest.fixture(scope='session')\ndef x():\n    yield\n    import os; os._exit(3)\n"
    run = start(f"{bad}def test_a(x): pass\n", "def test_b(): pass\n")
    out, _ = run.communicate(timeout=120)
    assert run.returncode != 0
    assert "ended with 3" in out


_WAITS = "import time\ndef test_a():\n    time.sleep(600)\n"


def test_an_interrupt_takes_down_what_is_set_up(start: Start, tmp_path: Path) -> None:
    run = start(_WAITS, _WAITS)
    begun = _processes(tmp_path / "log", "begins", 2)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 2
    assert sorted(_processes(tmp_path / "log", "ends", 2)) == sorted(begun)
    assert not any(map(_is_there, begun))


def test_none_outlives_the_first(start: Start, tmp_path: Path) -> None:
    run = start(_WAITS, _WAITS)
    begun = _processes(tmp_path / "log", "begins", 2)
    run.kill()
    run.wait()
    _await_end(begun)
