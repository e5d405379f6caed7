"""The process of a reader that is started before anybody asks for it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from reconciler.cli.options import started_reader
from reconciler.kafka import listing, reader_process
from reconciler.kafka.listing import ListingProcess
from reconciler.kafka.reader_process import MESSAGES, end_reader, give_back, reader, started_early

pytestmark = pytest.mark.usefixtures("new_readers")


@pytest.fixture
def started(new_readers: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """All processes that were started; each only waits for its input to end."""
    made: list[subprocess.Popen[bytes]] = []

    def start(module: str) -> "subprocess.Popen[bytes]":
        assert module == MESSAGES
        made.append(subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return made[-1]

    monkeypatch.setattr(reader_process, "start_reader", start)
    yield made
    for process in made:
        end_reader(process)


def test_the_first_who_asks_gets_the_one_that_is_there(started: list["subprocess.Popen[bytes]"]) -> None:
    with started_early():
        assert reader(MESSAGES) is started[0]
        assert reader(MESSAGES) is started[1]
    assert [process.poll() for process in started] == [None, None]  # whoever asked ends it


def test_who_asks_next_gets_the_one_that_has_answered(started: list["subprocess.Popen[bytes]"]) -> None:
    with started_early():
        first, second = reader(MESSAGES), reader(MESSAGES)
        give_back(MESSAGES, first)
        give_back(MESSAGES, second)  # one that waits is enough
        with started_early():
            pass
        assert (first.poll(), second.poll()) == (None, -signal.SIGKILL)
        assert reader(MESSAGES) is first
        give_back(MESSAGES, first)
        first.kill()
        first.wait()
        assert reader(MESSAGES) is started[2]
    give_back(MESSAGES, started[2])  # of a command that is over
    assert started[2].returncode == -signal.SIGKILL


def test_a_fork_does_not_ask_the_process_of_who_forked_it(started: list["subprocess.Popen[bytes]"]) -> None:
    with started_early():
        pid = os.fork()
        if pid == 0:
            with suppress(BaseException):
                assert reader(MESSAGES) is not started[0]
                os._exit(0)
            os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        assert reader(MESSAGES) is started[0]


@pytest.fixture
def answering(new_readers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that reply what their task tells them to."""
    program = "from reconciler.kafka.reader_process import serve; serve(lambda task: (task['reply'],))"

    def start(module: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(reader_process, "start_reader", start)


def asked(reply: str) -> ListingProcess:
    return ListingProcess(MESSAGES, {"reply": reply, "timeout": 60.0})


@pytest.mark.usefixtures("answering")
def test_the_questions_of_a_command_go_to_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with started_early():
        first = asked("rows")
        assert first.reply() == ("rows",)
        first.stop()  # it has answered already
        again = asked("refused")
        assert (again.pid, again.reply()) == (first.pid, ("refused",))
        monkeypatch.setattr(listing, "_GRACE_SECONDS", -59.9)
        late = asked("rows")
        os.kill(late.pid, signal.SIGSTOP)
        assert late.reply() == ("died", -signal.SIGKILL)
        given_up = asked("rows")
        assert given_up.pid != late.pid
        given_up.stop()
        assert given_up.reply() == ("died", -signal.SIGKILL)


@pytest.mark.usefixtures("answering")
@pytest.mark.parametrize("reply", ["unconnected", "failed", "unsent", "much"])
def test_a_process_is_not_kept_that_tries_on_or_has_read_much(monkeypatch: pytest.MonkeyPatch, reply: str) -> None:
    if reply == "much":
        for bound in ("_MOST_KEPT", "_MOST_OF_FAILURE"):
            monkeypatch.setattr(listing, bound, 0)
    with started_early():
        first = asked(reply)
        assert first.reply() == (reply,)
        second = asked("rows")
        assert second.pid != first.pid
        second.stop()


def test_one_that_nobody_asked_for_ends(started: list["subprocess.Popen[bytes]"]) -> None:
    with pytest.raises(KeyError), started_early():
        raise KeyError
    assert started[0].returncode is not None
    assert reader(MESSAGES) is started[1]


@pytest.mark.parametrize(("cluster", "processes"), [(None, 1), ("prod", 1), ("snapshot:a", 0), ("prod=snapshot:a", 0)])
def test_a_snapshot_needs_none(started: list["subprocess.Popen[bytes]"], cluster: str | None, processes: int) -> None:
    with started_reader(cluster):
        assert len(started) == processes


def test_one_that_waits_already_is_enough(started: list["subprocess.Popen[bytes]"]) -> None:
    with started_early():
        with started_early():
            assert len(started) == 1
        assert started[0].poll() is None
    assert started[0].returncode is not None
