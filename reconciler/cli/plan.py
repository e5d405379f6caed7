"""``reconciler plan``: compare, print, save."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.cli.console import (
    CommandError,
    Exit,
    error,
    out,
    out_json,
    progress,
    settings,
    style_for,
    watched,
    worst,
)
from reconciler.cli.options import (
    also_fail_on,
    base_option,
    cluster_option,
    connection_options,
    expand_option,
    output_option,
    path_argument,
    planning_options,
    start_reader,
)
from reconciler.results.output import OutputKind

if TYPE_CHECKING:
    from reconciler.plan.proposal import Plan
    from reconciler.show.claims import Checks

_NEW_ACCESS: Final = "new-access"
_GUARDRAILS: Final = "guardrails"
_TRUNCATED: Final = "truncated"
_FAIL_ON: Final = (_NEW_ACCESS, _GUARDRAILS, _TRUNCATED)


@click.command("plan", short_help="Compare manifests with a cluster; print and save the plan")
@path_argument
@cluster_option()
@click.option("--out", "save_as", metavar="FILE", type=click.Path(dir_okay=False), help="Save the plan for apply.")
@planning_options
@expand_option
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(_FAIL_ON),
    help="Exit 3 if anybody gains access or gets a password (new-access), or if the manifests do not only tighten the "
    "guardrails of --base, or ask for more than --guardrails allow (guardrails), or if not all rows of access are "
    "shown (truncated); the plan is saved anyway.",
)
@base_option
@click.option(
    "--validate-with-broker",
    is_flag=True,
    help="Let the cluster validate each topic step, including its policies, without effect.",
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit 2 if there is something to do.")
@connection_options
@output_option
def command(
    *,
    path: str,
    cluster: str | None,
    save_as: str | None,
    planning: PlanOptions,
    expand: bool,
    fail_on: tuple[str, ...],
    base: str | None,
    validate_with_broker: bool,
    detailed_exitcode: bool,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Compare the manifests below PATH with a cluster and print the exact requests, in order.

    Nothing is written to the cluster. Deletions are skipped unless you pass --allow-deletes. Exit 3 if, after the plan,
    an access test fails, a file names what another team owns (Ownership), or a topic breaks a TopicPolicy. With
    --validate-with-broker, also if the cluster refuses a step; exit 1 if it gives no answer about one.
    Exit 5 if a guard refuses a change: it is left out with what waits for it, and the rest is saved. If a guard refuses
    the plan as a whole, nothing is saved.
    """
    from dataclasses import replace

    if _GUARDRAILS in fail_on:
        check_comparable(base, planning.guardrails)
    start_reader(cluster)
    from reconciler.app.access_tests import checks_of
    from reconciler.app.plan import plan as run_plan
    from reconciler.cli.notes import info_note

    fail_on = also_fail_on(fail_on, _FAIL_ON, base, planning.guardrails)
    planning = replace(planning, base=base)
    planned = run_plan(path, cluster, planning, connection, ask_broker=validate_with_broker, tell=info_note)
    checks = checks_of(planned)
    print_plan(planned.plan, checks, kind=OutputKind.PLAN, expand=expand, output=output, servers=planned.servers)
    saved = save_as is not None
    status = worst(verdict(planned.plan, checks, saved=saved), _answers(planned.plan, saved=saved))
    if status is Exit.OK and save_as is not None:
        save(planned.plan, save_as)
    different = Exit.DIFFERENT if detailed_exitcode and planned.plan.steps else Exit.OK
    status = worst(status, _gate(planned.plan, checks, fail_on, whole=expand or output == "json"))
    return worst(left_out(planned.plan), different) if status is Exit.OK else status


