"""Performing a plan: planned just now, or reviewed before; checked again, agreed to, written down, verified."""

import datetime
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from reconciler.access.interpretation import TooMuchToDecideError
from reconciler.app import admission, reasons
from reconciler.app.access_checks import checks_of
from reconciler.app.cluster_checks import look
from reconciler.app.connections import refuse_unstated
from reconciler.app.manifests import desired
from reconciler.app.options import (
    ApprovalRule,
    ConnectionOptions,
    DefeatedGain,
    MoveOptions,
    Note,
    PlanOptions,
    moment,
    now,
)
from reconciler.app.planning import Planned, declared_for, plan_on
from reconciler.app.probe import barrier_of
from reconciler.app.records import (
    RecordOptions,
    audit_head,
    audit_topic,
    check_clock,
    commit_author,
    earlier_runs,
    keep_signatures,
    ledgers,
    new_run,
    saved_plan,
)
from reconciler.app.session import Target, open_declared, refuse_another_time
from reconciler.app.terms import authorizer_doubts, terms, unbounded
from reconciler.apply.environment import (
    ApprovalEvidence,
    Identity,
    LeasePatience,
    LeaseRequest,
    LoginCheck,
    Outcome,
    Progress,
    Result,
    UnprovenError,
)
from reconciler.apply.kinds import request_for
from reconciler.apply.lease import LeaseHeldError
from reconciler.apply.performing import perform
from reconciler.apply.preflight import Preflight, RefusedError, StalePlanError, UndeclaredDefaultError, check, reading
from reconciler.apply.run import ApplyEnvironment
from reconciler.dataclass import dataclass
from reconciler.kafka.secret_source import SecretError, SecretSource
from reconciler.model.characters import is_visible
from reconciler.model.desired import DesiredState
from reconciler.model.state import ClusterState
from reconciler.model.topic import MoveLimits
from reconciler.plan.guards import login_refusals, not_accepted
from reconciler.plan.kinds import describe, kind_of, logins_at_risk
from reconciler.plan.kinds.interface import NewPassword
from reconciler.plan.observed import StepState
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.propose import conditions_of
from reconciler.plan.refusal import as_ended, standing
from reconciler.ports import LoginAnswer, PipelinedWriter, ReadRequest
from reconciler.retry import attempts
from reconciler.show.claims import Checks
from reconciler.system.process import SystemClock

# References to secrets in manifests: followed once a plan is approved, all of them before anything is sent.


def refuse_obstacles(plan: Plan, terms: Terms, target: Target, live: ClusterState) -> None:
    """Refuse a plan with a change that cannot be made by this login, or by what the operator permits now.

    Also one that limits a login which has to work, unless the plan says that a person accepted it: this login may be
    another one than that for which it was made.
    """
    stated = declared_for(target)
    conditions = conditions_of(terms, target.login, stated.secret_permit, stated.emergency.locked)
    for step in plan.steps:
        if (why := kind_of(step.change).obstacle(step.change, conditions)) is not None:
            raise reasons.PlanRefusedError(f"cannot {describe(step.change)}: {why}: nothing was sent", "plan again")
    risks = logins_at_risk([step.change for step in plan.steps], live, conditions.logins)
    refused = not_accepted(login_refusals(risks), standing(plan.accepted, moment()))
    if refused:
        raise reasons.PlanRefusedError(
            plan=plan, refusals=tuple(as_ended(refusal, plan.accepted) for refusal in refused)
        )


