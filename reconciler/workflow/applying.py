"""Performing a plan: planned just now, or reviewed before; checked again, agreed to, written down, verified."""

import datetime
from dataclasses import replace
from functools import partial

from reconciler.adapters.clock import SystemClock
from reconciler.apply import (
    ApplyEnvironment,
    ApprovalEvidence,
    Identity,
    LeaseRequest,
    Preflight,
    Result,
    check,
    perform,
    reading,
    request_for,
)
from reconciler.apply.environment import LeasePatience
from reconciler.dataclass import dataclass
from reconciler.model import ClusterState, DesiredState, MoveLimits
from reconciler.plan import Plan, Terms
from reconciler.ports import PipelinedWriter, ReadRequest
from reconciler.report.checks import Checks
from reconciler.workflow.access_doubts import authorizer_doubts
from reconciler.workflow.admission import check_age, check_guardrails, check_ids, check_signed, check_wanted
from reconciler.workflow.apply_reasons import reasons
from reconciler.workflow.attendant import Attendant, Unattended
from reconciler.workflow.break_glass_marks import check_break_glass, settled
from reconciler.workflow.checks import checks_of
from reconciler.workflow.clock_doubt import check_clock
from reconciler.workflow.clusters import Target, open_declared, refuse_another_time
from reconciler.workflow.flavors import refuse_unstated
from reconciler.workflow.logins import check_logins
from reconciler.workflow.manifests import desired
from reconciler.workflow.options import (
    ApprovalRule,
    ConnectionOptions,
    DefeatedGain,
    MoveOptions,
    PlanOptions,
    moment,
    now,
)
from reconciler.workflow.planning import Planned, plan_on
from reconciler.workflow.probe import barrier_of
from reconciler.workflow.reasons import (
    DeclinedError,
    FailedChecksError,
    PlanRefusedError,
    UnsavedPlanError,
    UnvouchedPlanError,
    WorkflowError,
)
from reconciler.workflow.records import RecordOptions, audit_head, audit_topic, earlier_runs, ledgers, new_run
from reconciler.workflow.references import follow_references, refuse_obstacles
from reconciler.workflow.saved_plans import saved_plan
from reconciler.workflow.terms import terms
from reconciler.workflow.topic_checks import look


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """What an apply is bound to.

    ``require_id`` is the id of the only plan that may be performed (``change-…``, ``plan-…`` or ``file-…``);
    ``records`` says what is written down, ``lease`` which lease to hold meanwhile, if any.
    ``guardrails`` is the directory of manifests that held a saved plan, and have to hold it now. Of a saved plan,
    ``max_age`` is how long ago it may have been made, and ``approvals`` who has to have signed it.
    ``moves`` is how fast replicas move. ``patience`` is how long to wait for somebody else's lease.
    """

    require_id: str | None = None
    records: RecordOptions = RecordOptions()
    lease: LeaseRequest | None = None
    guardrails: str | None = None
    max_age: datetime.timedelta | None = None
    approvals: ApprovalRule | None = None
    moves: MoveOptions = MoveOptions()
    patience: LeasePatience = LeasePatience()


@dataclass(frozen=True, slots=True)
class _Performance:
    """What is about to be performed.

    ``made_now``: the plan was made of the state that was just read. ``wanted`` is what the manifests declare by now.
    """

    plan: Plan
    live: ClusterState
    target: Target
    checks: Checks
    connection: ConnectionOptions
    options: ApplyOptions
    attendant: Attendant
    ids: tuple[str, str]
    made_now: bool = False
    wanted: DesiredState | None = None
    digest: str | None = None
    approvals: ApprovalEvidence | None = None


