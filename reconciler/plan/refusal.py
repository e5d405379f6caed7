"""A guard and what it refuses: values that each kind of resource makes and ``guards.py`` collects."""

from enum import StrEnum
from typing import Annotated, Final

from reconciler.codec import AnyText, Record, Says, record_of
from reconciler.dataclass import dataclass
from reconciler.model.escape import shell_quoted


class Guard(StrEnum):
    """Names as ``--accept GUARD=OBJECT`` and ``Cluster.spec.acknowledge`` spell them."""

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


@dataclass(frozen=True, slots=True)
class Refusal:
    """A guard that nobody has acknowledged; ``remedy`` says what a person can do."""

    guard: Annotated[Guard, Says("The guard that refuses.", "topic-delete")]
    object: Annotated[str, Says("What it is about.", "orders.old")]
    message: Annotated[AnyText, Says("What is wrong.", "nobody connects from this address")]
    remedy: Annotated[AnyText, Says("What a person can do.", "--accept topic-delete=orders.old")]


REFUSAL: Final[Record[Refusal]] = record_of(Refusal)


def refusal(guard: Guard, name: str, message: str) -> Refusal:
    """A refusal of ``name`` that ``--accept`` lifts."""
    word = shell_quoted(f"{guard}={name}")
    return Refusal(guard, name, message, f"if this is meant: --accept {word}")
