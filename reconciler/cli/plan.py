"""``reconciler plan``: compare, print, save."""

import sys
from typing import TYPE_CHECKING, Final

import click

from reconciler.cli.agreements import Agreements, agreement_document, agreement_lines, agreements_behind
from reconciler.cli.asking import answer_status
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
@click.option(
    "--validate-with-broker",
    is_flag=True,
    help="Ask the cluster what it would say to each step on a topic, its policies included; nothing is done.",
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
    validate_with_broker: bool,
    detailed_exitcode: bool,
    reach: Reach,
    output: str,
) -> int:
    """Compare the manifests below PATH with a cluster and print what would be sent, in order.

    Nothing is written to the cluster. Deletions are held back unless --allow-deletes asks for them. AccessTests are
    decided on the state that the plan makes: exit 3 if one fails, a file names what another team owns (Ownership), or
    topics break a TopicPolicy. With --validate-with-broker also if the cluster refuses a step; exit 1 if it gives no
    answer about one.
    """
    planned = make_plan(path, cluster, reach, planning, ask_broker=validate_with_broker)
    agreed = agreements_behind(planned, planned.plan.as_of)
    print_plan(planned, agreed, expand=expand, output=output)
    saved = out is not None
    status = worst(verdict(planned, agreed, saved=saved), answer_status(planned.plan, saved=saved))
    if status is Exit.OK and out is not None:
        save_plan(planned, out)
    different = Exit.DIFFERENT if detailed_exitcode and planned.plan.steps else Exit.OK
    return worst(status, _gate(planned.plan, fail_on), different)


def print_plan(
    planned: Planned, agreed: Agreements | None, *, expand: bool, output: str, command: str = "plan"
) -> None:
    """Print a plan to stdout, as text or as JSON, which names the command; with what was agreed about its end."""
    if output == "json":
        from reconciler.report.plan_json import plan_report

        more = {} if agreed is None else agreement_document(agreed)
        say_json({**plan_report(planned.plan, command=command), **more})
        return
    from reconciler.report.plan_text import plan_lines

    paint = paint_for(sys.stdout)
    say(plan_lines(planned.plan, paint, expand=expand, drift=command == "drift"))
    if agreed is not None:
        say(agreement_lines(agreed, paint))


def verdict(planned: Planned, agreed: Agreements, *, saved: bool) -> Exit:
    """Say whether a guard, a claim or an owner stands against a plan; such a plan is not saved."""
    unsaved = ": it was not saved" if saved else ""
    if planned.plan.refusals:
        complain(f"a guard refuses this plan{unsaved}")
        return Exit.REFUSED
    if agreed.stops:
        complain(f"this plan breaks what was agreed{unsaved}")
        return Exit.FAILED_CHECK
    return Exit.OK


def _gate(plan: "Plan", fail_on: tuple[str, ...]) -> Exit:
    from reconciler.plan import AccessChange

    if _NEW_ACCESS in fail_on and plan.access.change in (AccessChange.WIDENING, AccessChange.MIXED):
        complain("this plan gives somebody access that they do not have now (--fail-on new-access)")
        return Exit.FAILED_CHECK
    return Exit.OK


def save_plan(planned: Planned, out: str) -> None:
    """Write a plan, and say under which digest."""
    from reconciler.adapters.plan_files import write_plan

    try:
        digest = write_plan(planned.plan, out)
    except OSError as error:
        raise CommandError(f"the plan cannot be saved: {error}") from error
    tell(f"saved {out}  {digest}")
