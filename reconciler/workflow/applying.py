"""Performing a plan: planned just now, or reviewed before; checked again, agreed to, written down, verified."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from reconciler.adapters.clock import SystemClock
from reconciler.apply import (
    ApplyEnvironment,
    Identity,
    LeaseHeldError,
    LeaseRequest,
    RefusedError,
    Result,
    StalePlanError,
    UndeclaredDefaultError,
    UnprovenError,
    check,
    perform,
    reading,
    request_for,
)
from reconciler.model import ClusterState
from reconciler.plan import Plan, StepState, change_id, plan_id
from reconciler.ports import ReadRequest
from reconciler.report.checks import Checks
from reconciler.workflow.attendant import Attendant, Unattended
from reconciler.workflow.checks import checks_of
from reconciler.workflow.clusters import Target, open_declared
from reconciler.workflow.manifests import desired
from reconciler.workflow.options import ConnectionOptions, PlanOptions, today
from reconciler.workflow.planning import Planned, plan_on, saved_plan
from reconciler.workflow.probe import barrier_of
from reconciler.workflow.reasons import (
    DeclinedError,
    FailedChecksError,
    HeldError,
    PlanRefusedError,
    StaleError,
    WorkflowError,
)
from reconciler.workflow.records import RecordOptions, audit_topic, earlier_runs, ledgers, new_run
from reconciler.workflow.terms import terms
from reconciler.workflow.topic_checks import look


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """What an apply is bound to.

    ``require_id`` is the id of the only plan that may be performed (``change-…``, ``plan-…`` or ``file-…``);
    ``records`` says what is written down, ``lease`` which lease to hold meanwhile, if any.
    """

    require_id: str | None = None
    records: RecordOptions = RecordOptions()
    lease: LeaseRequest | None = None


@dataclass(frozen=True, slots=True)
class _Performance:
    """What is about to be performed; ``made_now``: the plan was made of the state that was just read."""

    plan: Plan
    live: ClusterState
    target: Target
    checks: Checks
    connection: ConnectionOptions
    options: ApplyOptions
    attendant: Attendant
    made_now: bool = False
    digest: str | None = None


def apply(
    path: str,
    cluster: str,
    planning: PlanOptions = PlanOptions(),
    connection: ConnectionOptions = ConnectionOptions(),
    options: ApplyOptions = ApplyOptions(),
    *,
    attendant: Attendant = Unattended(),
) -> Result:
    """Plan and perform in one go; the result has no steps if there is nothing to do.

    Raises a :class:`WorkflowError` with nothing sent; whatever happens once the first request is sent is in the result.
    """
    with open_declared(path, cluster, connection, attendant.tell) as (manifests, target):
        planned = plan_on(target, manifests, path, planning)
        plan = planned.plan
        if plan.refusals:
            attendant.review(plan)
            raise PlanRefusedError("a guard refuses this plan: nothing was sent", plan=plan, refusals=plan.refusals)
        _check_id(plan, options)
        checks = checks_of(planned)
        return _perform(_Performance(plan, planned.live, target, checks, connection, options, attendant, made_now=True))


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
    Raises as :func:`apply`; :class:`StaleError` where the cluster is not what the plan was made for.
    """
    digest = None
    if isinstance(plan, str):
        options = replace(options, records=options.records.next_to(plan))
        plan, digest = saved_plan(plan)
    _check_id(plan, options, *filter(None, [digest]))
    with open_declared(path, cluster or plan.terms.cluster, connection, attendant.tell) as (manifests, target):
        live = target.read(_reading(plan, target))
        checks = Checks()
        if target.declaration is not None:
            wanted = desired(manifests, plan.terms.cluster, today())
            seen = look(target, manifests, wanted)
            checks = checks_of(Planned(plan, live, target.declaration, wanted, manifests, seen), today())
        return _perform(_Performance(plan, live, target, checks, connection, options, attendant, digest=digest))


def _reading(plan: Plan, target: Target) -> ReadRequest:
    if target.declaration is None:
        return request_for(plan)
    return reading(plan, terms(target.declaration))


def _perform(given: _Performance) -> Result:
    plan, live, target = given.plan, given.live, given.target
    attendant, records = given.attendant, given.options.records
    if target.declaration is None:
        raise WorkflowError(f"cluster {target.name!r} is not declared")
    if plan.steps:
        target.prepare()
    now = terms(target.declaration)
    # A plan that was made just now knows its day; it may have been chosen.
    looked_at = partial(
        check,
        terms=now,
        today=None if given.made_now else today(),
        observable=now.probe is not None and target.settings is not None,
    )
    with _reasons():
        preflight = looked_at(plan, live, made_of_live=given.made_now)
    attendant.review(plan)
    if given.checks.stops:
        raise FailedChecksError("policy checks failed: nothing was sent", given.checks)
    if not plan.steps:
        return Result(plan, (), verified=True)
    if records.journal is not None:
        for run in earlier_runs(records.journal, plan_id(plan)):
            if not run.ended:
                attendant.tell(run)
    if given.options.require_id is None and not attendant.agree(plan):
        raise DeclinedError("not confirmed: nothing was sent")
    # How long to wait and whom to ask is the declaration's word; a plan's id does not speak of it.
    plan = replace(plan, terms=replace(now, scope=plan.terms.scope))
    with (
        barrier_of(target, given.connection) as (barrier, redact),
        ledgers(records, audit_topic(target, records)) as (journal, audit),
        attendant.interruptions() as interrupted,
        attendant.progress() as progress,
        _reasons(),
    ):
        environment = ApplyEnvironment(
            target.cluster,
            SystemClock(),
            progress,
            interrupted,
            identity=Identity(new_run(), records.who(), given.digest),
            journal=journal,
            audit=audit,
            barrier=barrier,
            lease_request=given.options.lease,
            redact=redact,
        )
        return perform(plan, live, preflight, environment, partial(looked_at, plan))


@contextmanager
def _reasons() -> Iterator[None]:
    """What forbids a plan, as a reason."""
    try:
        yield
    except StalePlanError as error:
        findings = [item for item in error.findings if item.state in (StepState.STALE, StepState.UNREADABLE)]
        raise StaleError(str(error), "plan again; nothing was sent", findings) from error
    except LeaseHeldError as error:
        raise HeldError(f"somebody else is applying: {error}; nothing was sent", error.claim) from error
    except RefusedError as error:
        raise PlanRefusedError("a guard refuses this plan: nothing was sent", refusals=error.refusals) from error
    except UndeclaredDefaultError as error:
        advice = (
            "look at the broker's allow.everyone.if.no.acl.found and write into the Cluster document, below spec:\n"
        )
        value = f"    allowEveryoneIfNoAclFound: {error.observed or 'false'}"
        raise PlanRefusedError(f"{error}: nothing was sent", advice + value) from error
    except UnprovenError as error:
        raise PlanRefusedError(f"{error}: nothing was sent", error.advice) from error


def _check_id(plan: Plan, options: ApplyOptions, *digest: str) -> None:
    ids = (change_id(plan), plan_id(plan), *digest)
    if options.require_id is not None and options.require_id not in ids:
        raise StaleError(
            f"this is not the plan {options.require_id}; it is\n  " + "\n  ".join(ids),
            "plan again and have it reviewed; nothing was sent",
        )
