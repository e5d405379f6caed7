"""``reconciler show``: print a saved plan, and verify it."""

import sys

import click

from reconciler.app.options import ConnectionOptions
from reconciler.app.records import saved_plan
from reconciler.app.show import NOT_VERIFIED, verify
from reconciler.cli.console import CommandError, Exit, out, out_json, settings, style_for, watched
from reconciler.cli.notes import info_note
from reconciler.cli.options import (
    cluster_option,
    connection_options,
    optional_path_argument,
    output_option,
)
from reconciler.results.output import OutputKind
from reconciler.show.plan import plan_lines, plan_report
from reconciler.show.review import verification_document, verification_lines


@click.command("show", short_help="Print a saved plan, and verify it")
@click.argument("plan_file", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@optional_path_argument
@cluster_option(needed=False)
@click.option("--guardrails", metavar="DIR", help="The guardrails that the plan was made under.")
@click.option("--base", metavar="DIR", help="The base that the plan's guardrails were compared with.")
@connection_options
@output_option
def command(
    *,
    plan_file: str,
    path: str | None,
    cluster: str | None,
    guardrails: str | None,
    base: str | None,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Print a saved plan. An altered file is refused.

    Whoever can write the file can write false access rows into it. With --cluster, the plan is made again from PATH and
    the cluster, or a snapshot of it, and compared: status 4 if anything differs that its id binds. Without it, the
    plan is marked as not verified.
    """
    plan, digest = saved_plan(plan_file)
    found = NOT_VERIFIED
    if cluster is not None:
        found = verify(
            plan,
            path or connection.default_path,
            cluster,
            connection,
            guardrails=guardrails,
            base=base,
            tell=info_note,
        )
    elif path or guardrails or base:
        raise CommandError("PATH, --guardrails and --base count with --cluster only", "add --cluster NAME", Exit.USAGE)
    if output == "json":
        verification = verification_document(found.cluster, found.differences)
        out_json(OutputKind.SHOW, {**plan_report(plan), "fileDigest": digest, "verification": verification})
    else:
        style = style_for(sys.stdout)
        out(verification_lines(found.cluster, found.differences, style))
        out(plan_lines(plan, style, expand=settings.expand, short_id=watched(sys.stdout)))
        out([style("dim", digest)])
    return Exit.STALE if found.differences else Exit.OK
