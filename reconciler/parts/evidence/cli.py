"""``reconciler usage`` and ``tighten``: which access brokers' logs show in use, and manifests with no more."""

import datetime
import re
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import click

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.cli.change_options import Keeping, edit_options, guardrails_option
from reconciler.cli.console import CommandError, Exit, error, info_lines, out, out_json, progress, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.options import (
    CONNECTION,
    Date,
    as_of_option,
    cluster_option,
    gathered,
    offline_option,
    output_option,
    path_option,
    with_options,
)
from reconciler.cli.questions import state_options
from reconciler.dataclass import dataclass
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
from reconciler.parts.evidence.app.usage import usage
from reconciler.parts.evidence.show import tighten_lines, usage_document, usage_lines
from reconciler.parts.evidence.suggestion import Thresholds
from reconciler.parts.evidence.usage.cluster import UsageQuestion
from reconciler.parts.evidence.usage.message import Window
from reconciler.parts.evidence.usage.scan import Summary
from reconciler.results import OutputKind
from reconciler.results.tightened import TIGHTEN

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

#: ``--logs`` of one cluster, handed over as ``places``.
_logs_option = click.option(
    "--logs",
    "places",
    metavar="PLACE",
    multiple=True,
    required=True,
    help="Authorizer logs: a file, a directory, a pattern, or - for standard input. Repeatable.",
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
@_logs_option
@period_options
@replay_options
@state_options(past=False)
def usage_command(
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
    view, cluster_usage = usage(request, places, question, connection, replay=replay, tell=info_note)
    if output == "json":
        out_json(OutputKind.USAGE, {**view.document(), "usage": usage_document(cluster_usage)})
    else:
        out(usage_lines(view.words, [cluster_usage], Summary(), style_for(sys.stdout), shown=show))
    if cluster_usage.summary.broken:
        error(f"a log file could not be read to the end: {'; '.join(cluster_usage.summary.broken)}")
        return Exit.ERROR
    failed = cluster_usage.replay is not None and (cluster_usage.replay.fails or cluster_usage.replay.unclear)
    return Exit.FAILED_CHECK if failed else Exit.OK


# Options of ``tighten``: how much evidence is enough. Each bound is explained in ``docs/tighten.md``.

#: The bounds as they are typed.
_BOUNDS: Final = {bound.name.replace("_", "-"): bound.default for bound in fields(Thresholds)}
_ANY_AGE: Final = "any-age"


@dataclass(frozen=True, slots=True)
class Policy:
    """How much evidence is enough, and whether that of rules of unknown age is."""

    bounds: Thresholds = Thresholds()
    any_age: bool = False


class _PolicyItems(click.ParamType[tuple[tuple[str, int], ...]]):
    """``days=30,any-age``."""

    name = "policy"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The parts as names and numbers, or fail with the bounds that there are."""
        if isinstance(value, tuple):
            return value
        return tuple(map(self._item, str(value).split(",")))

    def _item(self, text: str) -> tuple[str, int]:
        name, _, number = text.strip().partition("=")
        if name == _ANY_AGE and not number:
            return name, 1
        if name not in _BOUNDS or not re.fullmatch("[0-9]{1,6}", number):
            advice = f"bounds are: {', '.join(_BOUNDS)}; {_ANY_AGE} takes no number"
            raise CommandError(f"--policy {text}: write BOUND=NUMBER, such as days=30", advice, Exit.USAGE)
        return name, int(number)


def _policy(_: click.Context, __: click.Parameter, given: tuple[tuple[tuple[str, int], ...], ...]) -> Policy:
    bounds = [item for items in given for item in items]
    numbers = {name.replace("-", "_"): number for name, number in bounds}
    if len(numbers) < len(bounds):
        twice = next(name for name, times in Counter(name for name, _ in bounds).items() if times > 1)
        raise CommandError(f"--policy has {twice} more than once", "give each bound once", Exit.USAGE)
    any_age = bool(numbers.pop(_ANY_AGE.replace("-", "_"), 0))
    return Policy(Thresholds(**numbers), any_age)


#: ``--policy``, of ``fleet tighten`` too.
policy_option = click.option(
    "--policy",
    metavar="BOUND=NUMBER,…",
    multiple=True,
    type=_PolicyItems(),
    callback=_policy,
    help=f"How much evidence is enough; {_ANY_AGE} also narrows rules that may be younger than the logs.  "
    f"[default: {','.join(f'{name}={number}' for name, number in _BOUNDS.items())}]",
)


_STATE = with_options(
    (
        *gathered(
            "request",
            StateRequest,
            path_option,
            cluster_option(needed=False),
            offline_option,
            guardrails_option,
        ),
        *CONNECTION,
        *gathered("request", StateRequest, as_of_option),
        output_option,
    )
)


@click.command("tighten", short_help="Narrow access to what the brokers' logs show in use")
@_logs_option
@period_options
@policy_option
@click.option(
    "--stage",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Propose nothing yet: keep the proposal in this file, or say what the one in it would have refused since.",
)
@click.option(
    "--not-before", metavar="DATE", type=Date(), help="With a new --stage: the first day on which to propose the edit."
)
@click.option("--limit", "show", type=click.IntRange(0), default=20, show_default=True, help="Entries shown per list.")
@edit_options
@_STATE
def tighten_command(
    *,
    places: tuple[str, ...],
    since: datetime.date | None,
    until: datetime.date | None,
    policy: Policy,
    stage: str | None,
    not_before: datetime.date | None,
    show: int,
    keeping: Keeping,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Remove the access that authorizer logs show unused, and narrow what was used in part.

    You see the evidence, what stays and why, and get a patch; --write writes it. Before anything is shown it is
    proven: nobody gains access, and every access that was seen is decided as before. DENYs and rules with keep are
    never touched. For many clusters: fleet tighten. Exit 3 if the logs are too thin, or a stage would have refused
    something.
    """
    check_period(since, until)
    options = TightenOptions(Window(since, until), policy.bounds, policy.any_age)
    begun = stage is not None and Path(stage).exists()
    _check_stage(stage, not_before, keeping, begun=begun)
    if stage is not None and begun:
        if "-" in places:
            raise CommandError("a stage reads its logs twice", "give files to --logs", Exit.USAGE)
        watched = staged(request, places, stage, options, connection, tell=info_note)
        return _finish(watched.tightening, keeping, output, show, watched)
    tightening = tighten(request, places, options, connection, tell=info_note)
    if stage is None or not_before is None:
        return _finish(tightening, keeping, output, show)
    status = _finish(tightening, None, output, show)
    if tightening.narrowings:
        write_stage(stage, tightening, not_before, day_of(request))
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
    tightening: Tightening, keeping: Keeping | None, output: str, shown: int, watched: Staged | None = None
) -> int:
    """Say what was found, and hand the edit over; ``None``: there is nothing to hand over yet."""
    tightened = tighten_output(tightening, watched)
    info_lines(tighten_lines(tightened, style_for(sys.stderr), shown=shown))
    document = {"tightened": TIGHTEN.write(tightened)}
    if keeping is None:
        if output == "json":
            out_json(OutputKind.TIGHTEN, document)
    else:
        words = f"Narrow access on {tightening.cluster} to what was used"
        keep(
            OutputKind.TIGHTEN,
            tightening.edit,
            keeping,
            message=words,
            output=output,
            nothing="Nothing to tighten.",
            extra=document,
        )
    if tightening.summary.broken:
        error(f"a log file could not be read to the end: {'; '.join(tightening.summary.broken)}")
        return Exit.ERROR
    refused = watched is not None and watched.shadow.refused
    return Exit.FAILED_CHECK if tightening.thin or refused else Exit.OK
