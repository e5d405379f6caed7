"""The process of a reader that is started before anybody asks for it."""

import subprocess
from collections.abc import Iterator

import pytest

from reconciler.cli.options import reader_ahead
from reconciler.kafka import reader_process
from reconciler.kafka.reader_process import MESSAGES, reader, started_early


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """All processes that were started; each only waits for its input to end."""
    made: list[subprocess.Popen[bytes]] = []

    def start(module: str) -> "subprocess.Popen[bytes]":
        assert module == MESSAGES
        made.append(subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return made[-1]

    monkeypatch.setattr(reader_process, "start_reader", start)
    yield made
    for process in made:
        process.kill()
        process.communicate()


def test_the_first_who_asks_gets_the_one_that_is_there(started: list["subprocess.Popen[bytes]"]) -> None:
    with started_early():
        assert reader(MESSAGES) is started[0]
        assert reader(MESSAGES) is started[1]
    assert [process.poll() for process in started] == [None, None]  # whoever asked ends it


def test_one_that_nobody_asked_for_ends(started: list["subprocess.Popen[bytes]"]) -> None:
    with pytest.raises(KeyError), started_early():
        raise KeyError
    assert started[0].returncode is not None
    assert reader(MESSAGES) is started[1]


@pytest.mark.parametrize(("cluster", "processes"), [(None, 1), ("prod", 1), ("snapshot:a", 0), ("prod=snapshot:a", 0)])
def test_a_snapshot_needs_none(started: list["subprocess.Popen[bytes]"], cluster: str | None, processes: int) -> None:
    with reader_ahead(cluster):
        assert len(started) == processes


def test_one_that_waits_already_is_enough(started: list["subprocess.Popen[bytes]"]) -> None:
    with started_early():
        with started_early():
            assert len(started) == 1
        assert started[0].poll() is None
    assert started[0].returncode is not None
