"""``reconciler tighten``: least privilege from evidence, as an edit of the manifests."""

import datetime
import sys
from pathlib import Path

import click

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.cli.console import CommandError, Exit, error, info_lines, out_json, progress, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.options import (
    CONNECTION,
    Date,
    Keeping,
    as_of_option,
    cluster_option,
    edit_options,
    gathered,
    guardrails_option,
    output_option,
    path_option,
    with_options,
)
from reconciler.parts.edit.cli.options import keep
from reconciler.parts.evidence.app.tighten import (
    Staged,
    Tightening,
    TightenOptions,
    day_of,
    staged,
    tighten,
    tighten_output,
    write_stage,
)
from reconciler.parts.evidence.cli.usage import check_period, period_options
from reconciler.parts.evidence.show.tighten import tighten_lines
from reconciler.parts.evidence.tighten.suggestion import Thresholds
from reconciler.parts.evidence.usage.message import Window
from reconciler.results.output import OutputKind
from reconciler.results.tightened import TIGHTEN

# Options of ``tighten``: how much evidence is enough. Each default is explained in ``docs/tighten.md``.

_COUNT = click.IntRange(0)

any_age_option = click.option(
    "--any-age", is_flag=True, help="Narrow rules too of which no git history says that they are older than the logs."
)


def given_thresholds(given: dict[str, int]) -> dict[str, int]:
    """``min_days`` and ``max_names`` as ``days`` and ``names``."""
    return {name.partition("_")[2]: number for name, number in given.items()}


#: The thresholds, handed over by the names of :class:`Thresholds` with ``most_`` or ``min_``.
threshold_options = with_options(
    (
        click.option("--min-days", type=_COUNT, default=92, show_default=True, help="Days that the logs must cover."),
        click.option(
            "--max-silent-days",
            type=_COUNT,
            default=2,
            show_default=True,
            help="Days without a permitted access that are tolerated.",
        ),
        click.option(
            "--min-quarter-ends",
            type=_COUNT,
            default=1,
            show_default=True,
            help="Quarter ends, each with the day after, that must be inside.",
        ),
        click.option(
            "--max-stale-days", type=_COUNT, default=7, show_default=True, help="How long ago the logs may have ended."
        ),
        click.option(
            "--min-principal-days",
            type=_COUNT,
            default=10,
            show_default=True,
            help="Days on which a principal must have been seen to lose anything.",
        ),
        click.option(
            "--min-unseen-days",
            type=_COUNT,
            default=365,
            show_default=True,
            help="Days that the logs must cover for a principal that was never seen to lose anything.",
        ),
        click.option(
            "--max-unread", type=_COUNT, default=0, show_default=True, help="Unreadable lines that are tolerated."
        ),
        click.option(
            "--max-names",
            type=_COUNT,
            default=10,
            show_default=True,
            help="Names that may take the place of a prefix or a wildcard; with more it stays.",
        ),
        click.option(
            "--max-hosts",
            type=_COUNT,
            default=0,
            show_default=True,
            help="Hosts that may take the place of every host; 0: hosts stay.",
        ),
    )
)


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


def _finish(found: Tightening, keeping: Keeping | None, output: str, shown: int, watched: Staged | None = None) -> int:
    """Say what was found, and hand the edit over; ``None``: there is nothing to hand over yet."""
    told = tighten_output(found, watched)
    info_lines(tighten_lines(told, style_for(sys.stderr), shown=shown))
    document = {"tightened": TIGHTEN.write(told)}
    if keeping is None:
        if output == "json":
            out_json(OutputKind.TIGHTEN, document)
    else:
        words = f"Narrow access on {found.cluster} to what was used"
        keep(
            OutputKind.TIGHTEN,
            found.edit,
            keeping,
            message=words,
            output=output,
            nothing="Nothing to tighten.",
            extra=document,
        )
    if found.summary.broken:
        error(f"a log file could not be read to the end: {'; '.join(found.summary.broken)}")
        return Exit.ERROR
    refused = watched is not None and watched.shadow.refused
    return Exit.FAILED_CHECK if found.thin or refused else Exit.OK
