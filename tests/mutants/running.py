"""A pytest plugin: which test runs which function, then each fault in a forked process with the tests that run it.

The tests are collected once. A fault is put into functions that exist already (their ``__code__``), so a forked process
begins with the first test at once.
"""

import gc
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

import pytest

from reconciler.parts.fleet.engine import ForkingEngine, LocalEngine
from tests.mutants.mutant import ROOT
from tests.mutants.sites import Site, faulty

#: Seconds of processor time that the tests of one fault take together without it; slower ones are left out.
BUDGET: Final = 60.0
_MEMORY: Final = 6 << 30
#: How a fork ends; with anything else it could not be put to the test.
_SURVIVED, _NOTICED, _NOT_PUT = 0, 1, 2

_CACHED: Final = type(cache(os.getpid))

Function = tuple[str, str, int]  # file, qualified name, first line


def _function(code: CodeType) -> Function:
    return (code.co_filename, code.co_qualname, code.co_firstlineno)


class Running:
    """Runs ``sites`` instead of the tests; ``outcomes`` says what became of each."""

    def __init__(self, sites: list[Site], packages: tuple[str, ...], known: Path, outcomes: Path, workers: int) -> None:
        self._sites, self._known, self._path, self._workers = sites, known, outcomes, workers
        self._ours = tuple(f"{ROOT}/{package}" for package in packages)
        self._reports: list[pytest.TestReport] = []
        self._caches: list[Any] = []
        self.outcomes: dict[Site, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        used = self._used_in_a_fork(session.items)
        for file in sorted({site.file for site in self._sites}):  # also what tests import when they need it
            importlib.import_module(_module(file))
        gc.unfreeze()
        functions = defaultdict[Function, list[FunctionType]](list)
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(self._ours):
                functions[_function(thing.__code__)].append(thing)
            elif isinstance(thing, _CACHED) and str(thing.__module__).startswith("reconciler."):
                self._caches.append(thing)
        gc.freeze()
        by_id = {item.nodeid: item for item in session.items}
        self._all(functions, used, by_id)
        return True

    def _used_in_a_fork(self, items: list[pytest.Item]) -> dict[str, tuple[float, list[Function]]]:
        """In a process of its own: threads that a library starts, as Polars does, would hold every later fork up."""
        if not (child := os.fork()):
            status = 1
            # What ran in forks of this one would not be seen; a fault is in forks as well.
            ForkingEngine._each = LocalEngine._each  # type: ignore[method-assign]
            try:
                self._used(items)
                status = 0
            finally:
                os._exit(status)
        if os.waitpid(child, 0)[1]:
            raise RuntimeError("which test runs what was not found out")
        return self._used([])

    def _used(self, items: list[pytest.Item]) -> dict[str, tuple[float, list[Function]]]:
        """Seconds and functions by test, of those that pass; a file keeps it, and those that it has are not run."""
        used = dict[str, tuple[float, list[Function]]]()
        if self._known.exists():
            used = {
                name: (spent, [(file, function, line) for file, function, line in ran])
                for name, (spent, ran) in json.loads(self._known.read_text(encoding="utf-8")).items()
            }
        new = [item for item in items if item.nodeid not in used]
        for item, following in zip_longest(new, new[1:]):
            seen = set[CodeType]()

            def calls(frame: FrameType, _event: str, _arg: object, seen: set[CodeType] = seen) -> None:
                seen.add(frame.f_code)

            begun, self._reports = time.process_time(), []
            threading.settrace(calls)
            sys.settrace(calls)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            finally:
                sys.settrace(None)
                threading.settrace(None)
            if all(report.passed for report in self._reports):
                ran = sorted(_function(code) for code in seen if code.co_filename.startswith(self._ours))
                used[item.nodeid] = (time.process_time() - begun, ran)
        self._known.write_text(json.dumps(used), encoding="utf-8")
        return used

    def _all(
        self,
        functions: dict[Function, list[FunctionType]],
        used: dict[str, tuple[float, list[Function]]],
        items: dict[str, pytest.Item],
    ) -> None:
        tests = defaultdict[tuple[str, str], list[tuple[float, str]]](list)
        for name, (spent, ran) in used.items():
            if name in items:
                for file, qualified in {(file, qualified) for file, qualified, _ in ran}:
                    tests[file, qualified].append((spent, name))
        running: dict[int, tuple[Site, float]] = {}
        waiting = [*reversed(self._sites)]
        while waiting or running:
            while waiting and len(running) < self._workers:
                site = waiting.pop()
                chosen, spent = [], 0.0
                for cost, name in sorted(_of(site, tests)):
                    if spent + cost <= BUDGET:
                        chosen.append(items[name])
                        spent += cost
                if not chosen:
                    self._note(site, "at import" if _runs_at_import(site) else "no test")
                    continue
                patience = 10 + 3 * spent
                running[self._fork(site, chosen, functions, patience)] = (site, time.monotonic() + 10 * patience)
            self._reap(running)

    def _reap(self, running: dict[int, tuple[Site, float]]) -> None:
        time.sleep(0.02)
        for child, (site, until) in [*running.items()]:
            ended, status = os.waitpid(child, os.WNOHANG)
            if not ended and time.monotonic() < until:
                continue
            if not ended:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
            del running[child]
            self._note(site, _outcome(status) if ended else "without end")

    def _note(self, site: Site, outcome: str) -> None:
        self.outcomes[site] = outcome
        with self._path.open("a", encoding="utf-8") as lines:
            print(json.dumps([outcome, *site]), file=lines)
        if outcome in ("survived", "no test"):
            print(f"{outcome}: {site}", file=sys.__stdout__, flush=True)

    def _fork(
        self, site: Site, tests: list[pytest.Item], functions: dict[Function, list[FunctionType]], patience: float
    ) -> int:
        child = os.fork()
        if child:
            return child
        status = _NOT_PUT
        try:
            for kept in self._caches:  # what was computed without the fault would hide it
                kept.cache_clear()
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            resource.setrlimit(resource.RLIMIT_CPU, (int(patience), int(patience) + 1))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            if _put(faulty(site), functions):
                status = _NOTICED  # also if a test runs out of memory, or takes everything down with it
                status = _NOTICED if self._notices(tests) else _SURVIVED
        finally:
            os._exit(status)

    def _notices(self, tests: list[pytest.Item]) -> bool:
        from hypothesis import Phase, settings  # before pytest it would come too early

        # That it fails is enough: no smaller example, and nothing remembered of others.
        settings.register_profile("mutants", settings.default, phases=(Phase.explicit, Phase.generate), database=None)
        settings.load_profile("mutants")
        for item, following in zip(tests, [*tests[1:], None], strict=True):
            self._reports = []
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if any(report.failed for report in self._reports):
                return True
        return False


#: Ends with 0 where importing a module runs a function of it.
_IMPORTS: Final = """\
import importlib, sys
seen = set()
sys.settrace(lambda frame, *_: seen.add((frame.f_code.co_filename, frame.f_code.co_qualname)))
importlib.import_module(sys.argv[1])
sys.settrace(None)
sys.exit((sys.argv[2], sys.argv[3]) not in seen)
"""


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _runs_at_import(site: Site) -> bool:
    """Whether what is made when the module is imported hides the fault: tables that functions make, say."""
    name = (str(ROOT / site.file), site.function)
    return not subprocess.run(
        [sys.executable, "-c", _IMPORTS, _module(site.file), *name], cwd=ROOT, check=False
    ).returncode


def _of(site: Site, tests: dict[tuple[str, str], list[tuple[float, str]]]) -> set[tuple[float, str]]:
    """The tests that run the function of a fault, or a lambda in it; functions within it are reached through it."""
    file = str(ROOT / site.file)
    qualified = site.function.replace(".", "\0")
    found = set[tuple[float, str]]()
    for (path, name), ran in tests.items():
        named = name.replace(".<locals>.<lambda>", "")
        if path == file and named.replace(".<locals>.", "\0").replace(".", "\0") == qualified:
            found.update(ran)
    return found


def _codes(code: CodeType) -> Iterable[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _put(module: CodeType, functions: dict[Function, list[FunctionType]]) -> bool:
    """Give every function that exists the faulty module's code; says whether that changes any."""
    changed = False
    for code in _codes(module):
        for function in functions.get(_function(code), ()):
            if function.__code__.co_freevars == code.co_freevars:
                changed |= function.__code__ != code
                function.__code__ = code
    return changed


def _outcome(status: int) -> str:
    """What the end of a fork says; one that a signal ended took too much time or memory."""
    if os.WIFSIGNALED(status):
        return "noticed"
    return {_SURVIVED: "survived", _NOTICED: "noticed"}.get(os.WEXITSTATUS(status), "not put")
