"""The release whose rules a cluster's authorizer follows, from the levels of the feature ``metadata.version``."""

from bisect import bisect_right
from typing import Final, NamedTuple

from reconciler.model.addresses import RANGES_SINCE
from reconciler.model.kafka_release import NEWEST_RELEASE, release_text

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
#: The last level of the newest release that is known here.
_LAST_LEVEL: Final = 33


class ReleaseRules(NamedTuple):
    """The release whose rules apply; where the cluster leaves that open, ``version`` is ``None`` and ``gap`` says why.

    Both are ``None`` for a cluster that tells nothing.
    """

    version: tuple[int, int] | None
    gap: str | None = None


#: Of a cluster that tells no levels.
NOTHING_TOLD: Final = ReleaseRules(None)


def release_of(level: int) -> tuple[int, int] | None:
    """The release of a level; ``None`` before 3.3 and after the newest that is known here."""
    place = bisect_right(_FIRST_LEVELS, level, key=lambda item: item[0])
    return _FIRST_LEVELS[place - 1][1] if place and level <= _LAST_LEVEL else None


def rules_of(finalized: int, supported: int) -> ReleaseRules:
    """The release whose rules apply: that of the broker's code, ``supported``, which has the authorizer.

    ``finalized`` is what all brokers have at least. If 4.4 is between the two, an upgrade is not finished: some brokers
    may take hosts as ranges and some not, so it is left open.
    """
    if supported > _LAST_LEVEL:
        newest = release_text(NEWEST_RELEASE)
        return ReleaseRules(None, f"metadata.version {supported} is of a Kafka newer than {newest}, the newest known")
    least, most = release_of(finalized), release_of(supported)
    if least is None or most is None:
        return NOTHING_TOLD
    if least < RANGES_SINCE <= most:
        return ReleaseRules(
            None,
            f"brokers run {release_text(most)} and metadata.version is {release_text(least)}'s: perhaps not all do",
        )
    return ReleaseRules(max(least, most))
