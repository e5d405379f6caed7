"""Arguments and options of the commands that edit who may do what."""

import datetime
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler.cli.console import info
from reconciler.cli.defaults import from_project
from reconciler.cli.option_types import Moment
from reconciler.cli.questions import TYPES

if TYPE_CHECKING:
    from reconciler.model import Expiry

_SPAN: Final = re.compile(r"([1-9][0-9]{0,3})(m|h|d|w)")
_DAYS: Final = {"d": 1, "w": 7}
_MINUTES: Final = {"m": 1, "h": 60}


class Until(click.ParamType["Expiry"]):
    """A day or an instant; days or weeks from today, ``14d``, ``2w``; minutes or hours from now, ``30m``, ``2h``."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Expiry":
        """Parse, or fail with what was expected."""
        from reconciler.model import Expiry
        from reconciler.workflow.options import moment

        if isinstance(value, Expiry):
            return value
        found = _SPAN.fullmatch(value)
        if found is None:
            return Expiry(Moment().convert(value, param, ctx))
        count, unit = int(found[1]), found[2]
        if unit in _MINUTES:
            return Expiry(moment() + datetime.timedelta(minutes=count * _MINUTES[unit]))
        return Expiry(moment().date() + datetime.timedelta(days=count * _DAYS[unit]))


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
    "--until",
    metavar="DATE",
    type=Until(),
    help="Until when it holds: through a day (YYYY-MM-DD, or 14d, 2w from today), or until an instant "
    "(2027-01-31T18:00:00Z, or 30m, 2h from now).",
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
