"""A result's JSON to a report: which command printed it follows from its fields; anything else is refused."""

from dataclasses import replace
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from reconciler.plan import Guard, PlanFileError, Refusal, plan_from
from reconciler.report.results.documents import LintForm, RefusalForm, TestForm, ValidateForm
from reconciler.report.results.judged import guard_checks, guard_findings, left_findings
from reconciler.report.results.listed import (
    claim_check,
    claim_finding,
    idle_waivers,
    lint_finding,
    ownership_checks,
    ownership_finding,
    problem_finding,
)
from reconciler.report.results.report import Report

T = TypeVar("T")
_SHOWN: Final = 5


class ResultError(Exception):
    """The JSON is no result that can be reported; ``str()`` says why."""


def read_result(document: object, *, drift: bool = False) -> Report:
    """The report of one result; raises :class:`ResultError`. ``drift``: a plan is to be read as a drift report."""
    match document:
        case dict() if {"planId", "steps"} <= document.keys():
            return _plan_report(document, drift=drift or document.get("command") == "drift")
        case {"states": [*states]} if all(isinstance(state, dict) and "findings" in state for state in states):
            return _lint_report(_shaped(LintForm, document))
        case {"passed": _, "clusters": [*_]}:
            return _test_report(_shaped(TestForm, document))
        case {"valid": _, "problems": _}:
            return _validate_report(_shaped(ValidateForm, document))
    raise ResultError("it is not what plan, drift, lint, test or validate print with --output json, nor a saved plan")


def _plan_report(document: dict[str, Any], *, drift: bool) -> Report:
    try:
        plan = plan_from(document)
    except PlanFileError as error:
        raise ResultError(str(error)) from error
    if drift:
        # A report refuses nothing: guards speak when somebody plans to change the cluster.
        return Report(drifts=(plan,), findings=left_findings(plan))
    plan = replace(plan, refusals=_refusals(document))
    return Report(plans=(plan,), findings=(*guard_findings(plan), *left_findings(plan)), checks=guard_checks(plan))


def _refusals(document: dict[str, Any]) -> tuple[Refusal, ...]:
    forms = _shaped(tuple[RefusalForm, ...], document.get("refusals", ()))
    try:
        return tuple(Refusal(Guard(form.guard), form.object, form.message, form.remedy) for form in forms)
    except ValueError as error:
        raise ResultError(str(error)) from error


def _lint_report(form: LintForm) -> Report:
    findings = []
    for state in form.states:
        findings += [lint_finding(one, state.cluster) for one in (*state.findings, *state.waived)]
        findings += idle_waivers(state.idle_waivers, state.cluster)
    return Report(findings=tuple(findings), looked=tuple((state.cluster, state.basis) for state in form.states))


def _test_report(form: TestForm) -> Report:
    pairs = [(claim, state.cluster) for state in form.clusters for claim in state.claims]
    return Report(
        findings=tuple(found for pair in pairs if (found := claim_finding(*pair)) is not None),
        checks=tuple(claim_check(*pair) for pair in pairs),
        looked=tuple((state.cluster, state.basis) for state in form.clusters),
    )


def _validate_report(form: ValidateForm) -> Report:
    findings = [problem_finding(problem) for problem in form.problems]
    checks = []
    for cluster, state in form.clusters.items():
        findings += [found for claim in state.claims if (found := claim_finding(claim, cluster)) is not None]
        findings += [ownership_finding(breach, cluster) for breach in state.breaches]
        checks += [claim_check(claim, cluster) for claim in state.claims]
        checks += ownership_checks(state.breaches, cluster)
    looked = tuple((cluster, "declared") for cluster in form.clusters)
    return Report(findings=tuple(findings), checks=tuple(checks), looked=looked)


def _shaped(kind: type[T], document: object) -> T:
    try:
        return TypeAdapter(kind).validate_python(document)
    except ValidationError as error:
        found = [f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in error.errors()[:_SHOWN]]
        raise ResultError("; ".join(found)) from error
