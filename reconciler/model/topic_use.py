"""What a topic is used for, as far as a cluster tells: what would go with it."""

from reconciler.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TopicUse:
    """``None`` where it could not be read; ``gaps`` say why, a sentence each.

    ``size_bytes`` is of all replicas on the brokers' disks; ``records`` counts offsets from the first to the last one
    kept; ``last_write`` is the newest timestamp of a record, RFC 3339 in UTC, empty where there is no record;
    ``groups`` have committed offsets in the topic. ``written`` counts the offsets that were ever given, of records that
    retention has removed too.
    """

    size_bytes: int | None = None
    records: int | None = None
    last_write: str | None = None
    groups: tuple[str, ...] | None = None
    gaps: tuple[str, ...] = ()
    written: int | None = None
