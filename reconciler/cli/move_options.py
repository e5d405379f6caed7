"""Options of commands that move replicas: how fast, and how many at a time."""

import click

from reconciler.cli.amounts import Bytes
from reconciler.cli.options import gathered, with_options
from reconciler.workflow.options import MoveOptions

#: Less than a broker's own unit of bandwidth would stop what it limits.
_LEAST_RATE = 1024

#: Handed over as ``moves``.
move_options = with_options(
    gathered(
        "moves",
        MoveOptions,
        click.option(
            "--throttle",
            metavar="RATE",
            type=Bytes(_LEAST_RATE),
            help="Of a saved plan: bytes per second that each broker may copy of replicas that move, such as 50MiB. "
            "Removed after.",
        ),
        click.option(
            "--batch-partitions",
            metavar="NUMBER",
            type=click.IntRange(1),
            help="Partitions of a topic whose replicas move at the same time.  [default: 50]",
        ),
        click.option(
            "--batch-bytes",
            metavar="SIZE",
            type=Bytes(1),
            help="Bytes that they copy together, such as 10GiB; a larger partition moves alone.  [default: 50GiB]",
        ),
    )
)
