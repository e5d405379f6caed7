"""What came of the access tests of one state: each claim with its verdict, and what counts as a failure."""

import datetime
from collections.abc import Iterable
from enum import StrEnum

from reconciler.access.assertion import AssertionResult
from reconciler.access.remediation import Remediation
from reconciler.access.separation import Combinations
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.tests import AccessTest, ClusterTest
from reconciler.plan.review.access_change import DeclaredEnd


class ClaimStatus(StrEnum):
    """How a claim stands. ``UNDECIDED`` is no pass: something unknown could break the claim."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    #: Failed or undecided, and accepted for a while.
    EXCEPTED = "excepted"


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A claim and what came of it. ``verdict`` is the first that did not pass, ``None`` where all did.

    ``nobody`` are patterns of principals that match nobody known: a ``must`` about nobody holds for no reason.
    ``since``: it holds now, and not from that end on. ``combinations`` is what came of a claim of separate duties.
    """

    test: AccessTest
    standing: ClaimStatus
    verdict: AssertionResult | None = None
    mending: Remediation | None = None
    nobody: tuple[str, ...] = ()
    since: DeclaredEnd | None = None
    combinations: Combinations | None = None

    @property
    def stops(self) -> bool:
        """Whether it ends a command with status 3: a failure or a doubt that is neither a warning nor excepted."""
        return self.standing in (ClaimStatus.FAILED, ClaimStatus.UNDECIDED) and self.test.severity == "error"


def stopping(results: Iterable[ClaimResult]) -> tuple[ClaimResult, ...]:
    """The results that end a command with status 3."""
    return tuple(result for result in results if result.stops)


def standing_of(test: AccessTest | ClusterTest, *, passed: bool, decided: bool, as_of: datetime.date) -> ClaimStatus:
    """How a claim stands on a day."""
    if passed:
        return ClaimStatus.PASSED
    if test.exception is not None and test.exception.stands(as_of):
        return ClaimStatus.EXCEPTED
    return ClaimStatus.FAILED if decided else ClaimStatus.UNDECIDED


# What came of the cluster tests of one cluster: each claim with what every broker says of it.


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
        """Whether it ends a command with status 3: a failure or a doubt that is neither a warning nor excepted."""
        return self.standing in (ClaimStatus.FAILED, ClaimStatus.UNDECIDED) and self.test.severity == "error"


def any_stops(results: Iterable[ClusterTestResult]) -> bool:
    """Whether any of them ends a command with status 3."""
    return any(result.stops for result in results)
