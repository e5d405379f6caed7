"""``reconciler usage``: which ACLs of one cluster its brokers' logs show in use."""

import datetime
import sys

import click

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.cli.console import CommandError, Exit, error, out, out_json, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.options import Date, with_options
from reconciler.cli.questions import state_options
from reconciler.parts.evidence.app.usage import usage
from reconciler.parts.evidence.show.usage import usage_document, usage_lines
from reconciler.parts.evidence.usage.cluster import UsageQuestion
from reconciler.parts.evidence.usage.message import Window
from reconciler.parts.evidence.usage.scan import Summary
from reconciler.results.output import OutputKind

# Options of ``usage`` and ``fleet usage``: which days of the logs count, and what is shown of them.

#: ``--since`` and ``--until``.
period_options = with_options(
    (
        click.option("--since", metavar="DATE", type=Date(), help="First day.  [default: the first in the logs]"),
        click.option("--until", metavar="DATE", type=Date(), help="Last day.  [default: the last in the logs]"),
    )
)

#: ``--logs`` of a fleet, handed over as ``places``.
fleet_logs_option = click.option(
    "--logs",
    "places",
    metavar="[NAME=]PLACE",
    multiple=True,
    required=True,
    help="Logs of cluster NAME: a file, a directory, a pattern or an address. Without NAME=: a directory with one "
    "subdirectory per cluster; other files in it belong to the clusters that their events name. Repeatable.",
)

#: ``--replay``, ``--repeats`` and ``--show``.
replay_options = with_options(
    (
        click.option("--replay", is_flag=True, help="Replay the accesses on what the manifests would change."),
        click.option(
            "--repeats",
            type=click.IntRange(1),
            default=2,
            show_default=True,
            help="Minimum number of times a refusal occurred.",
        ),
        click.option(
            "--limit",
            "show",
            type=click.IntRange(0),
            default=20,
            show_default=True,
            help="Lines shown per list.",
        ),
    )
)


def check_period(since: datetime.date | None, until: datetime.date | None) -> None:
    """A period that ends before it begins would find nothing, and look like logs without events."""
    if since is not None and until is not None and since > until:
        raise CommandError(f"--since {since} is after --until {until}", status=Exit.USAGE)


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
@state_options(past=False)
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
    question = UsageQuestion(Window(since, until), repeats)
    view, found = usage(request, places, question, connection, replay=replay, tell=info_note)
    if output == "json":
        out_json(OutputKind.USAGE, {**view.document(), "usage": usage_document(found)})
    else:
        out(usage_lines(view.words, [found], Summary(), style_for(sys.stdout), shown=show))
    if found.summary.broken:
        error(f"a log file could not be read to the end: {'; '.join(found.summary.broken)}")
        return Exit.ERROR
    failed = found.replay is not None and (found.replay.fails or found.replay.unclear)
    return Exit.FAILED_CHECK if failed else Exit.OK
