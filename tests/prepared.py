"""Processes forked from one that has our modules loaded: a tenth of the processor time of a new one.

Pipelines' scripts and tutorials start ``reconciler`` some thousand times, and most tests read a cluster many times,
which takes a process each. Here they run the same code, with the same streams, environment, directory, signals and end.
What a new process is, its start, its command line and its environment, is tested with new ones: by the installed
program, and by ``new_readers`` in ``tests/conftest.py``.
"""

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import inspect
import marshal
import os
import pkgutil
import resource
import runpy
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, TextIO

_ROOT: Final = Path(__file__).parents[1]
#: A reader's module, and what in it answers a task.
_READERS: Final = {"message_client": "answer", "client_reader": "read"}
_NUMBER: Final = struct.Struct("=i")
_ONE: Final = threading.Lock()
#: Of Python's own variables those that change nothing here: all that is forked is on a safe path (``-P``).
_HARMLESS: Final = ("PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH", "PYTHONUNBUFFERED")
#: With these, texts are what they are anyway: those of the tour's commands, whose input has to be UTF-8, and of a
#: Python that finds no locale in its environment and sets one.
_STREAMS: Final = ("PYTHONIOENCODING", "utf-8")
_COERCED: Final = ("LC_CTYPE", "C.UTF-8")
#: What a forked process may use is what the one that asks for it may: memory, and seconds of a processor.
_LIMITED: Final = (int(resource.RLIMIT_AS), int(resource.RLIMIT_CPU))
#: The program on PATH. What decides how Python itself works, no fork can take over: then it is the installed one.
_PROGRAM: Final = """\
#!{python} -IS
import os, sys
try:
    for name, value in os.environ.items():
        if name.startswith(("PYTHON", "LC_")) and name not in {harmless!r} or name == "TZ":
            if (name, value) not in {same!r}:
                raise OSError
    import _signal as signal, _socket as socket, marshal, resource
    mask = os.umask(0)
    os.umask(mask)
    limits = tuple((number, resource.getrlimit(number)) for number in {limited!r})
    wanted = marshal.dumps(("command", sys.argv[1:], dict(os.environ), os.getcwd(), mask, limits, {home!r}))
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel.connect({address!r})
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    head = len(wanted).to_bytes(4, sys.byteorder)
    channel.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
except OSError:
    os.execv({installed!r}, [{installed!r}, *sys.argv[1:]])
# From here on there may be a process that a signal is meant for; it waits until we know which.
passed_on = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)
channel.sendall(wanted)
pid = int.from_bytes(channel.recv(4), sys.byteorder)
for number in passed_on:
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, lambda number, _: os.kill(pid, number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
status = os.waitstatus_to_exitcode(int.from_bytes(channel.recv(4), sys.byteorder))
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


class Prepared:
    """The process that others are forked from; it ends when this one does."""

    def __init__(self) -> None:
        self.made_by = os.getpid()
        self.directory = Path(tempfile.mkdtemp(prefix="prepared-"))
        self._address = str(self.directory / "socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._address)
            listener.listen(128)  # from now on whoever asks waits, until it is loaded
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-W", "ignore", "-m", __name__, str(listener.fileno()), self._address],
                cwd=_ROOT,
                env={**os.environ, "PYTHONPATH": str(_ROOT)},
                pass_fds=[listener.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C is for us, and we end it
            )
        self.join(os.getpid())

    def join(self, worker: int) -> None:
        """From here on what commands break is found below a directory of this worker, whose tests alone ran them."""
        self.home = self.directory / str(worker)
        self.programs = self.home / "bin"
        self.programs.mkdir(parents=True, exist_ok=True)
        self._write_program(Path(sys.executable).parent / "reconciler")

    def _write_program(self, installed: Path) -> None:
        program = self.programs / "reconciler"
        program.write_text(
            _PROGRAM.format(
                python=sys.executable,
                harmless=_HARMLESS,
                same=(_STREAMS, _COERCED),
                limited=_LIMITED,
                address=self._address,
                home=str(self.home),
                installed=str(installed),
            ),
            encoding="utf-8",
        )
        program.chmod(0o755)

    def run(self, module: str, *arguments: str) -> int:
        """What ``python -m MODULE ARGUMENT…`` ends with; a negative number is the signal that ended it."""
        mask = os.umask(0)
        os.umask(mask)
        request = ("module", [module, *arguments], dict(os.environ), os.getcwd(), mask, _limits(), str(self.home))
        channel = _asked(self._address, request, 0, 1, 2)
        with channel:
            _number(channel)
            return os.waitstatus_to_exitcode(_number(channel))

    def start_reader(self, module: str) -> "Forked":
        """A process with this reader that waits for its task."""
        return _started_reader(self._address, module)

    @property
    def joining(self) -> str:
        """Code by which a new Python has its readings forked from here, too."""
        return (
            "import functools; import tests.prepared; from reconciler.kafka import reader_process; "
            f"started = functools.partial(tests.prepared._started_reader, {self._address!r}); "
            "reader_process.start_reader = started; "
        )

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        shutil.rmtree(self.directory)


@functools.cache
def _prepared() -> Prepared:
    return Prepared()


def prepared() -> Prepared:
    """The one of this process and of those forked from it later; ``tests/conftest.py`` starts and ends it."""
    with _ONE:  # a cache lets several threads make one each
        return _prepared()


def is_prepared() -> bool:
    """Whether anybody asked for it."""
    return bool(_prepared.cache_info().currsize)


def end() -> None:
    """End that one, if anybody asked for it; a process that was forked later leaves it to the first."""
    if is_prepared() and prepared().made_by == os.getpid():
        prepared().end()
        _prepared.cache_clear()


def search_path() -> str:
    """``PATH`` with ``reconciler`` in it, and with the other programs of the environment that runs the tests."""
    return os.pathsep.join((str(prepared().programs), str(Path(sys.executable).parent), os.environ["PATH"]))


class Forked:
    """What ``subprocess.Popen`` is to a reading."""

    def __init__(self, channel: socket.socket, task: int, reply: int) -> None:
        self.pid = _number(channel)
        self.returncode: int | None = None
        self.stdin, self.stdout, self._channel = os.fdopen(task, "wb"), os.fdopen(reply, "rb"), channel

    def poll(self) -> int | None:
        return self._ended(0.0)

    def wait(self) -> int | None:
        return self._ended(None)

    def kill(self) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it ends just now
                os.kill(self.pid, signal.SIGKILL)

    def _ended(self, seconds: float | None) -> int | None:
        """The exit status; waits for it so long, without ``seconds`` until it is there."""
        if self.returncode is None and select.select([self._channel], [], [], seconds)[0]:
            with self._channel:
                self.returncode = os.waitstatus_to_exitcode(_number(self._channel))
        return self.returncode


def _started_reader(address: str, module: str) -> Forked:
    from reconciler.system.process import child_environment

    (task, to_task), (from_reply, reply) = os.pipe(), os.pipe()
    request = ("reader", [module], child_environment(), os.getcwd(), 0o077, _limits(), "")
    channel = _asked(address, request, task, reply, 2)
    for theirs in (task, reply):
        os.close(theirs)
    return Forked(channel, to_task, from_reply)


def _limits() -> tuple[tuple[int, tuple[int, int]], ...]:
    return tuple((number, resource.getrlimit(number)) for number in _LIMITED)


def _asked(address: str, request: tuple[Any, ...], *streams: int) -> socket.socket:
    wanted = marshal.dumps(request)
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(address)
    socket.send_fds(channel, [_NUMBER.pack(len(wanted))], streams)
    channel.sendall(wanted)
    return channel


def _number(channel: socket.socket) -> int:
    read = channel.recv(_NUMBER.size, socket.MSG_WAITALL)
    assert read, "the process that others are forked from has ended"
    return int(_NUMBER.unpack(read)[0])


def _modules() -> Iterator[str]:
    """All of ours, and what they load; but for Spark's, which few commands need and which takes a second."""
    import reconciler

    for found in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
        if ".spark" not in found.name and ".fleet" not in found.name:
            yield found.name


