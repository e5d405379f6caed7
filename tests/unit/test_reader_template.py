"""A forked reader is to a reading what a new process is: the same replies, the same ends."""

import marshal
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reconciler.adapters.kafka import listing
from tests.conftest import NEW_READER
from tests.reader_template import Template

#: Nobody answers there.
_TASK = {
    "settings": {"bootstrap_servers": ["127.0.0.1:1"]},
    "tls": None,
    "token": None,
    "ask": "acls",
    "timeout": 0.1,
}


@pytest.fixture(scope="module")
def template() -> Iterator[Template]:
    template = Template()
    yield template
    template.end()


@pytest.fixture(params=["new", "forked"])
def start(request: pytest.FixtureRequest, template: Template) -> Callable[[str], Any]:
    return NEW_READER if request.param == "new" else template.start


def test_a_reply_is_read_to_its_end(start: Callable[[str], Any]) -> None:
    reader = start("message_client")
    reply, _ = reader.communicate(marshal.dumps(_TASK), timeout=60)
    assert marshal.loads(reply)[0] == "failed"  # noqa: S302 - our own child wrote it
    assert reader.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_a_reader_that_dies_says_by_what(start: Callable[[str], Any], number: signal.Signals) -> None:
    reader = start("client_reader")
    assert reader.poll() is None
    os.kill(reader.pid, number)
    assert reader.communicate(marshal.dumps(_TASK), timeout=60)[0] == b""
    assert reader.returncode == -number


def test_a_reader_that_takes_too_long_can_be_killed(start: Callable[[str], Any]) -> None:
    reader = start("message_client")
    os.kill(reader.pid, signal.SIGSTOP)
    with pytest.raises(subprocess.TimeoutExpired):
        reader.communicate(marshal.dumps(_TASK), timeout=0.2)
    reader.kill()
    reader.communicate()
    assert reader.returncode == -signal.SIGKILL


def test_readings_of_tests_fork_theirs() -> None:
    assert listing.start_reader is not NEW_READER


@pytest.mark.usefixtures("new_readers")
def test_a_test_may_ask_for_new_ones() -> None:
    assert listing.start_reader is NEW_READER
