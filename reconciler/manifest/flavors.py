"""The facts of a cluster's flavor, where nobody stated anything else."""

from dataclasses import replace

from reconciler.manifest.parts.clusters import DEFAULT_BARRIER_WAIT, ClusterDeclaration
from reconciler.model import FactSource


def with_flavor(found: ClusterDeclaration) -> ClusterDeclaration:
    """The declaration with its flavor's wait, default-allow and ``ignore``; doing it twice changes nothing more.

    The vendor's default-allow counts as the word of whoever states the flavor, where a user can change it as a claim:
    access is then computed with and without.
    """
    flavor, sources = found.flavor, found.sources
    # A wait that is too short lets the next phase begin before brokers enforce this one: only the operator may say so.
    least = flavor.wait_seconds if flavor.wait_seconds > DEFAULT_BARRIER_WAIT else 0
    if sources.barrier is not FactSource.OPERATOR and found.barrier_wait < least:
        short = found.barrier_wait if sources.barrier is FactSource.MANIFESTS and found.probe is None else None
        found = replace(found, barrier_wait=least, short_wait=short)
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
