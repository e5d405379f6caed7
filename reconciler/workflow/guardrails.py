"""Guardrails: a second directory of manifests that judges a proposal, and what the proposal changes about judges."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from reconciler.manifest import (
    GuardrailChange,
    ManifestError,
    Manifests,
    Problem,
    Project,
    Source,
    gravest_first,
    guardrail_changes,
    project_changes,
    with_guardrails,
)
from reconciler.workflow.manifests import checked, read_sources
from reconciler.workflow.project import find_project, in_repository
from reconciler.workflow.reasons import InvalidManifestsError, RequestError, WorkflowError


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
    return _read(guardrails, "used")


def held_by(manifests: Manifests, sources: Sequence[Source], guardrails: str) -> Manifests:
    """The manifests, held by the texts of ``guardrails``; raises :class:`WorkflowError` where these have a problem."""
    try:
        return with_guardrails(manifests, sources)
    except ManifestError as error:
        raise _unusable(guardrails, "used", error.problems[0]) from error


def guardrails_changed(base: str, path: str) -> tuple[GuardrailChange, ...]:
    """How the guardrails of the manifests below ``path`` differ from those below ``base``, loosening ones first.

    Both directories are compared as they are written, so no field of a guardrail is exempt. Raises
    :class:`WorkflowError` where ``base`` has a problem: a guardrail that cannot be read would look as if there were
    none.
    """
    before = _read(base, "compared")
    try:
        checked(before)
    except InvalidManifestsError as error:
        raise _unusable(base, "compared", error.problems[0]) from error
    return gravest_first((*guardrail_changes(before, read_sources(path)), *_project_changes(base, path)))


def _project_changes(base: str, path: str) -> Iterator[GuardrailChange]:
    """What changes about the project file. A base in no repository may be a part of a checkout: it says nothing."""
    before, after = find_project(base), find_project(path)
    if before is not None or in_repository(base):
        yield from project_changes(*(Project() if found is None else found.said for found in (before, after)))


def _read(directory: str, what: str) -> list[Source]:
    try:
        return read_sources(directory)
    except InvalidManifestsError as error:
        raise _unusable(directory, what, error.problems[0]) from error


def _unusable(directory: str, what: str, problem: Problem) -> WorkflowError:
    return WorkflowError(
        f"the guardrails of {directory} cannot be {what}: {problem.origin}: {problem.message}",
        f"repair {directory} first, or take a commit that is valid",
    )
