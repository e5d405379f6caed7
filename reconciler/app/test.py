"""Access tests run: on what is declared, on a cluster as it is, or as the manifests make it."""

from functools import partial
from typing import NamedTuple

from reconciler.access.authorizer import Authorizer
from reconciler.app.access_checks import NOTHING_DECLARED, CheckContext, decide_tests, undecided_tests
from reconciler.app.cluster_checks import declared_tests
from reconciler.app.manifests import guardrails_changed
from reconciler.app.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.app.reasons import RequestError
from reconciler.app.states import access_states, as_established, with_desired
from reconciler.app.terms import dead_letters, declared_dead_letters
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.locks import denials_of_locks
from reconciler.plan.guards import GuardrailReview, guardrail_review
from reconciler.results.access import AccessView
from reconciler.results.findings import ClaimResult, ClusterTestResult


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
    for access in access_states(request, connection, cluster_tests=True, tell=tell):
        view = with_desired(access) if request.live and not as_is else access.view
        if access.manifests is None or access.declaration is None:
            raise RequestError("the tests stand in manifests", "give PATH")
        state = partial(_authorizer, view, access.declaration if request.live else None)
        name = access.declaration.name
        if access.gap:
            claims = undecided_tests(access.manifests, name, access.gap, request.at)
        else:
            wanted = access.desired or NOTHING_DECLARED
            held = denials_of_locks(access.state.bindings) if access.state is not None else ()
            letters = declared_dead_letters(wanted, access.state)
            if as_is and access.state is not None:
                letters = dead_letters(access.state)
            besides = CheckContext(held, letters)
            claims = decide_tests(
                access.manifests, name, state, request.at, live=request.live, wanted=wanted, besides=besides
            )
        review = guardrail_review(access.manifests, access.declaration.name, changes)
        unasked = 0 if request.live else len(declared_tests(access.manifests, access.declaration.name))
        decided.append(TestedAccess(view, claims, review, access.cluster_tests, unasked))
    return decided


def _authorizer(view: AccessView, declaration: ClusterDeclaration | None) -> Authorizer:
    return view.authorizer if declaration is None else as_established(view.authorizer, declaration)
