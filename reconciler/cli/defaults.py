"""Where an option's value comes from if nobody gives it: the project file, and the user's own connections file."""

import os
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler.cli.console import debug, settings

if TYPE_CHECKING:
    from reconciler.workflow.project import FoundProject

#: The words that need two sets of manifests to compare.
_COMPARING: Final = "guardrails"


def project() -> "FoundProject | None":
    """The project file of this run, read when something first asks for it."""
    if settings.project is None:
        from reconciler.workflow.project import find_project

        context = click.get_current_context(silent=True)
        # What a shell asks while somebody types has no room for the problems of a file.
        typing = context is not None and context.resilient_parsing
        settings.project = (None if typing else find_project(),)
        for found in filter(None, settings.project):
            debug(f"project file: {found.file}")
    return settings.project[0]


def from_project(field: str, otherwise: Any) -> Callable[[], Any]:
    """A default that the project file can set."""

    def default() -> Any:
        found = project()
        value = None if found is None else getattr(found.said, field)
        return otherwise if value is None else value

    return default


def project_path() -> str:
    """Where the manifests are if no PATH is given."""
    found = project()
    return (None if found is None else found.path) or "."


def also_fail_on(given: Iterable[str], known: Collection[str], *compared: str | None) -> tuple[str, ...]:
    """The words of ``--fail-on`` with those of the project file, and of those in directories that are compared with.

    Nothing takes a word away: neither the command line nor a proposal that edits the file, if its base is given.
    """
    from reconciler.workflow.project import find_project

    others = [directory for directory in compared if directory is not None]
    projects = filter(None, [project(), *map(find_project, others)])
    added = {word for found in projects for word in found.said.fail_on if word in known}
    if not others:
        added.discard(_COMPARING)
    return tuple(dict.fromkeys((*given, *sorted(added))))


def user_connections() -> str | None:
    """The connections file that the user keeps, if there is one.

    Not in CI: there another job of the same user may have left it, and a pipeline can name its file.
    """
    if "CI" in os.environ:
        return None
    from platformdirs import user_config_path

    try:
        file = user_config_path("reconciler", appauthor=False) / "connections.yaml"
    except RuntimeError:  # no home directory
        return None
    if not (file.is_absolute() and file.is_file()):
        return None
    debug(f"connections file: {file}")
    return str(file)
