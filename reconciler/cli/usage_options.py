"""Options of ``usage`` and ``fleet usage``: which days of the logs count, and what is shown of them."""

import datetime

import click

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.option_types import Date
from reconciler.cli.options import with_options

#: ``--since`` and ``--until``.
period_options = with_options(
    (
        click.option("--since", metavar="DATE", type=Date(), help="First day.  [default: the first in the logs]"),
        click.option("--until", metavar="DATE", type=Date(), help="Last day.  [default: the last in the logs]"),
    )
)

#: ``--logs`` of a fleet, handed over as ``places``.
fleet_logs_option = click.option(
    "--logs",
    "places",
    metavar="[NAME=]PLACE",
    multiple=True,
    required=True,
    help="Logs of cluster NAME: a file, a directory, a pattern or an address. Without NAME=: a directory with one "
    "subdirectory per cluster; other files in it belong to the clusters that their events name. Repeatable.",
)

#: ``--replay``, ``--repeats`` and ``--show``.
replay_options = with_options(
    (
        click.option("--replay", is_flag=True, help="Replay the accesses on what the manifests would change."),
        click.option(
            "--repeats",
            type=click.IntRange(1),
            default=2,
            show_default=True,
            help="Minimum number of times a refusal occurred.",
        ),
        click.option(
            "--show", type=click.IntRange(0), default=20, show_default=True, help="Maximum lines shown per list."
        ),
    )
)


def check_period(since: datetime.date | None, until: datetime.date | None) -> None:
    """A period that ends before it begins would find nothing, and look like logs without events."""
    if since is not None and until is not None and since > until:
        raise CommandError(f"--since {since} is after --until {until}", status=Exit.USAGE)
