"""What a report format is. Each is one module of this folder and one line of ``FORMATS``."""

import datetime
from collections.abc import Callable
from typing import Protocol

from reconciler.dataclass import dataclass
from reconciler.model.characters import Style, plain
from reconciler.show.reading import Report


def _nobody_asks(shown: int, rows: int) -> None:
    """Nothing."""


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """What a format may need besides the report.

    ``made`` is when the results were made, with a time zone. ``manifests`` is the directory of the manifests, as a path
    from the repository's root. ``marker`` names the pull request's comment and its analysis in code scanning. ``style``
    colours text for a terminal. Where a format shows fewer rows of access than there are, ``on_cut`` is called with
    both numbers: only the writer of a format knows what had no room.
    """

    version: str
    made: datetime.datetime
    manifests: str = ""
    marker: str = ""
    style: Style = plain
    on_cut: Callable[[int, int], None] = _nobody_asks


class Format(Protocol):
    """A module that writes reports. Whatever a cluster or a manifest holds must come out as text: see ``escaping``."""

    def write(self, report: Report, options: FormatOptions, /) -> str:
        """The whole text of the report."""
        ...
