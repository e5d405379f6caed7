"""The manifests below a directory, read and checked; every problem at once is an :class:`InvalidManifestsError`."""

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reconciler.adapters.manifest_files import read_manifest_files
from reconciler.manifest import ManifestError, Manifests, Source, desired_state
from reconciler.manifest import load as load_sources
from reconciler.model import DesiredState
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
    return checked(read_sources(path))


def checked(sources: Sequence[Source]) -> Manifests:
    """The same of texts that are read already."""
    with sound():
        return load_sources(sources)


def desired(manifests: Manifests, cluster: str, as_of: datetime.date) -> DesiredState:
    """What the manifests want of one cluster on a day."""
    with sound():
        return desired_state(manifests, cluster, as_of)
