"""Where output goes, and with which exit status a command ends.

Data goes to stdout, everything else to stderr; colour only where somebody looks. Each reason of a use case has an exit
status and the options that help.

Every command imports this module, so what only some of the functions need is imported in them.
"""

import atexit
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

import click

from reconciler.app import reasons
from reconciler.app.reasons import INTERRUPTED, WorkflowError
from reconciler.dataclass import dataclass
from reconciler.manifest.read.problem import problems_text
from reconciler.model.characters import Style, escape_invisible_json, plain, safe, shell_quoted
from reconciler.system.process import child_environment

if TYPE_CHECKING:
    from reconciler.results import OutputKind


# The standard streams, so that a command can rely on them whatever it was started with.
#
# Whoever starts a command may have closed them, may speak another encoding than the manifests', and may go away.

_STANDARD: Final = {"stdin": 0, "stdout": 1, "stderr": 2}


def steady() -> None:
    """Open what is closed, on nothing, and make files and pipes UTF-8: same results are the same bytes everywhere."""
    for name, number in _STANDARD.items():
        _occupy(number)
        mode = "r" if name == "stdin" else "w"
        # A standard stream is None where its number was closed; its number must not become that of a file of ours.
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            _encode(stream)


def dull(stream: TextIO) -> None:
    """Point a stream whose reader went away at nothing, so that closing it does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def leave(status: int) -> NoReturn:
    """End the process as Python does, but for taking apart what is in memory, which takes a tenth of a command's time.

    Whoever asked to be told of the end is; raises ``SystemExit`` where not all of the output could be written.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            sys.exit(status)  # waits for it
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(status)
    os._exit(status)


