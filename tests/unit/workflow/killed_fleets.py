"""A process that is killed where it writes, and the parts of a fleet's apply played in one process.

Spark runs its tasks in turn, the processes of clusters are calls, and clusters are snapshot files. A place is a write
to a file: before it, in its middle where half of it can be on disk, and after it.
"""

import io
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from reconciler.app.apply import apply_plan
from reconciler.codec.document import compact
from reconciler.model.listing import Change
from reconciler.parts.fleet.app import apply as child
from reconciler.parts.fleet.app import apply as performing
from reconciler.parts.fleet.app.runs import RECORD_FILE, add_to_record
from reconciler.parts.fleet.engine import LocalEngine
from reconciler.ports import Answer
from reconciler.snapshot.file import SnapshotCluster
from reconciler.system.files import write_atomically
from reconciler.system.journal import RecordFile
from reconciler.system.process import SystemClock


class KilledError(BaseException):
    """What ends everything: no handler of errors sees it."""


class Image(NamedTuple):
    """What is on disk where a process was killed: ``place``, the copy, and the changes that had been sent by then."""

    place: str
    root: Path
    sent: list[tuple[str, str]]


class Life:
    """A process whose files are below ``root``; ``sent`` keeps all changes, in order.

    It passes so many places; from then on every place kills it. Or what is on disk at each place is kept as an image:
    whatever a process does, that is all that is left of it, so one life gives all of its ends.
    """

    def __init__(self, root: Path, images_in: Path | None = None) -> None:
        self.root, self._images_in = root, images_in
        self.left: float = float("inf")
        self.places: list[str] = []
        self.sent: list[tuple[str, str]] = []
        self.images: list[Image] = []

    def begin(self, places: float) -> None:
        self.left, self.places = places, []

    def at(self, place: str, half: Callable[[Path], None] = lambda _: None) -> None:
        """A place; ``half`` puts on disk, below a root, what a kill here leaves of a write."""
        self.places.append(place)
        if self._images_in is not None:
            copy = Path(shutil.copytree(self.root, self._images_in / str(len(self.images))))
            half(copy)
            self.images.append(Image(place, copy, [*self.sent]))
        if len(self.places) > self.left:
            if len(self.places) == self.left + 1:
                half(self.root)
            raise KilledError(place)


class World:
    """The life that goes on now, and the time of day, which passes a second with each process."""

    def __init__(self) -> None:
        self.life = Life(Path())
        #: A kill ends the process of one cluster only: whoever waits for it lives on.
        self.alone = False
        self.now = 1_000_000.0

    def begin(self, life: Life) -> Life:
        self.life = life
        return life


class InTurn(LocalEngine):
    """Tasks one after another, however many ``cores`` there are."""

    def __init__(self, cores: int) -> None:
        self._cores = cores

    @property
    def cores(self) -> int:
        return self._cores

    def _each(self, lists: Sequence[Sequence[Any]], work: Callable[[Sequence[Any], str], Any]) -> Iterator[Any]:
        return (work(units, "0") for units in lists)


class Here:
    """A pool without threads: what is killed here begins nothing more."""

    def __init__(self, _: int) -> None:
        pass

    def submit(self, work: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future = Future[Any]()
        future.set_result(work(*arguments))
        return future

    def shutdown(self, **_: bool) -> None:
        pass


def watch_files(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The places are where files are written."""
    write, send = RecordFile.write, SnapshotCluster.send
    finish, note = write_atomically, add_to_record

    def journal(self: RecordFile, *records: Mapping[str, Any]) -> None:
        kind = records[0]["record"]
        name = Path(self.path).relative_to(world.life.root.resolve())

        def torn(root: Path) -> None:
            with (root / name).open("ab") as file:
                file.write(compact(records[0])[:30].encode())

        world.life.at(f"before journal {kind}")
        world.life.at(f"in journal {kind}", torn)
        write(self, *records)
        world.life.at(f"after journal {kind}")

    def sending(self: SnapshotCluster, changes: Sequence[Change]) -> list[Answer]:
        world.life.at("before sending")
        world.life.sent += [(self.path.stem, "delete" if change.after is None else "create") for change in changes]
        answers = send(self, changes)
        world.life.at("after sending")
        return answers

    def result(text: str, out: str) -> None:
        world.life.at("before the result")
        finish(text, out)
        world.life.at("after the result")

    def noting(directory: Path, lines: Sequence[str]) -> None:
        def torn(root: Path) -> None:
            note(root / directory.name, lines)
            file = root / directory.name / RECORD_FILE
            file.write_bytes(file.read_bytes()[:-1])

        world.life.at("before the record")
        world.life.at("in the record", torn)
        note(directory, lines)
        world.life.at("after the record")

    monkeypatch.setattr(RecordFile, "write", journal)
    monkeypatch.setattr(SnapshotCluster, "send", sending)
    monkeypatch.setattr(child, "write_atomically", result)
    monkeypatch.setattr(performing, "add_to_record", noting)
    monkeypatch.setattr(performing, "ThreadPoolExecutor", Here)
    # A process that is killed loses nothing that it wrote: that takes a machine.
    monkeypatch.setattr(os, "fsync", lambda _: None)


def play_processes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clusters' processes, in this one."""

    class Pipe(io.StringIO):
        def close(self) -> None:
            """What was written stays."""

    class Process:
        returncode = 0

        def __init__(self, *_: object, **__: object) -> None:
            self.stdin = Pipe()

        def wait(self, timeout: float) -> None:
            world.now += 1
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("sys.stdin", io.StringIO(self.stdin.getvalue()))
                try:
                    world.life.at("before the process")
                    child.main()
                except KilledError:
                    if not world.alone:
                        raise
                    self.returncode = -9
                    world.life.begin(float("inf"))

    def on_snapshot(file: str, path: str, _: None, *others: Any, **more: Any) -> Any:
        name = Path(file).stem
        return apply_plan(file, path, f"{name}=snapshot:{world.life.root / 'live' / name}.json", *others, **more)

    def sleep(seconds: float) -> None:
        world.now += seconds

    monkeypatch.setattr(child, "apply_plan", on_snapshot)
    monkeypatch.setattr(performing, "time", SimpleNamespace(time=lambda: world.now, sleep=sleep))
    monkeypatch.setattr(SystemClock, "sleep", lambda _, seconds: None)
    known = {name: getattr(subprocess, name) for name in ("PIPE", "DEVNULL", "TimeoutExpired")}
    monkeypatch.setattr(performing, "subprocess", SimpleNamespace(Popen=Process, **known))
