"""Archives of classes: made once for a Java and its jars, never waited for, and never in the way of a start."""

import fcntl
import os
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.parts.local.sandbox.launch import Java, Program, run_command, with_class_archive
from reconciler.parts.local.sandbox.layout import NodeFiles, SandboxError, SandboxSpec
from reconciler.parts.local.sandbox.state import Process, Sandbox, save

_JAVA = Java(Path("/java"), Path("/home"), 17, "Debian", "17.0.15+6/deb")


class Starts:
    """Starts sandboxes that have no node, and leaves the archive that one would write when it ends."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.count, self.fails = 0, fails

    def __call__(self, spec: SandboxSpec, program: Program, directory: Path, holder: Process) -> Sandbox:
        self.count += 1
        if self.fails:
            raise self.fails
        assert program.recording
        program.recording.write_bytes(b"classes")
        sandbox = Sandbox(spec.name, spec.kafka_version, directory, holder=holder)
        directory.mkdir()
        save(sandbox)
        return sandbox


@pytest.fixture
def program(tmp_path: Path) -> Program:
    jars = tmp_path / "4.3.1"
    jars.mkdir()
    return Program(_JAVA, jars, "id")


def _with_archive(program: Program, start: Starts) -> Program:
    return with_class_archive(program, "4.3.1", lambda _: None, start)


def test_it_is_made_once_beside_the_jars(program: Program) -> None:
    start = Starts()
    made = _with_archive(program, start)
    assert made.archive == program.jars.with_name("4.3.1-Debian-17.0.15+6_deb.jsa")
    assert made.archive.read_bytes() == b"classes"
    assert _with_archive(program, start) == made
    assert start.count == 1
    assert sorted(path.name for path in program.jars.parent.iterdir()) == ["4.3.1", made.archive.name]


def test_another_java_has_another(program: Program) -> None:
    other = replace(program, java=replace(_JAVA, build="21"))
    assert _with_archive(other, Starts()).archive != _with_archive(program, Starts()).archive


def test_nobody_waits_for_who_makes_it(program: Program) -> None:
    start = Starts()
    descriptor = os.open(program.jars, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert _with_archive(program, start) == program
    os.close(descriptor)
    assert start.count == 0


@pytest.mark.parametrize("failure", [SandboxError("no node answers"), PermissionError("read-only cache")])
def test_what_fails_is_a_start_without(program: Program, failure: Exception) -> None:
    assert _with_archive(program, Starts(failure)) == program
    assert [path.name for path in program.jars.parent.iterdir()] == ["4.3.1"]


def test_a_node_reads_or_writes_it(program: Program, tmp_path: Path) -> None:
    def options(program: Program) -> list[str]:
        command = run_command(program, SandboxSpec(kafka_version="4.3.1"), NodeFiles(tmp_path, 1))
        return [word for word in command if "Archive" in word]

    assert options(program) == []
    assert options(replace(program, archive=Path("/a.jsa"))) == ["-XX:SharedArchiveFile=/a.jsa"]
    assert options(replace(program, recording=Path("/b.jsa"))) == ["-XX:ArchiveClassesAtExit=/b.jsa"]
