"""What a report format is. Each is one module of this folder and one line of ``FORMATS``."""

import datetime
from dataclasses import dataclass
from typing import Protocol

from reconciler.report.paint import Paint, plain
from reconciler.report.results import Report


@dataclass(frozen=True, slots=True)
class Options:
    """What a format may need besides the report.

    ``made`` is when the results were made, with a time zone. ``manifests`` is the directory of the manifests, as a path
    from the repository's root. ``marker`` names the pull request's comment and its analysis in code scanning. ``paint``
    colours text for a terminal.
    """

    version: str
    made: datetime.datetime
    manifests: str = ""
    marker: str = ""
    paint: Paint = plain


class Format(Protocol):
    """A module that writes reports. Whatever a cluster or a manifest holds must come out as text: see ``escaping``."""

    def write(self, report: Report, options: Options, /) -> str:
        """The whole text of the report."""
        ...