def apply(
    path: str,
    cluster: str | None,
    planning: PlanOptions = PlanOptions(),
    connection: ConnectionOptions = ConnectionOptions(),
    options: ApplyOptions = ApplyOptions(),
    *,
    attendant: Attendant = Unattended(),
) -> Result:
    """Plan and perform in one go; the result has no steps if there is nothing to do.

    Raises a :class:`WorkflowError` with nothing sent; whatever happens once the first request is sent is in the result.
    """
    if options.approvals is not None:
        raise UnsavedPlanError("a plan that people have to approve is a saved plan")
    # What is performed at once is what holds now: another time would bring back what has ended, or end it too early.
    refuse_another_time(cluster, planning.as_of, ahead=True)
    with open_declared(path, cluster, connection, attendant.tell, planning.guardrails, lists=True) as (
        manifests,
        target,
    ):
        planned = plan_on(target, manifests, path, planning)
        plan = planned.plan
        if plan.stops:
            attendant.review(plan)
            raise PlanRefusedError("a guard refuses this plan: nothing was sent", plan=plan, refusals=plan.refusals)
        named = check_ids(plan, options.require_id)
        checks = checks_of(planned)
        result = _perform(
            _Performance(plan, planned.live, target, checks, connection, options, attendant, named, made_now=True)
        )
        return settled(result, plan, planned.live, target.cluster, planned.desired)


def apply_plan(
    plan: Plan | str,
    path: str,
    cluster: str | None = None,
    connection: ConnectionOptions = ConnectionOptions(),
    options: ApplyOptions = ApplyOptions(),
    *,
    attendant: Attendant = Unattended(),
) -> Result:
    """Perform a plan, or the plan in a file, on the cluster that it is for, as the manifests below ``path`` declare it.

    ``cluster`` says where that is, if not where its document says. A plan from a file has its journal next to the file.
    Raises as :func:`apply`; :class:`StaleError` where the cluster is not what the plan was made for, the manifests do
    not want it any more, or it is too old; :class:`NotApprovedError` where too few people have signed the file.
    """
    digest = approvals = None
    if isinstance(plan, str):
        file = plan
        options = replace(options, records=options.records.next_to(file))
        plan, digest = saved_plan(file)
        approvals = check_signed(file, digest, options.approvals, now())
    elif options.approvals is not None:
        raise UnsavedPlanError("people approve the bytes of a plan file, and this plan is not in a file")
    if plan.options.break_glass is not None and options.require_id is None and options.approvals is None:
        # No manifest vouches for it, so a file alone must not be enough.
        raise UnvouchedPlanError("a break-glass plan needs signatures or its id: no manifest vouches for it")
    named = check_ids(plan, options.require_id, *filter(None, [digest]))
    check_age(plan, options.max_age, now())
    where = cluster or plan.terms.cluster
    with open_declared(path, where, connection, attendant.tell, options.guardrails, lists=True) as (manifests, target):
        check_guardrails(plan, manifests)
        live = target.read(_reading(plan, target))
        checks, wanted = Checks(), None
        if target.declaration is not None:
            as_of = moment()
            wanted = desired(manifests, plan.terms.cluster, as_of)
            seen = look(target, manifests, wanted)
            # Who owns which file judges the edit, and not what is given at once.
            judged = wanted if plan.options.break_glass is None else DesiredState()
            checks = checks_of(Planned(plan, live, target.declaration, judged, manifests, seen), as_of)
        given = _Performance(plan, live, target, checks, connection, options, attendant, named, wanted=wanted)
        result = _perform(replace(given, digest=digest, approvals=approvals))
        return settled(result, plan, live, target.cluster, wanted)


def perform_now(
    plan: Plan,
    live: ClusterState,
    target: Target,
    connection: ConnectionOptions = ConnectionOptions(),
    options: ApplyOptions = ApplyOptions(),
    attendant: Attendant = Unattended(),
    *,
    checks: Checks | None = None,
) -> Result:
    """Perform a plan that was made just now of ``live``, on the target that was read.

    Without ``checks`` for plans that only take access away: neither access tests nor owners nor topic policies are
    asked, for none of them may keep alive what is over. It is performed whole or not at all: also a guard that refuses
    one step stops it. Raises as :func:`apply`.
    """
    if plan.refusals:
        raise PlanRefusedError("a guard refuses this plan: nothing was sent", plan=plan, refusals=plan.refusals)
    named = check_ids(plan, options.require_id)
    given = _Performance(plan, live, target, checks or Checks(), connection, options, attendant, named, made_now=True)
    return settled(_perform(given), plan, live, target.cluster, None)


