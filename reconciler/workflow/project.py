"""Finds and reads the project file: the nearest ``reconciler.yaml`` up to the root of the repository.

Light where there is none, for every command looks for it.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reconciler.dataclass import dataclass
from reconciler.workflow.reasons import WorkflowError

if TYPE_CHECKING:
    from reconciler.manifest import Project

#: As ``PROJECT_FILE`` of the manifests, which are expensive to import; a test holds the two together.
NAME: Final = "reconciler.yaml"


@dataclass(frozen=True, slots=True)
class FoundProject:
    """A project file, as it is called from the working directory, and what it says."""

    file: Path
    said: "Project"

    @property
    def path(self) -> str | None:
        """Where it says that the manifests are, from the working directory."""
        if self.said.path is None:
            return None
        directory = self.file.parent.resolve()
        if not (directory / self.said.path).resolve().is_relative_to(directory):
            raise WorkflowError(f"{self.file}: path {self.said.path} is a link that leads out of {directory}")
        return str(self.file.parent / self.said.path)


def find_project(start: str | Path = ".") -> FoundProject | None:
    """The nearest project file at ``start`` or above, up to the repository's root; outside one, at ``start`` only.

    A directory above that is in no repository, such as ``/tmp``, may be anybody's. Raises
    :class:`InvalidManifestsError` with every problem of the file; :class:`WorkflowError` where it is a link, which
    could lead to a file that nobody reviews.
    """
    found = (_read(Path(os.path.relpath(directory / NAME))) for directory in _directories(start))
    return next((project for project in found if project is not None), None)


def in_repository(start: str | Path) -> bool:
    """Whether ``start`` is in a repository, so that a project file that is not found is not there."""
    return (_directories(start)[-1] / ".git").exists()


def _directories(start: str | Path) -> list[Path]:
    here = Path(start).absolute()
    directories = [here, *here.parents] if here.is_dir() else [*here.parents]
    roots = [number for number, directory in enumerate(directories) if (directory / ".git").exists()]
    return directories[: roots[0] + 1 if roots else 1]


def _read(file: Path) -> FoundProject | None:
    """The project file; ``None`` if there is none, or a manifest is called so."""
    if file.is_symlink():
        raise WorkflowError(
            f"{file} is a link: a project file is a file of its own", "put the file in place of the link"
        )
    if not file.is_file():
        return None
    from reconciler.adapters.manifest_files import read_manifest_files  # noqa: PLC0415
    from reconciler.manifest import is_project, read_project  # noqa: PLC0415
    from reconciler.workflow.manifests import sound  # noqa: PLC0415

    with sound():
        [source] = read_manifest_files(file)
        if not is_project(source.text):
            return None
        return FoundProject(file, read_project(source._replace(path=file.as_posix())))
