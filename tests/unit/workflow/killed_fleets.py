"""A process that is killed where it writes, and the parts of a fleet's apply played in one process.

Spark runs its tasks in turn, the processes of clusters are calls, and clusters are snapshot files. A place is a write
to a file: before it, in its middle where half of it can be on disk, and after it.
"""

import io
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from reconciler.adapters import journal_file
from reconciler.adapters.atomic_write import write_atomically
from reconciler.adapters.snapshot import SnapshotCluster
from reconciler.codec import compact
from reconciler.model import Change
from reconciler.ports import Answer
from reconciler.workflow import apply_plan
from reconciler.workflow.fleet import child, performing
from reconciler.workflow.fleet.saved import RECORD_FILE, add_to_record


class KilledError(BaseException):
    """What ends everything: no handler of errors sees it."""


class Life:
    """Lets a process pass so many places; from then on every place kills it. ``sent`` keeps all changes, in order."""

    def __init__(self) -> None:
        self.left: float = float("inf")
        self.places: list[str] = []
        self.sent: list[tuple[str, str]] = []

    def begin(self, places: float) -> None:
        self.left, self.places = places, []

    def at(self, place: str) -> None:
        self.places.append(place)
        if len(self.places) > self.left:
            raise KilledError(place)

    @property
    def over(self) -> bool:
        return len(self.places) > self.left

    def half(self, place: str, write: Callable[[], None]) -> None:
        """Half a line is on disk only where the next place would kill."""
        if len(self.places) + 1 > self.left and not self.over:
            write()
        self.at(place)


def in_turn(
    _: object, lists: Sequence[Sequence[Any]], work: Callable[[Sequence[Any], str], Iterable[str]]
) -> list[str]:
    """What Spark makes of tasks, one after another."""
    return [line for part in lists for line in work(part, "0")]


def session(cores: int) -> SparkSession:
    """As much of a session as plans and applies of a fleet use."""
    context = SimpleNamespace(defaultParallelism=cores, broadcast=lambda value: SimpleNamespace(value=value))
    return cast("SparkSession", SimpleNamespace(sparkContext=context))


class Here:
    """A pool without threads: what is killed here begins nothing more."""

    def __init__(self, _: int) -> None:
        self.map = map

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def watch_files(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """The places are where files are written."""
    write, send = journal_file.RecordFile.write, SnapshotCluster.send
    finish, note = write_atomically, add_to_record

    def journal(self: journal_file.RecordFile, *records: Mapping[str, Any]) -> None:
        kind = records[0]["record"]
        half = compact(records[0])[:30].encode()
        life.at(f"before journal {kind}")
        life.half(f"in journal {kind}", lambda: _ignored(os.write(self._descriptor, half)))
        write(self, *records)
        life.at(f"after journal {kind}")

    def sending(self: SnapshotCluster, changes: Sequence[Change]) -> list[Answer]:
        life.at("before sending")
        life.sent += [(self.path.stem, "delete" if change.after is None else "create") for change in changes]
        answers = send(self, changes)
        life.at("after sending")
        return answers

    def result(text: str, out: str) -> None:
        life.at("before the result")
        finish(text, out)
        life.at("after the result")

    def noting(directory: Path, lines: Sequence[str]) -> None:
        def torn() -> None:
            note(directory, lines)
            file = directory / RECORD_FILE
            file.write_bytes(file.read_bytes()[:-1])

        life.at("before the record")
        life.half("in the record", torn)
        note(directory, lines)
        life.at("after the record")

    monkeypatch.setattr(journal_file.RecordFile, "write", journal)
    monkeypatch.setattr(SnapshotCluster, "send", sending)
    monkeypatch.setattr(child, "write_atomically", result)
    monkeypatch.setattr(performing, "add_to_record", noting)
    monkeypatch.setattr(performing, "run_tasks", in_turn)
    monkeypatch.setattr(performing, "ThreadPoolExecutor", Here)


def _ignored(_: int) -> None:
    pass


def play_processes(life: Life, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The clusters' processes, in this one; their clusters are where ``["live"]`` says.

    With ``["alone"]``, a kill ends one of them only: whoever waits for it lives on.
    """
    given: dict[str, Any] = {"alone": False}

    class Process:
        returncode = 0

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def communicate(self, text: str, timeout: float) -> None:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("sys.stdin", io.StringIO(text))
                try:
                    life.at("before the process")
                    child.main()
                except KilledError:
                    if not given["alone"]:
                        raise
                    self.returncode = -9
                    life.begin(float("inf"))

    def on_snapshot(file: str, path: str, _: None, *others: Any, **more: Any) -> Any:
        name = Path(file).stem
        return apply_plan(file, path, f"{name}=snapshot:{given['live'] / name}.json", *others, **more)

    monkeypatch.setattr(child, "apply_plan", on_snapshot)
    known = {name: getattr(subprocess, name) for name in ("PIPE", "DEVNULL", "TimeoutExpired")}
    monkeypatch.setattr(performing, "subprocess", SimpleNamespace(Popen=Process, **known))
    return given
