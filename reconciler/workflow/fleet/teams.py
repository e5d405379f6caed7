"""Whose differences they are: the ``team`` label of the manifests that declare a principal or a topic."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from reconciler.adapters.spark.results import changes_of
from reconciler.fleet import FleetDrift
from reconciler.fleet.store import FleetStore
from reconciler.manifest import AclsDeclaration, Manifests, TopicsDeclaration, declared_acls
from reconciler.model import Change, Origin
from reconciler.plan import touched_binding

NOBODY: Final = "(nobody)"


def differences_by_team(drift: FleetDrift, store: FleetStore, manifests: Manifests) -> dict[str, Mapping[str, int]]:
    """Differences of each cluster by team; what no manifest with a team speaks of is nobody's."""
    files = _teams(manifests)
    found: dict[str, Mapping[str, int]] = {}
    for item in drift.differing:
        principals = _principals(manifests, item.cluster)
        changes = changes_of(store.files, item.files, item.cluster)[0]
        found[item.cluster] = Counter(_team(one.change, one.origin, files, principals) for one in changes)
    return found


def _teams(manifests: Manifests) -> dict[str, str]:
    """Teams by file."""
    files: dict[str, str] = {}
    acls, topics = manifests.of(AclsDeclaration), manifests.of(TopicsDeclaration)
    headings = [*(item.heading for item in acls), *(item.heading for item in topics)]
    for heading in (*headings, *(item.heading for item in manifests.templates)):
        if team := heading.labels.get("team"):
            files.setdefault(heading.origin.file, team)
    return files


def _principals(manifests: Manifests, cluster: str) -> dict[str, str]:
    """Teams by principal, whose names may come from the cluster's variables."""
    declaration = manifests.clusters.get(cluster)
    principals: dict[str, str] = {}
    for item in manifests.of(AclsDeclaration) if declaration is None else declared_acls(manifests, declaration):
        if team := item.heading.labels.get("team"):
            principals |= {name: team for rule in item.rules for name in rule.principals}
    return principals


def _team(change: Change, origin: Origin | None, files: Mapping[str, str], principals: Mapping[str, str]) -> str:
    if origin is not None and origin.file in files:
        return files[origin.file]
    if (binding := touched_binding(change)) is not None:
        return principals.get(binding.entry.principal, NOBODY)
    return NOBODY
