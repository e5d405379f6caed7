"""``reconciler fleet``: the same on many clusters, on Spark. A subcommand's module is imported when it is asked for."""

from importlib.util import find_spec
from typing import Final

import click

from reconciler.cli.commands import CommandTable
from reconciler.cli.exits import CommandError

#: Every subcommand and what it does, in the order in which people meet them.
SUBCOMMANDS: Final = {
    "snapshot": "Read all clusters into the store",
    "drift": "Detect drift of all clusters",
    "plan": "Plan every cluster and save the fleet's plan",
    "apply": "Apply a fleet's plans, wave by wave",
    "query": "Query the whole fleet",
    "usage": "Evaluate authorizer logs: used bindings, refusals, replay",
    "tighten": "Narrow access of all clusters to what their logs show in use",
}
_NEEDS: Final = ("pyspark", "pyarrow", "polars")


class Subcommands(CommandTable):
    """The fleet's commands; they need packages of an extra."""

    table = SUBCOMMANDS
    aliases = {"diff": "plan", "status": "drift"}  # noqa: RUF012 - a ClassVar of the base
    modules = "reconciler.cli.fleet_"
    words = ("fleet",)

    def load(self, name: str) -> click.Command:
        """The command; a package that is not installed ends it with the extra to install."""
        missing = next((package for package in _NEEDS if find_spec(package) is None), None)
        if missing is not None:
            advice = "pip install './reconciler[fleet]' beside your clone"
            raise CommandError(f"fleet commands need the package {missing}", advice)
        return super().load(name)


@click.command("fleet", cls=Subcommands, short_help="Snapshot, compare, plan and apply many clusters on Spark")
def command() -> None:
    """Snapshot, compare, plan, apply and query a fleet of clusters."""
