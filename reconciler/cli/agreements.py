"""What was agreed about a cluster, held against a state: AccessTests, Ownership, and topic policies.

``validate`` asks on what is declared, ``plan`` on the state that the plan makes, ``apply`` on the state that it is
about to make. Where something speaks against it, the command ends with status 3.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reconciler.cli.asserting import breaches, decide_tests
from reconciler.cli.topic_policies import Seen, decide_policies

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterator

    from reconciler.access import Authorizer
    from reconciler.cli.planning import Planned
    from reconciler.manifest import ClusterDeclaration, Manifests
    from reconciler.model import ClusterState, DesiredState
    from reconciler.plan import Plan
    from reconciler.policy import Breach, TopicPolicyResult
    from reconciler.report.claim_results import ClaimResult
    from reconciler.report.paint import Paint


@dataclass(frozen=True, slots=True)
class Agreements:
    """What came of every claim, what files name without owning it, and what topics do not keep."""

    claims: "tuple[ClaimResult, ...]" = ()
    breaches: "tuple[Breach, ...]" = ()
    policies: "TopicPolicyResult | None" = None

    @property
    def stops(self) -> bool:
        """Whether a claim, an owner or a policy says no."""
        against = self.policies is not None and bool(self.policies.stopping)
        return against or bool(self.breaches) or any(result.stops for result in self.claims)


def agreements(
    manifests: "Manifests",
    cluster: str,
    wanted: "DesiredState",
    state: "Callable[[], Authorizer]",
    as_of: "datetime.date",
    seen: Seen | None = None,
) -> Agreements:
    """Of one declared cluster, with access as ``state`` has it, and topics as declared and ``seen``."""
    return Agreements(
        decide_tests(manifests, cluster, state, as_of),
        breaches(manifests, cluster, wanted, as_of),
        decide_policies(manifests, cluster, wanted, as_of, seen),
    )


def agreements_behind(planned: "Planned", as_of: "datetime.date") -> Agreements:
    """On the state that a plan makes: what stays, what is created, each binding with its line where it is declared."""

    def after() -> "Authorizer":
        return authorizer_behind(planned.plan, planned.live, planned.declaration, planned.desired)

    return agreements(planned.manifests, planned.declaration.name, planned.desired, after, as_of, planned.seen)


def authorizer_behind(
    plan: "Plan", live: "ClusterState", declaration: "ClusterDeclaration", wanted: "DesiredState"
) -> "Authorizer":
    """The authorizer of the state that a plan makes of ``live``."""
    from reconciler.cli.views import authorizer
    from reconciler.plan import bindings_after

    bindings = bindings_after(live.bindings, plan.steps)
    return authorizer(declaration, {binding: wanted.bindings.get(binding) for binding in bindings}, live.opaque)


def agreement_lines(found: Agreements, paint: "Paint") -> "Iterator[str]":
    """The claims that do not hold, the breaches, what topics do not keep; nothing where nothing was agreed."""
    from reconciler.report.claims_text import claims_lines
    from reconciler.report.ownership_text import breach_lines
    from reconciler.report.policy_text import policy_lines

    if found.claims:
        yield from claims_lines(found.claims, paint)
    yield from breach_lines(found.breaches, paint)
    if found.policies is not None:
        yield from policy_lines(found.policies, paint)


def agreement_document(found: Agreements) -> dict[str, Any]:
    """For programs."""
    from reconciler.report.claims_text import claim_document
    from reconciler.report.ownership_text import breach_document
    from reconciler.report.policy_text import policy_document

    policies = {} if found.policies is None else {"policies": policy_document(found.policies)}
    return {
        "claims": [claim_document(result) for result in found.claims],
        "breaches": [breach_document(breach) for breach in found.breaches],
        **policies,
    }
