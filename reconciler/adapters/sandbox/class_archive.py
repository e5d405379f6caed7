"""Archives of a broker's classes (Java's AppCDS), made once on a machine for a version of Kafka and a Java.

A start spends most of its processor time on reading and verifying thousands of classes. From an archive Java maps them
into memory, and a broker is up with half of it. Java writes an archive when a run ends, so a sandbox of its own starts
and ends for it. Whatever goes wrong with that only means that brokers start as slowly as without.
"""

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from reconciler.adapters.process_lock import only_one
from reconciler.adapters.sandbox.directory import remove
from reconciler.adapters.sandbox.error import SandboxError
from reconciler.adapters.sandbox.launch import Program
from reconciler.adapters.sandbox.process import Process, end, this_process
from reconciler.adapters.sandbox.spec import SandboxSpec
from reconciler.adapters.sandbox.state import Sandbox
from reconciler.adapters.sandbox.watch import watched

#: To end and to write 50 MB. Under twenty other processes it took 17 s.
_PATIENCE_SECONDS: Final = 120.0

#: Starts a sandbox of this specification with this program, in a directory, for a holder.
Start: TypeAlias = Callable[[SandboxSpec, Program, Path, Process], Sandbox]


def with_class_archive(program: Program, version: str, progress: Callable[[str], None], start: Start) -> Program:
    """The program with its archive, which is made first if there is none; without it while somebody else makes it."""
    archive = _place(program)
    try:
        if not archive.exists():
            with only_one(program.jars) as only:
                if only and not archive.exists():
                    progress(f"preparing quick starts of Kafka {version} (once; some 5 s)")
                    _make(archive, program, version, start)
    except (OSError, SandboxError):
        return program
    return replace(program, archive=archive) if archive.exists() else program


def _place(program: Program) -> Path:
    """Beside the jars, and named for the very build of Java: no other can read it."""
    build = re.sub(r"[^A-Za-z0-9.+_-]", "_", f"{program.java.vendor}-{program.java.build}")
    return program.jars.with_name(f"{program.jars.name}-{build}.jsa")


def _make(archive: Path, program: Program, version: str, start: Start) -> None:
    with tempfile.TemporaryDirectory(prefix=f".{archive.stem}-", dir=archive.parent) as scratch:
        made, directory, holder = Path(scratch, "classes.jsa"), Path(scratch, "sandbox"), this_process()
        with watched(directory, holder.pid, holder.started):
            spec = SandboxSpec(kafka_version=version)
            sandbox = start(spec, replace(program, recording=made), directory, holder)
            begun = time.monotonic()
            end([node.process for node in sandbox.nodes if node.process], _PATIENCE_SECONDS)
            remove(directory)
        if time.monotonic() - begun < _PATIENCE_SECONDS and made.exists():  # else it was killed as it wrote
            made.rename(archive)
