"""Access tests and ownership of a cluster decided: on what is declared, live, or on the state that a plan makes.

Nothing here asks a cluster.
"""

import dataclasses
import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from reconciler.access import (
    Assertion,
    AssertionKind,
    AssertionOutcome,
    Authorizer,
    Checker,
    only_admins,
    only_readers,
    only_writers,
    supported,
)
from reconciler.access.remediation import suggest_fix
from reconciler.manifest import AccessTest, Claim, ConsentDeclaration, Manifests, access_tests, ownership
from reconciler.model import WILDCARD_PRINCIPAL, AclOperation
from reconciler.policy import Owner, OwnerConsent, Ownership
from reconciler.report.claim_results import ClaimResult, standing_of
from reconciler.workflow.manifests import sound

#: So many failures are shown with what would mend them.
_MENDED: Final = 10


def decide_tests(
    manifests: Manifests, cluster: str, state: Callable[[], Authorizer], as_of: datetime.date
) -> tuple[ClaimResult, ...]:
    """Every claim of the AccessTests for a declared cluster, decided on a state; those that do not hold explained.

    The state is asked for only where there is a claim.

    Raises :class:`InvalidManifestsError` where the manifests cannot be used for this cluster.
    """
    with sound():
        tests = access_tests(manifests, cluster)
    if not tests:
        return ()
    authorizer = state()
    checker = Checker(authorizer)
    results = [_result(test, authorizer, checker, as_of) for test in tests]
    return tuple(_with_mendings(results, authorizer))


def ownership_of(manifests: Manifests, cluster: str, as_of: datetime.date) -> Ownership:
    """The owners and consents of a declared cluster, as rules for what the manifests declare for it."""
    with sound():
        owners, consents = ownership(manifests, cluster, as_of)
    return Ownership(
        (Owner(one.team, one.origin, one.files_of(manifests.sources), one.principals, one.patterns) for one in owners),
        map(_consent, consents),
    )


def _consent(given: ConsentDeclaration) -> OwnerConsent:
    operations = frozenset(given.operations)
    return OwnerConsent(given.team, given.to, operations, given.patterns, given.origin, given.own_file, given.reason)


def _result(
    test: AccessTest,
    authorizer: Authorizer,
    checker: Checker,
    as_of: datetime.date,
) -> ClaimResult:
    verdicts = [checker.check(assertion) for assertion in assertions(test, authorizer)]
    broken = next((one for one in verdicts if one.outcome is AssertionOutcome.FAIL), None)
    broken = broken or next((one for one in verdicts if one.outcome is AssertionOutcome.UNDECIDED), None)
    nobody = _matching_nobody(test.principals, checker) if test.claim is Claim.MUST else ()
    standing = standing_of(
        test,
        passed=broken is None and not nobody,
        decided=broken is not None and broken.outcome is AssertionOutcome.FAIL,
        as_of=as_of,
    )
    return ClaimResult(test, standing, broken, None, nobody)


def _with_mendings(results: Iterable[ClaimResult], authorizer: Authorizer) -> Iterator[ClaimResult]:
    """The results, the first failures with what would mend them: to prove a mending costs a check of its own."""
    left = _MENDED
    for result in results:
        if result.verdict is None or not left:
            yield result
        else:
            left -= 1
            yield dataclasses.replace(result, mending=suggest_fix(result.verdict, authorizer))


def assertions(test: AccessTest, authorizer: Authorizer) -> list[Assertion]:
    """A claim in the words of the access library: one for each resource type where the operations depend on it."""
    match test.claim:
        case Claim.ONLY_READERS:
            found = [only_readers(test.name, test.patterns, test.principals)]
        case Claim.ONLY_WRITERS:
            found = [only_writers(test.name, test.patterns, test.principals)]
        case Claim.ONLY_ADMINS:
            found = only_admins(test.name, test.patterns, test.principals)
        case Claim.MUST | Claim.MUST_NOT:
            found = list(_of_principals(test, authorizer))
    return [dataclasses.replace(one, include_super_users=test.include_super_users) for one in found]


def _of_principals(test: AccessTest, authorizer: Authorizer) -> Iterator[Assertion]:
    for kind in dict.fromkeys(pattern.resource_type for pattern in test.patterns):
        patterns = tuple(pattern for pattern in test.patterns if pattern.resource_type is kind)
        operations = frozenset(test.operations)
        if AclOperation.ALL in operations:
            operations = supported(kind, authorizer.kafka_version)
        yield Assertion(test.name, AssertionKind(test.claim), operations, patterns, test.principals, test.excluded)


def _matching_nobody(texts: Iterable[str], checker: Checker) -> tuple[str, ...]:
    """The patterns that match no known principal; ``User:*`` is everybody there could be."""
    return tuple(text for text in texts if text != WILDCARD_PRINCIPAL and not checker.matching(text))
