"""``reconciler show``: print a saved plan."""

import sys
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import paint_for, say, say_json
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import expand_option, output_option

if TYPE_CHECKING:
    from reconciler.plan import Plan


@click.command("show", short_help="Print a saved plan")
@click.argument("plan_file", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@expand_option
@output_option
def command(*, plan_file: str, expand: bool, output: str) -> int:
    """Print a saved plan; an altered file is refused."""
    from reconciler.report.plan_json import plan_report
    from reconciler.report.plan_text import plan_lines

    plan, digest = saved_plan(plan_file)
    if output == "json":
        say_json({**plan_report(plan), "fileDigest": digest})
    else:
        paint = paint_for(sys.stdout)
        say(plan_lines(plan, paint, expand=expand))
        say([paint("dim", digest)])
    return Exit.OK


def saved_plan(plan_file: str) -> "tuple[Plan, str]":
    """Read a plan file, or end the command with status 4."""
    from reconciler.adapters.plan_files import read_plan
    from reconciler.plan import PlanFileError

    try:
        return read_plan(plan_file)
    except PlanFileError as error:
        raise CommandError(f"{plan_file}: {error}", "plan again", Exit.STALE) from error
    except OSError as error:
        raise CommandError(f"{plan_file} cannot be read: {error}") from error