def _reading(plan: Plan, target: Target) -> ReadRequest:
    if target.declaration is None:
        return request_for(plan)
    return reading(plan, terms(target.declaration))


def _perform(given: _Performance) -> Result:
    """Admit the plan, let somebody agree, send it."""
    plan, live, target = given.plan, given.live, given.target
    if plan.stops:
        raise PlanRefusedError("a guard refuses this plan: nothing was sent", plan=plan, refusals=plan.refusals)
    attendant, records = given.attendant, given.options.records
    if target.declaration is None:
        raise WorkflowError(f"cluster {target.name!r} is not declared")
    refuse_unstated(target.declaration, live, plan)
    if plan.steps:
        target.prepare()
    present = terms(target.declaration)
    looked_at = _looked_at(given, present)
    with reasons():
        preflight = looked_at(plan, live, made_of_live=given.made_now)
    _admit(given, present, preflight)
    if not plan.steps:
        return Result(plan, (), verified=True)
    _agree(given)
    follow_references(plan, preflight, target)
    # How long to wait and whom to ask is the declaration's word of now; records name the plan that was approved.
    performed = replace(plan, terms=replace(present, scope=plan.terms.scope))
    with (
        barrier_of(target, given.connection) as (barrier, redact),
        ledgers(records, audit_topic(target, records)) as (journal, audit),
        attendant.interruptions() as interrupted,
        attendant.progress() as progress,
        reasons(),
    ):
        environment = ApplyEnvironment(
            target.cluster,
            SystemClock(),
            progress,
            interrupted,
            identity=Identity(new_run(), records.who(), given.digest, given.ids, given.approvals),
            journal=journal,
            audit=audit,
            barrier=barrier,
            lease_request=given.options.lease,
            lease_patience=given.options.patience,
            redact=redact,
            throttle=given.options.moves.throttle,
            rates=target.cluster,
            uses=target.cluster,
            move_limits=_limits(given.options.moves),
            pipeline=target.cluster if isinstance(target.cluster, PipelinedWriter) else None,
            prepare=target.prepare,
        )
        result = perform(performed, live, preflight, environment, partial(looked_at, performed))
        # With a probe, brokers have enforced canaries by now.
        doubt = "; ".join(authorizer_doubts(live)) if barrier is None else ""
        return check_logins(replace(result, plan=plan, audit_head=audit_head(audit), doubt=doubt), target)


def _looked_at(given: _Performance, present: Terms) -> partial[Preflight]:
    """How the plan is compared with a live state: before anything is sent, and again before each phase."""
    # A plan that was made just now knows its time; it may have been chosen.
    return partial(
        check,
        terms=present,
        as_of=None if given.made_now else moment(),
        observable=present.probe is not None and given.target.settings is not None,
    )


def _admit(given: _Performance, present: Terms, preflight: Preflight) -> None:
    """Raise what stops the plan before anybody is asked; the plan is shown before its failed checks are raised."""
    plan = given.plan
    check_break_glass(plan, given.live, now())
    if plan.options.break_glass is not None:
        check_clock(given.target)
    if given.wanted is not None and not plan.options.undo and plan.options.break_glass is None:
        # Also steps that are done by now: what is left of them would make half of something.
        check_wanted(plan, given.wanted, present)
    refuse_obstacles(plan, present, given.target, given.live)
    given.attendant.review(plan)
    for gain in preflight.defeated:
        given.attendant.tell(DefeatedGain(gain))
    if given.checks.stops:
        raise FailedChecksError("policy checks failed: nothing was sent", given.checks)


def _agree(given: _Performance) -> None:
    """Tell of earlier runs of the plan that did not end; an id that the caller requires is consent."""
    if given.options.records.journal is not None:
        for run in earlier_runs(given.options.records.journal, given.ids[1]):
            if not run.ended:
                given.attendant.tell(run)
    if given.options.require_id is None and not given.attendant.agree(given.plan):
        raise DeclinedError("not confirmed: nothing was sent")


def _limits(moves: MoveOptions) -> MoveLimits:
    usual = MoveLimits()
    return MoveLimits(moves.batch_partitions or usual.partitions, moves.batch_bytes or usual.size)
