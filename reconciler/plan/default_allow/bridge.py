"""A bridge of a plan, as a value: what is kept open under default-allow while the plan runs, and what cannot be."""

from enum import StrEnum

from reconciler.dataclass import dataclass
from reconciler.model import AclBinding, ResourcePattern, bridge_on


class Side(StrEnum):
    """Which way coverage changes: ``CLOSING`` gets its first binding, ``OPENING`` loses its last one."""

    CLOSING = "closing"
    OPENING = "opening"


class Means(StrEnum):
    """What serves as the bridge: one for this purpose, or the very binding, which the plan creates or deletes."""

    BRIDGE = "bridge"
    CREATED_FIRST = "created-first"
    DELETED_LAST = "deleted-last"


@dataclass(frozen=True, slots=True, order=True)
class Bridge:
    """A pattern to be kept open; ``principals`` hold an ALLOW there on the side that has bindings."""

    pattern: ResourcePattern
    side: Side
    means: Means
    principals: tuple[str, ...] = ()

    @property
    def binding(self) -> AclBinding:
        """What keeps it open."""
        return bridge_on(self.pattern)


@dataclass(frozen=True, slots=True, order=True)
class Unbridged:
    """Names under ``pattern`` whose coverage changes without a bridge: ``principals`` may be refused for a moment."""

    pattern: ResourcePattern
    side: Side
    reason: str
    principals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bridges:
    """What a plan keeps open while it runs, and what it cannot; both sorted, both empty unless default-allow is on."""

    wanted: tuple[Bridge, ...] = ()
    unbridged: tuple[Unbridged, ...] = ()

    def __bool__(self) -> bool:
        """Whether coverage changes at all."""
        return bool(self.wanted or self.unbridged)
