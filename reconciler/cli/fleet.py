"""``reconciler fleet``: the same on many clusters, on Spark. A subcommand's module is imported when it is asked for."""

import importlib
from typing import Final

import click

from reconciler.cli.exits import CommandError

#: Every subcommand and what it does, in the order in which people meet them.
SUBCOMMANDS: Final = {
    "snapshot": "Read all clusters into the store",
    "drift": "Detect drift of all clusters",
    "plan": "Plan every cluster and save the fleet's plan",
    "apply": "Apply a fleet's plans, wave by wave",
    "query": "Query the whole fleet",
    "usage": "Evaluate authorizer logs: used bindings, refusals, replay",
}
_NEEDS: Final = ("pyspark", "pyarrow", "polars")


class Subcommands(click.Group):
    """Looks a subcommand's module up by its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that holds the subcommand, or ``None`` if there is none."""
        if cmd_name not in SUBCOMMANDS:
            return None
        try:
            command: click.Command = importlib.import_module(f"reconciler.cli.fleet_{cmd_name}").command
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in _NEEDS:
                raise
            advice = "pip install '.[fleet]' in a clone"
            raise CommandError(f"fleet commands need the package {error.name}", advice) from error
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List subcommands from the table, without importing one of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.command("fleet", cls=Subcommands, short_help="Snapshot, compare, plan and apply many clusters on Spark")
def command() -> None:
    """Snapshot, compare, plan, apply and query a fleet of clusters."""
