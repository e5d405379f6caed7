"""One step of a plan: a change, when it is performed, and what it expects to find."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from reconciler.codec import REQUIRED, AnyText, Flat, Says, compact
from reconciler.dataclass import dataclass
from reconciler.model import Change, ClusterState, Expiry, Origin
from reconciler.plan.kinds import CHANGE, STEP_CHANGE, kind_of
from reconciler.plan.kinds.interface import Halves
from reconciler.plan.kinds.topic import touched_names
from reconciler.plan.observed import Observed
from reconciler.plan.phase import PHASE, PHASE_TITLES, Phase


@dataclass(frozen=True, slots=True)
class Step:
    """A change in its phase. ``destructive``: undoing it does not bring back what was lost or who was cut off.

    ``expires`` says until when what it creates is wanted, ``None`` where that has no end. ``reason`` and
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
            "Until when what it creates is wanted, through a day or until an instant; null: no end.",
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


def touched_topics(steps: Iterable[Step]) -> tuple[str, ...]:
    """Names of the topics that steps touch, each once, in order of first mention."""
    return touched_names(step.change for step in steps)


def id_of(change: Mapping[str, Any]) -> str:
    """The id of a step whose change is written so: action, before and after."""
    text = compact([change["action"], change["before"], change["after"]])
    return hashlib.sha256(text.encode()).hexdigest()[:12]
