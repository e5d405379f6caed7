"""``reconciler cleanup``: remove what an apply that was cut off left on a cluster."""

import sys
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import say, say_json, tell
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.leftovers import age
from reconciler.cli.options import Reach, cluster_option, connection_options, output_option
from reconciler.report.paint import counted, safe

if TYPE_CHECKING:
    from reconciler.apply import LeaseClaim
    from reconciler.apply.cleanup import Leftover
    from reconciler.model import AclBinding


@click.command("cleanup", short_help="Remove what an apply that was cut off left behind")
@click.argument("path", metavar="[PATH]", required=False)
@cluster_option()
@click.option("--run", "only_run", metavar="RUN", help="Only what this run left.  [default: every run]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@connection_options
@output_option
def command(*, path: str | None, cluster: str, only_run: str | None, yes: bool, reach: Reach, output: str) -> int:
    """Find the bindings on names that only the reconciler uses, and remove them.

    A run that is still going on needs them: its barriers are then not reached, and nothing more is deleted by it.
    A bridge keeps a resource open until a run is through: apply the same plan again if you can, which removes it when
    nobody is interrupted by that.
    What a run left that holds the lease stays, unless --run names it.
    """
    from reconciler.adapters.clock import SystemClock
    from reconciler.apply.cleanup import clean_up, holding, leftovers
    from reconciler.apply.lease import time_of
    from reconciler.cli.reading import reached
    from reconciler.cli.state import read_raw
    from reconciler.ports import ClusterError, ReadRequest

    with reached(path, cluster, reach) as target:
        found = leftovers(read_raw(target.cluster, ReadRequest(all_topics=False)))
        wanted = [leftover for leftover in found if only_run in (None, leftover.run)]
        held = (
            [] if only_run else [claim for leftover in wanted if (claim := holding(leftover, time_of(SystemClock())))]
        )
        wanted = [leftover for leftover in wanted if leftover.run not in {claim.run for claim in held}]
        _tell_held(held)
        if output == "text":
            say(_lines(wanted))
        if wanted:
            _ask(wanted, target.name, yes=yes)
        try:
            left = clean_up(target.cluster, wanted, SystemClock()) if wanted else ()
        except ClusterError as error:
            raise CommandError(f"whether all is gone is not known: {error}", error.advice) from error
    if output == "json":
        say_json(
            {
                "runs": [_document(leftover) for leftover in wanted],
                "left": [str(binding) for binding in left],
                "held": [{"run": claim.run, "holder": claim.holder} for claim in held],
            }
        )
    elif wanted:
        say(_verdict(left))
    return Exit.ERROR if left else Exit.OK


def _tell_held(held: "list[LeaseClaim]") -> None:
    for claim in held:
        until = f"until {claim.until}" if claim.until else "for ever"
        tell(f"run {safe(claim.run)} of {safe(claim.holder)} holds the lease {until}: left alone")


def _ask(wanted: "list[Leftover]", name: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("nobody can be asked here, because there is no terminal", "give --yes", Exit.USAGE)
    many = counted(sum(len(leftover.bindings) + len(leftover.bridges) for leftover in wanted), "binding")
    if not click.confirm(f"Remove {many} from cluster {safe(name)}?", err=True):
        raise CommandError("not confirmed: nothing was sent", status=Exit.INTERRUPTED)


def _lines(wanted: "list[Leftover]") -> list[str]:
    if not wanted:
        return ["Nothing is left of any run."]
    lines = []
    for leftover in wanted:
        lines.append(f"Left by run {safe(leftover.run)}{age(leftover)}:")
        lines += [f"  - bridge: {safe(str(bridge))}" for bridge in leftover.bridges]
        lines += [f"  - {safe(str(binding))}" for binding in leftover.bindings]
    return lines


def _verdict(left: "tuple[AclBinding, ...]") -> list[str]:
    return ["Removed."] if not left else [f"  still there: {safe(str(binding))}" for binding in left]


def _document(leftover: "Leftover") -> dict[str, object]:
    return {
        "run": leftover.run,
        "bridges": [str(bridge) for bridge in leftover.bridges],
        "bindings": [str(binding) for binding in leftover.bindings],
    }
