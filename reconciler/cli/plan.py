"""``reconciler plan`` and ``drift``: compare, print and save; or only report."""

import datetime
from dataclasses import replace
from typing import Final

import click

from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.cli import change_options, options
from reconciler.cli.change_options import GUARDRAILS, NEW_ACCESS, NEW_PATH, TRUNCATED

_FAIL_ON: Final = (NEW_ACCESS, NEW_PATH, GUARDRAILS, TRUNCATED)


@click.command("plan", short_help="Compare manifests with a cluster; print and save the plan")
@options.path_argument
@options.cluster_option()
@change_options.save_option
@click.option(
    "--certificate",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Save a certificate, by which check_plan.py proves the order of the ACLs without this program.",
)
@change_options.planning_options
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(_FAIL_ON),
    help="Exit 3 if anybody gains access or gets a password (new-access), if somebody could newly act as another "
    "principal (new-path), if the manifests do not only tighten the guardrails of --base, or ask for more than "
    "--guardrails allow (guardrails), or if not all rows of access are shown (truncated); the plan is saved anyway.",
)
@change_options.base_option
@click.option(
    "--validate-with-broker",
    is_flag=True,
    help="Let the cluster validate each topic step, including its policies, without effect.",
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit 2 if there is something to do.")
@options.connection_options
@options.output_option
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
        change_options.check_comparable(base, planning.guardrails)
    options.start_reader(cluster)
    from reconciler.cli.planned import report_plan

    return report_plan(
        path,
        cluster,
        replace(planning, base=base),
        connection,
        save_as=save_as,
        certificate=certificate,
        fail_on=change_options.also_fail_on(fail_on, _FAIL_ON, base, planning.guardrails),
        ask_broker=validate_with_broker,
        detailed_exitcode=detailed_exitcode,
        output=output,
    )


@click.command("drift", short_help="Detect drift between manifests and a cluster")
@options.path_argument
@options.cluster_option()
@options.connection_options
@options.as_of_option
@click.option(
    "--base",
    metavar="DIR",
    type=click.Path(exists=True),
    help="The manifests that were applied last: say which differences were merged since and wait for apply, and which "
    "are changes by hand.",
)
@click.option("--store", metavar="PLACE", help="Say since when ACLs differ, by the readings in this store.")
@options.past_audit_option
@click.option(
    "--logs", metavar="PLACE", multiple=True, help="With --store: authorizer logs, which show who altered the cluster."
)
@options.listing_option("steps", "left")
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
    options.start_reader(cluster)
    from reconciler.cli.planned import report_drift

    return report_drift(path, cluster, connection, (store, audit, logs), as_of=as_of, base=base, output=output)
