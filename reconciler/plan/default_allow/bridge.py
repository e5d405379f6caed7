"""A bridge of a plan, as a value: what is kept open under default-allow while the plan runs, and what cannot be."""

from enum import StrEnum
from typing import Annotated, Final

from reconciler.codec import REQUIRED, AnyText, Flat, Says
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


_PRINCIPALS: Final = "Who holds an ALLOW there on the side that has bindings."


@dataclass(frozen=True, slots=True, order=True)
class Bridge:
    """A pattern to be kept open; ``principals`` hold an ALLOW there on the side that has bindings."""

    pattern: Annotated[ResourcePattern, Flat]
    side: Annotated[Side, Says("Which way coverage changes.", "closing", before="pattern")]
    means: Annotated[Means, Says("How the resource is kept covered.", "bridge", before="pattern")]
    principals: Annotated[tuple[str, ...], Says(_PRINCIPALS, default=REQUIRED, before="pattern")] = ()

    @property
    def binding(self) -> AclBinding:
        """What keeps it open."""
        return bridge_on(self.pattern)


@dataclass(frozen=True, slots=True, order=True)
class Unbridged:
    """Names under ``pattern`` whose coverage changes without a bridge: ``principals`` may be refused for a moment."""

    pattern: Annotated[ResourcePattern, Flat]
    side: Annotated[Side, Says("Which way coverage changes.", "closing")]
    reason: Annotated[AnyText, Says("Why nothing can keep it covered.", "no such topic exists yet")]
    principals: Annotated[tuple[str, ...], Says(_PRINCIPALS, default=REQUIRED)] = ()


@dataclass(frozen=True, slots=True)
class Bridges:
    """What a plan keeps open while it runs, and what it cannot; both sorted, both empty unless default-allow is on."""

    wanted: tuple[Bridge, ...] = ()
    unbridged: tuple[Unbridged, ...] = ()

    def __bool__(self) -> bool:
        """Whether coverage changes at all."""
        return bool(self.wanted or self.unbridged)
