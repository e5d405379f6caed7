"""What commands print of a plan and of what became of it, and the exit statuses that these mean."""

import datetime
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from reconciler.app import records
from reconciler.app.access_checks import checks_of
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.app.plan import drift as run_drift
from reconciler.app.plan import plan as run_plan
from reconciler.app.validate import known_matters
from reconciler.apply.environment import Outcome, Result
from reconciler.cli.change_options import GUARDRAILS, NEW_ACCESS, NEW_PATH, TRUNCATED, weakened
from reconciler.cli.console import Exit, error, info, out, out_json, progress, settings, style_for, watched, worst
from reconciler.cli.notes import info_note
from reconciler.cli.parts import part_module
from reconciler.model.frozen import FrozenMap
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.proposal import Plan
from reconciler.plan.refusal import Refusal
from reconciler.plan.review.ends import OPENS_A_PATH
from reconciler.plan.review.topics import Ruling
from reconciler.results import OutputKind
from reconciler.show.claims import Checks, agreed_lines, checks_document, checks_entry, checks_lines
from reconciler.show.findings import agreed_checks, agreed_findings, without_base
from reconciler.show.plan import drift_lines, drift_table, plan_lines, plan_report, refusal_lines
from reconciler.show.reading import Report, compared_words
from reconciler.show.result import result_document, result_lines
from reconciler.show.review import cut_words


def print_plan(
    plan: Plan,
    checks: Checks | None,
    *,
    expand: bool,
    output: str,
    kind: OutputKind,
    servers: Sequence[str] = (),
    where: str = "PATH",
    more: Mapping[str, object] = FrozenMap({}),
) -> None:
    """Print a plan to stdout, as text or as JSON of a kind; with what was checked of its end, and ``more`` fields.

    ``servers`` are where the cluster was reached, for reports of the JSON; ``where`` are the arguments that a command
    needs to find manifests and cluster again.
    """
    if output == "json":
        if kind is OutputKind.DRIFT and settings.table:
            out_json(kind, drift_table(plan))
            return
        checked = {} if checks is None else checks_document(checks)
        out_json(kind, {**plan_report(plan, servers=servers), **checked, **more})
        return
    if settings.quiet:
        from reconciler.show.verdicts import quiet_line

        plan, _ = _compared(plan, checks)
        out([quiet_line(plan, drift=kind is OutputKind.DRIFT, stopped=checks is not None and checks.stops)])
        return
    style = style_for(sys.stdout)
    plan, compared = _compared(plan, checks)
    agreed = () if checks is None else agreed_lines(checks, style, expand=expand)
    if kind is OutputKind.DRIFT:
        out(drift_lines(plan, style, expand=expand, agreed=agreed, where=where))
    else:
        out(plan_lines(plan, style, expand=expand, agreed=agreed, short_id=watched(sys.stdout)))
    if checks is not None:
        out([*checks_lines(checks, style, expand=expand, agreed=False), *compared])


def _compared(plan: Plan, checks: Checks | None) -> tuple[Plan, list[str]]:
    """The plan without what the base has as well, and how much is known and new, in a line."""
    if checks is None or checks.known is None:
        return plan, []
    entry, cluster = checks_entry(checks), plan.terms.cluster
    shown, warned = without_base(plan, checks.known)
    report = Report(
        (shown,),
        (),
        (*warned, *agreed_findings(entry, cluster)),
        tuple(agreed_checks(entry, cluster, "")),
        known=Counter(checks.known),
    )
    return shown, [f"Against the base: {compared_words(report)}."]


def verdict(plan: Plan, checks: Checks, *, saved: bool) -> Exit:
    """Say whether a guard, a claim or an owner stands against a plan; such a plan is not saved."""
    unsaved = ": the plan was not saved" if saved else ""
    if plan.stops:
        error(f"a safety check refuses this plan{unsaved}")
        return Exit.REFUSED
    if checks.stops:
        error(f"policy checks failed{unsaved}")
        return Exit.FAILED_CHECK
    return Exit.OK


def left_out(plan: Plan) -> Exit:
    """Say that guards refuse some of the changes, which keeps no other one from being saved and performed.

    Where something else speaks against the plan, the status is that of it: 5 with a saved plan says that nothing does.
    """
    if plan.stops or not plan.refused:
        return Exit.OK
    number = len(plan.refused)
    error(f"a safety check refuses {number:,} change{'s' if number > 1 else ''}: the plan is the rest")
    return Exit.REFUSED


def gate(plan: Plan, checks: Checks, fail_on: tuple[str, ...], *, whole: bool) -> Exit:
    """Say which conditions of ``--fail-on`` a plan meets; ``whole`` if all rows of access are shown that there are."""
    failed = Exit.OK
    if NEW_ACCESS in fail_on and plan.gives_access:
        error("somebody gains access, or gets a password (--fail-on new-access)")
        failed = Exit.FAILED_CHECK
    if NEW_PATH in fail_on and any(item.rule in OPENS_A_PATH for item in plan.access.callouts):
        error("somebody could act as another principal, and could not before (--fail-on new-path)")
        failed = Exit.FAILED_CHECK
    if GUARDRAILS in fail_on and weakened(checks):
        failed = Exit.FAILED_CHECK
    if TRUNCATED in fail_on and (plan.access.more_principals or cut_words(plan.access, expand=whole)):
        error("not all rows of access are shown (--fail-on truncated)")
        failed = Exit.FAILED_CHECK
    return failed


def save(plan: Plan, file: str) -> None:
    """Write a plan, and say under which digest."""
    progress(f"saved {file}  {records.save_plan(plan, file)}")


