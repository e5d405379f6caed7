"""``reconciler version``: the version, as ``reconciler --version`` says it."""

import platform

import click

from reconciler import __version__
from reconciler.cli.console import Exit, out, out_json
from reconciler.cli.options import output_option
from reconciler.results.output import OutputKind


@click.command("version", short_help="Print the version")
@output_option
def command(*, output: str) -> int:
    """Print the version of this program."""
    if output == "json":
        out_json(OutputKind.VERSION, {"reconciler": __version__, "python": platform.python_version()})
    else:
        out([f"reconciler, version {__version__}"])
    return Exit.OK