def _make_ready() -> None:
    """Make what each process would make at its first use, half of the processor time of most commands."""
    for module in _modules():
        importlib.import_module(module)
    from reconciler import dataclass as definition
    from reconciler.manifest.parts.fields import ManifestModel
    from reconciler.model.characters import skeleton
    from reconciler.show.formats.html import environment

    importlib.import_module("tests.models.journal")
    for loaded in [one for name, one in sys.modules.items() if name.startswith("reconciler.")]:
        for kind in [one for one in vars(loaded).values() if isinstance(one, type)]:
            first = vars(kind).get("__init__")
            if first is not None and first.__qualname__.startswith(definition._first_init.__name__):
                made = definition._init(**inspect.getclosurevars(first).nonlocals)
                kind.__init__ = made  # type: ignore[misc]
    skeleton("a")

    models = [ManifestModel]
    for model in models:  # which grows
        models += model.__subclasses__()
        model.model_rebuild()
    _compile_messages()
    "localhost".encode("idna")  # as each look-up of a host does
    for template in environment().list_templates(extensions=["html"]):
        environment().get_template(template)


#: Requests of nearly every reading; each is compiled for its version when it is first sent, and so is its answer.
_COMMON: Final = ("ApiVersions", "SaslHandshake", "SaslAuthenticate", "Metadata", "DescribeAcls")


