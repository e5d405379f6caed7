"""What a topic is used for, as far as a cluster tells: what would go with it."""

from typing import Annotated

from reconciler.dataclass import dataclass
from reconciler.model.says import REQUIRED, AnyInteger, AnyText, Says


@dataclass(frozen=True, slots=True)
class TopicUse:
    """``None`` where it could not be read; ``gaps`` say why, a sentence each.

    ``size_bytes`` is of all replicas on the brokers' disks; ``records`` counts offsets from the first to the last one
    kept; ``last_write`` is the newest timestamp of a record, RFC 3339 in UTC, empty where there is no record;
    ``groups`` have committed offsets in the topic. ``written`` counts the offsets that were ever given, of records that
    retention has removed too.
    """

    size_bytes: Annotated[
        int | None, Says("How much it holds; null where that is unknown.", 1048576, default=REQUIRED)
    ] = None
    records: Annotated[
        AnyInteger | None, Says("How many records it holds; null where that is unknown.", 1200, default=REQUIRED)
    ] = None
    last_write: Annotated[
        str | None,
        Says("When the newest record was written; null where unknown.", "2026-11-20T08:00:00Z", default=REQUIRED),
    ] = None
    groups: Annotated[
        tuple[str, ...] | None,
        Says("Consumer groups with offsets in it; null where that is unknown.", default=REQUIRED),
    ] = None
    gaps: Annotated[tuple[AnyText, ...], Says("What could not be found out.", default=REQUIRED)] = ()
    written: Annotated[
        int | None, Says("How many records were ever written; null: unknown.", 0, omit=True, null=True)
    ] = None
