"""Performing a plan from the command line: consent, interruption, progress, and refusals as exit statuses."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import click

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
)
from reconciler.cli.agreements import Agreements, agreement_lines, agreements_behind
from reconciler.cli.console import paint_for, tell
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import PlanningOptions, Reach
from reconciler.cli.planning import Planned, plan_on
from reconciler.cli.probing import probing
from reconciler.cli.progress import progress_for
from reconciler.cli.recording import Records, earlier_runs, ledgers, new_run, tell_earlier
from reconciler.cli.show import saved_plan
from reconciler.cli.state import read_cluster
from reconciler.cli.stopping import stoppable
from reconciler.cli.topic_policies import look
from reconciler.cli.wiring import Target, desired, opened, terms, today
from reconciler.plan import Plan, Standing, change_id, plan_id, touched_topics
from reconciler.ports import ReadRequest
from reconciler.report.paint import safe
from reconciler.report.plan_text import plan_lines, refusal_lines, summary

if TYPE_CHECKING:
    from reconciler.model import ClusterState
    from reconciler.ports import Ledger


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person agreed to before: anything (``yes``), or one plan by one of its ids; what to write down.

    ``lease_request`` is the lease to hold meanwhile, if any.
    """

    yes: bool = False
    require_id: str | None = None
    records: Records = field(default_factory=Records)
    lease_request: LeaseRequest | None = None