def save_certificate(plan: Plan, live: ClusterState, file: str) -> None:
    """Write the certificate of a plan."""
    records.save_certificate(plan, live, file)
    progress(f"saved {file}: check it with “python3 check_plan.py {file}” (docs/certificate.md)")


def answers(plan: Plan, *, saved: bool) -> Exit:
    """Say whether the cluster refuses a step, or could not be asked about one; such a plan is not saved."""
    validation = plan.topics.validation
    if validation is None:
        return Exit.OK
    unsaved = ": the plan was not saved" if saved else ""
    refused, unknown = validation.count(Ruling.REFUSED), validation.count(Ruling.UNKNOWN)
    if refused:
        error(f"the cluster refuses {refused:,} of the steps{unsaved}")
    if unknown:
        error(f"the cluster gave no answer about {unknown:,} of the steps{unsaved}")
    return worst(Exit.FAILED_CHECK if refused else Exit.OK, Exit.ERROR if unknown else Exit.OK)


def show_outcome(result: Result, output: str) -> Exit:
    """Print what became of each step; returns the exit status."""
    if output == "json":
        out_json(OutputKind.APPLY, result_document(result))
    elif result.outcomes or result.plan.refused:
        out(result_lines(result, style_for(sys.stdout)))
    if result.interrupted:
        rest = "the rest was not attempted" if result.count(Outcome.NOT_ATTEMPTED) else "nothing was left to attempt"
        error(f"interrupted: the batch in flight was finished, {rest}")
    return worst(
        left_out(result.plan),
        Exit.INTERRUPTED if result.interrupted else Exit.OK,
        Exit.OK if result.succeeded else Exit.ERROR,
    )


def info_checks(checks: Checks) -> None:
    """Say on stderr what was checked of a plan's end."""
    info("\n".join(checks_lines(checks, style_for(sys.stderr))))


def info_refusals(refusals: tuple[Refusal, ...]) -> None:
    """Say on stderr what guards refuse."""
    for line in refusal_lines(refusals, style_for(sys.stderr)):
        info(line)


# What ``plan`` and ``drift`` do. It is imported once the process that reads the cluster has been started.


def report_plan(
    path: str,
    cluster: str | None,
    planning: PlanOptions,
    connection: ConnectionOptions,
    *,
    save_as: str | None,
    certificate: str | None,
    fail_on: tuple[str, ...],
    ask_broker: bool,
    detailed_exitcode: bool,
    output: str,
) -> int:
    """Plan, print and save; the exit status."""
    planned = run_plan(path, cluster, planning, connection, ask_broker=ask_broker, tell=info_note)
    matters = known_matters(planned.before, planned.plan.terms.cluster, planned.plan.as_of, planned.base)
    checks = replace(checks_of(planned), known=matters)
    print_plan(
        planned.plan, checks, kind=OutputKind.PLAN, expand=settings.expand, output=output, servers=planned.servers
    )
    saved = save_as is not None or certificate is not None
    status = worst(verdict(planned.plan, checks, saved=saved), answers(planned.plan, saved=saved))
    if status is Exit.OK and save_as is not None:
        save(planned.plan, save_as)
    if status is Exit.OK and certificate is not None:
        save_certificate(planned.plan, planned.live, certificate)
    different = Exit.DIFFERENT if detailed_exitcode and planned.plan.steps else Exit.OK
    status = worst(status, gate(planned.plan, checks, fail_on, whole=settings.expand or output == "json"))
    return worst(left_out(planned.plan), different) if status is Exit.OK else status


def report_drift(
    path: str,
    cluster: str | None,
    connection: ConnectionOptions,
    past: tuple[str | None, tuple[str, ...], tuple[str, ...]],
    *,
    as_of: datetime.date | None,
    base: str | None,
    output: str,
) -> int:
    """Print every difference; the exit status. ``past`` is a store of readings, audit logs, and authorizer logs."""
    drift = run_drift(path, cluster, connection, as_of=as_of, base=base, tell=info_note)
    plan = drift.plan
    since, fields = _since(plan, *past)
    checks = Checks(cluster_tests=drift.cluster_tests)
    print_plan(
        plan,
        checks if drift.cluster_tests else None,
        expand=settings.expand,
        output=output,
        kind=OutputKind.DRIFT,
        servers=drift.servers,
        where=_where(path, cluster),
        more=fields,
    )
    if since and output != "json":
        out(since)
    if checks.stops:
        error("cluster tests failed")
    if drift.unjudged:
        error(drift.unjudged)
    return worst(
        Exit.ERROR if drift.unjudged else Exit.OK,
        Exit.FAILED_CHECK if checks.stops else Exit.OK,
        Exit.DIFFERENT if plan.steps or plan.skipped else Exit.OK,
    )


def _since(
    plan: Plan, store: str | None, audit: tuple[str, ...], logs: tuple[str, ...]
) -> tuple[list[str], dict[str, object]]:
    """Since when the ACLs differ, in lines and as a field for programs; nothing without a store."""
    if store is None:
        return [], {}
    part = part_module("history", "drift --store")
    changes = [step.change for step in plan.steps] + [
        skipped.change for skipped in plan.skipped if skipped.change is not None
    ]
    past = part.PastSources(store, audit, logs)
    lines, documents = part.drift_since(past, plan.terms.cluster, deleted_bindings(changes), created_bindings(changes))
    return lines, {"since": documents}


def _where(path: str, cluster: str | None) -> str:
    return shlex.join([path, *(["--cluster", cluster] if cluster else [])])
