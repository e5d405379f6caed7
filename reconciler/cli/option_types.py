"""What the values of options can be, beside what click has."""

import datetime
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.exits import CommandError, Exit

if TYPE_CHECKING:
    from reconciler.plan import GuardAcknowledgement


class Date(click.ParamType[datetime.date]):
    """A day as YYYY-MM-DD."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.date:
        """Parse, or fail with what was expected."""
        if isinstance(value, datetime.date):
            return value
        try:
            day = datetime.date.fromisoformat(value)
        except ValueError:
            day = None
        if day is None or day.isoformat() != value:  # as in manifests: no week, no day without hyphens
            self.fail(f"{value!r} is not a date: write YYYY-MM-DD", param, ctx)
        return day


class Moment(click.ParamType[datetime.date]):
    """A day as YYYY-MM-DD, or an instant as RFC 3339 writes it."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.date:
        """Parse, or fail with what was expected."""
        if isinstance(value, datetime.date):
            return value
        from reconciler.model import read_moment

        try:
            return read_moment(value)
        except ValueError:
            self.fail(f"{value!r} is not a date: write YYYY-MM-DD, or an instant as 2027-01-31T18:00:00Z", param, ctx)


class Accepted(click.ParamType["GuardAcknowledgement"]):
    """``GUARD=OBJECT``."""

    name = "guard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "GuardAcknowledgement":
        """Parse, or end the command with the guards that there are."""
        from reconciler.plan import Guard, GuardAcknowledgement

        guard, equals, name = value.partition("=")
        try:
            if not equals or not name:
                raise ValueError
            return GuardAcknowledgement(Guard(guard), name, "accepted on the command line")
        except ValueError:
            advice = f"guards are: {', '.join(Guard)}"
            raise CommandError(f"--accept {value}: write GUARD=OBJECT", advice, Exit.USAGE) from None
