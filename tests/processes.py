"""``--processes N``: the tests in several processes, which are forked once everything is imported and collected.

Those of pytest-xdist each import and collect all tests again, and keep all of it in memory, too
(docs/decisions/test-processes.md). Which tests one process runs together, in which order, and how many processes start
what is shared, is for :mod:`tests.distribution` to say. What the session shares ends when no group to come needs it:
a broker that nobody asks takes a hundredth of a processor. Another process takes the place of one that dies.
"""

import gc
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from itertools import count, groupby, zip_longest
from multiprocessing.connection import Connection, Pipe, wait
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import pytest
from _pytest.fixtures import FixtureDef

from tests.distribution import chosen, group_of

#: Plugins that speak to whoever runs the tests, or keep what all tests have found: for the first process alone.
_FOR_ALL: Final = ("TerminalReporter", "NamedFailures", "LogXML", "LFPlugin", "NFPlugin", "StepwisePlugin")
#: After so many processes that died, something else is wrong.
_DEATHS: Final = 8
#: Of so many processes the last one begins with the last groups.
_MANY: Final = 3
#: Seconds that processes have to take down what they have set up, once they are interrupted.
_PATIENCE: Final = 60.0


class Group(NamedTuple):
    """Tests that one process runs in a row, by their numbers, and the fixtures of the session that they ask for."""

    tests: list[int]
    shared: frozenset[str]


class _Process:
    """One of them, as the first process sees it."""

    def __init__(self, number: int, pid: int, channel: "Connection[Any, Any]") -> None:
        self.number, self.pid, self.channel = number, pid, channel
        #: Takes the groups that come last: they work where the longest, which come first, mostly wait for brokers.
        self.last_first = False
        self.given = deque[int]()
        #: Fixtures of the session that it has started by now.
        self.shared = frozenset[str]()
        self.failed = self.done = False


