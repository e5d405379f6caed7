"""A result's JSON to a report: which command printed it follows from its fields; anything else is refused."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from reconciler.codec import ANY_TEXT, Codec, SchemaError, array
from reconciler.plan import PlanFileError, plan_from_json
from reconciler.report.results.answers import answer_checks, answer_findings
from reconciler.report.results.check_findings import agreed_checks, agreed_findings
from reconciler.report.results.documents import (
    CHECKS,
    FAILED,
    LINT,
    TEST,
    VALIDATE,
    ChecksEntry,
    LintOutput,
    TestOutput,
    ValidateOutput,
)
from reconciler.report.results.finding import Level
from reconciler.report.results.fleet import FleetReport, fleet_checks, fleet_findings
from reconciler.report.results.lint_findings import idle_waivers, lint_finding, problem_finding, unseen_findings
from reconciler.report.results.plan_findings import (
    failed_check,
    failed_finding,
    guard_checks,
    guard_findings,
    left_findings,
    verification_findings,
)
from reconciler.report.results.report import Report
from reconciler.report.results.tightened import FLEET_TIGHTEN, TIGHTEN, fleet_tighten_findings, tighten_findings

T = TypeVar("T")
_SHOWN: Final = 5
_SERVERS: Final = array(ANY_TEXT)


class ResultError(Exception):
    """The JSON is no result that can be reported; ``str()`` says why."""


def read_result(document: object, *, drift: bool = False) -> Report:
    """The report of one result; raises :class:`ResultError`. ``drift``: a plan is to be read as a drift report."""
    match document:
        case dict() if {"planId", "steps"} <= document.keys():
            return _plan_report(document, drift=drift or document.get("command") == "drift")
        case {"failed": _, "status": _}:
            failed = _read(FAILED, document)
            return Report(findings=(failed_finding(failed),), checks=(failed_check(failed),))
        case {"tightened": tightened}:
            found = _read(TIGHTEN, tightened)
            return Report(findings=tuple(tighten_findings(found)), looked=((found.cluster, found.basis),))
        case {"tightenedFleet": tightened}:
            all_of_it = _read(FLEET_TIGHTEN, tightened)
            looked = tuple((one.cluster, one.basis) for one in all_of_it.clusters)
            return Report(findings=tuple(fleet_tighten_findings(all_of_it)), looked=looked)
        case {"states": [*states]} if all(isinstance(state, dict) and "findings" in state for state in states):
            return _lint_report(_read(LINT, document))
        case {"passed": _, "clusters": [*_]}:
            return _test_report(_read(TEST, document))
        case {"valid": _, "problems": _}:
            return _validate_report(_read(VALIDATE, document))
        case {"run": _, "totals": _, "clusters": [*_]}:
            return fleet_result(_shaped(FleetReport, document))
    raise ResultError(
        "it is not what plan, drift, fleet drift, lint, test, tighten or validate print with --output json, "
        "nor a saved plan"
    )


def fleet_result(fleet: FleetReport) -> Report:
    """The report of a fleet's drift."""
    return Report(findings=tuple(fleet_findings(fleet)), checks=tuple(fleet_checks(fleet)), fleets=(fleet,))


def _plan_report(document: dict[str, Any], *, drift: bool) -> Report:
    try:
        plan = plan_from_json(document)
    except PlanFileError as error:
        raise ResultError(str(error)) from error
    servers = ((plan.terms.cluster, _read(_SERVERS, document.get("bootstrapServers", []))),)
    if drift:
        # A report refuses nothing: guards speak when somebody plans to change the cluster.
        found = ChecksEntry(cluster_tests=_read(CHECKS, document).cluster_tests)
        cluster = plan.terms.cluster
        return Report(
            drifts=(plan,),
            findings=(*agreed_findings(found, cluster), *left_findings(plan)),
            checks=tuple(agreed_checks(found, cluster, "live")),
            servers=servers,
        )
    agreed, cluster = _read(CHECKS, document), plan.terms.cluster
    return Report(
        plans=(plan,),
        findings=(
            *verification_findings(plan, document),
            *guard_findings(plan),
            *answer_findings(plan),
            *agreed_findings(agreed, cluster),
            *left_findings(plan),
        ),
        checks=(*guard_checks(plan), *answer_checks(plan), *agreed_checks(agreed, cluster, "after the plan")),
        servers=servers,
    )


def _lint_report(form: LintOutput) -> Report:
    findings = []
    for state in form.states:
        findings += [lint_finding(one, state.cluster) for one in (*state.findings, *state.waived)]
        findings += idle_waivers(state.idle_waivers, state.cluster)
        findings += unseen_findings(state.unseen, state.cluster)
    return Report(findings=tuple(findings), looked=tuple((state.cluster, state.basis) for state in form.states))


def _test_report(form: TestOutput) -> Report:
    report = _agreed_report(
        [
            (
                state.cluster,
                state.basis,
                ChecksEntry(state.claims, guardrails=state.guardrails, cluster_tests=state.cluster_tests),
            )
            for state in form.clusters
        ]
    )
    unseen = tuple(found for state in form.clusters for found in unseen_findings(state.unseen, state.cluster))
    report = replace(report, findings=(*report.findings, *unseen))
    return _as_said(report, well=form.passed)


def _validate_report(form: ValidateOutput) -> Report:
    report = _agreed_report([(cluster, "declared", one.checks) for cluster, one in form.clusters.items()])
    report = replace(report, findings=(*map(problem_finding, form.problems), *report.findings))
    return _as_said(report, well=form.valid)


def _as_said(report: Report, *, well: bool) -> Report:
    """A result that says that something is wrong, and not what, has lost it."""
    if not well and not any(one.level is Level.ERROR for one in report.open_findings):
        raise ResultError("it says that something is wrong, but holds nothing that is")
    return report


def _agreed_report(states: Sequence[tuple[str, str, ChecksEntry]]) -> Report:
    return Report(
        findings=tuple(found for cluster, _, agreed in states for found in agreed_findings(agreed, cluster)),
        checks=tuple(check for cluster, basis, agreed in states for check in agreed_checks(agreed, cluster, basis)),
        looked=tuple((cluster, basis) for cluster, basis, _ in states),
    )


def _read(codec: Codec[T], document: object) -> T:
    try:
        return codec.read(document)
    except SchemaError as error:
        raise ResultError(str(error)) from error


def _shaped(kind: type[T], document: object) -> T:
    try:
        return TypeAdapter(kind).validate_python(document)
    except ValidationError as error:
        found = [f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in error.errors()[:_SHOWN]]
        raise ResultError("; ".join(found)) from error