def follow_references(plan: Plan, preflight: Preflight, target: Target) -> None:
    """Read the secrets that the steps need which are still to do; raises with nothing sent if one cannot be read.

    Only what :func:`refuse_obstacles` lets pass is read. A snapshot takes no passwords, so none is read for it.
    """
    if target.settings is None:
        return
    permit = declared_for(target).secret_permit
    source = SecretSource(secrets_dirs=tuple(map(Path, permit.directories)), env_prefixes=permit.env_prefixes)
    for step, finding in zip(plan.steps, preflight.findings, strict=True):
        for reference in kind_of(step.change).references(step.change) if finding.state is StepState.PENDING else ():
            try:
                value, _ = source.resolve(reference)
            except SecretError as error:
                raise reasons.WorkflowError(
                    f"cannot {describe(step.change)}: {error.message}: nothing was sent"
                ) from error
            if not value:
                raise reasons.WorkflowError(f"cannot {describe(step.change)}: {reference} is empty: nothing was sent")
            # A byte order mark, a zero-width space, a line break in the middle: nobody types them at a login.
            if not is_visible(value):
                hidden = f"{reference} has characters that nobody sees, such as a byte order mark or a line break"
                raise reasons.WorkflowError(f"cannot {describe(step.change)}: {hidden}: nothing was sent")
            target.settings.followed[reference] = value


# After passwords were set: whether they log in, where the operator permits to try. Nobody else's password is tried.

#: So often is a login tried that is refused: a broker may not know a password yet that another one shows.
_TRIES: Final = 3
#: So many logins are tried in one run; the others are named as not tried.
_MOST: Final = 50
#: So many logins that do not work end the trying: something else is wrong, and brokers log failed logins.
_MOST_FAILED: Final = 3


def check_logins(result: Result, target: Target) -> Result:
    """The result with a login for each password that this run set; as it is where the operator does not permit it."""
    if target.settings is None or not declared_for(target).secret_permit.verify_login:
        return result
    passwords = [
        password
        for item in result.outcomes
        if item.outcome is Outcome.DONE
        for password in kind_of(item.step.change).passwords(item.step.change)
    ]
    return replace(result, logins=tuple(_checked(passwords, target, target.settings.followed)))


def _checked(passwords: list[NewPassword], target: Target, followed: Mapping[str, str]) -> Iterator[LoginCheck]:
    failed, why = 0, ""
    for number, password in enumerate(passwords):
        if number == _MOST:
            why = f"more than {_MOST} passwords were set"
        value = followed.get(password.reference)
        if why or value is None:
            reason = why or "only the salted password is known"
            yield LoginCheck(password.principal, password.mechanism, None, reason)
            continue
        answer = _tried(password, target, value)
        yield LoginCheck(password.principal, password.mechanism, answer.works, answer.detail)
        failed += answer.works is not True
        if failed == _MOST_FAILED:
            why = f"{_MOST_FAILED} others did not work"


def _tried(password: NewPassword, target: Target, value: str) -> LoginAnswer:
    # As in session.live.
    from reconciler.kafka.handshake import log_in

    answer = LoginAnswer(None)
    if target.settings is None:
        return answer
    for _ in attempts(SystemClock(), _TRIES):
        answer = log_in(target.settings, password.name, password.mechanism, value)
        if answer.works is not False:
            break
    return answer


# Who attends an apply: is told, reviews, agrees, watches, and may interrupt.


class Supervisor(Protocol):
    """A person at a terminal, or a program."""

    @property
    def asks(self) -> bool:
        """Whether a person is asked by :meth:`agree`."""
        ...

    def tell(self, note: Note) -> None:
        """A note, as soon as it is known."""
        ...

    def review(self, plan: Plan) -> None:
        """What is about to be performed, or was refused; nothing has been sent."""
        ...

    def agree(self, plan: Plan) -> bool:
        """Whether to perform it; not asked where one plan was required by its id."""
        ...

    def progress(self) -> AbstractContextManager[Progress]:
        """What is shown while the plan is performed."""
        ...

    def interruptions(self) -> AbstractContextManager[Callable[[], bool]]:
        """Says whether to stop after the batch in flight."""
        ...


