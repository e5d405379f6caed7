"""Arguments and options of the commands that edit who may do what."""

import datetime
import re
from collections.abc import Iterable
from typing import Any, Final

import click

from reconciler.cli.console import info
from reconciler.cli.defaults import from_project
from reconciler.cli.options import Date
from reconciler.cli.questions import TYPES

_SPAN: Final = re.compile(r"([1-9][0-9]{0,3})([dw])")
_DAYS: Final = {"d": 1, "w": 7}


class Until(Date):
    """A day as YYYY-MM-DD, or how long from today: ``14d``, ``2w``."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.date:
        """Parse, or fail with what was expected."""
        found = _SPAN.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            return super().convert(value, param, ctx)
        from reconciler.workflow.options import today

        return today() + datetime.timedelta(days=int(found[1]) * _DAYS[found[2]])


class ResourceTypeName(click.Choice[str]):
    """A resource type as people type it; the plural means the same."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse, without a final s."""
        text = str(value)
        singular = text[:-1] if text.lower().endswith("s") and text.lower()[:-1] in TYPES else text
        return super().convert(singular, param, ctx)


_TYPE: Final = ResourceTypeName(TYPES, case_sensitive=False)
resource_argument = click.argument("resource_type", metavar="TYPE", type=_TYPE)
optional_resource_argument = click.argument("resource_type", metavar="[TYPE]", required=False, type=_TYPE)

until_option = click.option(
    "--until", metavar="DATE", type=Until(), help="Last day on which it holds: YYYY-MM-DD, or 14d, 2w from today."
)

cluster_of_edit = click.option(
    "-c",
    "--cluster",
    metavar="NAME",
    callback=lambda _, __, value: value or from_project("cluster", None)(),
    help="The declared cluster that it is for.  [default: the only one declared]",
)


def said(notes: Iterable[str]) -> None:
    """What else there is to know about an edit."""
    from reconciler.report.style import safe

    for note in notes:
        info(safe(note))
