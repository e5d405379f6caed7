"""One step of a plan: a change, when it is performed, and what it expects to find."""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from reconciler.codec.document import compact
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, ResourcePattern
from reconciler.model.desired import Expiry, Origin
from reconciler.model.listing import Change
from reconciler.model.markers import bridge_on
from reconciler.model.says import REQUIRED, AnyText, Flat, Says
from reconciler.model.state import ClusterState
from reconciler.plan.kinds import CHANGE, STEP_CHANGE, kind_of
from reconciler.plan.kinds.interface import Halves
from reconciler.plan.observed import Observed
from reconciler.plan.phase import PHASE, PHASE_TITLES, Phase


@dataclass(frozen=True, slots=True)
class Step:
    """A change in its phase. ``destructive``: undoing it does not bring back what was lost or who was cut off.

    ``expires`` says until when what it creates is wanted, or what it deletes was: that is over. ``reason`` and
    ``ticket`` are what the declaration says of why, for those who review the step; no part of any id. ``role`` is the
    rule of a ``Role`` document that names the operation, where ``origin`` only uses the role.
    """

    phase: Annotated[Phase, PHASE, Says(f"The phase in which it is sent: {PHASE_TITLES}.", 2)]
    change: Annotated[Change, STEP_CHANGE, Flat]
    origin: Annotated[
        Origin | None,
        Says(
            "The place in the manifests, file:line:column; null: nothing asks for it.",
            "acls.yaml:8:16",
            default=REQUIRED,
        ),
    ] = None
    expires: Annotated[
        Expiry | None,
        Says(
            "Until when what it creates is wanted, or what it deletes was, through a day or until an instant; "
            "null: no end.",
            "2027-01-31",
            default=REQUIRED,
        ),
    ] = None
    reason: Annotated[
        AnyText | None,
        Says("Why it is wanted, as its declaration says; null: it does not.", "nightly loads", default=REQUIRED),
    ] = None
    ticket: Annotated[
        AnyText | None, Says("The ticket that its declaration names; null: none.", "OPS-42", default=REQUIRED)
    ] = None
    role: Annotated[
        Origin | None,
        Says("The rule of a Role document that names the operation; null: none does.", "roles.yaml:8:7"),
    ] = None

    @property
    def action(self) -> str:
        """What is done, as plan files spell it: ``CreateAcl``."""
        return kind_of(self.change).action(self.change)

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits, the same for the same change in any plan."""
        return id_of(CHANGE.write(self.change))

    @property
    def destructive(self) -> bool:
        """Whether it takes something away: a grant, a restriction, a topic, records."""
        return kind_of(self.change).is_destructive(self.change)

    @property
    def reversible(self) -> bool:
        """Whether the state before can be restored: not a deleted topic, not fewer partitions, not lost records."""
        return kind_of(self.change).is_reversible(self.change)

    def observed(self, live: ClusterState) -> Observed:
        """The step against a live state: still to do, done by somebody already, or stale."""
        return kind_of(self.change).observe(self.change, live)

    def halves(self, live: ClusterState) -> Halves | None:
        """What was done and what is left of a step that was cut off between its requests; ``None`` otherwise."""
        return kind_of(self.change).halves(self.change, live)


def id_of(change: Mapping[str, Any]) -> str:
    """The id of a step whose change is written so: action, before and after."""
    text = compact([change["action"], change["before"], change["after"]])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# A bridge of a plan, as a value: what is kept open under default-allow while the plan runs, and what cannot be.


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
