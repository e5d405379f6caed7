"""``reconciler drift``: a plan that only reports."""

import dataclasses
import datetime

import click

from reconciler.cli.exits import Exit
from reconciler.cli.options import (
    PlanningOptions,
    Reach,
    as_of_option,
    cluster_option,
    connection_options,
    expand_option,
    output_option,
    path_argument,
)
from reconciler.cli.plan import print_plan
from reconciler.cli.planning import make_plan


@click.command("drift", short_help="Report how a cluster differs from the manifests")
@path_argument
@cluster_option()
@expand_option
@connection_options
@as_of_option
@output_option
def command(*, path: str, cluster: str, expand: bool, reach: Reach, as_of: datetime.date | None, output: str) -> int:
    """Report every difference between the manifests below PATH and a cluster; exit 2 if there is one.

    Nothing is written. Bindings that nobody declared are shown as deletions, whether or not a plan may delete.
    """
    planned = make_plan(path, cluster, reach, PlanningOptions(as_of=as_of, allow_deletes=True))
    # A report refuses nothing: guards speak when somebody plans to change the cluster.
    report = dataclasses.replace(planned, plan=dataclasses.replace(planned.plan, refusals=()))
    print_plan(report, None, expand=expand, output=output, command="drift")
    return Exit.DIFFERENT if planned.plan.steps or planned.plan.left else Exit.OK
