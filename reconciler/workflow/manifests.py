"""The manifests below a directory, read and checked; every problem at once is an :class:`InvalidManifestsError`."""

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from reconciler.adapters.manifest_files import files_not_read, read_manifest_files
from reconciler.manifest import ManifestError, Manifests, Source, desired_state, guardrail_ownership, ownership
from reconciler.manifest import load as load_sources
from reconciler.model import DesiredState, ResourcePattern
from reconciler.workflow.reasons import InvalidManifestsError


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


def checked(sources: Sequence[Source], *, below: str | Path | None = None) -> Manifests:
    """The same of texts that are read already; ``below`` is where from, so that files not read there are named."""
    with sound():
        manifests = load_sources(sources)
    found = files_not_read(Path(below)) if below is not None else ()
    return replace(manifests, warnings=(*manifests.warnings, *found)) if found else manifests


def desired(manifests: Manifests, cluster: str, as_of: datetime.date) -> DesiredState:
    """What the manifests want of one cluster on a day."""
    with sound():
        return desired_state(manifests, cluster, as_of)


def teams_of(manifests: Manifests, cluster: str, pattern: ResourcePattern) -> tuple[str, ...]:
    """The teams that own a name, by the manifests or their guardrails: whom somebody who needs access has to ask."""
    with sound():
        owners = (*ownership(manifests, cluster)[0], *guardrail_ownership(manifests, cluster)[0])
    return tuple(sorted({one.team for one in owners if any(own.contains(pattern) for own in one.patterns)}))
