"""``reconciler test``: decide the AccessTests, on what is declared or on a cluster."""

import datetime
import sys

import click

from reconciler.app.options import ConnectionOptions, PastReadings, StateRequest
from reconciler.app.test import TestedAccess, run_tests
from reconciler.cli.change_options import base_option, guardrails_option
from reconciler.cli.console import CommandError, Exit, out, out_json, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.options import (
    as_of_option,
    cluster_option,
    connection_options,
    offline_option,
    output_option,
    past_options,
    path_argument,
    with_options,
)
from reconciler.model.characters import counted, safe
from reconciler.results.output import OutputKind
from reconciler.show.claims import claims_lines, cluster_test_lines, test_document
from reconciler.show.review import guardrail_lines, together


@click.command("test", short_help="Run access tests against manifests or a live cluster")
@path_argument
@cluster_option(needed=False)
@offline_option
@click.option(
    "--as-is", is_flag=True, help="With --cluster: test the live bindings as they are, without the manifests."
)
@click.option("--all", "all_of_them", is_flag=True, help="Also show the tests that pass.")
@connection_options
@guardrails_option
@base_option
@as_of_option
@with_options(past_options)
@output_option
def command(
    *,
    path: str,
    cluster: str | None,
    offline: bool,
    as_is: bool,
    all_of_them: bool,
    connection: ConnectionOptions,
    guardrails: str | None,
    base: str | None,
    as_of: datetime.date | None,
    store: PastReadings | None,
    audit: tuple[str, ...],
    output: str,
) -> int:
    """Run the access tests below PATH over every name, principal and host that exists or could exist.

    Without --cluster, they run on what is declared for each cluster; with it, on the live bindings with those in scope
    replaced by what is declared, and cluster tests run on what the brokers tell. Exit 3 if a test fails or is
    undecided, unless it is a warning or excepted. With --store, today's tests run on the bindings of then.
    """
    if as_is and (cluster is None or offline):
        raise CommandError("--as-is is about a live cluster", "add --cluster NAME", Exit.USAGE)
    request = StateRequest(path, cluster, offline, None, as_of, guardrails, store, audit)
    decided = run_tests(request, connection, as_is=as_is or store is not None, base=base, tell=info_note)
    if output == "json":
        out_json(OutputKind.TEST, test_document(decided))
    else:
        _print(decided, all_of_them=all_of_them)
    stopping = any(result.stops for one in decided for result in one.claims) or any(
        result.stops for one in decided for result in one.cluster_tests
    )
    return Exit.FAILED_CHECK if stopping else Exit.OK


def _print(decided: list[TestedAccess], *, all_of_them: bool) -> None:
    style = style_for(sys.stdout)
    if not decided:
        out([style("warn", "no Cluster is declared: nothing can be tested with these manifests yet")])
    out(guardrail_lines(together(one.guardrails for one in decided), style))
    for view, results, _, of_cluster, unasked in decided:
        out([style("title", safe(view.words))])
        out(claims_lines(results, style, all_of_them=all_of_them))
        out(cluster_test_lines(of_cluster, style, all_of_them=all_of_them))
        if unasked:
            claims = counted(unasked, "claim")
            out([style("dim", f"{claims} about brokers and features not decided: add --cluster NAME")])
