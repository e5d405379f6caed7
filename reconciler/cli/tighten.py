"""``reconciler tighten``: least privilege from evidence, as an edit of the manifests."""

import datetime
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import error, info_lines, progress, style_for
from reconciler.cli.edit_options import Keeping, edit_options, keep
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.option_types import Date
from reconciler.cli.options import (
    CONNECTION,
    as_of_option,
    cluster_option,
    gathered,
    guardrails_option,
    output_option,
    path_option,
    with_options,
)
from reconciler.cli.tighten_options import any_age_option, given_thresholds, threshold_options
from reconciler.cli.usage_options import check_period, period_options
from reconciler.workflow.options import ConnectionOptions, StateRequest

if TYPE_CHECKING:
    from reconciler.workflow.tightening.proposal import Tightening
    from reconciler.workflow.tightening.staging import Staged

_STATE = with_options(
    (
        *gathered(
            "request",
            StateRequest,
            path_option,
            cluster_option(needed=False),
            click.option(
                "--offline", is_flag=True, help="With --cluster: use only what is declared for it; do not connect."
            ),
            guardrails_option,
        ),
        *CONNECTION,
        *gathered("request", StateRequest, as_of_option),
        output_option,
    )
)


@click.command("tighten", short_help="Narrow access to what the brokers' logs show in use")
@click.option(
    "--logs",
    "places",
    metavar="PLACE",
    multiple=True,
    required=True,
    help="Authorizer logs: a file, a directory, a pattern, or - for standard input. Repeatable.",
)
@period_options
@threshold_options
@any_age_option
@click.option(
    "--stage",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Propose nothing yet: keep the proposal in this file, or say what the one in it would have refused since.",
)
@click.option(
    "--not-before", metavar="DATE", type=Date(), help="With a new --stage: the first day on which to propose the edit."
)
@click.option("--show", type=click.IntRange(0), default=20, show_default=True, help="Maximum entries shown per list.")
@edit_options
@_STATE
def command(
    *,
    places: tuple[str, ...],
    since: datetime.date | None,
    until: datetime.date | None,
    any_age: bool,
    stage: str | None,
    not_before: datetime.date | None,
    show: int,
    keeping: Keeping,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
    **bounds: int,
) -> int:
    """Remove the access that authorizer logs show unused, and narrow what was used in part.

    You see the evidence, what stays and why, and get a patch; --write writes it. Before anything is shown it is
    proven: nobody gains access, and every access that was seen is decided as before. DENYs and rules with keep are
    never touched. For many clusters: fleet tighten. Exit 3 if the logs are too thin, or a stage would have refused
    something.
    """
    check_period(since, until)
    from reconciler.cli.notes import info_note
    from reconciler.fleet.tighten import Thresholds
    from reconciler.fleet.usage import Window
    from reconciler.workflow.tightening.proposal import TightenOptions, day_of, tighten
    from reconciler.workflow.tightening.staging import staged, write_stage

    options = TightenOptions(Window(since, until), Thresholds(**given_thresholds(bounds)), any_age)
    begun = stage is not None and Path(stage).exists()
    _check_stage(stage, not_before, keeping, begun=begun)
    if stage is not None and begun:
        if "-" in places:
            raise CommandError("a stage reads its logs twice", "give files to --logs", Exit.USAGE)
        watched = staged(request, places, stage, options, connection, tell=info_note)
        return _finish(watched.found, keeping, output, show, watched)
    found = tighten(request, places, options, connection, tell=info_note)
    if stage is None or not_before is None:
        return _finish(found, keeping, output, show)
    status = _finish(found, None, output, show)
    if found.narrowings:
        write_stage(stage, found, not_before, day_of(request))
        progress(f"wrote {stage}: run the same command with newer logs; nothing is proposed before {not_before}")
    return status


def _check_stage(stage: str | None, not_before: datetime.date | None, keeping: Keeping, *, begun: bool) -> None:
    if stage is None and not_before is not None:
        raise CommandError("--not-before is for --stage", status=Exit.USAGE)
    if stage is not None and not begun and not_before is None:
        raise CommandError(
            f"{stage} is not there yet", "say with --not-before from which day on to propose", Exit.USAGE
        )
    if begun and not_before is not None:
        raise CommandError(f"{stage} is there already and names its day", "leave out --not-before", Exit.USAGE)
    if stage is not None and not begun and keeping != Keeping():
        raise CommandError("a new stage changes no manifests", "leave out --write and --branch", Exit.USAGE)


def _finish(
    found: "Tightening", keeping: Keeping | None, output: str, shown: int, watched: "Staged | None" = None
) -> int:
    """Say what was found, and hand the edit over; ``None``: there is nothing to hand over yet."""
    from reconciler.cli.console import out_json
    from reconciler.report.results.tightened import TIGHTEN
    from reconciler.report.tighten_text import tighten_lines
    from reconciler.workflow.tightening.output import tighten_output

    told = tighten_output(found, watched)
    info_lines(tighten_lines(told, style_for(sys.stderr), shown=shown))
    document = {"tightened": TIGHTEN.write(told)}
    if keeping is None:
        if output == "json":
            out_json(document)
    else:
        words = f"Narrow access on {found.cluster} to what was used"
        keep(found.edit, keeping, message=words, output=output, nothing="Nothing to tighten.", extra=document)
    if found.summary.broken:
        error(f"a log file could not be read to the end: {'; '.join(found.summary.broken)}")
        return Exit.ERROR
    refused = watched is not None and watched.shadow.refused
    return Exit.FAILED_CHECK if found.thin or refused else Exit.OK
