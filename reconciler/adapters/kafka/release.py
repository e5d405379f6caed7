"""The release whose rules a cluster's authorizer follows, from the levels of the feature ``metadata.version``."""

from bisect import bisect_right
from typing import Final

#: The first level of each release (``org.apache.kafka.server.common.MetadataVersion``).
_FIRST_LEVELS: Final = (
    (7, (3, 3)),
    (8, (3, 4)),
    (9, (3, 5)),
    (12, (3, 6)),
    (15, (3, 7)),
    (20, (3, 8)),
    (21, (3, 9)),
    (22, (4, 0)),
    (26, (4, 1)),
    (28, (4, 2)),
    (30, (4, 3)),
    (31, (4, 4)),
)
_RANGES_SINCE: Final = (4, 4)


def release_of(level: int) -> tuple[int, int] | None:
    """The release of a level; ``None`` before 3.3. Levels after 4.4's count as 4.4, the newest known here."""
    place = bisect_right(_FIRST_LEVELS, level, key=lambda item: item[0])
    return _FIRST_LEVELS[place - 1][1] if place else None


def rules_of(finalized: int, supported: int) -> tuple[int, int] | None:
    """The release whose rules apply: that of the broker's code, ``supported``, which has the authorizer.

    ``finalized`` is what all brokers have at least. If 4.4 is between the two, an upgrade is not finished: some brokers
    may take hosts as ranges and some not, so the answer is ``None``.
    """
    least, most = release_of(finalized), release_of(supported)
    if least is None or most is None or least < _RANGES_SINCE <= most:
        return None
    return max(least, most)
