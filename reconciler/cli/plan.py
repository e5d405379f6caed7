"""``reconciler plan`` and ``drift``: compare, print and save; or only report."""

import datetime
import shlex
from dataclasses import replace
from typing import Final

import click

from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.cli.change_options import (
    GUARDRAILS,
    NEW_ACCESS,
    NEW_PATH,
    TRUNCATED,
    also_fail_on,
    base_option,
    check_comparable,
    planning_options,
    save_option,
)
from reconciler.cli.console import Exit, error, out, settings, worst
from reconciler.cli.options import (
    as_of_option,
    cluster_option,
    connection_options,
    listing_option,
    output_option,
    past_audit_option,
    path_argument,
    start_reader,
)
from reconciler.cli.parts import part_module
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.proposal import Plan
from reconciler.results.output import OutputKind

_FAIL_ON: Final = (NEW_ACCESS, NEW_PATH, GUARDRAILS, TRUNCATED)


@click.command("plan", short_help="Compare manifests with a cluster; print and save the plan")
@path_argument
@cluster_option()
@save_option
@click.option(
    "--certificate",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Save a certificate, by which check_plan.py proves the order of the ACLs without this program.",
)
@planning_options
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(_FAIL_ON),
    help="Exit 3 if anybody gains access or gets a password (new-access), if somebody could newly act as another "
    "principal (new-path), if the manifests do not only tighten the guardrails of --base, or ask for more than "
    "--guardrails allow (guardrails), or if not all rows of access are shown (truncated); the plan is saved anyway.",
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
    certificate: str | None,
    planning: PlanOptions,
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
    Exit 5 if a safety check refuses a change: it is left out with what waits for it, and the rest is saved. If a
    safety check refuses the plan as a whole, nothing is saved.
    """
    if GUARDRAILS in fail_on:
        check_comparable(base, planning.guardrails)
    start_reader(cluster)
    from reconciler.app.access_checks import checks_of
    from reconciler.app.plan import plan as run_plan
    from reconciler.app.validate import known_matters
    from reconciler.cli.notes import info_note
    from reconciler.cli.planned import answers, gate, left_out, print_plan, save, save_certificate, verdict

    fail_on = also_fail_on(fail_on, _FAIL_ON, base, planning.guardrails)
    planning = replace(planning, base=base)
    planned = run_plan(path, cluster, planning, connection, ask_broker=validate_with_broker, tell=info_note)
    known = known_matters(base or planning.guardrails, planned.plan.terms.cluster, planned.plan.as_of, planned.standing)
    checks = replace(checks_of(planned), known=known)
    print_plan(
        planned.plan, checks, kind=OutputKind.PLAN, expand=settings.expand, output=output, servers=planned.servers
    )
    saved = save_as is not None or certificate is not None
    status = worst(verdict(planned.plan, checks, saved=saved), answers(planned.plan, saved=saved))
    if status is Exit.OK and save_as is not None:
        save(planned.plan, save_as)
    if status is Exit.OK and certificate is not None:
        save_certificate(planned.plan, planned.live, certificate)
    different = Exit.DIFFERENT if detailed_exitcode and planned.plan.steps else Exit.OK
    status = worst(status, gate(planned.plan, checks, fail_on, whole=settings.expand or output == "json"))
    return worst(left_out(planned.plan), different) if status is Exit.OK else status


@click.command("drift", short_help="Detect drift between manifests and a cluster")
@path_argument
@cluster_option()
@connection_options
@as_of_option
@click.option(
    "--base",
    metavar="DIR",
    type=click.Path(exists=True),
    help="The manifests that were applied last: say which differences were merged since and wait for apply, and which "
    "are changes by hand.",
)
@click.option("--store", metavar="PLACE", help="Say since when ACLs differ, by the readings in this store.")
@past_audit_option
@click.option(
    "--logs", metavar="PLACE", multiple=True, help="With --store: authorizer logs, which show who altered the cluster."
)
@listing_option("steps", "left")
def drift_command(
    *,
    path: str,
    cluster: str | None,
    connection: ConnectionOptions,
    as_of: datetime.date | None,
    base: str | None,
    store: str | None,
    audit: tuple[str, ...],
    logs: tuple[str, ...],
    output: str,
) -> int:
    """Report every difference between the manifests below PATH and a cluster. Exit 2 if there is one.

    Nothing is written. It shows what is on the cluster and not declared, what is declared and missing, and what is
    different; then how to keep it and how to remove it. Exit 3 if a cluster test fails or is
    undecided, unless it is a warning or excepted. Exit 1 if something could not be compared, such as ACLs on a cluster
    without an authorizer.
    """
    start_reader(cluster)
    from reconciler.app.plan import drift as run_drift
    from reconciler.cli.notes import info_note
    from reconciler.cli.planned import print_plan
    from reconciler.show.claims import Checks

    drift = run_drift(path, cluster, connection, as_of=as_of, base=base, tell=info_note)
    found = drift.plan
    since, told = _since(found, store, audit, logs)
    checks = Checks(cluster_tests=drift.cluster_tests)
    print_plan(
        found,
        checks if drift.cluster_tests else None,
        expand=settings.expand,
        output=output,
        kind=OutputKind.DRIFT,
        servers=drift.servers,
        where=_where(path, cluster),
        more=told,
    )
    if since and output != "json":
        out(since)
    if checks.stops:
        error("cluster tests failed")
    if drift.unjudged:
        error(drift.unjudged)
    return worst(
        Exit.ERROR if drift.unjudged else Exit.OK,
        Exit.FAILED_CHECK if checks.stops else Exit.OK,
        Exit.DIFFERENT if found.steps or found.skipped else Exit.OK,
    )


def _since(
    plan: Plan, store: str | None, audit: tuple[str, ...], logs: tuple[str, ...]
) -> tuple[list[str], dict[str, object]]:
    """Since when the ACLs differ, in lines and as a field for programs; nothing without a store."""
    if store is None:
        return [], {}
    part = part_module("history", "drift --store")
    changes = [step.change for step in plan.steps] + [one.change for one in plan.skipped if one.change is not None]
    past = part.sources(store, audit, logs)
    lines, documents = part.drift_since(past, plan.terms.cluster, deleted_bindings(changes), created_bindings(changes))
    return lines, {"since": documents}


def _where(path: str, cluster: str | None) -> str:
    return shlex.join([path, *(["--cluster", cluster] if cluster else [])])
