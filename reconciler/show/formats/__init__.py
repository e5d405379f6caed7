"""A report in the languages of other tools: pull requests, pipelines, code scanning, events, metrics."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from reconciler.system import plugins

if TYPE_CHECKING:
    from reconciler.show.formats.interface import Format

#: Entry points of other packages' formats: modules as those here.
GROUP: Final = "reconciler.formats"
#: The module of each format, by the name that ``reconciler report -o`` takes. Imported only when it is asked for.
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


def format_names() -> tuple[str, ...]:
    """Our formats, then those of other packages, whose metadata is read for that."""
    return (*FORMATS, *(name for name in plugins.names(GROUP) if name not in FORMATS))


def format_named(name: str) -> "Format":
    """The format of that name: ours, else that of another package.

    Raises ``KeyError`` where there is none, and ``PluginError`` where that of another package cannot be used.
    """
    if name in FORMATS:
        return cast("Format", import_module(f"reconciler.show.formats.{FORMATS[name]}"))
    return cast("Format", plugins.load(GROUP, name))
