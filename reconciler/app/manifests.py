"""Manifests below a directory, their owners, guardrails and the project file.

The manifests below a directory, read and checked; every problem at once is an :class:`InvalidManifestsError`.
"""

import datetime
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from reconciler.app.reasons import InvalidManifestsError, RequestError, WorkflowError
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.ownership import OwnerDeclaration
from reconciler.manifest.guardrail_set import guardrail_files, with_guardrails
from reconciler.manifest.guardrails import GuardrailChange, gravest_first, guardrail_changes
from reconciler.manifest.manifests import Manifests, declared_cluster, desired_state
from reconciler.manifest.manifests import load as load_sources
from reconciler.manifest.project import Project, is_project, project_changes, read_project
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import Code, ManifestError, Problem
from reconciler.manifest.safeguards import guardrail_ownership, owned_topics, ownership
from reconciler.model.acl import ResourcePattern
from reconciler.model.desired import DesiredState
from reconciler.policy.owners import Owner
from reconciler.policy.ownership import Breach, Ownership, breach_order
from reconciler.system.files import files_not_read, read_manifest_files


@contextmanager
def sound() -> Iterator[None]:
    """Problems of manifests as the reason that says so."""
    try:
        yield
    except ManifestError as error:
        raise InvalidManifestsError(error.problems) from error


def read_sources(path: str | Path) -> list[Source]:
    """The manifests' texts."""
    with sound():
        return list(read_manifest_files(Path(path)))


def load(path: str | Path) -> Manifests:
    """Read and check a directory of manifests; raises :class:`InvalidManifestsError`."""
    return checked(read_sources(path), below=path)


def checked(
    sources: Sequence[Source],
    *,
    below: str | Path | None = None,
    read: Callable[[tuple[Source, ...]], Manifests] = load_sources,
) -> Manifests:
    """The same of texts that are read already; ``below`` is where from, so that files not read there are named.

    ``read`` is for whoever keeps what comes of texts.
    """
    with sound():
        manifests = read(tuple(sources))
    unread = files_not_read(Path(below)) if below is not None else ()
    return replace(manifests, warnings=(*manifests.warnings, *unread)) if unread else manifests


#: Of what validating warns, what a plan may do harm without: what nobody reads is deleted, what no broker knows is
#: refused half way. What only some releases refuse is decided by the cluster's own.
_REPEATED: Final = frozenset({Code.FILE_NOT_READ, Code.UNKNOWN_SETTING})


def repeated_warnings(manifests: Manifests) -> tuple[Problem, ...]:
    """The warnings of manifests that a plan repeats."""
    return tuple(problem for problem in manifests.warnings if problem.code in _REPEATED)


def desired(manifests: Manifests, cluster: str, as_of: datetime.date) -> DesiredState:
    """What the manifests want of one cluster on a day."""
    with sound():
        return desired_state(manifests, cluster, as_of)


def teams_of(manifests: Manifests, cluster: str, pattern: ResourcePattern) -> tuple[str, ...]:
    """The teams that own a name, by the manifests or their guardrails: whom somebody who needs access has to ask."""
    with sound():
        owners = (*ownership(manifests, cluster)[0], *guardrail_ownership(manifests, cluster)[0])
    return tuple(sorted({owner.team for owner in owners if any(own.contains(pattern) for own in owner.patterns)}))


