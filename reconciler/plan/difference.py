"""What a comparison finds: changes with their declarations, and differences that no plan removes."""

from collections.abc import Collection
from enum import StrEnum
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.desired import Declaration, Origin
from reconciler.model.flavor import APACHE, Flavor
from reconciler.model.listing import Change


class DeclaredChange(NamedTuple):
    """A change with the declaration that asks for it; ``None``: nothing asks for the resource any more.

    A binding that has expired is deleted with its old declaration, which says why it was there.
    """

    change: Change
    declaration: Declaration | None = None

    @property
    def origin(self) -> Origin | None:
        """The place in the manifests that asks for it."""
        return None if self.declaration is None else self.declaration.origin


class SkipReason(StrEnum):
    """Why a difference stays."""

    #: What a guard refuses, and what waits for that.
    REFUSED = "refused"
    IMPOSSIBLE = "impossible"
    HELD_BACK = "held-back"
    EXCLUDED = "excluded"
    UNREADABLE = "unreadable"
    UNSUPPORTED = "unsupported"
    #: What a run of this tool put there for its own use, without a run that needs it.
    LEFTOVER = "leftover"
    #: Access that an operator gave at once and that ends by itself.
    BREAK_GLASS = "break-glass"
    #: Something live that a scope holds and no manifest declares, such as a topic or a user.
    UNDECLARED = "undeclared"
    #: Replicas that brokers are moving, whoever asked for it.
    UNFINISHED = "unfinished"


class DriftCause(StrEnum):
    """Why a cluster differs, as far as the manifests that were applied last say."""

    #: The cluster is as it was applied: the manifests have changed since.
    MERGED = "merged"
    #: The cluster is not as it was applied. A deletion that an apply left, or what a safety check refused, looks alike.
    BY_HAND = "by-hand"
    #: The cluster is not as it was applied, and the manifests have changed since.
    BOTH = "both"
    #: The manifests that were applied declared its end.
    EXPIRED = "expired"

    @property
    def words(self) -> str:
        """For people."""
        return _CAUSES[self]


_CAUSES: Final = {
    DriftCause.MERGED: "merged and waiting for apply",
    DriftCause.BY_HAND: "changed by hand or left by an apply",
    DriftCause.BOTH: "changed by hand and merged since",
    DriftCause.EXPIRED: "expired",
}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A difference that stays. ``change`` is ``None`` where not even the difference is known (unreadable)."""

    reason: SkipReason
    subject: str
    detail: str
    change: Change | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class DiffRules:
    """How silence is read. ``prune`` names the kinds (``KIND``) of which everything undeclared is to go.

    ``ignore_configs`` are topic configs that are left alone, as are those that no user of the ``flavor`` can set.
    ``report_topics``: undeclared topics that are not pruned are differences.
    """

    prune: Collection[str] = ()
    ignore_configs: Collection[str] = ()
    report_topics: bool = True
    flavor: Flavor = APACHE


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found of one kind, or of all; changes in a fixed order.

    The counts say what was looked at: live bindings ``owned``, ``ignored`` (somebody else's) and ``outside``.
    """

    changes: tuple[DeclaredChange, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    owned: int = 0
    ignored: int = 0
    outside: int = 0

    def __add__(self, other: "Comparison") -> "Comparison":
        """Both together, this one first."""
        return Comparison(
            self.changes + other.changes,
            self.skipped + other.skipped,
            self.owned + other.owned,
            self.ignored + other.ignored,
            self.outside + other.outside,
        )
