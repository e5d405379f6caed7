"""The facts of a cluster's flavor, where nobody stated anything else."""

from dataclasses import replace

from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model import FactSource


def with_flavor(found: ClusterDeclaration) -> ClusterDeclaration:
    """The declaration with its flavor's wait, default-allow and ``ignore``; doing it twice changes nothing more.

    The vendor's default-allow counts as the word of whoever states the flavor, where a user can change it as a claim:
    access is then computed with and without.
    """
    flavor, sources = found.flavor, found.sources
    if sources.barrier is FactSource.NOBODY:
        found = replace(found, barrier_wait=max(found.barrier_wait, flavor.wait_seconds))
    if found.probe is not None and found.probe.seconds < flavor.wait_seconds:
        found = replace(found, probe=replace(found.probe, seconds=flavor.wait_seconds))
    if found.allow_everyone_if_no_acl_found is None and flavor.default_allow is not None:
        word = FactSource.FLAVOR if flavor.default_allow_varies else sources.flavor
        found = replace(
            found,
            allow_everyone_if_no_acl_found=flavor.default_allow,
            sources=replace(sources, default_allow=word),
        )
    ignore = tuple(dict.fromkeys((*found.scope.ignore, *flavor.owned_elsewhere)))
    return replace(found, scope=replace(found.scope, ignore=ignore)) if ignore != found.scope.ignore else found
