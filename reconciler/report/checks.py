"""What the manifests demand of a state: access tests, ownership and topic policies, decided and said."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from reconciler.dataclass import dataclass
from reconciler.plan.guardrail_review import NO_GUARDRAILS, GuardrailReview
from reconciler.policy import Breach, OwnerConsent, TopicPolicyResult
from reconciler.report.claim_results import ClaimResult
from reconciler.report.claims_text import claim_entry, claims_lines
from reconciler.report.cluster_test_results import ClusterTestResult, any_stops
from reconciler.report.cluster_tests_text import cluster_test_lines
from reconciler.report.cluster_tests_text import entry as cluster_test_entry
from reconciler.report.declared_text import end_lines
from reconciler.report.ownership_text import (
    Lapsing,
    breach_entry,
    breach_lines,
    consent_entry,
    consent_lines,
)
from reconciler.report.policy_text import policies_entry, policy_lines
from reconciler.report.results.documents import CHECKS, ChecksEntry, EndEntry
from reconciler.report.style import Style


@dataclass(frozen=True, slots=True)
class Checks:
    """What came of every claim, what files name without owning it, what topics do not keep, the consents in use.

    ``lapsing`` are the rules that go on when a consent ends on which they rely: each is a breach from then on. ``ends``
    are declared items that end by themselves.
    """

    claims: tuple[ClaimResult, ...] = ()
    breaches: tuple[Breach, ...] = ()
    policies: TopicPolicyResult | None = None
    consents: tuple[OwnerConsent, ...] = ()
    guardrails: GuardrailReview = NO_GUARDRAILS
    cluster_tests: tuple[ClusterTestResult, ...] = ()
    lapsing: Lapsing = field(default_factory=dict)
    ends: tuple[EndEntry, ...] = ()

    @property
    def stops(self) -> bool:
        """Whether a claim, an owner or a policy says no."""
        against = self.policies is not None and bool(self.policies.stopping)
        stopping = any(result.stops for result in self.claims) or any_stops(self.cluster_tests)
        return against or bool(self.breaches) or stopping


def checks_lines(found: Checks, style: Style, *, expand: bool = False, agreed: bool = True) -> Iterator[str]:
    """The claims that do not hold, breaches, what topics do not keep; nothing without any demand.

    With ``agreed`` the consents in use and the ends too; a plan has them above its verdict.
    """
    if found.claims:
        yield from claims_lines(found.claims, style)
    yield from cluster_test_lines(found.cluster_tests, style)
    yield from breach_lines(found.breaches, style)
    if agreed:
        yield from agreed_lines(found, style, expand=expand)
    if found.policies is not None:
        yield from policy_lines(found.policies, style)


def agreed_lines(found: Checks, style: Style, *, expand: bool = False) -> Iterator[str]:
    """What speaks against nothing today: the consents in use, and what ends by itself."""
    yield from consent_lines(found.consents, style, found.lapsing, expand=expand)
    yield from end_lines(found.ends, style, expand=expand)


def checks_entry(found: Checks) -> ChecksEntry:
    """As commands print it for programs."""
    return ChecksEntry(
        tuple(map(claim_entry, found.claims)),
        tuple(map(breach_entry, found.breaches)),
        None if found.policies is None else policies_entry(found.policies),
        tuple(consent_entry(one, found.lapsing.get(one, ())) for one in found.consents),
        found.guardrails,
        tuple(map(cluster_test_entry, found.cluster_tests)),
        found.ends,
    )


def checks_document(found: Checks) -> dict[str, Any]:
    """What ``plan --output json`` adds to a plan."""
    return CHECKS.write(checks_entry(found))
