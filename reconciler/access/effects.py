"""What a comparison of access says of names: operations gained and lost."""

from typing import Final, NamedTuple

from reconciler.access.hosts import Hosts
from reconciler.access.region import Region


class AccessEffect(NamedTuple):
    """Operations gained and lost, as bits."""

    gained: int
    lost: int


NO_EFFECT: Final = AccessEffect(0, 0)


class RegionEffect(NamedTuple):
    """One region with one effect for some hosts; ``host`` and ``name`` are an example."""

    hosts: Hosts
    region: Region
    effect: AccessEffect
    host: str
    name: str
