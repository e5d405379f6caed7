"""``reconciler plan``: compare, print, save."""

import sys
from typing import TYPE_CHECKING, Final

import click

from reconciler.cli.agreements import Agreements, agreement_document, agreement_lines, agreements_behind
from reconciler.cli.console import complain, paint_for, say, say_json, tell
from reconciler.cli.exits import CommandError, Exit, worst
from reconciler.cli.options import (
    PlanningOptions,
    Reach,
    cluster_option,
    connection_options,
    expand_option,
    output_option,
    path_argument,
    planning_options,
)
from reconciler.cli.planning import Planned, make_plan

if TYPE_CHECKING:
    from reconciler.plan import Plan

_NEW_ACCESS: Final = "new-access"


@click.command("plan", short_help="Compare manifests with a cluster, print the ordered plan, save it")
@path_argument
@cluster_option()
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False), help="Save the plan, for apply.")
@planning_options
@expand_option
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice([_NEW_ACCESS]),
    help="Exit 3 if anybody gains access that they do not have now; the plan is saved all the same.",
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit 2 if there is something to do.")
@connection_options
@output_option
def command(
    *,
    path: str,
    cluster: str,
    out: str | None,
    planning: PlanningOptions,
    expand: bool,
    fail_on: tuple[str, ...],
    detailed_exitcode: bool,
    reach: Reach,
    output: str,
) -> int:
    """Compare the manifests below PATH with a cluster and print what would be sent, in order.

    Nothing is written to the cluster. Deletions are held back unless --allow-deletes asks for them. AccessTests are
    decided on the state that the plan makes: exit 3 if one fails, or a file names what another team owns (Ownership).
    """
    planned = make_plan(path, cluster, reach, planning)
    print_plan(planned, expand=expand, output=output)
    if planned.plan.refusals:
        complain("a guard refuses this plan" + (": it was not saved" if out else ""))
        return Exit.REFUSED
    if out is not None:
        save_plan(planned, out)
    return Exit.DIFFERENT if detailed_exitcode and planned.plan.steps else Exit.OK


def print_plan(planned: Planned, *, expand: bool, output: str, command: str = "plan") -> None:
    """Print a plan to stdout, as text or as JSON, which names the command."""
    if output == "json":
        from reconciler.report.plan_json import plan_report

        say_json(plan_report(planned.plan, command=command))
        return
    from reconciler.report.plan_text import plan_lines

    say(plan_lines(planned.plan, paint_for(sys.stdout), expand=expand))


def save_plan(planned: Planned, out: str) -> None:
    """Write a plan, and say under which digest."""
    from reconciler.adapters.plan_files import write_plan

    try:
        digest = write_plan(planned.plan, out)
    except OSError as error:
        raise CommandError(f"the plan cannot be saved: {error}") from error
    tell(f"saved {out}  {digest}")