class Processes:
    """Runs the tests of a session; tests are numbers of ``session.items``."""

    def __init__(self, session: pytest.Session) -> None:
        self._session, self._config = session, session.config
        self._groups = [*groups(session.items)]
        self._numbers = count(1)
        self._running: list[_Process] = []
        self._deaths = 0
        self._directory = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self._watched, self._alive = os.pipe()

    def run(self, wanted: int) -> None:
        """Returns in the first process when all tests have run, and in each other one when there are no more for it."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.showfspath = False  # of tests that run at the same time, each would be on a line of its own
        try:
            for _ in range(wanted):
                if self._fork():
                    return
            self._running[-1].last_first = wanted >= _MANY
            # Each process looks for snapshots that its tests did not use; this one runs none.
            self._config.pluginmanager.unregister(name="syrupy")
            while self._running:
                wait([one.channel for one in self._running], timeout=0.5)
                for one in [*self._running]:
                    if self._attend(one) and self._groups and not self._stopped and self._fork():
                        return
        finally:
            self._interrupt()
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    @property
    def _stopped(self) -> bool:
        return bool(self._session.shouldfail or self._session.shouldstop)

    def _fork(self) -> bool:
        """Whether this is the new process, which has done all its work then."""
        number, (ours, its) = next(self._numbers), Pipe()
        pid = os.fork()
        if pid:
            its.close()
            self._running.append(_Process(number, pid, ours))
            return False
        for one in self._running:
            one.channel.close()
        self._running.clear()
        ours.close()
        os.close(self._alive)
        os.setpgid(0, 0)  # a Ctrl-C is for the first process, which passes it on
        threading.Thread(target=_end_with_the_first, args=(self._watched,), daemon=True).start()
        self._become(number, its)
        _run_given(self._session, its)
        its.send(("done", None))
        return True

    def _become(self, number: int, channel: "Connection[Any, Any]") -> None:
        plugins = self._config.pluginmanager
        for plugin in plugins.get_plugins():
            if type(plugin).__name__ in _FOR_ALL:
                plugins.unregister(plugin)
        plugins.register(_Reports(self._config, channel))
        capture = plugins.get_plugin("capturemanager")
        if capture is not None:  # the files that hold what tests print would be those of all processes
            capture.stop_global_capturing()
            capture.start_global_capturing()
            capture.suspend_global_capture()
        self._config._tmp_path_factory = pytest.TempPathFactory(  # type: ignore[attr-defined]
            self._directory / f"p{number}", 3, "all", self._config.trace.get("tmpdir"), _ispytest=True
        )

    def _attend(self, one: _Process) -> bool:
        """Takes in what a process says; whether it has ended."""
        ended, status = os.waitpid(one.pid, os.WNOHANG)  # before it is listened to: what it says last counts, too
        try:
            while one.channel.poll():
                self._hear(one, *one.channel.recv())
        except (EOFError, ConnectionError):
            pass
        if ended:
            one.channel.close()
            self._running.remove(one)
            self._end(one, os.waitstatus_to_exitcode(status))
        return bool(ended)

    def _hear(self, one: _Process, said: str, what: Any) -> None:
        hook, items = self._config.hook, self._session.items
        if said == "next":
            group = self._next(one)
            one.given.extend(group.tests)
            one.shared |= group.shared
            needed = group.shared.union(*(later.shared for later in self._groups))
            one.channel.send((group.tests, needed))
        elif said == "report":
            report = hook.pytest_report_from_serializable(config=self._config, data=what)
            one.failed |= report.failed
            hook.pytest_runtest_logreport(report=report)
        elif said == "ran":
            one.given.remove(what)
            hook.pytest_runtest_logfinish(nodeid=items[what].nodeid, location=items[what].location)
        else:
            one.done = True

    def _next(self, one: _Process) -> Group:
        """Takes it from the groups that are left; without tests if there is nothing more for this process to do."""
        left = [] if self._stopped else self._groups
        others = [other.shared for other in self._running if other is not one]
        place = chosen([group.shared for group in left], one.shared, others, last_first=one.last_first)
        return Group([], frozenset()) if place is None else left.pop(place)

    def _end(self, one: _Process, status: int) -> None:
        if one.done and (status == 0 or one.failed):
            return
        self._deaths += 1
        what = f"a process of the tests ended with {status}"
        if one.given:
            crashed = self._session.items[one.given.popleft()]
            report = pytest.TestReport(crashed.nodeid, crashed.location, {}, "failed", f"{what} in this test", "call")
            self._config.hook.pytest_runtest_logreport(report=report)
            self._groups += [Group([*one.given], one.shared)] if one.given else []
        else:
            self._session.testsfailed += 1
            print(f"{what} after its tests; without --processes you see why")
        if self._deaths == _DEATHS:
            self._session.shouldstop = f"{_DEATHS} processes of the tests died"

    def _interrupt(self) -> None:
        for one in self._running:
            os.kill(one.pid, signal.SIGINT)
        until = time.monotonic() + _PATIENCE
        while self._running:
            one = self._running[-1]
            if os.waitpid(one.pid, os.WNOHANG)[0]:
                self._running.pop()
            elif time.monotonic() < until:
                time.sleep(0.05)
            else:
                os.killpg(one.pid, signal.SIGKILL)
                os.waitpid(self._running.pop().pid, 0)


class _Reports:
    """Sends reports to the first process."""

    def __init__(self, config: pytest.Config, channel: "Connection[Any, Any]") -> None:
        self._config, self._channel = config, channel

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._channel.send(("report", data))


def groups(items: list[pytest.Item]) -> Iterator[Group]:
    """Which tests one process runs in a row, in the order of ``items``."""
    found: dict[str, list[int]] = {}
    for path, several in groupby(range(len(items)), key=lambda number: items[number].nodeid.partition("::")[0]):
        found.setdefault(group_of(path), []).extend(several)
    for numbers in found.values():
        yield Group(numbers, frozenset(name for number in numbers for name in _shared(items[number])))


def _shared(item: pytest.Item) -> dict[str, FixtureDef[Any]]:
    """The fixtures of the session that a test names, by the directory that has them and their name."""
    known = item._fixtureinfo.name2fixturedefs.items() if isinstance(item, pytest.Function) else ()
    session = ((name, several[-1]) for name, several in known if several[-1].scope == "session")
    return {f"{fixture.baseid}::{name}": fixture for name, fixture in session}


def _run_given(session: pytest.Session, channel: "Connection[Any, Any]") -> None:
    started: dict[str, FixtureDef[Any]] = {}
    ended: Any = SimpleNamespace(node=session)  # all that pytest asks about who ends them
    while (given := _given(channel))[0]:
        group, needed = given
        over = [name for name in started if name not in needed]
        if over:
            gc.collect()  # clients that nobody has any more would say that their broker is gone
        for name in over:
            started.pop(name).finish(ended)
        for current, following in zip_longest(group, group[1:]):
            started |= _shared(session.items[current])
            # pytest takes down what the next test does not need. What comes after the last one, nobody knows yet:
            # what the session shares stays.
            after: Any = session if following is None else session.items[following]
            session.config.hook.pytest_runtest_protocol(item=session.items[current], nextitem=after)
            channel.send(("ran", current))


def _given(channel: "Connection[Any, Any]") -> tuple[list[int], frozenset[str]]:
    """The next group, and the fixtures of the session that it or one to come asks for."""
    channel.send(("next", None))
    answer: tuple[list[int], frozenset[str]] = channel.recv()
    return answer


def _end_with_the_first(watched: int) -> None:
    """Nobody writes to it: there is something to read once the first process is gone."""
    os.read(watched, 1)
    os.killpg(os.getpgrp(), signal.SIGKILL)
