"""What the manifests declared on an earlier day, by the history of the repository that they are in.

Whoever commits sets the clock of the commit. That can make a rule look older than it is, and so propose to remove it;
the proposal is reviewed like any other.
"""

import datetime
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final

from reconciler.adapters.git import GitError, commit_before, top_of, write_tree
from reconciler.manifest import Manifests
from reconciler.model import AclBinding
from reconciler.workflow.connections import manifests_below
from reconciler.workflow.manifests import desired
from reconciler.workflow.options import ConnectionOptions
from reconciler.workflow.reasons import WorkflowError

_NOTHING: Final = Manifests((), {}, {}, (), {})


def declared_then(
    path: str, cluster: str, day: datetime.date, connection: ConnectionOptions = ConnectionOptions()
) -> Collection[AclBinding] | None:
    """The bindings that were declared for a cluster before a day began; ``None`` if no history says so."""
    return DeclaredThen(path, connection).of(cluster, day)


class DeclaredThen:
    """The manifests of earlier days, each day's read once for as many clusters as ask."""

    def __init__(self, path: str, connection: ConnectionOptions = ConnectionOptions()) -> None:
        """``path`` is where the manifests are now."""
        self._path, self._connection = path, connection
        self._known: dict[datetime.date, Manifests | None] = {}

    def of(self, cluster: str, day: datetime.date) -> Collection[AclBinding] | None:
        """The bindings that were declared for a cluster before a day began; ``None`` if no history says so."""
        if day not in self._known:
            self._known[day] = self._manifests(day)
        found = self._known[day]
        try:
            return None if found is None else desired(found, cluster, day).bindings if cluster in found.clusters else ()
        except WorkflowError:
            return None

    def _manifests(self, day: datetime.date) -> Manifests | None:
        place = Path(self._path).resolve()
        root = place if place.is_dir() else place.parent
        try:
            commit, top = commit_before(root, day), top_of(root).resolve()
            if commit is None:
                return None
            with tempfile.TemporaryDirectory() as directory:
                below = place.relative_to(top)
                write_tree(root, commit, Path(directory), below.as_posix())
                then = Path(directory, below)
                return manifests_below(str(then), self._connection) if then.exists() else _NOTHING
        except (GitError, WorkflowError, OSError):
            # No repository, or what was there then cannot be read by today's rules: nothing is known.
            return None
