"""The Java command lines of a node: format its storage, run it."""

import base64
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import javaproperties

from reconciler.adapters.child_environment import child_environment
from reconciler.adapters.sandbox.error import SandboxError
from reconciler.adapters.sandbox.java import Java
from reconciler.adapters.sandbox.layout import NodeFiles, is_controller
from reconciler.adapters.sandbox.spec import SandboxSpec
from reconciler.adapters.sandbox.state import write_private
from reconciler.adapters.sandbox.version import uses_log4j2
from reconciler.dataclass import dataclass

_METADATA_LOG = "__cluster_metadata-0"
_FORMAT_SECONDS = 300  # as long as a start may take
_QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto", "-Xss512k")

_LOG4J2 = """\
<Configuration status="error"><Appenders>
<RollingFile name="file" fileName="{log}" filePattern="{log}.%i"><PatternLayout pattern="[%d] %p %m (%c)%n"/>
<SizeBasedTriggeringPolicy size="4MB"/><DefaultRolloverStrategy max="1"/></RollingFile>
</Appenders><Loggers><Root level="warn"><AppenderRef ref="file"/></Root>
<Logger name="kafka.authorizer.logger" level="{decisions}"/>
<Logger name="org.apache.kafka.clients.NetworkClient" level="error"/></Loggers></Configuration>
"""
_RELOAD4J = """\
log4j.rootLogger=WARN, file
log4j.logger.kafka.authorizer.logger={decisions}
log4j.logger.org.apache.kafka.clients.NetworkClient=ERROR
log4j.appender.file=org.apache.log4j.RollingFileAppender
log4j.appender.file.File={log}
log4j.appender.file.MaxFileSize=4MB
log4j.appender.file.MaxBackupIndex=1
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


@dataclass(frozen=True, slots=True)
class Program:
    """What all nodes of a sandbox have in common: the Java and the jars that run them, and the cluster's id.

    ``archive`` has the classes of the jars (:mod:`reconciler.adapters.sandbox.class_archive`), ``recording`` is where a
    node writes one when it ends; None for neither.
    """

    java: Java
    jars: Path
    cluster_id: str
    archive: Path | None = None
    recording: Path | None = None


def write_logging(spec: SandboxSpec, files: NodeFiles) -> None:
    """Writes a node's logging configuration: denials and warnings, except about peers that are not up yet."""
    log, decisions = str(files.log), "DEBUG" if spec.log_permitted else "INFO"
    if uses_log4j2(spec.kafka_version):
        text = _LOG4J2.format(log=escape(log), decisions=decisions)
    else:
        text = _RELOAD4J.format(log=log, decisions=decisions)
    write_private(_logging_file(spec, files), text)


def run_command(program: Program, spec: SandboxSpec, files: NodeFiles) -> tuple[str, ...]:
    """The command line that runs a node."""
    heap = (f"-Xmx{spec.heap}", "-Xms96m", "-XX:+ExitOnOutOfMemoryError", f"-XX:ErrorFile={files.output}.crash")
    recording = (f"-XX:ArchiveClassesAtExit={program.recording}",) if program.recording else ()
    return (*_java(program, spec, files, (*heap, *recording)), "kafka.Kafka", str(files.properties))


def format_storages(program: Program, spec: SandboxSpec, nodes: Sequence[NodeFiles]) -> None:
    """Formats every node's storage, with every user's SCRAM credentials; ``nodes`` begins with a controller.

    Kafka's tool formats the first one, the others get what it wrote, with ids of their own: a Java for each would be
    a quarter of the time that a sandbox of several takes to start.
    """
    first, *others = nodes
    run = _start_format(program, spec, first)
    try:
        output, _ = run.communicate(timeout=_FORMAT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"Formatting a node's storage took more than {_FORMAT_SECONDS} s.") from error
    finally:
        run.kill()
        run.communicate()
        _users_file(first).unlink(missing_ok=True)
    if run.returncode != 0:
        raise SandboxError(f"The storage of node {first.id} cannot be formatted.", output.strip()[-2000:])
    for files in others:
        _copy_storage(first, files, controller=is_controller(spec, files.id))


def _copy_storage(formatted: NodeFiles, files: NodeFiles, *, controller: bool) -> None:
    """What the tool does for another node; in 4.x only controllers have the first records of the metadata log."""
    shutil.copytree(formatted.data, files.data, ignore=None if controller else shutil.ignore_patterns(_METADATA_LOG))
    own = {"node.id": str(files.id), "directory.id": random_uuid()}
    path = files.data / "meta.properties"
    properties = {**javaproperties.loads(path.read_text("latin-1")), **own}
    path.write_text(javaproperties.dumps(properties, timestamp=False), "latin-1")


def random_uuid() -> str:
    """A random ``org.apache.kafka.common.Uuid``: 22 characters of Base64, of which the first is no dash."""
    return base64.urlsafe_b64encode(b"\0" + secrets.token_bytes(15)).decode("ascii").rstrip("=")


def _start_format(program: Program, spec: SandboxSpec, files: NodeFiles) -> subprocess.Popen[str]:
    # A file, because other users can read our command line. StorageTool reads one argument per line from an @file.
    users = _users_file(files)
    write_private(users, "".join(f"{argument}\n" for argument in _scram_arguments(spec.users)))
    java = _java(program, spec, files, ("-Xmx128m",))
    options = ("-t", program.cluster_id, "-c", str(files.properties), f"@{users}")
    command = (*java, "kafka.tools.StorageTool", "format", *options)
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment(),
    )


def environment() -> dict[str, str]:
    """What a broker needs of our environment: no secret, and no option of Java's such as those of a debugger."""
    return child_environment()


def _scram_arguments(users: Mapping[str, str]) -> Iterator[str]:
    for name, password in users.items():
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            yield "--add-scram"
            yield f"{mechanism}=[name={name},password={password}]"


def _java(program: Program, spec: SandboxSpec, files: NodeFiles, memory: tuple[str, ...]) -> tuple[str, ...]:
    log4j = "log4j2.configurationFile" if uses_log4j2(spec.kafka_version) else "log4j.configuration"
    logging = f"-D{log4j}={_logging_file(spec, files).as_uri()}"
    scratch = f"-Djava.io.tmpdir={files.directory / 'tmp'}"
    class_path = os.pathsep.join((f"{program.jars}{os.sep}*", *(str(entry) for entry in spec.class_path)))
    archive = (f"-XX:SharedArchiveFile={program.archive}",) if program.archive else ()
    return (str(program.java.executable), *memory, *_QUICK_START, *archive, logging, scratch, "-cp", class_path)


def _users_file(files: NodeFiles) -> Path:
    return files.properties.with_suffix(".users")


def _logging_file(spec: SandboxSpec, files: NodeFiles) -> Path:
    return files.properties.with_suffix(".log4j2.xml" if uses_log4j2(spec.kafka_version) else ".log4j.properties")
