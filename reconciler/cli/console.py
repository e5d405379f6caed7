"""Where output goes: data to stdout, everything else to stderr; colour only where somebody looks.

Every command imports this module, so what only some of the functions need is imported in them.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from reconciler.cli.exits import CommandError
from reconciler.cli.fitting import fitted, width_of
from reconciler.cli.streams import dull
from reconciler.dataclass import dataclass

if TYPE_CHECKING:
    from reconciler.report.style import Style

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


def style_for(stream: TextIO) -> "Style":
    """How to style text for ``stream``."""
    from reconciler.report.style import plain

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


def out_json(document: Any) -> None:
    """Data for a program, on stdout: one JSON document, keys in order; or what else ``--output`` asks for."""
    for piece in settings.document(document) if settings.document is not None else (_json(document),):
        write(piece)


def _json(document: Any) -> str:
    import json

    from reconciler.model.escape import escape_invisible_json

    return escape_invisible_json(json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True)) + "\n"


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
    from reconciler.report.style import safe

    return "\n".join(map(safe, text.split("\n")))


def _styled(style: str, text: str) -> str:
    return click.style(text, **_STYLES[style])
