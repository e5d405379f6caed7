"""What came of the cluster tests of one cluster: each claim with what every broker says of it."""

from collections.abc import Iterable

from reconciler.dataclass import dataclass
from reconciler.manifest import ClusterTest
from reconciler.report.claim_results import ClaimStatus


@dataclass(frozen=True, slots=True)
class ToldByBroker:
    """What one broker says of a config, or with ``broker`` ``None`` the cluster of a feature.

    ``found`` is the value, and where it comes from; empty where it is not known. ``doubt`` says why it is not.
    """

    broker: int | None
    found: str
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class ClusterTestResult:
    """A claim and what came of it.

    ``breaking`` are the answers that are not as claimed, ``unknown`` those that tell nothing, and ``asked`` is how
    many brokers were asked. ``note`` is what somebody else states of the same fact: it decides nothing.
    """

    test: ClusterTest
    standing: ClaimStatus
    breaking: tuple[ToldByBroker, ...] = ()
    unknown: tuple[ToldByBroker, ...] = ()
    asked: int = 0
    note: str = ""

    @property
    def stops(self) -> bool:
        """Whether it ends a command with status 3: a failure or a doubt that is neither a warning nor waived."""
        return self.standing in (ClaimStatus.FAILED, ClaimStatus.UNDECIDED) and self.test.severity == "error"


def any_stops(results: Iterable[ClusterTestResult]) -> bool:
    """Whether any of them ends a command with status 3."""
    return any(result.stops for result in results)