def _compile_messages() -> None:
    messages = [importlib.import_module(f"kafka.protocol.{name}") for name in ("admin", "metadata", "sasl")]
    for name in _COMMON:
        request, response = (
            next(vars(module)[name + end] for module in messages if name + end in vars(module))
            for end in ("Request", "Response")
        )
        for version in range(request.min_version, request.max_version + 1):
            flexible = request.flexible_version_q(version)
            request._struct.compiled_encode_into(version, compact=flexible, tagged=flexible)
            flexible = response.flexible_version_q(version)
            shape = {"compact": flexible, "tagged": flexible, "data_class": response[None]}
            response._struct.compiled_decode_from(version, **shape)


#: Of Linux's ``madvise``: large pages may be used, and are put together at once (6.1 and newer).
_MADV_HUGEPAGE: Final = 14
_MADV_COLLAPSE: Final = 25
_LARGE_PAGE: Final = 2 << 20


def _use_large_pages() -> None:
    """Put what lies in memory into large pages: a fork copies an entry for each page, and its end drops each.

    With small ones that is half of the shortest commands. Where the system has no such pages nothing changes.
    """
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for words in map(str.split, maps.read_text(encoding="utf-8").splitlines()):
        if words[1].startswith("rw") and words[5:] in ([], ["[heap]"]):
            first, end = (int(address, 16) for address in words[0].split("-"))
            start = -(-first // _LARGE_PAGE) * _LARGE_PAGE
            size = (end - start) // _LARGE_PAGE * _LARGE_PAGE
            for advice in (_MADV_HUGEPAGE, _MADV_COLLAPSE) if size > 0 else ():
                advise(start, size, advice)


class _Begun(NamedTuple):
    """A process that somebody waits for: until ``alive`` has no writer any more, or ``channel`` nobody at its end."""

    pid: int
    channel: socket.socket
    alive: int


def main(descriptor: int, address: str) -> None:
    """Fork a process whenever one is asked for, until nobody is there any more to ask."""
    _make_ready()
    gc.collect()
    gc.freeze()
    _use_large_pages()
    listener = socket.socket(fileno=descriptor)
    begun: list[_Begun] = []
    while True:
        waiting = [end for one in begun for end in (one.channel, one.alive)]
        ready = select.select([listener, 0, *waiting], [], [])[0]
        if 0 in ready:
            return
        for one in [one for one in begun if one.channel in ready or one.alive in ready]:
            begun.remove(one)
            _ended(one, killed=one.alive not in ready)
        if listener in ready:
            others = [end for one in begun for end in (one.channel, one.alive)]  # of those that have not ended just now
            started = _begin(listener.accept()[0], [listener, *others], address)
            if started is None:
                return  # in the process that was asked for, which has ended
            begun += started


def _ended(one: _Begun, *, killed: bool) -> None:
    """Tell how it ended. Who asked may be gone, and its process is then killed, as that of a cancelled job is."""
    if killed:
        os.kill(one.pid, signal.SIGKILL)
    status = os.waitpid(one.pid, 0)[1]
    os.close(one.alive)
    with one.channel, contextlib.suppress(OSError):
        one.channel.sendall(_NUMBER.pack(status))


def _begin(channel: socket.socket, others: list[Any], address: str) -> list[_Begun] | None:
    """The process that was asked for, and its pid to who asked; ``None`` in the process itself, at its end."""
    head, streams, *_ = socket.recv_fds(channel, _NUMBER.size, 3)
    wanted = b""
    while head and len(wanted) < _NUMBER.unpack(head)[0]:
        wanted += channel.recv(_NUMBER.unpack(head)[0] - len(wanted))
    if not wanted:
        channel.close()
        return []
    alive, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        for other in (channel, alive, *others):
            os.close(other if isinstance(other, int) else other.detach())
        _become(streams, address, *marshal.loads(wanted))  # noqa: S302 - the tests' own process wrote it
        return None
    for theirs in (*streams, held):
        os.close(theirs)
    with contextlib.suppress(OSError):
        channel.sendall(_NUMBER.pack(pid))
    return [_Begun(pid, channel, alive)]


def _become(  # noqa: PLR0917
    streams: list[int],
    address: str,
    kind: str,
    words: list[str],
    environment: dict[str, str],
    place: str,
    mask: int,
    limits: tuple[tuple[int, tuple[int, int]], ...],
    home: str,
) -> None:
    """The process that was asked for; a reader does not return. Its runs are followed into ``home``."""
    for resource_number, limit in limits:
        resource.setrlimit(resource_number, limit)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, given in enumerate(streams):
        os.dup2(given, number)
        os.close(given)
    os.chdir(place)
    os.umask(mask)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    if kind == "reader":
        _read(words[0])
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        stream = _stream(number, mode, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    from reconciler.kafka import reader_process
    from tests.models.journal import follow_into

    follow_into(Path(home))
    reader_process.start_reader = functools.partial(_started_reader, address)  # type: ignore[assignment]
    sys.argv = words if kind == "module" else ["reconciler", *words]
    try:
        if kind == "module":
            runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        else:
            from reconciler.cli.main import main as command

            command()
    except SystemExit as ended:
        _end(ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1)
    _end(0)


def _end(status: int) -> NoReturn:
    """As Python ends, but for taking apart every module, which takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(ValueError):
            stream.flush()
    os._exit(status)


def _read(module: str) -> NoReturn:
    from reconciler.kafka.reader_process import serve

    serve(getattr(importlib.import_module(f"reconciler.kafka.{module}"), _READERS[module]))
    raise AssertionError


def _stream(number: int, mode: str, like: TextIO) -> TextIO:
    """As Python opens its own."""
    return open(  # type: ignore[return-value]
        number,
        mode,
        encoding="utf-8",
        errors="strict" if number < 2 and _STREAMS in os.environ.items() else like.errors,
        buffering=1 if mode == "w" and (number == 2 or os.isatty(number)) else -1,
        closefd=False,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
