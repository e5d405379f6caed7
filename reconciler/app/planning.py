"""Planning: desired against live state, with all that a reviewer needs.

A plan: a directory of manifests compared with a cluster, everything a reviewer needs with it.
"""

import datetime
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from reconciler import __version__
from reconciler.access.interpretation import TooMuchToDecideError
from reconciler.app import reasons
from reconciler.app.cluster_checks import Seen, decide_cluster_tests, look
from reconciler.app.connections import refuse_unstated
from reconciler.app.manifests import (
    desired,
    guardrails_changed_from,
    load,
    load_base,
    ownerships_of,
    repeated_warnings,
    sound,
)
from reconciler.app.options import PlanOptions, ignore, moment, now
from reconciler.app.records import source_commit
from reconciler.app.session import Target
from reconciler.app.terms import SAYS_DEAD_LETTERS, access_doubts, read_request, terms
from reconciler.dataclass import dataclass
from reconciler.manifest.guardrails import GuardrailChange
from reconciler.manifest.manifests import Manifests, declared_cluster
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.safeguards import cluster_warnings, control_topics, follows_records, standing_exceptions
from reconciler.model.acl import AclBinding
from reconciler.model.characters import as_name, first_of
from reconciler.model.desired import Declaration, DesiredState, patterns_of
from reconciler.model.frozen import FrozenMap, without_collector
from reconciler.model.kinds.quota import ClientQuota
from reconciler.model.listing import NOT_READ, Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic_configs import THROTTLE_CONFIGS
from reconciler.plan.guards import NO_GUARDRAILS, guardrail_review
from reconciler.plan.kinds.acl import created_bindings
from reconciler.plan.kinds.topic import deleted_topics
from reconciler.plan.proposal import Options, Plan, Terms, causes_of, selection_of
from reconciler.plan.propose import Request, UnsafeSelectionError, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.replicas import topics_to_place
from reconciler.plan.review.access_change import gaining, with_owners
from reconciler.plan.review.ends import declared_otherwise, kept_longer
from reconciler.ports import ClusterError, ReadRequest
from reconciler.results.access import WHO_LOGS_IN, live_logins
from reconciler.results.findings import ClusterTestResult
from reconciler.results.words import why_words
from reconciler.show.findings import standing_findings
from reconciler.snapshot.document import SnapshotError, read_document
from reconciler.snapshot.file import SnapshotCluster
from reconciler.system.process import SystemClock

# What a plan's reviewer is told of topics: what those hold that go, and what the cluster says when it is asked.


def with_layout(live: ClusterState, wanted: DesiredState, target: Target) -> ClusterState:
    """The state with the replicas of topics that should have others; why they stay, where they cannot be read."""
    names = topics_to_place(wanted, live)
    if not names:
        return live
    try:
        state = target.cluster.read(ReadRequest(acls=False, all_topics=False, layout=names))
    except ClusterError as error:
        why = "; ".join(filter(None, (error.message, error.advice)))
        return replace(live, layout_gap=f"where replicas belong is not known: {why}")
    return replace(live, layout=state.layout)


def with_uses(plan: Plan, target: Target) -> Plan:
    """The plan with what is known of the topics that it deletes, and of those that a guard keeps it from deleting."""
    refused = (item.change for item in plan.refused if item.change is not None)
    deleted = [topic.name for topic in deleted_topics(chain((step.change for step in plan.steps), refused))]
    if not deleted:
        return plan
    return replace(plan, topics=replace(plan.topics, uses=FrozenMap(target.cluster.topic_uses(deleted))))


def with_answers(plan: Plan, live: ClusterState, target: Target) -> Plan:
    """The plan with what the cluster says to each step on a topic, nothing done."""
    # Only who asks a cluster to validate needs what applies.
    from reconciler.apply.sending import validate

    return replace(plan, topics=replace(plan.topics, validation=validate(plan, live, target.cluster, SystemClock())))


