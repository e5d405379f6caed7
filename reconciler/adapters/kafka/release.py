"""The release whose rules a cluster's authorizer follows, from the levels of the feature ``metadata.version``."""

from bisect import bisect_right
from typing import Final, NamedTuple

from reconciler.model.addresses import RANGES_SINCE
from reconciler.model.kafka_release import FIRST_LEVELS, NEWEST_RELEASE, release_text

#: The last level of the newest release that is known here.
_LAST_LEVEL: Final = 33


class ReleaseRules(NamedTuple):
    """The release whose rules apply; where the cluster leaves that open, ``version`` is ``None`` and ``gap`` says why.

    Both are ``None`` for a cluster that tells nothing. ``level`` is the finalized level of ``metadata.version``.
    """

    version: tuple[int, int] | None
    gap: str | None = None
    level: int | None = None


#: Of a cluster that tells no levels.
NOTHING_TOLD: Final = ReleaseRules(None)


def release_of(level: int) -> tuple[int, int] | None:
    """The release of a level; ``None`` before 3.3 and after the newest that is known here."""
    place = bisect_right(FIRST_LEVELS, level, key=lambda item: item[0])
    return FIRST_LEVELS[place - 1][1] if place and level <= _LAST_LEVEL else None


def rules_of(finalized: int, supported: int) -> ReleaseRules:
    """The release whose rules apply: that of the broker's code, ``supported``, which has the authorizer.

    ``finalized`` is what all brokers have at least. If 4.4 is between the two, an upgrade is not finished: some brokers
    may take hosts as ranges and some not, so it is left open.
    """
    if supported > _LAST_LEVEL:
        newest = release_text(NEWEST_RELEASE)
        return ReleaseRules(
            None, f"metadata.version {supported} is of a Kafka newer than {newest}, the newest known", finalized
        )
    least, most = release_of(finalized), release_of(supported)
    if least is None or most is None:
        return NOTHING_TOLD
    if least < RANGES_SINCE <= most:
        return ReleaseRules(
            None,
            f"brokers run {release_text(most)} and metadata.version is {release_text(least)}'s: perhaps not all do",
            finalized,
        )
    return ReleaseRules(max(least, most), level=finalized)
