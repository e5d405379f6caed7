"""An option's value in bytes, or in bytes a second."""

import click


class Bytes(click.ParamType[int]):
    """A number of bytes, with a unit if you like: ``50MiB``."""

    name = "bytes"

    def __init__(self, least: int) -> None:
        """Smaller values are refused."""
        self._least = least

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse, or fail with what was expected."""
        from reconciler.manifest.parts import units  # slow to import, and for few commands only

        try:
            return units.in_range(units.amount(value, units.BYTES), self._least, 2**63 - 1)
        except ValueError as error:
            self.fail(str(error), param, ctx)
