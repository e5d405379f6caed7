"""What the manifests declared on an earlier day, by the history of the repository that they are in.

Whoever commits sets the clock of the commit. That can make a rule look older than it is, and so propose to remove it;
the proposal is reviewed like any other.
"""

import datetime
import tempfile
from collections.abc import Collection
from pathlib import Path

from reconciler.adapters.git import GitError, commit_before, top_of, write_tree
from reconciler.model import AclBinding
from reconciler.workflow.connections import manifests_below
from reconciler.workflow.manifests import desired
from reconciler.workflow.options import ConnectionOptions
from reconciler.workflow.reasons import WorkflowError


def declared_then(
    path: str, cluster: str, day: datetime.date, connection: ConnectionOptions = ConnectionOptions()
) -> Collection[AclBinding] | None:
    """The bindings that were declared for a cluster before a day began; ``None`` if no history says so."""
    place = Path(path).resolve()
    root = place if place.is_dir() else place.parent
    try:
        commit, top = commit_before(root, day), top_of(root).resolve()
        if commit is None:
            return None
        with tempfile.TemporaryDirectory() as directory:
            write_tree(root, commit, Path(directory))
            then = Path(directory, place.relative_to(top))
            if not then.exists():
                return ()
            manifests = manifests_below(str(then), connection)
            return () if cluster not in manifests.clusters else desired(manifests, cluster, day).bindings
    except (GitError, WorkflowError, OSError):
        # No repository, or what was there then cannot be read by today's rules: nothing is known.
        return None
