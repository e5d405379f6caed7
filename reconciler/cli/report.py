"""``reconciler report``: results of other commands for pull requests, pipelines, dashboards and people."""

import datetime
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler import __version__
from reconciler.cli.console import paint_for, say_text, tell
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.notifying import Notification, notify, notify_options
from reconciler.cli.options import Reach
from reconciler.cli.wiring import now

if TYPE_CHECKING:
    from reconciler.report.results import Report

FORMATS: Final = (
    "text",
    "markdown",
    "summary",
    "github",
    "sarif",
    "junit",
    "gitlab-terraform",
    "gitlab-codequality",
    "cloudevents",
    "prometheus",
    "html",
    "json",
)


class Moment(click.ParamType[datetime.datetime]):
    """A moment as RFC 3339 spells it."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.datetime:
        """Parse, or fail with what was expected."""
        if isinstance(value, datetime.datetime):
            return value
        try:
            found = datetime.datetime.fromisoformat(value)
        except ValueError:
            found = datetime.datetime.min
        if found.tzinfo is None:
            self.fail(f"{value!r} is no moment: write 2026-11-21T08:00:00Z", param, ctx)
        return found


@click.command("report", short_help="Results as a comment, a page, SARIF, JUnit, metrics and more")
@click.argument("results", nargs=-1, required=True, metavar="RESULT...", type=click.Path(allow_dash=True))
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="What is written."
)
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False), help="Write it there instead of to stdout.")
@click.option(
    "--also",
    multiple=True,
    metavar="FORMAT=FILE",
    help="Write another format into a file, too; repeatable.",
)
@click.option(
    "--manifests",
    metavar="DIR",
    default="",
    help="Where the manifests stand in the repository, for formats that name files in it.",
)
@click.option(
    "--marker",
    metavar="NAME",
    default="",
    help="Name of the pull request's comment, and of its analysis in code scanning.  [default: clusters]",
)
@click.option("--at", metavar="TIME", type=Moment(), help="When the results were made.  [default: now]")
@notify_options
def command(
    *,
    results: tuple[str, ...],
    form: str,
    out: str | None,
    also: tuple[str, ...],
    manifests: str,
    marker: str,
    at: datetime.datetime | None,
    notification: Notification | None,
    reach: Reach,
) -> int:
    """Write what plan, drift, lint, test or validate printed with --output json, or saved plans; several become one.

    RESULT may be - for stdin. The exit status says whether the report could be made, not what is in it. With
    --notify-webhook, a Slack-compatible message is sent too; nothing is sent otherwise.
    """
    from reconciler.report.results import join

    made = at or now()
    texts = _texts(manifests, marker, made)
    others = [_other(text, texts) for text in also]
    report = join(_read(file) for file in results)
    for name, file in others:
        _write(texts[name](report), file)
    lines = texts[form](report)
    if out is None:
        say_text(lines)
    else:
        _write(lines, out)
    if notification is not None:
        notify(notification, report, reach, now())
    return Exit.OK


def _other(text: str, texts: "dict[str, Callable[[Report], str]]") -> tuple[str, str]:
    """``FORMAT=FILE`` as its two parts."""
    name, _, file = text.partition("=")
    if name not in texts or not file:
        raise CommandError(f"--also {text}: FORMAT=FILE is expected", f"formats are: {', '.join(texts)}", Exit.USAGE)
    return name, file


def _texts(manifests: str, marker: str, made: datetime.datetime) -> "dict[str, Callable[[Report], str]]":
    """How each format is written; options are checked whichever is chosen."""
    from reconciler.report.formats.annotations import annotations
    from reconciler.report.formats.cloudevents import cloudevents
    from reconciler.report.formats.document import report_json
    from reconciler.report.formats.gitlab import code_quality, terraform_counts
    from reconciler.report.formats.junit import junit
    from reconciler.report.formats.markdown import comment, marker_problem, step_summary
    from reconciler.report.formats.places import manifests_problem
    from reconciler.report.formats.prometheus import prometheus
    from reconciler.report.formats.sarif import sarif
    from reconciler.report.page import page

    for option, problem in (
        (f"--manifests {manifests}", manifests_problem(manifests)),
        (f"--marker {marker}", marker_problem(marker) if marker else None),
    ):
        if problem is not None:
            raise CommandError(f"{option}: {problem}", status=Exit.USAGE)
    return {
        "text": _text,
        "markdown": lambda report: comment(report, marker=marker),
        "summary": step_summary,
        "github": lambda report: annotations(report, manifests),
        "sarif": lambda report: sarif(report, __version__, manifests, marker),
        "junit": junit,
        "gitlab-terraform": terraform_counts,
        "gitlab-codequality": lambda report: code_quality(report, manifests),
        "cloudevents": lambda report: cloudevents(report, made),
        "prometheus": lambda report: prometheus(report, made),
        "html": lambda report: page(report, __version__),
        "json": report_json,
    }


def _text(report: "Report") -> str:
    from reconciler.report.formats.text import report_lines

    return "".join(f"{line}\n" for line in report_lines(report, paint_for(sys.stdout)))


def _read(file: str) -> "Report":
    """One result; a saved plan has to be as it was saved."""
    from reconciler.plan import PlanFileError, parse_plan
    from reconciler.report.results import ResultError, read_result

    text = _content(file)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{file} is not JSON: {error}", "it is what a command prints with --output json") from error
    try:
        if isinstance(document, dict) and "digest" in document:
            parse_plan(text)
        return read_result(document)
    except PlanFileError as error:
        raise CommandError(f"{file}: {error}", "plan again", Exit.STALE) from error
    except (ResultError, RecursionError) as error:
        raise CommandError(f"{file} cannot be reported: {error}") from error


def _content(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8")
    except FileNotFoundError:
        raise CommandError(f"there is no {file}", status=Exit.USAGE) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error


def _write(text: str, out: str) -> None:
    from reconciler.adapters.whole_files import write_whole

    try:
        write_whole(text, out)
    except OSError as error:
        raise CommandError(f"the report cannot be written: {error}") from error
    tell(f"wrote {out}")
