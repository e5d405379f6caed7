"""Options of commands that write to a cluster without a plan: what is written down of it, and as whose."""

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import gathered, with_options

if TYPE_CHECKING:
    from reconciler.workflow.records import RecordOptions


def _none() -> "RecordOptions":
    from reconciler.workflow.records import RecordOptions

    return RecordOptions()


#: Handed over as ``records``.
record_options = with_options(
    gathered(
        "records",
        _none,
        click.option("--audit", metavar="FILE", help="Append JSON audit records: who, when, what, what became of it."),
        click.option("--audit-topic", metavar="TOPIC", help="Send the audit records to a topic of this cluster."),
        click.option("--operator", metavar="NAME", help="Operator name in audit records.  [default: USER@HOST]"),
    )
)
