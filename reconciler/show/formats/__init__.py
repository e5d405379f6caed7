"""A report in the languages of other tools: pull requests, pipelines, code scanning, events, metrics.

Each format is a function and its line in ``FORMATS``.
"""

import datetime
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, TypeAlias, cast

from reconciler.dataclass import dataclass
from reconciler.model.characters import Style, plain
from reconciler.show.reading import Report
from reconciler.system import plugins


def _nobody_asks(shown: int, rows: int) -> None:
    """Nothing."""


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """What a format may need besides the report.

    ``made_at``: when results were made, with a time zone. ``manifests`` is the directory of the manifests, as a path
    from the repository's root. ``marker`` names the pull request's comment and its analysis in code scanning. ``style``
    colours text for a terminal. Where a format shows fewer rows of access than there are, ``on_cut`` is called with
    both numbers: only the writer of a format knows what had no room.
    """

    version: str
    made_at: datetime.datetime
    manifests: str = ""
    marker: str = ""
    style: Style = plain
    on_cut: Callable[[int, int], None] = _nobody_asks


#: Writes the whole text of a report. Whatever a cluster or a manifest holds must come out as text: see ``escaping``.
Format: TypeAlias = Callable[[Report, FormatOptions], str]

#: Entry points of other packages' formats.
GROUP: Final = "reconciler.formats"
#: The function of each format, by the name that ``reconciler report -o`` takes. Imported only when it is asked for.
FORMATS: Final[Mapping[str, str]] = {
    "text": "text:write",
    "markdown": "markdown:comment",
    "summary": "markdown:step_summary",
    "github": "sarif:workflow_commands",
    "sarif": "sarif:write",
    "junit": "junit:write",
    "gitlab-terraform": "sarif:terraform",
    "gitlab-codequality": "sarif:code_quality",
    "cloudevents": "document:events",
    "prometheus": "prometheus:write",
    "html": "html:write",
    "json": "document:write",
}


def format_names() -> tuple[str, ...]:
    """Our formats, then those of other packages, whose metadata is read for that."""
    return (*FORMATS, *(name for name in plugins.names(GROUP) if name not in FORMATS))


def format_named(name: str) -> Format:
    """The format of that name: ours, else that of another package.

    Raises ``KeyError`` where there is none, and ``PluginError`` where that of another package cannot be used.
    """
    if name in FORMATS:
        module, _, function = FORMATS[name].partition(":")
        return cast("Format", getattr(import_module(f"reconciler.show.formats.{module}"), function))
    return cast("Format", plugins.load(GROUP, name))
