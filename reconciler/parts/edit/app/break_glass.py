"""Break-glass: access at once, as a plan of exactly these bindings, that ends by itself at its instant.

The mark that says when it ends is on the cluster before the access is: whatever is cut off, no access is there without
an end. ``docs/decisions/break-glass.md`` says why it is kept there.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NamedTuple

from reconciler.app.access_checks import checks_of
from reconciler.app.admission import check_end, check_free, check_override, check_unlocked, end_marks, known_ends
from reconciler.app.apply import ApplyOptions, Supervisor, Unattended, perform_now
from reconciler.app.manifests import desired
from reconciler.app.options import ConnectionOptions, PlanOptions, Tell, ignore, moment
from reconciler.app.planning import Planned, declared_for, proposed, request_on
from reconciler.app.reasons import ManifestAccessError, PlanRefusedError, RequestError, UnsavedPlanError
from reconciler.app.records import check_clock
from reconciler.app.session import Target, open_declared
from reconciler.app.terms import read_request, terms
from reconciler.apply.environment import Result
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration, DesiredState, Expiry, Origin, instant_of, moment_text
from reconciler.model.markers import every_break_glass, marks_for, standing_bridges
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms, checked_terms
from reconciler.plan.proposal import Options, Plan

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
    supervisor: Supervisor = Unattended(),
) -> Result:
    """Create what is asked on the cluster, until ``given.expires``, or prolong what is there as break-glass access.

    Guards and access tests are asked as for any plan. Owners say which files may declare what, so they judge the edit,
    and not this. Raises a :class:`WorkflowError` with no access given; whatever happens once the first binding is sent
    is in the result.
    """
    if options.approvals is not None:
        raise UnsavedPlanError("people approve a saved plan")
    guardrails, tell = options.guardrails, supervisor.tell
    with _proposed(path, cluster, asked, given, connection, guardrails=guardrails, tell=tell) as (planned, target):
        plan = planned.plan
        if plan.refusals:
            supervisor.review(plan)
            raise PlanRefusedError(plan=plan, refusals=plan.refusals)
        return perform_now(plan, planned.live, target, connection, options, supervisor, checks=checks_of(planned))


def plan_break_glass(
    path: str,
    cluster: str | None,
    asked: AskedAccess,
    given: GrantTerms,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    guardrails: str | None = None,
    tell: Tell = ignore,
) -> Planned:
    """The plan of it for people to sign, which ``apply_plan`` performs; nothing is sent. Raises as the other."""
    with _proposed(path, cluster, asked, given, connection, guardrails=guardrails, tell=tell) as (planned, _):
        return planned


@contextmanager
def _proposed(
    path: str,
    cluster: str | None,
    asked: AskedAccess,
    given: GrantTerms,
    connection: ConnectionOptions,
    *,
    guardrails: str | None,
    tell: Tell,
) -> Iterator[tuple[Planned, Target]]:
    as_of = moment()
    checked_terms(asked, given, as_of)
    end = _end(given)
    if not given.reason:
        raise RequestError("break-glass access needs a reason", "say why, for whoever reads the audit log")
    check_end(end.end, instant_of(as_of))
    with open_declared(path, cluster, connection, tell, guardrails) as (manifests, target):
        declaration = declared_for(target)
        wanted = desired(manifests, declaration.name, as_of)
        # Its end is by our clock; a server ends it by its own.
        check_clock(target)
        live = target.read(read_request(declaration, wanted))
        check_unlocked(asked.bindings(), live)
        check_free(asked.bindings(), end.end, live, instant_of(as_of))
        _check_scope(asked, declaration)
        stated = Declaration(_HERE, MARKED + given.reason, given.ticket, given.expires)
        # What is prolonged is a step too: it is reviewed, approved and audited, and then found to be done.
        before = replace(live, bindings=live.bindings.difference(asked.bindings()))
        more = dict.fromkeys(asked.bindings(), stated)
        options = Options(break_glass=end, override=tuple(sorted(given.override)))
        check_override(options, declaration.emergency, instant_of(as_of))
        read = _Read(manifests, wanted.bindings, before, target)
        plan = _plan(read, more, {}, PlanOptions(as_of, guardrails=guardrails), options)
        there = known_ends(asked.bindings(), live, instant_of(as_of))
        warnings = tuple(
            f"{binding} is there already, until {moment_text(until)}: its end moves" for binding, until in there
        )
        plan = replace(plan, warnings=(*plan.warnings, *warnings))
        yield Planned(plan, live, declaration, DesiredState(), manifests, servers=target.bootstrap_servers), target


def _check_scope(asked: AskedAccess, declaration: ClusterDeclaration) -> None:
    """Refuse what no apply would send, before anybody signs it."""
    for binding in asked.bindings():
        if not declaration.scope.owns(binding):
            raise RequestError(
                f"{binding} is outside the scope of cluster {declaration.name}",
                f"add {binding.entry.principal} to scope.include of the Cluster, and merge: break-glass stays inside",
            )


def end_break_glass(
    path: str,
    cluster: str | None,
    asked: AskedAccess,
    connection: ConnectionOptions = ConnectionOptions(),
    options: ApplyOptions = ApplyOptions(),
    *,
    supervisor: Supervisor = Unattended(),
) -> Result:
    """Delete break-glass access, over or not; a mark that is over stays. Raises as :func:`break_glass`.

    Any other access is refused: what manifests declare is revoked by an edit of them.
    """
    as_of = moment()
    with open_declared(path, cluster, connection, supervisor.tell, options.guardrails) as (manifests, target):
        declaration = declared_for(target)
        wanted = desired(manifests, declaration.name, as_of)
        live = target.read(read_request(declaration, wanted))
        marks = every_break_glass(live.bindings)
        going = {mark.binding for mark in marks if mark.binding in live.bindings and asked.means(mark.binding)}
        if not going:
            raise ManifestAccessError(f"{asked.principal} has no such break-glass access on this cluster")
        stated = Declaration(_HERE, f"{MARKED}ended early")
        planning = PlanOptions(as_of, allow_deletes=True, guardrails=options.guardrails)
        # Without its marks it is a binding like any other, which a plan may delete.
        unmarked = replace(live, bindings=live.bindings.difference(marks_for(going, live.bindings)))
        read = _Read(manifests, wanted.bindings, unmarked, target)
        plan = _plan(read, {}, dict.fromkeys(going, stated), planning, Options(allow_deletes=True))
        result = perform_now(plan, live, target, connection, options, supervisor)
        if result.succeeded:
            end_marks(target.cluster, going, live)
        return result


def _end(given: GrantTerms) -> Expiry:
    if given.expires is None:
        raise RequestError("break-glass access needs an end", "name one within 24 hours")
    return given.expires


class _Read(NamedTuple):
    """The manifests, the ACLs that they declare, and the cluster."""

    manifests: Manifests
    declared: Mapping[AclBinding, Declaration]
    live: ClusterState
    target: Target


def _plan(
    read: _Read,
    more: Mapping[AclBinding, Declaration],
    less: Mapping[AclBinding, Declaration],
    planning: PlanOptions,
    options: Options,
) -> Plan:
    """What is there, with ``more`` and without ``less``: nothing else can come of it, whatever the manifests say."""
    present = terms(declared_for(read.target))
    ours = standing_bridges(read.live.bindings)
    stays = (
        binding
        for binding in read.live.bindings.difference(ours, less)
        if present.scope.owns(binding) and not is_reserved(binding.pattern.name)
    )
    wanted = DesiredState({**dict.fromkeys(stays, Declaration(_HERE)), **more}, expired=less)
    asked = request_on(read.target, "", planning, read.live)
    end = options.break_glass
    warnings = (
        () if end is None else (f"break-glass access until {end}: it ends by itself, and no manifest need declare it",)
    )
    request = replace(asked, options=options, report_topics=False, warnings=(*asked.warnings, *warnings))
    agreed = replace(present, prune=frozenset())
    plan = proposed(read.manifests, wanted, read.live, agreed, request, read.declared)
    return replace(plan, terms=present)
