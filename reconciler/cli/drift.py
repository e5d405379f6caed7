"""``reconciler drift``: a plan that only reports."""

import datetime
import shlex

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import Exit, error, worst
from reconciler.cli.options import (
    as_of_option,
    cluster_option,
    connection_options,
    expand_option,
    listing_option,
    path_argument,
    start_reader,
)
from reconciler.results.output import OutputKind


@click.command("drift", short_help="Detect drift between manifests and a cluster")
@path_argument
@cluster_option()
@expand_option
@connection_options
@as_of_option
@listing_option("steps", "left")
def command(
    *,
    path: str,
    cluster: str | None,
    expand: bool,
    connection: ConnectionOptions,
    as_of: datetime.date | None,
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

    drift = run_drift(path, cluster, connection, as_of=as_of, tell=info_note)
    found = drift.plan
    checks = Checks(cluster_tests=drift.cluster_tests)
    print_plan(
        found,
        checks if drift.cluster_tests else None,
        expand=expand,
        output=output,
        kind=OutputKind.DRIFT,
        servers=drift.servers,
        where=_where(path, cluster),
    )
    if checks.stops:
        error("cluster tests failed")
    if drift.unjudged:
        error(drift.unjudged)
    return worst(
        Exit.ERROR if drift.unjudged else Exit.OK,
        Exit.FAILED_CHECK if checks.stops else Exit.OK,
        Exit.DIFFERENT if found.steps or found.skipped else Exit.OK,
    )


def _where(path: str, cluster: str | None) -> str:
    return shlex.join([path, *(["--cluster", cluster] if cluster else [])])
