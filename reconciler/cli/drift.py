"""``reconciler drift``: a plan that only reports."""

import datetime
import shlex

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import Exit, error, out, settings, worst
from reconciler.cli.options import (
    as_of_option,
    cluster_option,
    connection_options,
    listing_option,
    past_audit_option,
    path_argument,
    start_reader,
)
from reconciler.cli.parts import part_module
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.proposal import Plan
from reconciler.results.output import OutputKind


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
def command(
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
