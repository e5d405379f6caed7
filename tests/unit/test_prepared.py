"""A forked process is what a new one is: to a reading, and to a shell; the same output, the same ends."""

import fcntl
import marshal
import os
import resource
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from reconciler.kafka import reader_process
from reconciler.kafka.listing import answer_of
from reconciler.kafka.reader_process import end_reader
from tests.conftest import NEW_READER
from tests.prepared import prepared, search_path

#: Nobody answers there.
_TASK = {
    "settings": {"bootstrap_servers": ["127.0.0.1:1"]},
    "tls": None,
    "token": None,
    "ask": "acls",
    "timeout": 0.1,
}


@pytest.fixture(params=["new", "forked"])
def start(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    return NEW_READER if request.param == "new" else prepared().start_reader


def _replied(reader: Any) -> str | None:
    """The kind of its reply, ``None`` if it ends instead."""
    with suppress(BrokenPipeError):
        if (reply := answer_of(reader, marshal.dumps(_TASK))) is not None:
            return str(marshal.loads(reply)[0])  # noqa: S302 - our own child wrote it
    return None


def test_a_reader_answers_until_nobody_asks(start: Callable[[str], Any]) -> None:
    reader = start("message_client")
    assert [_replied(reader), _replied(reader)] == ["failed", "failed"]
    reader.stdin.close()
    assert reader.wait() == 0
    end_reader(reader)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_a_reader_that_dies_says_by_what(start: Callable[[str], Any], number: signal.Signals) -> None:
    reader = start("client_reader")
    assert reader.poll() is None
    os.kill(reader.pid, number)
    assert _replied(reader) is None
    end_reader(reader)
    assert reader.returncode == -number


def test_a_reader_that_takes_too_long_can_be_killed(start: Callable[[str], Any]) -> None:
    reader = start("message_client")
    os.kill(reader.pid, signal.SIGSTOP)
    threading.Timer(0.2, reader.kill).start()
    assert _replied(reader) is None
    end_reader(reader)
    assert reader.returncode == -signal.SIGKILL


def test_a_reader_begins_at_the_moment_at_which_another_ends() -> None:
    ending: Any = prepared().start_reader("message_client")
    server = prepared()._process.pid
    os.kill(server, signal.SIGSTOP)
    os.kill(ending.pid, signal.SIGKILL)
    going_on = threading.Timer(0.3, os.kill, (server, signal.SIGCONT))
    going_on.start()
    reader: Any = prepared().start_reader("message_client")
    assert _replied(reader) == "failed"
    for one in (reader, ending):
        end_reader(one)
    assert ending.returncode == -signal.SIGKILL


def test_readings_of_tests_fork_theirs() -> None:
    assert reader_process.start_reader is not NEW_READER


@pytest.mark.usefixtures("new_readers")
def test_a_test_may_ask_for_new_ones() -> None:
    assert reader_process.start_reader is NEW_READER


_BIN = Path(sys.executable).parent


@pytest.fixture(params=["installed", "forked"])
def program(request: pytest.FixtureRequest) -> str:
    found = _BIN if request.param == "installed" else prepared().programs
    return str(found / "reconciler")


def _ran(*words: str, directory: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "LANG": "C.UTF-8", **variables}
    return subprocess.run(words, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def test_a_command_finds_its_directory_variables_and_input(program: str, tmp_path: Path) -> None:
    """And writes what the other one writes, to the streams to which it writes it."""
    assert _ran(program, "init", ".", directory=tmp_path).returncode == 0
    right = _ran(program, "validate", "--quiet", directory=tmp_path, RECONCILER_PATH="manifests", COLUMNS="40")
    assert (right.returncode, right.stderr) == (0, "")
    assert max(map(len, right.stdout.splitlines())) <= 40
    wrong = _ran(program, "validate", "nowhere", directory=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "nowhere" in wrong.stderr


def test_the_forked_program_says_what_the_installed_one_says(tmp_path: Path) -> None:
    for words in (["--help"], ["plan", "--help"], ["version"], ["no-such-command"], ["schema", "manifest"]):
        forked, installed = (
            _ran(str(found / "reconciler"), *words, directory=tmp_path) for found in (prepared().programs, _BIN)
        )
        assert forked.returncode == installed.returncode
        assert (forked.stdout, forked.stderr) == (installed.stdout, installed.stderr)


def test_the_encoding_of_streams_is_the_one_that_somebody_sets(tmp_path: Path) -> None:
    def said(directory: Path, encoding: str) -> bytes:
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONIOENCODING": encoding}
        command = [str(directory / "reconciler"), "validate", "né"]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False).stderr

    installed = said(_BIN, "utf-8")
    assert "né" in installed.decode()
    assert said(prepared().programs, "utf-8") == installed
    assert said(prepared().programs, "ascii") == installed.decode().encode("ascii", "backslashreplace")


def test_a_command_is_found_on_the_search_path(tmp_path: Path) -> None:
    done = _ran("/bin/sh", "-c", "command -v reconciler && command -v python", directory=tmp_path, PATH=search_path())
    assert done.stdout.split() == [str(prepared().programs / "reconciler"), str(_BIN / "python")]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_reaches_the_command(program: str, number: signal.Signals, status: int) -> None:
    with _reading(program) as process:
        assert _ended(process, number) == status


def test_with_the_program_its_process_ends(program: str) -> None:
    with _reading(program) as process:
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], 60)[0], "somebody still has its output"
        assert process.stdout.read() == b""


def _ended(process: "subprocess.Popen[bytes]", number: signal.Signals) -> int:
    """Sent again, as a person does: Python overlooks a signal just before a read until that has something to return."""
    until = time.monotonic() + 60
    while True:
        process.send_signal(number)
        try:
            return process.wait(20)  # a second one, in its end, would end it otherwise
        except subprocess.TimeoutExpired:
            assert time.monotonic() < until


@contextmanager
def _reading(program: str) -> "Iterator[subprocess.Popen[bytes]]":
    """A command that reads its input, of which more could come."""
    words = [program, "convert", "--from", "kafka-acls", "-"]
    pipe, environment = subprocess.PIPE, {"PATH": os.environ["PATH"]}
    with subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write(b"Current ACLs")
        process.stdin.flush()
        until = time.monotonic() + 60
        while _unread(process.stdin.fileno()):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        yield process
        process.kill()


def _unread(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_command_may_use_what_the_one_who_starts_it_may(program: str, tmp_path: Path) -> None:
    """Else no test of what exhausts a machine could see it."""

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 26, 1 << 26))

    (tmp_path / "team.yaml").write_text("# " + "x" * 33_000_000)
    words = [program, "validate", "team.yaml"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False, preexec_fn=limits).returncode != 0
