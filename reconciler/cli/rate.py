"""An option's value in bytes a second."""

import click

#: Less than a broker's own unit of bandwidth would stop what it limits.
_LEAST = 1024


class Rate(click.ParamType[int]):
    """A number of bytes a second, with a unit if you like: ``50MiB``."""

    name = "rate"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse, or fail with what was expected."""
        from reconciler.manifest.parts import units  # slow to import, and for few commands only

        try:
            return units.in_range(units.amount(value, units.BYTES), _LEAST, 2**63 - 1)
        except ValueError as error:
            self.fail(str(error), param, ctx)
