"""A report in the languages of other tools: pull requests, pipelines, code scanning, events, metrics."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from reconciler.show.formats.interface import Format

#: The module of each format, by the name that ``reconciler report --format`` takes. Imported only when it is asked for.
FORMATS: Final[Mapping[str, str]] = {
    "text": "text",
    "markdown": "comment",
    "summary": "step_summary",
    "github": "annotations",
    "sarif": "sarif",
    "junit": "junit",
    "gitlab-terraform": "gitlab_terraform",
    "gitlab-codequality": "gitlab_codequality",
    "cloudevents": "cloudevents",
    "prometheus": "prometheus",
    "html": "page",
    "json": "document",
}


def format_named(name: str) -> "Format":
    """The format of that name; raises ``KeyError`` where there is none."""
    return cast("Format", import_module(f"reconciler.show.formats.{FORMATS[name]}"))
