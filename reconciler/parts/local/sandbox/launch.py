"""Processes of nodes: their jars, Java, readiness, a watch that ends them.

A version's jars come from Maven Central, by the Ivy jar inside PySpark and Java alone. Its directory in the cache
appears by one rename when all its jars are there, so it is whole or absent. Of several processes that want the same
version one fetches it, and the others wait.
"""

import base64
import hashlib
import importlib.util
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit
from xml.sax.saxutils import escape, quoteattr

import javaproperties
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from reconciler.dataclass import dataclass
from reconciler.parts.local.sandbox import state
from reconciler.parts.local.sandbox.layout import (
    Artifact,
    Listener,
    NodeFiles,
    SandboxError,
    SandboxSpec,
    artifacts,
    cache_directory,
    is_controller,
    uses_log4j2,
)
from reconciler.parts.local.sandbox.state import HOST, Node, Process, Sandbox
from reconciler.system.process import child_environment, in_turn, only_one

# The Java that runs brokers: the one of JAVA_HOME, else the first on the PATH; 17 or newer (Kafka 4.0, KIP-1013).

OLDEST = 17
_ADVICE = f"Install Java {OLDEST} or newer (a JRE is enough), or set JAVA_HOME to one."
_ANSWER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation: its launcher, the home it reports, its feature release (17, 21, ...), which build it is."""

    executable: Path
    home: Path
    release: int
    vendor: str
    build: str


def find_java() -> Java:
    """The Java to use; raises :class:`SandboxError` if there is none, or if it is too old."""
    executable = _launcher()
    report = _settings_of(executable)
    release = _feature_release(_property(report, "java.specification.version"))
    home = _property(report, "java.home")
    if 0 < release < OLDEST:
        raise SandboxError(f"Java {release} ({executable}) is too old: Kafka needs {OLDEST} or newer.", _ADVICE)
    if not release or not home:
        raise SandboxError(f"{executable} does not answer like a Java.", _ADVICE)
    vendor, build = _property(report, "java.vm.vendor"), _property(report, "java.vm.version")
    return Java(executable, Path(home), release, vendor, build)


def _launcher() -> Path:
    if home := os.environ.get("JAVA_HOME"):
        launcher = Path(home) / "bin" / "java"
        if not os.access(launcher, os.X_OK):
            raise SandboxError(f"JAVA_HOME is {home}, but there is no Java in it.", _ADVICE)
        return launcher
    path = shutil.which("java")
    if path is None:
        raise SandboxError("There is no Java: JAVA_HOME is not set and PATH has no `java`.", _ADVICE)
    return Path(path)


def _settings_of(executable: Path) -> str:
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{executable} cannot be run: {error}.", _ADVICE) from error
    return answer.stderr + answer.stdout


def _property(report: str, name: str) -> str:
    match = re.search(rf"^\s*{re.escape(name)} = (.+)$", report, re.MULTILINE)
    return match.group(1).strip() if match else _spoken_version(report) if name.endswith("version") else ""


def _spoken_version(report: str) -> str:
    """The number in ``openjdk version "17.0.15"``, which also a Java without -XshowSettings prints."""
    match = re.search(r'version "([0-9._]+)', report)
    return match.group(1) if match else ""


def _feature_release(version: str) -> int:
    """8 for ``1.8`` and ``1.8.0_392``, 17 for ``17`` and ``17.0.15``, 0 for anything else."""
    numbers = re.findall(r"\d+", version)
    if not numbers:
        return 0
    return int(numbers[1]) if numbers[0] == "1" and len(numbers) > 1 else int(numbers[0])


_METADATA_LOG = "__cluster_metadata-0"
_FORMAT_SECONDS = 300  # as long as a start may take
#: Of a login, as many as Kafka takes for a password.
_ITERATIONS: Final = 4096
_QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto", "-Xss512k")

#: What a format has to say, it prints: to set up Log4j takes a fifth of its time. Kafka 3.9 has Log4j 1.
_ERRORS_ONLY = "-Dlog4j2.loggerContextFactory=org.apache.logging.log4j.simple.SimpleLoggerContextFactory"

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

    ``archive`` has the classes of the jars (:mod:`reconciler.parts.local.sandbox.launch`), ``recording`` is where a
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
    state.write_private(_logging_file(spec, files), text)


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
    state.write_private(users, "".join(f"{argument}\n" for argument in _scram_arguments(spec.users)))
    java = _java(program, spec, files, ("-Xmx128m", _ERRORS_ONLY))
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
    """Salted here: what takes OpenSSL a millisecond takes a Java that has only just started twenty."""
    for name, password in users.items():
        for bits in (256, 512):
            salt = secrets.token_bytes(16)
            salted = hashlib.pbkdf2_hmac(f"sha{bits}", password.encode(), salt, _ITERATIONS)
            values = {"salt": salt, "saltedpassword": salted}
            texts = (f'{key}="{base64.b64encode(value).decode("ascii")}"' for key, value in values.items())
            yield "--add-scram"
            yield f"SCRAM-SHA-{bits}=[name={name},iterations={_ITERATIONS},{','.join(texts)}]"


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


# Wait until a cluster answers, and show what its nodes logged if it does not.

# A node that cannot start ends by itself and is named at once. This is for one that hangs: a busy machine takes long.
START_SECONDS = 300
_POLL_SECONDS = 0.05
_ASK_SECONDS = 2.0
_LOGGED_LINES = 12


class PortTakenError(SandboxError):
    """A node could not bind one of its ports: another process has taken it."""


def wait_until_ready(sandbox: Sandbox, expected: Iterable[int]) -> None:
    """Returns when each expected broker lets a user log in and knows all the others; raises within START_SECONDS."""
    until = time.monotonic() + START_SECONDS
    brokers = [sandbox.node(node_id) for node_id in expected]
    for broker in brokers:
        while not state.accepts(broker.ports[Listener.CLIENT]):
            _check(sandbox, until)
            time.sleep(_POLL_SECONDS)
    for broker in brokers:
        while _known_brokers(sandbox, broker) != {other.id for other in brokers}:
            _check(sandbox, until)
            time.sleep(_POLL_SECONDS)


def _check(sandbox: Sandbox, until: float) -> None:
    for node in sandbox.nodes:
        if node.process is not None and not node.is_running():
            raise _failure(sandbox, node, f"Node {node.id} of sandbox {sandbox.name} ended while it started.")
    if time.monotonic() > until:
        first = sandbox.nodes[0]
        raise _failure(sandbox, first, f"Sandbox {sandbox.name} did not answer within {START_SECONDS} s.")


def _known_brokers(sandbox: Sandbox, broker: Node) -> set[int]:
    """The brokers that this broker reports to an ordinary user; empty as long as it does not answer."""
    user = next(iter(sandbox.users))
    only = {"bootstrap.servers": f"{HOST}:{broker.ports[Listener.CLIENT]}", "log_level": "0"}
    try:
        with AdminClient({**sandbox.settings(user), **only}) as admin:
            answer = admin.describe_cluster(request_timeout=_ASK_SECONDS).result()
    except KafkaException:
        return set()
    return {node.id for node in answer.nodes}


def _failure(sandbox: Sandbox, node: Node, message: str) -> SandboxError:
    lines = last_lines(sandbox, node)
    text = "\n".join(lines)
    advice = f"Node {node.id} logged last:\n{text}" if lines else f"Node {node.id} logged nothing."
    if "Address already in use" in text:
        return PortTakenError(f"A port of sandbox {sandbox.name} was taken by another process.", advice)
    return SandboxError(message, advice)


def last_lines(sandbox: Sandbox, node: Node) -> list[str]:
    """The last lines about errors: errors with their causes, without stack frames."""
    files, lines = sandbox.files(node), []
    for path in (files.log, files.output):
        if path.exists():
            lines += path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("\tat ")][-_LOGGED_LINES:]


# A process beside the one that holds a sandbox: it ends the sandbox when its holder dies, however it dies.
#
# ``finally`` is enough for an error and for Ctrl-C. It does not run when the holder is killed: a test run that a
# pipeline cancels would leave brokers of 200 MB each behind, and nobody who knows of them.

_DISMISSED: Final = b"."
#: Waits before it imports anything, so that watching costs a bare interpreter and no processor time.
_PROGRAM: Final = (
    "import sys; dismissed = sys.stdin.buffer.read(1); root, directory, pid, started = sys.argv[1:]\n"
    "if not dismissed:\n"
    "    root in sys.path or sys.path.insert(0, root)\n"
    "    from reconciler.parts.local.sandbox.state import remove_after\n"
    "    remove_after(directory, int(pid), started)\n"
)
_ROOT: Final = str(Path(__file__).parents[4])


@contextmanager
def watched(directory: Path, pid: int, started: str) -> Iterator[int]:
    """For the time of the block: if this process dies, the sandbox that names it as its holder is ended and removed.

    ``pid`` and ``started`` are this process. The watch notices by a pipe, whose end the system closes with the process;
    Linux's parent-death signal would fire when the *thread* ends that started a broker, and macOS has none.
    Yields the watch's pid.
    """
    isolated = ["-I"] if sys.flags.isolated else ["-P"]
    watch = subprocess.Popen(
        [sys.executable, *isolated, "-c", _PROGRAM, _ROOT, str(directory), str(pid), started],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
        start_new_session=True,  # a Ctrl-C in this terminal must not reach it
    )
    try:
        yield watch.pid
    finally:
        with suppress(BrokenPipeError):  # somebody killed the watch; there is nothing left to dismiss
            watch.communicate(_DISMISSED)


# Archives of a broker's classes (Java's AppCDS), made once on a machine for a version of Kafka and a Java.
#
# A start spends most of its processor time on reading and verifying thousands of classes. From an archive Java maps
# them into memory, and a broker is up with half of it. Java writes an archive when a run ends, so a sandbox of its
# own starts and ends for it. Whatever goes wrong with that only means that brokers start as slowly as without.

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
        recording, directory, holder = Path(scratch, "classes.jsa"), Path(scratch, "sandbox"), state.this_process()
        with watched(directory, holder.pid, holder.started):
            spec = SandboxSpec(kafka_version=version)
            sandbox = start(spec, replace(program, recording=recording), directory, holder)
            begun = time.monotonic()
            state.end([node.process for node in sandbox.nodes if node.process], _PATIENCE_SECONDS)
            state.remove(directory)
        if time.monotonic() - begun < _PATIENCE_SECONDS and recording.exists():  # else it was killed as it wrote
            recording.rename(archive)


_CENTRAL = "https://repo1.maven.org/maven2/"
_RESOLVE_SECONDS = 900
_OFFLINE_SIGNS = ("UnknownHostException", "ConnectException", "NoRouteToHost", "timed out", "Network is unreachable")


def broker_jars(version: str, java: Java, progress: Callable[[str], None]) -> Path:
    """The directory with the jars of an exact version, fetched first if it is not cached (about 45 MB, 30 s)."""
    directory = jar_directory() / version
    if directory.is_dir():
        return directory
    progress(f"fetching Kafka {version} from Maven Central (once; about 45 MB)")
    return fetched_jars(f"Kafka {version}", artifacts(version), directory, java)


def fetched_jars(what: str, wanted: tuple[Artifact, ...], directory: Path, java: Java) -> Path:
    """``directory``, which holds the jars of ``wanted`` and of all they depend on; fetched if it is not there."""
    if directory.is_dir():
        return directory
    ivy = _ivy_jar()
    directory.parent.mkdir(parents=True, exist_ok=True)
    with in_turn(directory.with_name(f".{directory.name}.lock")):
        if not directory.is_dir():
            _fetch(ivy, java, _JarSet(what, wanted, directory))
    return directory


def _fetch(ivy: Path, java: Java, jar_set: "_JarSet") -> None:
    directory = jar_set.directory
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
        _resolve(ivy, java, jar_set, Path(scratch)).rename(directory)


def jar_directory() -> Path:
    """Where jars are kept, a directory for each version."""
    return cache_directory() / "kafka"


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(location, "jars").glob("ivy-2*.jar")):
            return jar
    raise SandboxError(
        "PySpark is not installed: the sandbox fetches Kafka with the Ivy that it carries.",
        "pip install './reconciler[sandbox]' beside your clone",
    )


class _JarSet(NamedTuple):
    """What to fetch, as a person calls it, and where it is kept then."""

    what: str
    artifacts: tuple[Artifact, ...]
    directory: Path


def _resolve(ivy: Path, java: Java, jar_set: _JarSet, scratch: Path) -> Path:
    """Runs Ivy with its cache and settings in ``scratch``, so that nothing in the user's ``~/.ivy2`` matters."""
    (scratch / "ivy.xml").write_text(_module(jar_set.artifacts), encoding="utf-8")
    (scratch / "ivysettings.xml").write_text(_settings(), encoding="utf-8")
    command = [
        *(str(java.executable), *_proxy_flags(), f"-Divy.default.ivy.user.dir={scratch}", "-jar", str(ivy)),
        *("-settings", str(scratch / "ivysettings.xml"), "-ivy", str(scratch / "ivy.xml")),
        *("-cache", str(scratch / "cache"), "-retrieve", str(scratch / "jars" / "[artifact]-[revision].[ext]")),
    ]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_RESOLVE_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"Fetching {jar_set.what} took more than {_RESOLVE_SECONDS} s.", "Try again.") from error
    jars = scratch / "jars"
    first = jar_set.artifacts[0]
    if run.returncode != 0 or not (jars / f"{first.name}-{first.revision}.jar").is_file():
        raise _resolve_error(jar_set, run.stdout + run.stderr)
    shutil.rmtree(scratch / "cache")
    return jars


