"""Access tests run: on what is declared, on a cluster as it is, or as the manifests make it."""

from functools import partial

from reconciler.access import Authorizer
from reconciler.report.access_view import AccessView
from reconciler.report.claim_results import ClaimResult
from reconciler.workflow.access_checks import decide_tests
from reconciler.workflow.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.workflow.reasons import RequestError
from reconciler.workflow.states import access_states, with_desired


def run_tests(
    request: StateRequest,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    as_is: bool = False,
    tell: Tell = ignore,
) -> list[tuple[AccessView, tuple[ClaimResult, ...]]]:
    """Each state with what came of each claim for its cluster.

    A cluster that is named is taken with everything in scope as the manifests declare it, or ``as_is``. Raises a
    :class:`WorkflowError`.
    """
    decided = []
    for found in access_states(request, connection, tell=tell):
        view = with_desired(found) if request.live and not as_is else found.view
        if found.manifests is None or found.declaration is None:
            raise RequestError("the tests stand in manifests", "give PATH")
        claims = decide_tests(found.manifests, found.declaration.name, partial(_authorizer, view), request.day)
        decided.append((view, claims))
    return decided


def _authorizer(view: AccessView) -> Authorizer:
    return view.authorizer
