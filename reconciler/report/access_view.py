"""The state that an answer about access is of, and how that is said: an answer never claims more than was looked at."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reconciler.access import Authorizer


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
class AccessView:
    """One state. ``topics`` exist (of DECLARED: are declared), as far as they can be seen; ``None``: nobody asked."""

    cluster: str
    basis: Basis
    authorizer: Authorizer
    topics: tuple[str, ...] | None = None

    @property
    def words(self) -> str:
        """What was looked at, in a sentence."""
        return _WORDS[self.basis].format(self.cluster)

    def document(self) -> dict[str, object]:
        """What was looked at, for programs."""
        return {"cluster": self.cluster, "basis": self.basis.value}