# The client quotas of those who gain access in a plan: read for the reviewer, also where manifests declare none.

#: Waits for the quotas.
Quotas: TypeAlias = Callable[[], Listing[ClientQuota]]


def read_live(
    target: Target, asking: ReadRequest, wanted: DesiredState
) -> tuple[ClusterState, Listing[ClientQuota] | None]:
    """The state, and the quotas of a snapshot where they were not asked for.

    A pattern that is declared and there is one object, not two of which millions take 100 MB.
    """
    asking = replace(asking, known={pattern: pattern for pattern in patterns_of(wanted.bindings)})
    if isinstance(target.cluster, SnapshotCluster) and ClientQuota.KIND not in asking.listings:
        whole = target.read(asking.also(ClientQuota.KIND))
        return whole.with_listing(ClientQuota, NOT_READ), whole.listing(ClientQuota)
    return target.read(asking), None


@contextmanager
def limits_during(
    target: Target, wanted: DesiredState, live: ClusterState, read: Listing[ClientQuota] | None
) -> Iterator[Quotas]:
    """Reads the quotas while a plan is made, if ``wanted`` has a binding that ``live`` lacks; as read, if they were.

    ``read`` is what a snapshot has, which would be read as a whole once more for them alone; ``None`` of a cluster.

    The read is another process, and takes about as long as planning a thousand grants. It has ended when this ends:
    nobody closes a connection below it.
    """
    listing = live.listing(ClientQuota)
    if listing != NOT_READ and (listing.items is not None or listing.gap is not None):
        yield lambda: listing
    elif wanted.bindings.keys() <= live.bindings:
        yield lambda: NOT_READ
    elif read is not None:
        yield lambda: read
    else:
        with ThreadPoolExecutor(1) as pool:
            yield pool.submit(_read, target).result


def _read(target: Target) -> Listing[ClientQuota]:
    try:
        state = target.cluster.read(ReadRequest(acls=False, all_topics=False, listings=[ClientQuota.KIND]))
    except ClusterError as error:
        return Listing(gap=error.message)
    return state.listing(ClientQuota)


def with_gaining(plan: Plan, quotas: Quotas) -> Plan:
    """The plan with who gains and what limits them; without it where nobody gains or the quotas are not known."""
    if not any(row.gained for row in plan.access.access_changes) or (items := quotas().items) is None:
        return plan
    return replace(plan, gaining=gaining(plan.access.access_changes, items, (step.change for step in plan.steps)))


# Throttles of moves that are over: no manifest declares them, and they slow down the next broker that falls behind.

_SHOWN: Final = 5


def leftover_throttles(wanted: DesiredState, live: ClusterState) -> tuple[str, ...]:
    """A sentence about topics with throttled replicas, all in sync, of which no manifest says a word.

    A topic with replicas out of sync is left out: it may be moving, whoever began that.
    """
    throttled = [
        name
        for name, topic in sorted(live.topics.items())
        if any(topic.configs.get(key) for key in THROTTLE_CONFIGS - _declared(wanted, name))
        and name not in live.under_replicated
    ]
    if not throttled:
        return ()
    names = first_of(throttled, _SHOWN, as_name)
    return (
        f"replicas of topic {names} are throttled, and nothing is copied: a move may have left that, and rates "
        "on brokers, behind; apply the plan that set it again, or remove it with reconciler reassignments cancel",
    )


def _declared(wanted: DesiredState, name: str) -> frozenset[str]:
    topic = wanted.topics.get(name)
    return frozenset() if topic is None else frozenset(topic.topic.configs)


#: So many principals are named.
_NAMED: Final = 5