def apply_fresh(
    path: str, cluster: str, reach: Reach, planning: PlanningOptions, consent: Consent, *, expand: bool
) -> Result:
    """Plan and perform in one go; the result has no steps if there is nothing to do."""
    with opened(path, cluster, reach) as (manifests, target):
        planned = plan_on(target, manifests, path, planning)
        if planned.plan.refusals:
            _tell_plan(planned.plan, expand=expand)
            raise CommandError("a guard refuses this plan: nothing was sent", status=Exit.REFUSED)
        _check_id(planned.plan, consent)
        agreed = agreements_behind(planned, planned.plan.as_of)
        reached = _Reached(target, reach, agreed, made_now=True)
        return _perform(planned.plan, planned.live, reached, consent, expand=expand)


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan file, the manifests whose Cluster it is for, and where that cluster is, if not where its document says."""

    file: str
    path: str
    cluster: str | None = None


def apply_saved(saved: SavedPlan, reach: Reach, consent: Consent, *, expand: bool) -> Result:
    """Perform a saved plan on the cluster that it is for; the result has no steps if there is nothing to do."""
    plan, digest = saved_plan(saved.file)
    _check_id(plan, consent, digest)
    with opened(saved.path, saved.cluster or plan.terms.cluster, reach) as (manifests, target):
        live = read_cluster(target.cluster, _reading(plan, target))
        recorded = replace(consent, records=consent.records.beside(saved.file))
        agreed = Agreements()
        if target.declaration is not None:
            wanted = desired(manifests, plan.terms.cluster, today())
            seen = look(target, manifests, wanted)
            agreed = agreements_behind(Planned(plan, live, target.declaration, wanted, manifests, seen), today())
        return _perform(plan, live, _Reached(target, reach, agreed), recorded, expand=expand, digest=digest)


def _reading(plan: Plan, target: Target) -> ReadRequest:
    if target.declaration is None:
        return ReadRequest(all_topics=False, topic_names=touched_topics(plan.steps))
    return reading(plan, terms(target.declaration))


@dataclass(frozen=True, slots=True)
class _Reached:
    """An open cluster, by what it was reached, and what was agreed about the state that is about to be made.

    ``made_now``: the plan was made of the state that was just read.
    """

    target: Target
    reach: Reach
    agreed: Agreements
    made_now: bool = False


def _perform(
    plan: Plan, live: "ClusterState", reached: _Reached, consent: Consent, *, expand: bool, digest: str | None = None
) -> Result:
    target = reached.target
    if target.declaration is None:
        raise CommandError(f"cluster {target.name!r} is not declared")
    if plan.steps:
        target.prepare()
    now = terms(target.declaration)
    # A plan that was made just now knows its day; it may have been chosen.
    looked_at = partial(
        check,
        terms=now,
        today=None if reached.made_now else today(),
        observable=now.probe is not None and target.settings is not None,
    )
    with _refusals():
        preflight = looked_at(plan, live, made_of_live=reached.made_now)
    _tell_plan(plan, expand=expand)
    if reached.agreed.stops:
        tell("\n".join(agreement_lines(reached.agreed, paint_for(sys.stderr))))
        raise CommandError("this plan breaks what was agreed: nothing was sent", status=Exit.FAILED_CHECK)
    if not plan.steps:
        return Result(plan, (), verified=True)
    records = consent.records
    if records.journal is not None:
        tell_earlier(earlier_runs(records.journal, plan_id(plan)))
    _ask(plan, consent)
    # How long to wait and whom to ask is the declaration's word; a plan's id does not speak of it.
    plan = replace(plan, terms=replace(now, scope=plan.terms.scope))
    from reconciler.adapters.clock import SystemClock

    with (
        probing(target, reached.reach) as barrier,
        ledgers(records, _audit_topic(target, records)) as (journal, audit),
        stoppable("batch") as interrupted,
        progress_for(sys.stderr) as progress,
        _refusals(),
    ):
        world = ApplyEnvironment(
            target.cluster,
            SystemClock(),
            progress,
            interrupted,
            identity=Identity(new_run(), records.who(), digest),
            journal=journal,
            audit=audit,
            barrier=barrier,
            lease_request=consent.lease_request,
        )
        return perform(plan, live, preflight, world, partial(looked_at, plan))


def _audit_topic(target: Target, records: Records) -> "Ledger | None":
    if records.audit_topic is None:
        return None
    if target.settings is None:
        raise CommandError("a snapshot has no topic for --audit-topic", status=Exit.USAGE)
    from reconciler.adapters.kafka.audit_topic import AuditTopic
    from reconciler.ports import RecordError

    try:
        return AuditTopic(target.settings, records.audit_topic)
    except RecordError as error:
        raise CommandError(f"no audit record can be sent: {error}") from error


@contextmanager
def _refusals() -> Iterator[None]:
    """What forbids a plan, as the end of the command."""
    try:
        yield
    except StalePlanError as error:
        lines = [
            f"{safe(finding.subject)}: expected {safe(finding.expected)}, found {safe(finding.found)}"
            for finding in error.findings
            if finding.standing in (Standing.STALE, Standing.UNREADABLE)
        ]
        raise CommandError("\n  ".join([str(error), *lines]), "plan again; nothing was sent", Exit.STALE) from error
    except LeaseHeldError as error:
        raise CommandError(
            f"somebody else is applying: {safe(str(error))}; nothing was sent",
            f"wait, or, if that run is known to be dead: --break-lease {shlex.quote(safe(error.claim.holder))}",
            Exit.LOCKED,
        ) from error
    except RefusedError as error:
        for line in refusal_lines(error.refusals, paint_for(sys.stderr)):
            tell(line)
        raise CommandError("a guard refuses this plan: nothing was sent", status=Exit.REFUSED) from error
    except UndeclaredDefaultError as error:
        raise CommandError(
            f"{error}: nothing was sent",
            "look at the broker's allow.everyone.if.no.acl.found and write into the Cluster document, below spec:\n"
            f"    allowEveryoneIfNoAclFound: {error.observed or 'false'}",
            Exit.REFUSED,
        ) from error
    except UnprovenError as error:
        raise CommandError(f"{error}: nothing was sent", error.advice, Exit.REFUSED) from error


def _check_id(plan: Plan, consent: Consent, *digest: str) -> None:
    if consent.require_id is None:
        return
    ids = (change_id(plan), plan_id(plan), *digest)
    if consent.require_id not in ids:
        raise CommandError(
            f"this is not the plan {consent.require_id}; it is\n  " + "\n  ".join(ids),
            "plan again and have it reviewed; nothing was sent",
            Exit.STALE,
        )


def _tell_plan(plan: Plan, *, expand: bool) -> None:
    tell("\n".join(plan_lines(plan, paint_for(sys.stderr), expand=expand)))


def _ask(plan: Plan, consent: Consent) -> None:
    if consent.yes or consent.require_id is not None:
        return
    question = f"{summary(plan)} on cluster {safe(plan.terms.cluster)}. Perform these steps?"
    if not click.confirm(question, err=True):
        raise CommandError("not confirmed: nothing was sent", status=Exit.INTERRUPTED)
