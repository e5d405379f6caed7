"""Access tests run, and all checks of a state together.

Access tests run: on what is declared, on a cluster as it is, or as the manifests make it.
"""

import datetime
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from reconciler.access.authorizer import Authorizer
from reconciler.app.access_checks import NOTHING_DECLARED, breaches_of, decide_tests, ownerships_of, undecided_tests
from reconciler.app.cluster_tests import declared_tests
from reconciler.app.manifests import guardrails_changed
from reconciler.app.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.app.planning import Planned
from reconciler.app.reasons import RequestError
from reconciler.app.states import access_states, as_established, authorizer, with_desired
from reconciler.app.topic_policy import Seen, decide_policies
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.desired import DesiredState
from reconciler.plan.guards import GuardrailReview, guardrail_review
from reconciler.plan.leftovers import bridges_taken_over
from reconciler.plan.proposal import bindings_after
from reconciler.results.access import AccessView
from reconciler.results.checks import ClaimResult, ClusterTestResult
from reconciler.show.claims import Checks
from reconciler.show.review import ending_entries


class TestedAccess(NamedTuple):
    """A state, what came of each claim for its cluster, which rules judged it, and what brokers say of theirs.

    Cluster tests are decided on a cluster only, for nothing that is declared tells what brokers have: ``unasked`` are
    the claims of those that nobody asked a cluster about.
    """

    view: AccessView
    claims: tuple[ClaimResult, ...]
    guardrails: GuardrailReview
    cluster_tests: tuple[ClusterTestResult, ...] = ()
    unasked: int = 0


def run_tests(
    request: StateRequest,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    as_is: bool = False,
    base: str | None = None,
    tell: Tell = ignore,
) -> list[TestedAccess]:
    """Each state with what came of each claim for its cluster.

    A cluster that is named is taken with everything in scope as the manifests declare it, or ``as_is``. Raises a
    :class:`WorkflowError`.
    """
    decided = []
    changes = () if base is None else guardrails_changed(base, request.path or connection.default_path)
    for found in access_states(request, connection, cluster_tests=True, tell=tell):
        view = with_desired(found) if request.live and not as_is else found.view
        if found.manifests is None or found.declaration is None:
            raise RequestError("the tests stand in manifests", "give PATH")
        state = partial(_authorizer, view, found.declaration if request.live else None)
        name = found.declaration.name
        if found.gap:
            claims = undecided_tests(found.manifests, name, found.gap, request.at)
        else:
            wanted = found.desired or NOTHING_DECLARED
            claims = decide_tests(found.manifests, name, state, request.at, live=request.live, wanted=wanted)
        review = guardrail_review(found.manifests, found.declaration.name, changes)
        unasked = 0 if request.live else len(declared_tests(found.manifests, found.declaration.name))
        decided.append(TestedAccess(view, claims, review, found.cluster_tests, unasked))
    return decided


def _authorizer(view: AccessView, declaration: ClusterDeclaration | None) -> Authorizer:
    return view.authorizer if declaration is None else as_established(view.authorizer, declaration)


# Access tests, ownership and topic policies held against a state.
#
# Validation asks on what is declared, planning on the state that the plan makes, applying on the state that it is
# about to make.


def checks(
    manifests: Manifests,
    cluster: str,
    wanted: DesiredState,
    state: Callable[[], Authorizer],
    as_of: datetime.date,
    seen: Seen | None = None,
    *,
    live: bool = True,
) -> Checks:
    """Of one declared cluster, with access as ``state`` has it, and topics as declared and ``seen``.

    ``live``: the state is one of the cluster, not of what is declared alone.
    """
    owned = ownerships_of(manifests, cluster, as_of)
    return Checks(
        decide_tests(manifests, cluster, state, as_of, live=live, wanted=wanted),
        breaches_of(owned, wanted),
        decide_policies(manifests, cluster, wanted, as_of, seen),
        owned[0].used_consents(wanted),
        lapsing=owned[0].outlasting(wanted),
        ends=ending_entries(wanted),
    )


def checks_of(planned: Planned, as_of: datetime.date | None = None) -> Checks:
    """On the state that a plan makes, on its day unless another is given; ``stops`` says whether it may be applied."""

    def after() -> Authorizer:
        steps = planned.plan.steps
        # The run of this plan ends the bridges on names that it touches; it needs a probe to have any.
        ends = bridges_taken_over(planned.live, (step.change for step in steps)) if planned.declaration.probe else {}
        bindings = bindings_after(planned.live.bindings - ends.keys(), steps)
        notes = {binding: planned.desired.bindings.get(binding) for binding in bindings}
        return as_established(authorizer(planned.declaration, notes, planned.live), planned.declaration)

    day = as_of or planned.plan.as_of
    found = checks(planned.manifests, planned.declaration.name, planned.desired, after, day, planned.seen)
    return replace(found, guardrails=planned.plan.guardrails)