def _resolve_error(jar_set: _JarSet, output: str) -> SandboxError:
    if any(sign in output for sign in _OFFLINE_SIGNS):
        return SandboxError(
            f"{jar_set.what} is not in the cache, and Maven Central ({_CENTRAL}) cannot be reached.",
            f"Connect once (HTTPS_PROXY is honoured), or copy the jars to {jar_set.directory}.",
        )
    problems = [line.strip() for line in output.splitlines() if "unresolved" in line.lower() or "FAILED" in line]
    shown = "; ".join(problems[:3]) or output.strip()[-300:] or "Ivy said nothing"
    return SandboxError(f"{jar_set.what} cannot be fetched from Maven Central: {shown}", "Try again later.")


def _module(wanted: tuple[Artifact, ...]) -> str:
    lines = "".join(_dependency(artifact) for artifact in wanted)
    return (
        '<ivy-module version="2.0"><info organisation="reconciler" module="sandbox"/>'
        '<configurations><conf name="default"/></configurations>'
        f'<dependencies defaultconf="default-&gt;default">{lines}</dependencies></ivy-module>\n'
    )


def _dependency(artifact: Artifact) -> str:
    org, name, rev = (quoteattr(part) for part in (artifact.organisation, artifact.name, artifact.revision))
    left_out = "".join(f"<exclude org={org} module={quoteattr(module)}/>" for module in artifact.without)
    return f"<dependency org={org} name={name} rev={rev}>{left_out}</dependency>"


def _settings() -> str:
    return (
        '<ivysettings><settings defaultResolver="central"/><resolvers>'
        f'<ibiblio name="central" m2compatible="true" root={quoteattr(_CENTRAL)}/></resolvers></ivysettings>\n'
    )


def _proxy_flags() -> Iterator[str]:
    """HTTPS_PROXY in Java's words: Java does not read it by itself."""
    proxy = os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy") or ""
    try:
        address = urlsplit(proxy if "//" in proxy else f"//{proxy}")
        host, port = address.hostname, address.port or 80
    except ValueError:  # its text may hold a password
        raise SandboxError("HTTPS_PROXY is not an address.", "Write it as http://HOST:PORT, or unset it.") from None
    if host:
        yield f"-Dhttps.proxyHost={host}"
        yield f"-Dhttps.proxyPort={port}"
