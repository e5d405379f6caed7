"""Who gains access in JSON, with the client quotas that limit them."""

from typing import Final

from reconciler.codec import NUMBER, TEXT, Field, array, field, record
from reconciler.plan.review.gaining import GainingPrincipal, PrincipalLimit

_LIMIT: Final = record(
    PrincipalLimit,
    field("key", TEXT, "The key of the client quota.", "producer_byte_rate"),
    field("value", NUMBER, "Its value, in Kafka's unit.", 1048576),
    field("entity", TEXT, "The entity whose quota it is, in words.", "default user"),
)
_GAINING: Final = record(
    GainingPrincipal,
    field("principal", TEXT, "Who gains access.", "User:svc-orders"),
    field("limits", array(_LIMIT), "What limits it; empty: nothing does."),
)
#: A field of the plan.
GAINING: Final[Field] = field(
    "gaining",
    array(_GAINING, lines=True),
    "Who gains access, with the client quotas that limit them without a client id, once applied. In no id. Absent "
    "where quotas are not known, or there are none.",
    default=(),
    omit=True,
)