def teams_listing(manifests: Manifests, cluster: str, principal: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Of each team that lists a principal by its name among its own: the other principals that it lists so."""
    with sound():
        owners = (*ownership(manifests, cluster)[0], *guardrail_ownership(manifests, cluster)[0])
    for owner in owners:
        listed = owner.principals.literal if owner.principals is not None else ()
        if principal in listed:
            yield owner.team, tuple(name for name in listed if name != principal)


def ownerships_of(manifests: Manifests, cluster: str, as_of: datetime.date) -> tuple[Ownership, ...]:
    """The owners and consents of a declared cluster, as rules for what the manifests declare for it.

    Those of guardrails come second, as rules of their own: together, an owner of one could permit what the other
    forbids.
    """
    with sound():
        owners, consents = ownership(manifests, cluster)
        theirs, given = guardrail_ownership(manifests, cluster)
        setter = declared_cluster(manifests, cluster)
        claims = tuple(owned_topics(manifests, cluster)) if owners or theirs else ()
    files = _Directory({path: path for path in manifests.sources})
    variables = setter.origin, {template.source.path for template in manifests.chosen_templates(setter.labels)}
    rules = partial(Ownership, as_of=as_of, variables=variables, claims=claims)
    own = rules((_owner(owner, files) for owner in owners), consents)
    if manifests.guardrails is None:
        return (own,)
    # A consent of the guardrails counts in a file of its team there: the globs are about paths in either directory.
    marked = _Directory(guardrail_files(manifests))
    judging = (_owner(owner, files, marked) for owner in theirs)
    return own, rules(judging, given, guardrails=True)


def breaches_of(rules: Iterable[Ownership], wanted: DesiredState) -> tuple[Breach, ...]:
    """What any of the rules forbids; what several forbid in the same words is there once."""
    breaches: dict[Breach, Breach] = {}
    for rule in rules:
        for breach in rule.breaches(wanted):
            breaches.setdefault(replace(breach, rule=None, consent=None), breach)
    return tuple(sorted(breaches.values(), key=breach_order))


class _Directory:
    """Paths below a root, in order, and how each is called where files of several directories meet."""

    __slots__ = ("called", "ordered")

    def __init__(self, called: Mapping[str, str]) -> None:
        self.called, self.ordered = called, sorted(called)


def _owner(given: OwnerDeclaration, *directories: _Directory) -> Owner:
    files = frozenset(directory.called[path] for directory in directories for path in given.files_of(directory.ordered))
    return Owner(given.team, given.origin, files, given.principals, given.patterns, given.deny_any)


# Finds and reads the project file: the nearest ``reconciler.yaml`` up to the root of the repository.
#
# Light where there is none, for every command looks for it.

#: As ``PROJECT_FILE`` of the manifests, which are expensive to import; a test holds the two together.
NAME: Final = "reconciler.yaml"


@dataclass(frozen=True, slots=True)
class FoundProject:
    """A project file, as it is called from the working directory, and what it says."""

    file: Path
    project: Project

    @property
    def path(self) -> str | None:
        """Where it says that the manifests are, from the working directory."""
        if self.project.path is None:
            return None
        directory = self.file.parent.resolve()
        if not (directory / self.project.path).resolve().is_relative_to(directory):
            raise WorkflowError(f"{self.file}: path {self.project.path} is a link that leads out of {directory}")
        return str(self.file.parent / self.project.path)


def find_project(start: str | Path = ".") -> FoundProject | None:
    """The nearest project file at ``start`` or above, up to the repository's root; outside one, at ``start`` only.

    A directory above that is in no repository, such as ``/tmp``, may be anybody's. Raises
    :class:`InvalidManifestsError` with every problem of the file; :class:`WorkflowError` where it is a link, which
    could lead to a file that nobody reviews.
    """
    projects = (_read_project(Path(os.path.relpath(directory / NAME))) for directory in _directories(start))
    return next((project for project in projects if project is not None), None)


def in_repository(start: str | Path) -> bool:
    """Whether ``start`` is in a repository, so that a project file that is not found is not there."""
    return (_directories(start)[-1] / ".git").exists()


def _directories(start: str | Path) -> list[Path]:
    here = Path(start).absolute()
    directories = [here, *here.parents] if here.is_dir() else [*here.parents]
    roots = [number for number, directory in enumerate(directories) if (directory / ".git").exists()]
    return directories[: roots[0] + 1 if roots else 1]


def _read_project(file: Path) -> FoundProject | None:
    """The project file; ``None`` if there is none, or a manifest is called so."""
    if file.is_symlink():
        raise WorkflowError(
            f"{file} is a link: a project file is a file of its own", "put the file in place of the link"
        )
    if not file.is_file():
        return None
    with sound():
        [source] = read_manifest_files(file)
        if not is_project(source.text):
            return None
        return FoundProject(file, read_project(source._replace(path=file.as_posix())))


# Guardrails: a second directory of manifests that judges a proposal, and what the proposal changes about judges.


def held(manifests: Manifests, path: str, guardrails: str | None) -> Manifests:
    """The manifests below ``path``, held by those below ``guardrails``, if any.

    Raises :class:`RequestError` where one directory lies in the other, for then the proposal writes its own guardrails;
    :class:`WorkflowError` where the guardrails have a problem, for a rule that cannot be read would not judge.
    """
    sources = guardrail_sources(path, guardrails)
    return manifests if guardrails is None or sources is None else held_by(manifests, sources, guardrails)


def guardrail_sources(path: str, guardrails: str | None) -> list[Source] | None:
    """The texts of the guardrails, if any, for manifests that lie elsewhere; raises as :func:`held`."""
    if guardrails is None:
        return None
    own, judging = Path(path).resolve(), Path(guardrails).resolve()
    if own.is_relative_to(judging) or judging.is_relative_to(own):
        raise RequestError(
            f"the guardrails {guardrails} and the manifests {path} share files, so a proposal could edit both",
            "take the guardrails from another checkout, such as that of the base branch",
        )
    return _read_guardrails(guardrails, "used")


def held_by(manifests: Manifests, sources: Sequence[Source], guardrails: str) -> Manifests:
    """The manifests, held by the texts of ``guardrails``; raises :class:`WorkflowError` where these have a problem."""
    try:
        return with_guardrails(manifests, sources)
    except ManifestError as error:
        raise _unusable(guardrails, "used", error.problems[0]) from error


def guardrails_changed(base: str, path: str) -> tuple[GuardrailChange, ...]:
    """How the guardrails of the manifests below ``path`` differ from those below ``base``, loosening ones first.

    Both directories are compared as they are written, so no field of a guardrail is exempt. Raises as
    :func:`load_base`.
    """
    return guardrails_changed_from(load_base(base), base, path)


def load_base(base: str) -> Manifests:
    """The manifests that a proposal is compared with.

    Raises :class:`WorkflowError` where they have a problem: a guardrail that cannot be read would look as if there were
    none.
    """
    sources = _read_guardrails(base, "compared")
    try:
        return checked(sources, below=base)
    except InvalidManifestsError as error:
        raise _unusable(base, "compared", error.problems[0]) from error


def guardrails_changed_from(before: Manifests, base: str, path: str) -> tuple[GuardrailChange, ...]:
    """As :func:`guardrails_changed`, where the manifests below ``base`` are read already."""
    changes = guardrail_changes(before.sources.values(), read_sources(path))
    return gravest_first((*changes, *_project_changes(base, path)))


def _project_changes(base: str, path: str) -> Iterator[GuardrailChange]:
    """What changes about the project file. A base in no repository may be a part of a checkout: it says nothing."""
    before, after = find_project(base), find_project(path)
    if before is not None or in_repository(base):
        yield from project_changes(*(Project() if file is None else file.project for file in (before, after)))


def _read_guardrails(directory: str, what: str) -> list[Source]:
    try:
        return read_sources(directory)
    except InvalidManifestsError as error:
        raise _unusable(directory, what, error.problems[0]) from error


def _unusable(directory: str, what: str, problem: Problem) -> WorkflowError:
    return WorkflowError(
        f"the guardrails of {directory} cannot be {what}: {problem.origin}: {problem.message}",
        f"repair {directory} first, or take a commit that is valid",
    )
