"""Where output goes: data to stdout, everything else to stderr; colour only where somebody looks."""

import json
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

import click

from reconciler.cli.exits import CommandError
from reconciler.cli.streams import dull
from reconciler.model.escape import escape_invisible_json
from reconciler.report.style import Style, plain, safe

_STYLES: dict[str, dict[str, Any]] = {
    "add": {"fg": "green"},
    "remove": {"fg": "red"},
    "change": {"fg": "yellow"},
    "warn": {"fg": "yellow", "bold": True},
    "error": {"fg": "red", "bold": True},
    "dim": {"dim": True},
    "title": {"bold": True},
}


def coloured(stream: TextIO) -> bool:
    """Whether colour helps: a terminal that has it, and neither ``NO_COLOR`` nor ``CI`` says otherwise."""
    able = stream.isatty() and os.environ.get("TERM") != "dumb"
    return able and "NO_COLOR" not in os.environ and "CI" not in os.environ


def style_for(stream: TextIO) -> Style:
    """How to style text for ``stream``."""
    return _styled if coloured(stream) else plain


def out(lines: Iterable[str]) -> None:
    """Data for a person, on stdout."""
    out_text("".join(f"{line}\n" for line in lines))


def out_text(text: str) -> None:
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
    """Data for a program, on stdout: one JSON document, keys in order."""
    out([escape_invisible_json(json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True))])


def info(text: str) -> None:
    """Progress and notes, on stderr. Where nobody hears them any more the work goes on: it must not end half-way."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        dull(sys.stderr)


def error(message: str, advice: str = "") -> None:
    """An error on stderr, and what to do about it."""
    info(style_for(sys.stderr)("error", "error: ") + _lines(message))
    if advice:
        info(f"  {_lines(advice)}")


def _lines(text: str) -> str:
    """Whatever a message quotes, only its ends of lines count."""
    return "\n".join(map(safe, text.split("\n")))


def _styled(style: str, text: str) -> str:
    return click.style(text, **_STYLES[style])