def print_plan(
    plan: "Plan",
    checks: "Checks | None",
    *,
    expand: bool,
    output: str,
    kind: OutputKind,
    servers: Sequence[str] = (),
    where: str = "PATH",
) -> None:
    """Print a plan to stdout, as text or as JSON of a kind; with what was checked of its end.

    ``servers`` are where the cluster was reached, for reports of the JSON; ``where`` are the arguments that a command
    needs to find manifests and cluster again.
    """
    if output == "json":
        from reconciler.show.claims import checks_document
        from reconciler.show.plan import plan_report

        if kind is OutputKind.DRIFT and settings.table:
            from reconciler.show.drift import drift_table

            out_json(kind, drift_table(plan))
            return
        more = {} if checks is None else checks_document(checks)
        out_json(kind, {**plan_report(plan, servers=servers), **more})
        return
    if settings.quiet:
        from reconciler.show.verdicts import quiet_line

        out([quiet_line(plan, drift=kind is OutputKind.DRIFT, stopped=checks is not None and checks.stops)])
        return
    from reconciler.show.claims import agreed_lines, checks_lines

    style = style_for(sys.stdout)
    agreed = () if checks is None else agreed_lines(checks, style, expand=expand)
    if kind is OutputKind.DRIFT:
        from reconciler.show.drift import drift_lines

        out(drift_lines(plan, style, expand=expand, agreed=agreed, where=where))
    else:
        from reconciler.show.plan import plan_lines

        out(plan_lines(plan, style, expand=expand, agreed=agreed, short_id=watched(sys.stdout)))
    if checks is not None:
        out(checks_lines(checks, style, expand=expand, agreed=False))


def verdict(plan: "Plan", checks: "Checks", *, saved: bool) -> Exit:
    """Say whether a guard, a claim or an owner stands against a plan; such a plan is not saved."""
    unsaved = ": the plan was not saved" if saved else ""
    if plan.stops:
        error(f"a guard refuses this plan{unsaved}")
        return Exit.REFUSED
    if checks.stops:
        error(f"policy checks failed{unsaved}")
        return Exit.FAILED_CHECK
    return Exit.OK


def left_out(plan: "Plan") -> Exit:
    """Say that guards refuse some of the changes, which keeps no other one from being saved and performed.

    Where something else speaks against the plan, the status is that of it: 5 with a saved plan says that nothing does.
    """
    if plan.stops or not plan.refused:
        return Exit.OK
    number = len(plan.refused)
    error(f"a guard refuses {number:,} change{'s' if number > 1 else ''}: the plan is the rest")
    return Exit.REFUSED


def _gate(plan: "Plan", checks: "Checks", fail_on: tuple[str, ...], *, whole: bool) -> Exit:
    from reconciler.show.review import cut_words

    failed = Exit.OK
    if _NEW_ACCESS in fail_on and plan.gives_access:
        error("somebody gains access, or gets a password (--fail-on new-access)")
        failed = Exit.FAILED_CHECK
    if _GUARDRAILS in fail_on and weakened(checks):
        failed = Exit.FAILED_CHECK
    if _TRUNCATED in fail_on and (plan.access.more_principals or cut_words(plan.access, expand=whole)):
        error("not all rows of access are shown (--fail-on truncated)")
        failed = Exit.FAILED_CHECK
    return failed


def check_comparable(base: str | None, guardrails: str | None) -> None:
    """``--fail-on guardrails`` without anything to compare with would never fail."""
    if base is None and guardrails is None:
        raise CommandError(
            "--fail-on guardrails needs something to compare with", "add --base DIR or --guardrails DIR", Exit.USAGE
        )


def weakened(*found: "Checks") -> bool:
    """Whether manifests loosen their guardrails, which is said."""
    if not any(checks.guardrails.weakened for checks in found):
        return False
    error("these manifests change rules that judge them (--fail-on guardrails)")
    return True


def save(plan: "Plan", file: str) -> None:
    """Write a plan, and say under which digest."""
    from reconciler.app.records import save_plan

    progress(f"saved {file}  {save_plan(plan, file)}")


def _answers(plan: "Plan", *, saved: bool) -> Exit:
    """Say whether the cluster refuses a step, or could not be asked about one; such a plan is not saved."""
    from reconciler.plan.review.topics import Ruling

    validation = plan.topics.validation
    if validation is None:
        return Exit.OK
    unsaved = ": the plan was not saved" if saved else ""
    refused, unknown = validation.count(Ruling.REFUSED), validation.count(Ruling.UNKNOWN)
    if refused:
        error(f"the cluster refuses {refused:,} of the steps{unsaved}")
    if unknown:
        error(f"the cluster gave no answer about {unknown:,} of the steps{unsaved}")
    return worst(Exit.FAILED_CHECK if refused else Exit.OK, Exit.ERROR if unknown else Exit.OK)
