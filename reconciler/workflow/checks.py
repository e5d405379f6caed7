"""Access tests, ownership and topic policies held against a state.

Validation asks on what is declared, planning on the state that the plan makes, applying on the state that it is about
to make.
"""

import datetime
from collections.abc import Callable

from reconciler.access import Authorizer
from reconciler.manifest import GuardrailChange, Manifests, guardrail_changes
from reconciler.model import DesiredState
from reconciler.plan import bindings_after
from reconciler.report.checks import Checks
from reconciler.workflow.access_checks import decide_tests, ownership_of
from reconciler.workflow.manifests import checked, read_sources
from reconciler.workflow.planning import Planned
from reconciler.workflow.reasons import InvalidManifestsError, WorkflowError
from reconciler.workflow.states import authorizer
from reconciler.workflow.topic_checks import Seen, decide_policies


def checks(
    manifests: Manifests,
    cluster: str,
    wanted: DesiredState,
    state: Callable[[], Authorizer],
    as_of: datetime.date,
    seen: Seen | None = None,
) -> Checks:
    """Of one declared cluster, with access as ``state`` has it, and topics as declared and ``seen``."""
    owned = ownership_of(manifests, cluster, as_of)
    return Checks(
        decide_tests(manifests, cluster, state, as_of),
        owned.breaches(wanted),
        decide_policies(manifests, cluster, wanted, as_of, seen),
        owned.used_consents(wanted),
    )


def guardrails_changed(base: str, path: str) -> tuple[GuardrailChange, ...]:
    """How the guardrails of the manifests below ``path`` differ from those below ``base``, loosening ones first.

    Both directories are compared as they are written, so no field of a guardrail is exempt. Raises
    :class:`WorkflowError` where ``base`` has a problem: a guardrail that cannot be read would look as if there were
    none.
    """
    before = read_sources(base)
    try:
        checked(before)
    except InvalidManifestsError as error:
        problem = error.problems[0]
        raise WorkflowError(
            f"the guardrails of {base} cannot be compared: {problem.origin}: {problem.message}",
            f"repair {base} first, or compare with a commit that is valid",
        ) from error
    return guardrail_changes(before, read_sources(path))


def checks_of(planned: Planned, as_of: datetime.date | None = None) -> Checks:
    """On the state that a plan makes, on its day unless another is given; ``stops`` says whether it may be applied."""

    def after() -> Authorizer:
        bindings = bindings_after(planned.live.bindings, planned.plan.steps)
        notes = {binding: planned.desired.bindings.get(binding) for binding in bindings}
        return authorizer(planned.declaration, notes, planned.live)

    day = as_of or planned.plan.as_of
    return checks(planned.manifests, planned.declaration.name, planned.desired, after, day, planned.seen)