class Unattended:
    """Nobody: whoever calls has agreed, and is told by the result alone."""

    @property
    def asks(self) -> bool:
        """See :class:`Supervisor`."""
        return False

    def tell(self, note: Note) -> None:
        """See :class:`Supervisor`."""

    def review(self, plan: Plan) -> None:
        """See :class:`Supervisor`."""

    def agree(self, plan: Plan) -> bool:
        """See :class:`Supervisor`."""
        return True

    def progress(self) -> AbstractContextManager[Progress]:
        """See :class:`Supervisor`."""
        return nullcontext(Progress())

    def interruptions(self) -> AbstractContextManager[Callable[[], bool]]:
        """See :class:`Supervisor`."""
        return nullcontext(lambda: False)


@contextmanager
def stoppable(asked: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Yields whether a signal has asked to stop; ``asked`` is called then. A second one ends at once.

    A terminal that is closed asks too (SIGHUP), unless the run was told to survive it (``nohup``).
    """
    stopped = False

    def stop(_signal: int, _frame: object) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True
        asked()

    hangup = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, *hangup)}
    try:
        yield lambda: stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """What an apply is bound to.

    ``require_id`` is the id of the only plan that may be performed (``change-…``, ``plan-…`` or ``file-…``);
    ``records`` says what is written down, ``lease`` which lease to hold meanwhile, if any.
    ``guardrails`` is the directory of manifests that held a saved plan, and have to hold it now. Of a saved plan,
    ``max_age`` is how long ago it may have been made, and ``approvals`` who has to have signed it.
    ``moves`` is how fast replicas move. ``patience`` is how long to wait for somebody else's lease. ``approved`` is who
    has signed the plan of a fleet that names this one.
    """

    require_id: str | None = None
    records: RecordOptions = RecordOptions()
    lease: LeaseRequest | None = None
    guardrails: str | None = None
    max_age: datetime.timedelta | None = None
    approvals: ApprovalRule | None = None
    moves: MoveOptions = MoveOptions()
    patience: LeasePatience = LeasePatience()
    approved: ApprovalEvidence | None = None


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
    supervisor: Supervisor
    ids: tuple[str, str]
    made_now: bool = False
    wanted: DesiredState | None = None
    digest: str | None = None
    approvals: ApprovalEvidence | None = None
    proposer: str | None = None


def apply(
    path: str,
    cluster: str | None,
    planning: PlanOptions = PlanOptions(),
    connection: ConnectionOptions = ConnectionOptions(),
    options: ApplyOptions = ApplyOptions(),
    *,
    supervisor: Supervisor = Unattended(),
) -> Result:
    """Plan and perform in one go; the result has no steps if there is nothing to do.

    Raises a :class:`WorkflowError` with nothing sent; whatever happens once the first request is sent is in the result.
    """
    if options.approvals is not None:
        raise reasons.UnsavedPlanError("a plan that people have to approve is a saved plan")
    # What is performed at once is what holds now: another time would bring back what has ended, or end it too early.
    refuse_another_time(cluster, planning.as_of, ahead=True)
    with open_declared(path, cluster, connection, supervisor.tell, planning.guardrails, lists=True) as (
        manifests,
        target,
    ):
        planned = plan_on(target, manifests, path, planning)
        plan = planned.plan
        if plan.stops:
            supervisor.review(plan)
            raise reasons.PlanRefusedError(plan=plan, refusals=plan.refusals)
        named = admission.check_ids(plan, options.require_id)
        checks = checks_of(planned)
        _check_time(plan, planned.desired, target)
        result = _perform(
            _Performance(
                plan,
                planned.live,
                target,
                checks,
                connection,
                options,
                supervisor,
                named,
                made_now=True,
                proposer=commit_author(path, plan.source_commit),
            )
        )
        return admission.settled(result, plan, planned.live, target.cluster, planned.desired)


def apply_plan(
    plan: Plan | str,
    path: str,
    cluster: str | None = None,
    connection: ConnectionOptions = ConnectionOptions(),
    options: ApplyOptions = ApplyOptions(),
    *,
    supervisor: Supervisor = Unattended(),
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
        approvals = admission.check_signed(file, digest, options.approvals, now()) or options.approved
    elif options.approvals is not None:
        raise reasons.UnsavedPlanError("people approve the bytes of a plan file, and this plan is not in a file")
    _check_vouched(plan, options, asked=supervisor.asks or digest is None)
    named = admission.check_ids(plan, options.require_id, *filter(None, [digest]))
    admission.check_age(plan, options.max_age, now())
    where = cluster or plan.terms.cluster
    with open_declared(path, where, connection, supervisor.tell, options.guardrails, lists=True) as (manifests, target):
        admission.check_guardrails(plan, manifests)
        live = target.read(_reading(plan, target))
        checks, wanted = Checks(), None
        if target.declaration is not None:
            as_of = moment()
            wanted = desired(manifests, plan.terms.cluster, as_of)
            seen = look(target, manifests, wanted)
            # Who owns which file judges the edit, and not what is given at once.
            judged = wanted if _is_declared(plan) else DesiredState()
            admission.check_unlock(plan, target.declaration.emergency, options.approvals)
            admission.check_overriding(plan, target.declaration.emergency, options.approvals)
            checks = checks_of(Planned(plan, live, target.declaration, judged, manifests, seen), as_of)
            if _is_declared(plan) and not plan.options.undo:
                _check_time(plan, wanted, target)
        given = _Performance(plan, live, target, checks, connection, options, supervisor, named, wanted=wanted)
        proposer = commit_author(path, plan.source_commit)
        result = _perform(replace(given, digest=digest, approvals=approvals, proposer=proposer))
        return admission.settled(result, plan, live, target.cluster, wanted)


def perform_now(
    plan: Plan,
    live: ClusterState,
    target: Target,
    connection: ConnectionOptions = ConnectionOptions(),
    options: ApplyOptions = ApplyOptions(),
    supervisor: Supervisor = Unattended(),
    *,
    checks: Checks | None = None,
) -> Result:
    """Perform a plan that was made just now of ``live``, on the target that was read.

    Without ``checks`` for plans that only take access away: neither access tests nor owners nor topic policies are
    asked, for none of them may keep alive what is over. It is performed whole or not at all: also a guard that refuses
    one step stops it. Raises as :func:`apply`.
    """
    if plan.refusals:
        raise reasons.PlanRefusedError(plan=plan, refusals=plan.refusals)
    named = admission.check_ids(plan, options.require_id)
    given = _Performance(plan, live, target, checks or Checks(), connection, options, supervisor, named, made_now=True)
    return admission.settled(_perform(given), plan, live, target.cluster, None)


def _check_vouched(plan: Plan, options: ApplyOptions, *, asked: bool) -> None:
    """Refuse what no manifest asks for by a file alone; an undo also goes if a person is ``asked``, or by a program."""
    if plan.options.declared or options.require_id is not None or options.approvals is not None:
        return
    if _is_declared(plan) and asked:
        return
    kind = "a break-glass plan" if plan.options.unlock is None else "the plan of an unlock"
    kind = "the plan of an undo" if plan.options.undo else kind
    raise reasons.UnvouchedPlanError(f"{kind} needs signatures or its id: no manifest vouches for it")


def _check_time(plan: Plan, wanted: DesiredState, target: Target) -> None:
    """Refuse a wrong clock where a step creates what has an end, or may delete what has ended, of whatever kind."""
    if any(step.expires is not None or kind_of(step.change).has_ended(step.change, wanted) for step in plan.steps):
        check_clock(target)


def _is_declared(plan: Plan) -> bool:
    """Whether manifests ask for it: what an operator does at once is in none."""
    return plan.options.break_glass is None and plan.options.unlock is None


def _reading(plan: Plan, target: Target) -> ReadRequest:
    if target.declaration is None:
        return request_for(plan)
    return reading(plan, terms(target.declaration))


@contextmanager
def _reasons() -> Iterator[None]:
    """What forbids a plan while it is checked or performed, as a reason for whoever asked for it."""
    try:
        yield
    except StalePlanError as error:
        findings = [item for item in error.findings if item.state in (StepState.STALE, StepState.UNREADABLE)]
        raise reasons.StaleError(str(error), "plan again; nothing was sent", findings) from error
    except LeaseHeldError as error:
        raise reasons.HeldError(f"somebody else is applying: {error}; nothing was sent", error.claims) from error
    except RefusedError as error:
        raise reasons.PlanRefusedError(refusals=error.refusals) from error
    except UndeclaredDefaultError as error:
        advice = (
            "look at the broker's allow.everyone.if.no.acl.found and write into the operator's connections file, "
            "below spec of this cluster:\n"
        )
        value = f"    allowEveryoneIfNoAclFound: {error.observed or 'false'}"
        raise reasons.PlanRefusedError(f"{error}: nothing was sent", advice + value) from error
    except UnprovenError as error:
        raise reasons.PlanRefusedError(f"{error}: nothing was sent", error.advice) from error
    except TooMuchToDecideError as error:
        # Raised where the plan is checked, also the second time: perform raises nothing once it has sent a step.
        raise reasons.TooMuchAccessError(error.limit, ": nothing was sent") from error


def _perform(given: _Performance) -> Result:
    """Admit the plan, let somebody agree, send it."""
    plan, live, target = given.plan, given.live, given.target
    if plan.stops:
        raise reasons.PlanRefusedError(plan=plan, refusals=plan.refusals)
    supervisor, records = given.supervisor, given.options.records
    if target.declaration is None:
        raise reasons.WorkflowError(f"cluster {target.name!r} is not declared")
    refuse_unstated(target.declaration, live, plan)
    if plan.steps:
        target.prepare()
    present = terms(target.declaration)
    present = present if plan.options.unlock is None else unbounded(present)
    looked_at = _looked_at(given, present)
    with _reasons():
        preflight = looked_at(plan, live, made_of_live=given.made_now)
    _admit(given, present, preflight)
    if not plan.steps:
        return Result(plan, (), verified=True)
    _agree(given)
    follow_references(plan, preflight, target)
    keep_signatures(records, given.approvals)
    # How long to wait and whom to ask is the declaration's word of now; records name the plan that was approved.
    performed = replace(plan, terms=replace(present, scope=plan.terms.scope))
    with (
        barrier_of(target, given.connection) as (barrier, redact),
        ledgers(records, audit_topic(target, records)) as (journal, audit),
        supervisor.interruptions() as interrupted,
        supervisor.progress() as progress,
        _reasons(),
    ):
        environment = ApplyEnvironment(
            target.cluster,
            SystemClock(),
            progress,
            interrupted,
            identity=Identity(
                new_run(), records.who(), given.digest, given.ids, given.approvals, given.proposer, records.url
            ),
            journal=journal,
            audit=audit,
            barrier=barrier,
            lease_request=given.options.lease,
            lease_patience=given.options.patience,
            send_seconds=target.send_seconds,
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
    admission.check_break_glass(plan, given.live, now())
    if plan.options.break_glass is not None:
        check_clock(given.target)
    if given.wanted is not None and not plan.options.undo and _is_declared(plan):
        # Also steps that are done by now: what is left of them would make half of something.
        admission.check_wanted(plan, given.wanted, present)
    refuse_obstacles(plan, present, given.target, given.live)
    given.supervisor.review(plan)
    for gain in preflight.defeated:
        given.supervisor.tell(DefeatedGain(gain))
    if given.checks.stops:
        raise reasons.FailedChecksError("policy checks failed: nothing was sent", given.checks)


def _agree(given: _Performance) -> None:
    """Tell of earlier runs of the plan that did not end; an id that the caller requires is consent."""
    if given.options.records.journal is not None:
        for run in earlier_runs(given.options.records.journal, given.ids[1]):
            if not run.ended:
                given.supervisor.tell(run)
    if given.options.require_id is None and not given.supervisor.agree(given.plan):
        raise reasons.DeclinedError("not confirmed: nothing was sent")


def _limits(moves: MoveOptions) -> MoveLimits:
    usual = MoveLimits()
    return MoveLimits(moves.batch_partitions or usual.partitions, moves.batch_bytes or usual.size)
