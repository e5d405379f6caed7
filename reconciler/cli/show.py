"""``reconciler show``: print a saved plan."""

import sys

import click

from reconciler.cli.console import out, out_json, style_for
from reconciler.cli.exits import Exit
from reconciler.cli.options import expand_option, output_option


@click.command("show", short_help="Print a saved plan")
@click.argument("plan_file", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@expand_option
@output_option
def command(*, plan_file: str, expand: bool, output: str) -> int:
    """Print a saved plan. An altered file is refused."""
    from reconciler.report.plan_json import plan_report
    from reconciler.report.plan_text import plan_lines
    from reconciler.workflow import saved_plan

    plan, digest = saved_plan(plan_file)
    if output == "json":
        out_json({**plan_report(plan), "fileDigest": digest})
    else:
        style = style_for(sys.stdout)
        out(plan_lines(plan, style, expand=expand))
        out([style("dim", digest)])
    return Exit.OK
