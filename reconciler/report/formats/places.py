"""Places in a repository: where the manifests stand in it, and what stands for a cluster that no file declares."""

from pathlib import PurePosixPath
from urllib.parse import quote

from reconciler.model import Origin
from reconciler.report.results import Finding


def repository_path(place: Origin, manifests: str) -> str | None:
    """The file's path from the repository's root, or ``None`` where it would lead out of the manifests."""
    path = PurePosixPath(place.file)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\x00" in place.file or place.line < 1:
        return None
    return str(PurePosixPath(manifests or ".") / path)


def location(finding: Finding, manifests: str) -> tuple[str, int, int]:
    """Path, line and column; a finding that no file declares is put into ``live-cluster/NAME``, which is no file."""
    path = None if finding.place is None else repository_path(finding.place, manifests)
    if path is None or finding.place is None:
        return f"live-cluster/{quote(finding.cluster, safe='', errors='replace') or 'unknown'}", 1, 1
    return path, finding.place.line, max(1, finding.place.column)


def location_uri(finding: Finding, manifests: str) -> str:
    """The path as a relative URI; that of a live cluster is one already."""
    path = None if finding.place is None else repository_path(finding.place, manifests)
    return location(finding, manifests)[0] if path is None else quote(path, errors="replace")


def manifests_problem(manifests: str) -> str | None:
    """Why a text cannot say where the manifests stand."""
    path = PurePosixPath(manifests)
    if path.is_absolute() or ".." in path.parts:
        return "it has to be a path below the repository's root"
    return None