def _occupy(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free, which is this one


def _encode(stream: io.TextIOWrapper) -> None:
    """A terminal keeps its own encoding; what it cannot show is spelled out."""
    if stream.isatty():
        stream.reconfigure(errors="backslashreplace")
    else:
        stream.reconfigure(encoding="utf-8", errors="backslashreplace" if stream.writable() else "strict")


# Exit statuses, and the one exception that ends a command with one.
#
# If several hold, the first of ``PRECEDENCE`` is the answer.


class Exit(IntEnum):
    """What a command's exit status means."""

    OK = 0
    ERROR = 1
    DIFFERENT = 2
    FAILED_CHECK = 3
    STALE = 4
    REFUSED = 5
    LOCKED = 6
    USAGE = 64
    INTERRUPTED = 130


PRECEDENCE: Final = (
    Exit.USAGE,
    Exit.INTERRUPTED,
    Exit.ERROR,
    Exit.LOCKED,
    Exit.REFUSED,
    Exit.STALE,
    Exit.FAILED_CHECK,
    Exit.DIFFERENT,
    Exit.OK,
)


def worst(*statuses: Exit) -> Exit:
    """The status that a command ends with if all of these hold."""
    return min(statuses, key=PRECEDENCE.index, default=Exit.OK)


class CommandError(Exception):
    """Ends the command: what is wrong, what to do about it, and the status that says so."""

    def __init__(self, message: str, advice: str = "", status: Exit = Exit.ERROR) -> None:
        """``message`` and ``advice`` are sentences for a person."""
        super().__init__(message)
        self.message, self.advice, self.status = message, advice, status


# Lines that fit a terminal: broken between words, never within a name, and what goes on is indented.
#
# What goes to a file or a pipe stays whole, so that searches find it; ``COLUMNS`` breaks it there too.

#: No narrower than this, whatever a terminal says: a name has to fit somewhere.
_NARROWEST: Final = 40
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_INDENT: Final = 4


def width_of(stream: TextIO) -> int | None:
    """How many columns there are; ``None`` where nobody says."""
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdecimal():
        return None
    return max(_NARROWEST, shutil.get_terminal_size().columns)


def fitted(line: str, width: int | None) -> str:
    """``line`` in as many lines as it needs; colours do not count."""
    if width is None or _columns(line) <= width:
        return line
    bare = _COLOUR.sub("", line)
    margin = min(len(bare) - len(bare.lstrip(" ")) + _INDENT, width // 2)
    lines: list[str] = []
    last = ""
    # Spaces before a word belong to it, so that the gaps within a line stay as they are.
    for word in re.findall(r" *[^ ]+", line):
        if last and _columns(last) + _columns(word) > width:
            lines.append(last)
            last = f"{' ' * margin}{word.lstrip(' ')}"
        else:
            last += word
    return "\n".join([*lines, last])


def _columns(text: str) -> int:
    """How wide a terminal shows it: signs of East Asia take two columns."""
    bare = _COLOUR.sub("", text)
    if bare.isascii():
        return len(bare)
    from rich.cells import cell_len  # it takes time to import, and names are mostly ASCII

    return cell_len(bare)


_STYLES: dict[str, dict[str, Any]] = {
    "add": {"fg": "green"},
    "remove": {"fg": "red"},
    "change": {"fg": "yellow"},
    "warn": {"fg": "yellow", "bold": True},
    "error": {"fg": "red", "bold": True},
    "dim": {"dim": True},
    "title": {"bold": True},
}


COLORS: Final = ("auto", "always", "never")


@dataclass(slots=True)
class Settings:
    """How this run of the program speaks to whoever started it.

    ``document`` writes what ``--output`` other than text asks for, in pieces, ``rows`` if that is a table or
    CSV, ``table`` if people read it.
    ``expand``: nothing is folded.
    ``project`` is the project file, once it was read.
    ``held`` is text for a person that waits for a pager, ``None`` where it goes out at once.
    """

    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    no_pager: bool = False
    document: Callable[[Any], Iterable[str]] | None = None
    rows: bool = False
    table: bool = False
    expand: bool = False
    project: tuple[Any] | None = None
    held: list[str] | None = None


#: Of this run.
settings: Final = Settings()


@contextmanager
def own_settings() -> Iterator[None]:
    """Begin with the defaults, and restore what was there: the tour runs the program within the program."""
    before = {name: getattr(settings, name) for name in Settings.__slots__}
    _set(Settings())
    try:
        yield
    finally:
        _set(Settings(**before))


def _set(values: Settings) -> None:
    for name in Settings.__slots__:
        setattr(settings, name, getattr(values, name))


def coloured(stream: TextIO) -> bool:
    """Whether to colour: ``--color``, then ``NO_COLOR``, ``FORCE_COLOR``, then whether a person looks at it."""
    if settings.color != "auto":
        return settings.color == "always"
    if os.environ.get("NO_COLOR"):  # the empty text means nothing: no-color.org
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (watched(stream) and os.environ.get("TERM") != "dumb")


def watched(stream: TextIO) -> bool:
    """Whether a person looks at it: a terminal, and no job of continuous integration that has one."""
    return stream.isatty() and "CI" not in os.environ


def style_for(stream: TextIO) -> Style:
    """How to style text for ``stream``."""
    return _styled if coloured(stream) else plain


def out(lines: Iterable[str], *, whole: bool = False) -> None:
    """Data for a person, on stdout, as wide as the terminal; tables and files stay ``whole``."""
    width = None if whole else width_of(sys.stdout)
    out_text("".join(f"{fitted(line, width)}\n" for line in lines))


def out_text(text: str) -> None:
    """Data as it is, on stdout, or in a pager once the command is done."""
    if settings.held is None:
        write(text)
    else:
        settings.held.append(text)


def write(text: str) -> None:
    """Data as it is, on stdout; a reader who went away is the caller's business, a full disk is an error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        dull(sys.stdout)
        raise CommandError(f"the result cannot be printed: {error.strerror}") from error


#: So many tokens of JSON are written at once.
_TOKENS: Final = 1 << 14


def out_json(kind: "OutputKind", document: Mapping[str, Any]) -> None:
    """Data for a program, on stdout: one JSON document and its kind, keys in order; or another ``--output``."""
    from reconciler.results import output

    printed = output(kind, document)
    for piece in settings.document(printed) if settings.document is not None else _json_pieces(printed):
        write(piece)


def _json_pieces(document: Any) -> Iterator[str]:
    """JSON as text, bit by bit: the tokens of a long document take ten times as much memory as the text."""
    import json

    encoder = json.JSONEncoder(ensure_ascii=False, indent=2, sort_keys=True, default=lambda rows: rows.for_json())
    tokens = chain(encoder.iterencode(document), "\n")
    while text := "".join(islice(tokens, _TOKENS)):
        yield escape_invisible_json(text)


def progress(text: str) -> None:
    """What is being done, and what was done, on stderr; ``--quiet`` leaves it out."""
    if not settings.quiet:
        info(text)


def debug(text: str) -> None:
    """Where a value came from, what is asked and how long that took, on stderr, with ``--verbose``. No secrets."""
    if settings.verbose:
        info(style_for(sys.stderr)("dim", f"debug: {text}"))


def info(text: str) -> None:
    """Notes and warnings, on stderr. Where nobody hears them any more the work goes on: it must not end half-way."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        dull(sys.stderr)


def error(message: str, advice: str = "") -> None:
    """An error on stderr, and what to do about it."""
    info_lines((style_for(sys.stderr)("error", "error: ") + _lines(message)).split("\n"))
    if advice:
        info_lines(f"  {_lines(advice)}".split("\n"))


def info_lines(lines: Iterable[str]) -> None:
    """Lines for a person on stderr, as wide as the terminal."""
    width = width_of(sys.stderr)
    info("\n".join(fitted(line, width) for line in lines))


def _lines(text: str) -> str:
    """Whatever a message quotes, only its ends of lines count."""
    return "\n".join(map(safe, text.split("\n")))


def _styled(style: str, text: str) -> str:
    return click.style(text, **_STYLES[style])


def check_terminal(*, yes: bool) -> None:
    """End the command where nobody has agreed and nobody can be asked."""
    if not yes and not sys.stdin.isatty():
        raise CommandError("no terminal to ask on", "pass --yes", Exit.USAGE)


def ask(question: str, *, yes: bool) -> None:
    """End the command unless a person agrees, now or before; the question is safe to show."""
    check_terminal(yes=yes)
    if not yes and not click.confirm(question, err=True):
        raise CommandError("not confirmed: nothing was sent", status=Exit.INTERRUPTED)


# Long text in a pager, on a terminal only.


def show(text: str) -> None:
    """Show what does not fit the screen in ``$PAGER``, else ``less``; write it where nobody wants that."""
    wanted = not settings.no_pager and os.environ.get("TERM") != "dumb" and watched(sys.stdin) and watched(sys.stdout)
    long = text.count("\n") >= shutil.get_terminal_size().lines
    if not (wanted and long and _paged(text)):
        write(text)


def _paged(text: str) -> bool:
    words = shlex.split(os.environ.get("PAGER") or "less")
    program = shutil.which(words[0]) if words else None
    if program is None:
        return False
    # Colours, the text stays on the screen, no page for what fits; as git asks it.
    environment = {"LESS": "FRX", **child_environment("LESS", "MORE", "TERM")}
    with subprocess.Popen([program, *words[1:]], stdin=subprocess.PIPE, env=environment) as pager:
        while True:
            try:
                pager.communicate(text.encode("utf-8", "backslashreplace") if pager.stdin else None)
            except KeyboardInterrupt:  # the pager's, which it takes as the end of a search
                continue
            return True


# The permissions of the files that a command writes: its owner's alone, unless the operator says otherwise.
#
# Plans, reports, exports and results name principals and topics. The umask is set, and not the mode of each file, so
# that no file can be forgotten, whoever writes it.

_OWNER_ONLY: Final = 0o077
_MODE: Final = re.compile(r"0?[0-7]{3}")
_OWNERS_PART: Final = 0o600


class Mode(click.ParamType[int]):
    """Permissions in octal, of which the owner has at least reading and writing."""

    name = "mode"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse, or fail with what was expected."""
        mode = int(value, 8) if _MODE.fullmatch(value) else 0
        if mode & _OWNERS_PART != _OWNERS_PART:
            self.fail(
                f"{value!r} is not the mode of a file that its owner can write: write 600, 640 or 644", param, ctx
            )
        return mode


@contextmanager
def private_files() -> Iterator[None]:
    """Let files be readable by their owner only until the block ends."""
    before = os.umask(_OWNER_ONLY)
    try:
        yield
    finally:
        os.umask(before)


def set_mode(mode: int) -> None:
    """Let files have ``mode``; a directory can be entered by whoever may read the files in it."""
    os.umask(0o777 & ~(mode | (mode & 0o444) >> 2))


# An option's value in bytes, or in bytes a second.


class Bytes(click.ParamType[int]):
    """A number of bytes, with a unit if you like: ``50MiB``."""

    name = "bytes"

    def __init__(self, least: int) -> None:
        """Smaller values are refused."""
        self._least = least

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse, or fail with what was expected."""
        from reconciler.manifest.parts.fields import BYTES, amount, in_range

        try:
            return in_range(amount(value, BYTES), self._least, 2**63 - 1)
        except ValueError as error:
            self.fail(str(error), param, ctx)


_STATUSES: Final = {
    "": Exit.OK,
    INTERRUPTED: Exit.INTERRUPTED,
    reasons.RequestError.reason: Exit.USAGE,
    reasons.StaleError.reason: Exit.STALE,
    reasons.PlanRefusedError.reason: Exit.REFUSED,
    reasons.NotApprovedError.reason: Exit.REFUSED,
    reasons.FailedChecksError.reason: Exit.FAILED_CHECK,
    reasons.HeldError.reason: Exit.LOCKED,
    reasons.DeclinedError.reason: Exit.INTERRUPTED,
}
#: What helps where a reason has nothing to add to it.
_ADVICE: Final[dict[type[WorkflowError], str]] = {
    reasons.NoClusterError: "add --cluster NAME, or --cluster snapshot:FILE",
    reasons.PastTimeError: "ask what was there then, by the store of readings that serve keeps: add --store PLACE. "
    "Or ask a snapshot of that time (--cluster snapshot:FILE), or what is declared (--offline)",
    reasons.FutureTimeError: "leave --as-of out, or ask what is declared: without --cluster, or with --offline",
    reasons.OperatorConnectionError: "give --connections FILE, from the base branch or the environment",
    reasons.NoConnectionError: "declare bootstrapServers in its Cluster document, or give --connections FILE",
    reasons.UnsavedPlanError: "save it with --out PLAN, have it signed, and apply the file",
    reasons.FewerApprovalsError: "pass that number as --require-approvals, with the signatures",
    reasons.PastClusterError: "write --cluster NAME, without --plan",
    reasons.PastStoreError: "give --store PLACE, where serve keeps them",
    reasons.UnvouchedPlanError: "give --require-approvals NUMBER, or --require-id ID",
    reasons.ManifestAccessError: "revoke other access by an edit: reconciler revoke, merge, apply",
    reasons.LongerAccessError: "to end it sooner, use reconciler break-glass revoke",
    reasons.NotApprovedError: "sign it with reconciler approve or fleet approve, or with ssh-keygen -Y sign",
    reasons.FleetPlanGivenError: "give its directory: `reconciler fleet approve DIR`, `reconciler fleet apply DIR`",
    reasons.NoTopicsError: "begin with --defaults",
    reasons.UnknownFleetNameError: "give --fleet NAME",
    reasons.NoStoredRunError: "take one with `reconciler fleet snapshot`",
    reasons.NoJournalError: "give --journal FILE if it lies elsewhere",
    reasons.UnreadableJournalError: "move it away, or give --journal FILE: "
    "without it the plan still recognises its own finished steps",
}


def status_of(reason: str) -> Exit:
    """The exit status that a reason means, as the word that records have of it; any other is an error."""
    return _STATUSES.get(reason, Exit.ERROR)


def command_error(error: WorkflowError) -> CommandError:
    """A reason as the end of a command."""
    return CommandError(*_words(error), status_of(error.reason))


def _words(error: WorkflowError) -> tuple[str, str]:
    """Message and advice in terms of options, where the reason speaks of what an option gives."""
    message, advice = error.message, _ADVICE.get(type(error), error.advice)
    match error:
        case reasons.AmbiguousClusterError():
            how = "NAME=snapshot:FILE" if error.snapshot else "NAME, in a question about declarations with --offline"
            advice = f"write --cluster {how}; declared are: {', '.join(error.declared) or 'none'}"
        case reasons.UndeclaredClusterError(name=name) if ":" in name:
            advice = f"{advice}; an address belongs in bootstrapServers of a Cluster, and --cluster takes its name"
        case reasons.InvalidManifestsError() if settings.expand:
            message = problems_text(error.problems, expand=True)
        case reasons.NoAuditTopicError():
            message = "a snapshot has no topic for --audit topic/NAME"
        case reasons.RecordsError():
            advice = f"give --{error.kept} FILE, in a directory that can be written to"
        case reasons.StaleError() | reasons.NotApprovedError():
            message = "\n  ".join([message, *_details(error)])
        case reasons.HeldError(claims=claims) if claims:
            options = " ".join(f"--break-lease {shell_quoted(claim.holder)}" for claim in claims)
            advice = f"wait, or, if that run is known to be dead: {options}"
    return message, advice


def _details(error: reasons.StaleError | reasons.NotApprovedError) -> list[str]:
    """What was found, one thing a line."""
    if isinstance(error, reasons.NotApprovedError):
        return list(map(safe, error.others))
    return [
        f"{safe(item.subject)}: expected {safe(item.expected)}, found {safe(item.found)}" for item in error.findings
    ]
