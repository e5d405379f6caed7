"""The state that an answer is of, and how that is said: an answer never claims more than was looked at."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from reconciler.access import Authorizer
from reconciler.dataclass import dataclass
from reconciler.model import ResourcePattern

if TYPE_CHECKING:
    from reconciler.report.beside_acls import BesideAcls


class Basis(StrEnum):
    """What was looked at."""

    DECLARED = "declared"
    LIVE = "live"
    SNAPSHOT = "snapshot"
    #: What is live, with everything in scope as declared.
    DESIRED = "desired"
    #: What is live, with the steps of a saved plan done.
    PLANNED = "planned"


_WORDS: Final = {
    Basis.DECLARED: "As declared for cluster {}; the cluster itself was not read.",
    Basis.LIVE: "Cluster {}, as seen by one broker.",
    Basis.SNAPSHOT: "Snapshot of cluster {}.",
    Basis.DESIRED: "Cluster {} as seen by one broker, with everything in scope as declared.",
    Basis.PLANNED: "Cluster {} as seen by one broker, with the plan applied.",
}


@dataclass(frozen=True, slots=True)
class StateView:
    """One state of a cluster."""

    cluster: str
    basis: Basis

    @property
    def words(self) -> str:
        """What was looked at, in a sentence."""
        return self._looked_at("")

    def _looked_at(self, as_of: str) -> str:
        when = f" What had ended is as of {as_of}." if as_of else ""
        return _WORDS[self.basis].format(self.cluster) + when

    def document(self) -> dict[str, object]:
        """What was looked at, for programs."""
        return {"cluster": self.cluster, "basis": self.basis.value}


@dataclass(frozen=True, slots=True)
class ClaimedFacts:
    """What only the manifests state about a cluster, so that the author of a change may have made it up.

    ``default_allow`` is the stated value; ``None``: the manifests do not state it, or the operator does too. With
    ``vendor`` nobody states it, and it is the default there.
    """

    super_users: frozenset[str] = frozenset()
    default_allow: bool | None = None
    vendor: str = ""


@dataclass(frozen=True, slots=True)
class AccessView(StateView):
    """Its access. ``topics`` exist (of DECLARED: are declared), as far as they can be seen; ``None``: nobody asked.

    ``authorizer`` takes ``claimed`` facts as they are stated. ``condition`` says on which of them the answer rests; see
    :func:`reconciler.report.condition.with_condition`. ``unseen`` is what decides access at this make of Kafka besides
    ACLs, a clause each: no answer can take it into account. ``beside`` is what is known of logins and quotas, where it
    was asked for. ``as_of`` is the time that decided what had ended, where that is not now. ``owners`` gives the teams
    that own a name.
    """

    authorizer: Authorizer
    topics: tuple[str, ...] | None = None
    claimed: ClaimedFacts = ClaimedFacts()
    condition: str = ""
    unseen: tuple[str, ...] = ()
    beside: "BesideAcls | None" = None
    as_of: str = ""
    owners: Callable[[ResourcePattern], tuple[str, ...]] = lambda _: ()

    @property
    def words(self) -> str:
        """What was looked at, and what has to be true for the answer to hold."""
        held = [f"This holds {self.condition}."] if self.condition else []
        return " ".join([self._looked_at(self.as_of), *held, *(f"Not seen: {fact}." for fact in self.unseen)])

    def document(self) -> dict[str, object]:
        """The same for programs; ``condition`` is null where the answer rests on no claim."""
        # Not super(): a dataclass with slots is another class than the one in which this is compiled.
        unseen = {"unseen": list(self.unseen)} if self.unseen else {}
        return {**StateView.document(self), "condition": self.condition or None, **unseen}

    def beside_lines(self, principal: str | None) -> list[str]:
        """What is known of a principal's login and quota."""
        return [] if self.beside is None else list(self.beside.lines(principal))

    def beside_document(self, principal: str | None) -> dict[str, object]:
        """The same for programs; nothing where nobody asked."""
        return {} if self.beside is None else self.beside.document(principal)

    def doubting(self, *, super_users: bool = False, default_allow: bool = False) -> "AccessView":
        """The same state where these claims are perhaps not true."""
        doubted = self.authorizer.doubting(self.claimed.super_users if super_users else (), default_allow=default_allow)
        return replace(self, authorizer=doubted)


def times(states: Sequence[object]) -> tuple[str, ...]:
    """What begins the answer for each state: nothing if there is one, else before and after a plan."""
    return ("before: ", "after:  ") if len(states) > 1 else ("",)
