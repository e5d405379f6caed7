"""Break-glass: access at once, as a plan of exactly these bindings, that ends by itself at its instant.

The mark that says when it ends is on the cluster before the access is: whatever is cut off, no access is there without
an end. ``docs/decisions/break-glass.md`` says why it is kept there.
"""

import datetime
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from reconciler.adapters.clock import SystemClock
from reconciler.apply import Result
from reconciler.model import (
    AclBinding,
    ClusterState,
    Create,
    Declaration,
    Delete,
    DesiredState,
    Origin,
    break_glass_mark,
    instant_of,
    is_reserved,
    moment_text,
    running_break_glass,
    standing_bridges,
)
from reconciler.model.break_glass import LONGEST
from reconciler.plan import Plan, propose
from reconciler.ports import Cluster, ClusterError
from reconciler.retry import attempts
from reconciler.workflow.applying import ApplyOptions, perform_now
from reconciler.workflow.attendant import Attendant, Unattended
from reconciler.workflow.checks import checks_of
from reconciler.workflow.clusters import Target, open_declared
from reconciler.workflow.granting import AskedAccess, GrantTerms, checked_terms
from reconciler.workflow.manifests import desired
from reconciler.workflow.options import ConnectionOptions, PlanOptions, moment
from reconciler.workflow.planning import Planned, declared_for, request_on
from reconciler.workflow.reasons import PlanRefusedError, RequestError, WorkflowError
from reconciler.workflow.terms import read_request, terms

#: How the reason in a plan, and in each audit record, begins.
MARKED: Final = "break-glass: "
_HERE: Final = Origin("command line", 1, 1)


def break_glass(
    path: str,
    cluster: str | None,
    asked: AskedAccess,
    given: GrantTerms,
    connection: ConnectionOptions = ConnectionOptions(),
    options: ApplyOptions = ApplyOptions(),
    *,
    attendant: Attendant = Unattended(),
) -> Result:
    """Create what is asked on the cluster, until ``given.expires``; what is there already is refused.

    Guards and access tests are asked as for any plan. Owners say which files may declare what, so they judge the edit,
    and not this. Raises a :class:`WorkflowError` with no access given;
    whatever happens once the first binding is sent is in the result.
    """
    as_of = moment()
    checked_terms(asked, given, as_of)
    end = _end(given)
    if not given.reason:
        raise RequestError("break-glass access needs a reason", "say why, for whoever reads the audit log")
    if end - instant_of(as_of) > LONGEST:
        raise RequestError(
            "break-glass access ends within 24 hours", "name an earlier end; for longer, merge the grant"
        )
    if options.approvals is not None:
        raise RequestError("people approve a saved plan, and break-glass makes none", "merge the grant, plan, sign")
    with open_declared(path, cluster, connection, attendant.tell, options.guardrails) as (manifests, target):
        declaration = declared_for(target)
        wanted = desired(manifests, declaration.name, as_of)
        live = target.read(read_request(declaration, wanted))
        running = running_break_glass(live.bindings, as_of)
        for binding in asked.bindings():
            if binding in live.bindings:
                # A mark would end what somebody else gave for longer.
                until = f", until {moment_text(running[binding].end)}" if binding in running else ""
                raise RequestError(f"{binding} is there already{until}: nothing was changed")
        said = Declaration(_HERE, MARKED + given.reason, given.ticket, given.expires)
        planning = PlanOptions(as_of, guardrails=options.guardrails)
        plan = _plan(asked, said, live, target, planning)
        if plan.refusals:
            attendant.review(plan)
            raise PlanRefusedError("a guard refuses this plan: nothing was sent", plan=plan, refusals=plan.refusals)
        planned = Planned(plan, live, declaration, DesiredState(), manifests)
        marks = [break_glass_mark(one, end) for one in asked.bindings()]
        _send_marks(target.cluster, marks)
        try:
            return perform_now(plan, live, target, connection, options, attendant, checks=checks_of(planned))
        except WorkflowError:  # nothing was sent; whatever else happens, a mark stays with what it marks
            _drop(target.cluster, marks)
            raise


def _end(given: GrantTerms) -> datetime.datetime:
    if given.expires is None:
        raise RequestError("break-glass access needs an end", "name one within 24 hours")
    return given.expires.end


def _plan(asked: AskedAccess, said: Declaration, live: ClusterState, target: Target, planning: PlanOptions) -> Plan:
    """What is there, and what is asked: nothing else can come of it, whatever the manifests say."""
    present = terms(declared_for(target))
    ours = standing_bridges(live.bindings)
    stays = (one for one in live.bindings - ours if present.scope.owns(one) and not is_reserved(one.pattern.name))
    bindings = {**dict.fromkeys(stays, Declaration(_HERE)), **dict.fromkeys(asked.bindings(), said)}
    request = replace(request_on(target, "", planning, live), report_topics=False)
    made = propose(DesiredState(bindings), live, replace(present, prune=frozenset()), request)
    return replace(made, terms=present)


def _send_marks(cluster: Cluster, marks: Sequence[AclBinding]) -> None:
    why = ""
    for _ in attempts(SystemClock()):
        try:
            answers = cluster.send([Create(mark) for mark in marks])
        except ClusterError as error:
            why = str(error)
            continue
        failed = next((answer for answer in answers if not answer.good), None)
        if failed is None:
            return
        why = f"{failed.code}: {failed.message}"
    raise WorkflowError(f"when the access ends could not be written down, so none was given: {why}")


def _drop(cluster: Cluster, marks: Sequence[AclBinding]) -> None:
    """Remove marks of access that was not given; one that stays marks nothing, and goes when its time is over."""
    with suppress(ClusterError):
        cluster.send([Delete(mark) for mark in marks])