def login_gaps(plan: Plan, live: ClusterState) -> Iterator[str]:
    """Who gains access and cannot log in after it, where the operator states that SCRAM is the only way."""
    after = live_logins(live, only_scram=True).after(step.change for step in plan.steps)
    gaining = {row.principal for row in plan.access.access_changes if row.gained and row.principal is not None}
    unable = sorted(principal for principal in gaining if after.can_log_in(principal) is False)
    if unable:
        yield (
            f"cannot log in: {first_of(unable, _NAMED, as_name)}; the operator states that SCRAM is the "
            "only way, and no SCRAM user of that name has a mechanism that works"
        )


_OPEN: Final = "this cluster has no authorizer, so it has no ACLs, and everybody may do everything"


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the state that it was made from, and what the manifests declare; ``seen`` is for topic policies.

    ``servers`` are where the cluster was reached, ``host:port`` each, empty for a snapshot. No plan file holds them.
    ``cluster_tests`` is what came of claims about brokers and features, which only a drift report decides. ``unjudged``
    is what it could not compare: declared ACLs, where the cluster has no authorizer. ``base`` is the plan of the base
    on the same state, if there is one and it may say something of this one as well; ``before`` are the manifests of the
    base.
    """

    plan: Plan
    live: ClusterState
    declaration: ClusterDeclaration
    desired: DesiredState
    manifests: Manifests
    seen: Seen | None = None
    servers: tuple[str, ...] = ()
    cluster_tests: tuple[ClusterTestResult, ...] = ()
    unjudged: str = ""
    base: Plan | None = None
    before: Manifests | None = None


def drift_on(
    target: Target,
    manifests: Manifests,
    path: str,
    as_of: datetime.date,
    applied: Callable[[], Manifests] | None = None,
) -> Planned:
    """How a cluster that is open already differs from the manifests; ``applied`` reads those that were applied last."""
    planned = _compared(target, manifests, path, as_of)
    plan = replace(planned.plan, guardrails=NO_GUARDRAILS)
    if applied is not None:
        plan = _with_causes(plan, target, applied)
    return replace(planned, plan=plan, cluster_tests=decide_cluster_tests(target, manifests, as_of))


def _compared(target: Target, manifests: Manifests, path: str, as_of: datetime.date) -> Planned:
    options = PlanOptions(as_of=as_of, allow_deletes=True)
    try:
        return plan_on(target, manifests, path, options, guarded=False)
    except reasons.NoAuthorizerError:
        return _without_acls(target, manifests, path, options)


def _with_causes(plan: Plan, target: Target, read_applied: Callable[[], Manifests]) -> Plan:
    """The drift report with why each difference is there.

    The cluster is read once more, later: what somebody changes meanwhile is in neither report, or only in the later.
    """
    if not (plan.steps or plan.skipped):
        return plan
    try:
        manifests = read_applied()
        before = replace(target, declaration=declared_cluster(manifests, plan.terms.cluster), tell=ignore)
        applied = _compared(before, manifests, "", plan.as_of)
    except (reasons.InvalidManifestsError, ManifestError) as error:
        why = f"what was applied last is not known, so neither is who changed what: {error}"
        return replace(plan, warnings=(*plan.warnings, why))
    return replace(plan, causes=causes_of(plan, applied.plan, applied.desired))


def _without_acls(target: Target, manifests: Manifests, path: str, options: PlanOptions) -> Planned:
    """The comparison of all but ACLs: there are none, and nobody could create one."""
    planned = plan_on(target, manifests, path, options, acls=False, guarded=False)
    declared = desired(manifests, declared_for(target).name, options.as_of or moment()).bindings
    number = f"{len(declared):,} declared ACL{'s are' if len(declared) > 1 else ' is'} not compared: "
    unjudged = f"{number}{_OPEN}" if declared else ""
    counts = replace(planned.plan.counts, desired_bindings=len(declared))
    plan = replace(planned.plan, counts=counts, warnings=(unjudged or _OPEN, *planned.plan.warnings))
    return replace(planned, plan=plan, unjudged=unjudged)


def plan_on(
    target: Target,
    manifests: Manifests,
    path: str,
    options: PlanOptions,
    *,
    acls: bool = True,
    guarded: bool = True,
) -> Planned:
    """Plan for a cluster that is open already; ``path`` is asked for the commit of the manifests.

    Without ``acls``, on a cluster that cannot have any, of which a :class:`NoAuthorizerError` tells: for a report.
    Not ``guarded`` for a report as well: no guard leaves out a difference.
    """
    try:
        selection = selection_of(options.only)  # before anything is asked of the cluster
    except ValueError as error:
        raise reasons.RequestError(str(error)) from error
    declaration = declared_for(target)
    as_of = options.as_of or moment()
    options = replace(options, as_of=as_of)
    wanted = desired(manifests, declaration.name, as_of)
    for problem in (*repeated_warnings(manifests), *cluster_warnings(manifests, declaration.name, as_of)):
        target.tell(problem)
    asking = read_request(declaration, wanted)
    if declaration.only_scram_logins:
        asking = asking.also(WHO_LOGS_IN)
    with sound():
        controls = control_topics(manifests, declaration.name)
        if follows_records(manifests, declaration.name):
            asking = asking.also(SAYS_DEAD_LETTERS)
    if not acls:
        asking, wanted = replace(asking, acls=False), replace(wanted, bindings={}, expired={})
    live, limiting = read_live(target, asking, wanted)
    # Whatever ACLs may hide, nothing is hidden where there are none.
    live = with_layout(live if acls else replace(live, topic_gap=None), wanted, target)
    expected = None if options.baseline is None else _baseline(options.baseline, declaration)
    asked = request_on(target, path, options, live)
    request = replace(
        asked,
        warnings=(*asked.warnings, *leftover_throttles(wanted, live)),
        options=Options(options.allow_deletes, selection),
        expected_live=expected,
        guarded=guarded,
        controls=controls,
    )
    try:
        with limits_during(target, wanted, live, limiting) as limits, without_collector():
            plan = with_gaining(proposed(manifests, wanted, live, terms(declaration), request), limits)
        plan = with_uses(plan, target)
    except UnsafeSelectionError as error:
        raise reasons.PlanRefusedError(str(error)) from error
    except TooMuchToDecideError as error:
        raise reasons.TooMuchAccessError(error.limit) from error
    refuse_unstated(declaration, live, plan)
    if declaration.only_scram_logins:
        plan = replace(plan, warnings=(*plan.warnings, *login_gaps(plan, live)))
    before, changes = _base(options, path)
    reviewed = replace(plan, guardrails=guardrail_review(manifests, declaration.name, changes))
    if before is not None and options.base is not None:
        reviewed = _with_kept(reviewed, live, wanted, before)
    seen = look(target, manifests, wanted, live)
    of_base = None if before is None else _plan_of_base(reviewed, live, before, target, request)
    servers = target.bootstrap_servers
    return Planned(reviewed, live, declaration, wanted, manifests, seen, servers, base=of_base, before=before)


def _base(options: PlanOptions, path: str) -> tuple[Manifests | None, tuple[GuardrailChange, ...]]:
    """The manifests of the base, if any, and how the guardrails of those below ``path`` differ from them."""
    if options.base is None:
        return None if options.guardrails is None else load(options.guardrails), ()
    before = load_base(options.base)
    return before, guardrails_changed_from(before, options.base, path)


def proposed(
    manifests: Manifests,
    wanted: DesiredState,
    live: ClusterState,
    agreed: Terms,
    request: Request,
    declared: Mapping[AclBinding, Declaration] | None = None,
) -> Plan:
    """The plan with whose the names are on which somebody gains or loses access, and whether they agree to a gain.

    Every plan of this program is made here. Of what is created speaks ``declared`` before ``wanted``. Manifests without
    the cluster name nobody.
    """
    plan = propose(wanted, live, agreed, request)
    rows = plan.access.access_changes
    if plan.terms.cluster not in manifests.clusters or not rows:
        return plan
    rules = ownerships_of(manifests, plan.terms.cluster, plan.as_of)
    created = tuple(created_bindings(step.change for step in plan.steps))
    given = {
        item: declarations[item]
        for declarations in (wanted.bindings, declared or {})
        for item in created
        if item in declarations
    }
    return replace(plan, access=replace(plan.access, access_changes=with_owners(rows, given, rules)))


def _with_kept(plan: Plan, live: ClusterState, wanted: DesiredState, base: Manifests) -> Plan:
    """The plan with who keeps access that the base ends, and with what it declares otherwise without a step.

    Nothing of a cluster that the base does not declare.
    """
    before = base.clusters.get(plan.terms.cluster)
    if before is None:
        return plan
    declared = desired(base, before.name, plan.as_of)
    kept = kept_longer(live, wanted, declared, before.scope)
    access = replace(plan.access, callouts=(*plan.access.callouts, *kept))
    otherwise = declared_otherwise(live, wanted, declared, plan.terms.prune, plan.terms.scope)
    return replace(plan, access=access, warnings=(*plan.warnings, *otherwise))


def _plan_of_base(plan: Plan, live: ClusterState, base: Manifests, target: Target, request: Request) -> Plan | None:
    """The plan of the base's manifests on the same state, asked for alike, where it may say what this one says.

    ``None``: all of this one is new, for the base does not declare the cluster, or cannot be planned.
    """
    declaration = base.clusters.get(plan.terms.cluster)
    if declaration is None or not standing_findings(plan):
        return None
    before = replace(target, declaration=declaration, tell=ignore)
    asked = request_on(before, "", PlanOptions(as_of=plan.as_of), live)
    try:
        with sound():
            declared = desired(base, declaration.name, plan.as_of)
            asked = replace(asked, controls=control_topics(base, declaration.name))
        asked = replace(asked, warnings=(*asked.warnings, *leftover_throttles(declared, live)), options=request.options)
        return propose(declared, live, terms(declaration), asked)
    except (reasons.InvalidManifestsError, UnsafeSelectionError, TooMuchToDecideError):
        return None


def request_on(target: Target, path: str, options: PlanOptions, live: ClusterState) -> Request:
    """What is asked of planning on a declared cluster that was read as ``live``, but for what selects steps.

    ``path`` is asked for the commit of the manifests; where it is empty, there is none.
    """
    declaration = declared_for(target)
    as_of = options.as_of or moment()
    standing = standing_exceptions(declaration, as_of)
    declared = (
        AcceptedGuard(
            Guard(exception.guard), exception.object, why_words(exception.reason, exception.ticket), exception.expires
        )
        for exception in standing
    )
    return Request(
        warnings=access_doubts(live, declaration),
        as_of=as_of,
        options=Options(options.allow_deletes),
        accepted=(*declared, *options.accept),
        unsupported=target.unsupported,
        login=target.login,
        permit=declaration.secret_permit,
        locked=declaration.emergency.locked,
        tool_version=__version__,
        source_commit=source_commit(path) if path else None,
        going_on=frozenset(binding for leftover in target.going_on(live) for binding in leftover.bindings),
        created_at=f"{now():%Y-%m-%dT%H:%M:%SZ}",
    )


def declared_for(target: Target) -> ClusterDeclaration:
    """The declaration of a cluster that cannot do without."""
    if target.declaration is None:
        raise reasons.WorkflowError(f"cluster {target.name!r} is not declared in the manifests")
    return target.declaration


def _baseline(file: str, declaration: ClusterDeclaration) -> int:
    """How many bindings in scope an earlier snapshot has."""
    try:
        with Path(file).open(encoding="utf-8") as opened:
            before = read_document(opened).state
    except (SnapshotError, OSError, UnicodeDecodeError) as error:
        raise reasons.WorkflowError(f"the baseline {file} cannot be read: {error}") from error
    return sum(declaration.scope.owns(binding) for binding in before.bindings)
