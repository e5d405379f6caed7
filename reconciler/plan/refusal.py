"""A guard and what it refuses: values that each kind of resource makes and ``plan/guards.py`` collects."""

import datetime
from collections.abc import Collection
from dataclasses import replace
from enum import Enum, StrEnum
from typing import Annotated, Final

from reconciler.codec.annotated import record_of
from reconciler.dataclass import dataclass
from reconciler.model.characters import shell_quoted
from reconciler.model.desired import FOREVER, Expiry
from reconciler.model.says import REQUIRED, AnyText, Says


class Judges(Enum):
    """What a guard is about, and so what it holds back."""

    #: Certain steps: they are left out with what waits for them, and the rest is the plan.
    STEPS = "steps"
    #: All steps together, or a state that no step accounts for: there is no plan.
    PLAN = "plan"


class Guard(StrEnum):
    """Names as ``--accept GUARD=OBJECT`` and ``Cluster.spec.exceptions`` spell them."""

    TOPIC_DELETE = "topic-delete"
    DATA_LOSS = "data-loss"
    OPEN_BY_DEFAULT = "open-by-default"
    CLOSED_BY_DEFAULT = "closed-by-default"
    LIMIT = "limit"
    EMPTY_DESIRED = "empty-desired"
    EMPTY_LIVE = "empty-live"
    LOCKOUT = "lockout"
    PROTECTED = "protected"
    CLUSTER_ALTER = "cluster-alter"
    BROKEN_BINDING = "broken-binding"
    REPLICA_MOVE = "replica-move"
    USER_ENABLE = "user-enable"
    LOGIN_LIMIT = "login-limit"
    UNLOCK = "unlock"

    @property
    def judges(self) -> Judges:
        """What the guard is about. Without a default: mypy refuses a new guard that has no row."""
        match self:
            case Guard.TOPIC_DELETE | Guard.DATA_LOSS | Guard.REPLICA_MOVE | Guard.USER_ENABLE:
                return Judges.STEPS  # each change alone
            case Guard.LOGIN_LIMIT:
                return Judges.STEPS  # the quotas that limit the login
            case Guard.UNLOCK:
                return Judges.STEPS  # the DENYs of the lock
            case Guard.PROTECTED | Guard.CLUSTER_ALTER:
                return Judges.STEPS  # the bindings that move the access
            case Guard.OPEN_BY_DEFAULT | Guard.CLOSED_BY_DEFAULT:
                return Judges.PLAN  # every binding on the names counts, also one that stays
            case Guard.LIMIT:
                return Judges.PLAN  # part by part, what a limit lets pass would lead round it
            case Guard.EMPTY_DESIRED | Guard.EMPTY_LIVE:
                return Judges.PLAN  # the manifests or the listing may be wrong as a whole
            case Guard.LOCKOUT:
                return Judges.PLAN  # who cannot see or send any more cannot mend what the rest did
            case Guard.BROKEN_BINDING:
                return Judges.PLAN  # it is there and stays: no step makes it


@dataclass(frozen=True, slots=True)
class AcceptedGuard:
    """A person's word that this guard may let this object pass, why, and until when; without an end for one plan."""

    guard: Annotated[Guard, Says("The safety check that is let pass.", "topic-delete")]
    object: Annotated[str, Says("The name that was accepted.", "orders.old")]
    reason: Annotated[AnyText, Says("Why it was accepted.", "agreed in SEC-1204", default=REQUIRED)] = ""
    expires: Annotated[
        Expiry | None,
        Says("Until when, through a day or until an instant; absent: as long as the plan.", "2027-01-31", omit=True),
    ] = None

    def over(self, as_of: datetime.date) -> bool:
        """Whether it has ended."""
        return self.expires is not None and self.expires.over(as_of)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A guard that nobody has accepted; ``remedy`` says what a person can do.

    ``judges`` is that of the guard; of a guard that judges steps it is the plan where no step accounts for what it
    refuses.
    """

    guard: Annotated[Guard, Says("The safety check that refuses.", "topic-delete")]
    object: Annotated[str, Says("What it is about.", "orders.old")]
    message: Annotated[AnyText, Says("What is refused, in words.", "deletes topic orders.old and all its records")]
    remedy: Annotated[AnyText, Says("What a person can do.", "--accept topic-delete=orders.old")]
    judges: Annotated[
        Judges,
        Says(
            "What is skipped: the steps that it is about, which are in left, or all of the plan, which is not saved.",
            "steps",
        ),
    ]


REFUSAL: Final = record_of(Refusal)


def refusal(guard: Guard, name: str, message: str) -> Refusal:
    """A refusal of ``name`` that ``--accept`` lifts."""
    word = shell_quoted(f"{guard}={name}")
    return Refusal(guard, name, message, f"if this is meant: --accept {word}", guard.judges)


def in_order(accepted: Collection[AcceptedGuard]) -> tuple[AcceptedGuard, ...]:
    """Each once, in an order that does not depend on who typed what first: it is part of a plan's id."""

    def place(item: AcceptedGuard) -> tuple[str, str, str, datetime.datetime]:
        return item.guard, item.object, item.reason, (item.expires or FOREVER).end

    return tuple(sorted(set(accepted), key=place))


def standing(accepted: Collection[AcceptedGuard], as_of: datetime.date) -> tuple[AcceptedGuard, ...]:
    """Those that have not ended."""
    return tuple(item for item in accepted if not item.over(as_of))


def as_ended(refused: Refusal, accepted: Collection[AcceptedGuard]) -> Refusal:
    """The refusal as it is said of what one of these exceptions let pass until it ended."""
    ends = [item.expires for item in accepted if (item.guard, item.object) == (refused.guard, refused.object)]
    ended = max((end for end in ends if end is not None), key=lambda end: end.end, default=None)
    if ended is None:
        return refused
    return replace(refused, remedy=f"its exception expired {ended.past}: agree on a new day, then plan again")
