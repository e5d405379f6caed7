"""``reconciler usage``: which ACLs of one cluster its brokers' logs show in use."""

import datetime
import sys

import click

from reconciler.cli.console import error, out, out_json, style_for
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.questions import state_options
from reconciler.cli.usage_options import check_period, period_options, replay_options
from reconciler.workflow.options import ConnectionOptions, StateRequest


@click.command("usage", short_help="Find unused ACLs in the brokers' logs")
@click.option(
    "--logs",
    "places",
    metavar="PLACE",
    multiple=True,
    required=True,
    help="Authorizer logs: a file, a directory, a pattern, or - for standard input. Repeatable.",
)
@period_options
@replay_options
@state_options()
def command(
    *,
    places: tuple[str, ...],
    since: datetime.date | None,
    until: datetime.date | None,
    replay: bool,
    repeats: int,
    show: int,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Evaluate authorizer logs of one cluster: which bindings were used, which refusals repeat.

    Without --cluster, the answer is about what is declared. With --plan or --replay, exit 3 if an access that was seen
    would fail or cannot be decided. Exit 1 if a log could not be read completely. For many clusters: fleet usage.
    """
    check_period(since, until)
    if replay and request.plan is not None:
        raise CommandError("--plan and --replay are two changes", "give one of them", Exit.USAGE)
    from reconciler.cli.notes import info_note
    from reconciler.fleet.usage import Summary, UsageQuestion, Window
    from reconciler.report.usage_json import usage_document
    from reconciler.report.usage_text import usage_lines
    from reconciler.workflow import usage

    question = UsageQuestion(Window(since, until), repeats)
    view, found = usage(request, places, question, connection, replay=replay, tell=info_note)
    if output == "json":
        out_json({**view.document(), "usage": usage_document(found)})
    else:
        out(usage_lines(view.words, [found], Summary(), style_for(sys.stdout), shown=show))
    if found.summary.broken:
        error(f"a log file could not be read to the end: {'; '.join(found.summary.broken)}")
        return Exit.ERROR
    failed = found.replay is not None and (found.replay.fails or found.replay.unclear)
    return Exit.FAILED_CHECK if failed else Exit.OK
