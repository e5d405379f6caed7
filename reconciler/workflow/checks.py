"""Access tests, ownership and topic policies held against a state.

Validation asks on what is declared, planning on the state that the plan makes, applying on the state that it is about
to make.
"""

import datetime
from collections.abc import Callable
from dataclasses import replace

from reconciler.access import Authorizer
from reconciler.manifest import Manifests
from reconciler.model import DesiredState
from reconciler.plan import bindings_after
from reconciler.plan.leftovers import bridges_taken_over
from reconciler.report.checks import Checks
from reconciler.report.declared_text import ending_entries
from reconciler.workflow.access_checks import breaches_of, decide_tests, ownerships_of
from reconciler.workflow.planning import Planned
from reconciler.workflow.states import as_established, authorizer
from reconciler.workflow.topic_checks import Seen, decide_policies


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
