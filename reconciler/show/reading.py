"""A result's JSON to a report: its ``kind`` says which command printed it; anything else is refused."""

import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from reconciler.codec.codec import ANY_TEXT, Codec, SchemaError, array
from reconciler.dataclass import dataclass
from reconciler.model.characters import first_of
from reconciler.plan.file import PlanFileError, plan_from_json
from reconciler.plan.proposal import Plan
from reconciler.results import KIND, OutputKind, documents
from reconciler.results.access import answer_checks, answer_findings
from reconciler.results.findings import LEVELS, Check, CheckStatus, Finding, Level, known_among
from reconciler.results.tightened import FLEET_TIGHTEN, TIGHTEN, fleet_tighten_findings, tighten_findings
from reconciler.show import findings
from reconciler.show.fleet_report import FleetReport, fleet_checks, fleet_findings
from reconciler.show.kinds import sign_of

# Everything that one report speaks of.

_Item = TypeVar("_Item", Finding, Check)
#: Of the addresses of a cluster, so many say which one it is.
_SERVERS_NAMED: Final = 3


@dataclass(frozen=True)
class Report:
    """Plans, drift reports (plans that only report), findings, checks, and how fleets drifted.

    ``looked`` are states with their basis, ``servers`` where clusters were reached, as far as results say. ``known``
    are the matters of the base, and how many of each; ``None``: nothing was compared, so all is new. Each view asks for
    the same findings and checks, so what is derived of them is kept.
    """

    plans: tuple[Plan, ...] = ()
    drifts: tuple[Plan, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    looked: tuple[tuple[str, str], ...] = ()
    fleets: tuple[FleetReport, ...] = ()
    servers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    known: Mapping[str, int] | None = None

    @property
    def all_plans(self) -> tuple[Plan, ...]:
        """Plans, then drift reports."""
        return (*self.plans, *self.drifts)

    @property
    def clusters(self) -> tuple[str, ...]:
        """Every cluster that is spoken of, each once, sorted."""
        planned = (plan.terms.cluster for plan in self.all_plans)
        return tuple(sorted({*planned, *(cluster for cluster, _ in self.looked)}))

    def address_of(self, cluster: str) -> str:
        """Where a cluster was reached: ``broker-1:9093, broker-2:9093``; empty where no result says so."""
        servers = dict.fromkeys(server for name, servers in self.servers if name == cluster for server in servers)
        return first_of(list(servers), _SERVERS_NAMED)

    @cached_property
    def open_findings(self) -> tuple[Finding, ...]:
        """Findings that nobody has accepted, the heaviest first, then by place."""
        unaccepted = (finding for finding in self.findings if not finding.excepted)
        return tuple(sorted(unaccepted, key=_order))

    @cached_property
    def guardrail_findings(self) -> tuple[Finding, ...]:
        """What the proposal changes about the rules that judge it, and where they hold although it does."""
        return tuple(finding for finding in self.open_findings if finding.about_guardrails)

    @cached_property
    def other_findings(self) -> tuple[Finding, ...]:
        """Open findings that neither a check nor a plan tells, and that are not about guardrails."""
        return tuple(
            finding
            for finding in self.new_findings
            if not finding.checked and not finding.about_guardrails and not finding.about_skipped
        )

    @cached_property
    def new_findings(self) -> tuple[Finding, ...]:
        """Open findings that the base does not have."""
        in_base = frozenset(self.known_findings)
        return tuple(finding for finding in self.open_findings if finding not in in_base)

    @cached_property
    def known_findings(self) -> tuple[Finding, ...]:
        """Findings that the base has as well; an error is never one of them."""
        candidates = sorted(
            (finding for finding in self.findings if finding.level is not Level.ERROR or finding.excepted), key=_order
        )
        return tuple(
            self._among_base(finding for finding in candidates if not finding.checked and not finding.about_guardrails)
        )

    @cached_property
    def known_checks(self) -> tuple[Check, ...]:
        """Checks that did not pass in the base either; one that stops something is never one of them."""
        order = (CheckStatus.PASSED, CheckStatus.FAILED, CheckStatus.UNDECIDED)
        return tuple(self._among_base(check for check in self.checks_once if check.standing not in order))

    @property
    def compared(self) -> tuple[int, int]:
        """How many findings, warnings and checks that stop nothing are known, and how many are new."""
        old = len(self.known_findings) + len(self.known_checks)
        new = sum(not check.standing.stops for check in self.open_checks)
        accepted = frozenset(self.known_findings)
        excepted = sum(finding not in accepted for finding in self.excepted_findings if not finding.checked)
        skipped = sum(finding.about_skipped for finding in self.new_findings)
        warnings = len({text for plan in self.plans for text in plan.warnings})
        return old, len(self.other_findings) + skipped + warnings + new + excepted

    def _among_base(self, items: Iterable[_Item]) -> Iterator[_Item]:
        return known_among(items, Counter(self.known or {}).elements())

    @cached_property
    def excepted_findings(self) -> tuple[Finding, ...]:
        """Findings that somebody has accepted for a while."""
        return tuple(sorted((finding for finding in self.findings if finding.excepted), key=_order))

    @cached_property
    def checks_once(self) -> tuple[Check, ...]:
        """The checks, one for all states of a cluster that came to the same: ``declared and after the plan``."""
        groups: dict[Check, list[Check]] = {}
        for check in self.checks:
            groups.setdefault(replace(check, basis="", lines=()), []).append(check)
        return tuple(
            replace(
                same[0],
                basis=" and ".join(dict.fromkeys(check.basis for check in same if check.basis)),
                lines=tuple(dict.fromkeys(line for check in same for line in check.lines)),
            )
            for same in groups.values()
        )

    @cached_property
    def broken_checks(self) -> tuple[Check, ...]:
        """Checks that did not pass and are not known, those that stop something first."""
        order, in_base = tuple(CheckStatus), frozenset(self.known_checks)
        checks = (
            check for check in self.checks_once if check.standing is not CheckStatus.PASSED and check not in in_base
        )
        return tuple(sorted(checks, key=lambda check: (order.index(check.standing), check.cluster, check.group)))

    @property
    def open_checks(self) -> tuple[Check, ...]:
        """Those of them that neither a plan's refusals nor a fleet's clusters say."""
        return tuple(check for check in self.broken_checks if not check.reported_elsewhere)

    @property
    def stopping_checks(self) -> tuple[Check, ...]:
        """Those of the open ones that fail a pipeline."""
        return tuple(check for check in self.open_checks if check.standing.stops)

    @property
    def refusals(self) -> tuple[Finding, ...]:
        """What safety checks refuse."""
        return tuple(finding for finding in self.open_findings if finding.refusing)

    @property
    def standings(self) -> Counter[CheckStatus]:
        """How many checks ended how."""
        return Counter(check.standing for check in self.checks_once)


def compared_words(report: Report) -> str:
    """``17 known, 0 new``."""
    return "{:,} known, {:,} new".format(*report.compared)


def join(reports: Iterable[Report]) -> Report:
    """Several results as one report, in their order."""
    reports = tuple(reports)
    return Report(
        tuple(chain.from_iterable(report.plans for report in reports)),
        tuple(chain.from_iterable(report.drifts for report in reports)),
        tuple(dict.fromkeys(chain.from_iterable(report.findings for report in reports))),
        tuple(dict.fromkeys(chain.from_iterable(report.checks for report in reports))),
        tuple(dict.fromkeys(chain.from_iterable(report.looked for report in reports))),
        tuple(chain.from_iterable(report.fleets for report in reports)),
        tuple(dict.fromkeys(chain.from_iterable(report.servers for report in reports))),
        _union(report.known for report in reports),
    )


def _union(readings: Iterable[Mapping[str, int] | None]) -> Mapping[str, int] | None:
    """What several results say of one base; a result of no base takes nothing away."""
    counters = [Counter(counts) for counts in readings if counts is not None]
    return functools.reduce(operator.or_, counters) if counters else None


@dataclass(frozen=True, slots=True)
class StepCounts:
    """How many steps of a plan create, update and delete something."""

    create: int
    update: int
    delete: int


def step_counts(plan: Plan) -> StepCounts:
    """Counts of a plan's steps."""
    signs = Counter(sign_of(step.change) for step in plan.steps)
    return StepCounts(signs["+"], signs["~"], signs["-"])


def _order(finding: Finding) -> tuple[object, ...]:
    place = finding.place
    where = ("\uffff", 0, 0) if place is None else (place.file, place.line, place.column)
    return LEVELS.index(finding.level), where, finding.rule, finding.cluster, finding.subject, finding.message


T = TypeVar("T")
_SHOWN: Final = 5
_SERVERS: Final = array(ANY_TEXT)
#: The field that a saved plan has and no output of a command.
_SEAL: Final = "digest"
_EXPECTED: Final = (
    "pass what plan, undo, show, drift, fleet drift, lint, test, tighten, fleet tighten or validate printed with "
    "--output json, or a saved plan"
)


class ResultError(Exception):
    """The JSON is no result that can be reported; ``str()`` says why."""


def read_result(document: object) -> Report:
    """The report of one result, by its ``kind``; a saved plan has none. Raises :class:`ResultError`."""
    if not isinstance(document, dict):
        raise ResultError(f"it is no JSON object: {_EXPECTED}")
    if KIND not in document:
        if _SEAL not in document:
            raise ResultError(f"it has no field {KIND!r}, and is no saved plan either: {_EXPECTED}")
        return _plan_report(document)
    kind = document[KIND]
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        is_kind = isinstance(kind, str) and kind in set(OutputKind)
        raise ResultError(f"its kind {kind!a} {'has no report' if is_kind else 'is not known'}: {_EXPECTED}")
    return reader(document)


def fleet_result(fleet: FleetReport) -> Report:
    """The report of a fleet's drift."""
    return Report(findings=tuple(fleet_findings(fleet)), checks=tuple(fleet_checks(fleet)), fleets=(fleet,))


def _plan_report(document: dict[str, Any]) -> Report:
    plan, servers = _plan_of(document)
    agreed, cluster = _read(documents.CHECKS, document), plan.terms.cluster
    plan, warned = findings.without_base(plan, agreed.known or ())
    return Report(
        known=None if agreed.known is None else Counter(agreed.known),
        plans=(plan,),
        findings=(
            *warned,
            *findings.verification_findings(plan, document),
            *findings.guard_findings(plan),
            *answer_findings(plan),
            *findings.agreed_findings(agreed, cluster),
            *findings.skipped_findings(plan),
        ),
        checks=(
            *findings.guard_checks(plan),
            *answer_checks(plan),
            *findings.agreed_checks(agreed, cluster, "after the plan"),
        ),
        servers=servers,
    )


def _drift_report(document: dict[str, Any]) -> Report:
    """A report refuses nothing: guards speak when somebody plans to change the cluster."""
    plan, servers = _plan_of(document)
    entry = documents.ChecksEntry(cluster_tests=_read(documents.CHECKS, document).cluster_tests)
    cluster = plan.terms.cluster
    return Report(
        drifts=(plan,),
        findings=(*findings.agreed_findings(entry, cluster), *findings.skipped_findings(plan)),
        checks=tuple(findings.agreed_checks(entry, cluster, "live")),
        servers=servers,
    )


def _plan_of(document: dict[str, Any]) -> tuple[Plan, tuple[tuple[str, tuple[str, ...]], ...]]:
    """The plan, and where its cluster was reached."""
    try:
        plan = plan_from_json(document)
    except PlanFileError as error:
        raise ResultError(str(error)) from error
    return plan, ((plan.terms.cluster, _read(_SERVERS, document.get("bootstrapServers", []))),)


def _lint_report(form: documents.LintOutput) -> Report:
    items = []
    for state in form.states:
        items += [findings.lint_finding(entry, state.cluster) for entry in (*state.findings, *state.excepted)]
        items += findings.idle_exceptions(state.idle_exceptions, state.cluster)
        items += findings.unseen_findings(state.unseen, state.cluster)
    matters = _union(None if state.known is None else Counter(state.known) for state in form.states)
    looked = tuple((state.cluster, state.basis) for state in form.states)
    return Report(findings=tuple(items), looked=looked, known=matters)


def _test_report(form: documents.TestOutput) -> Report:
    report = _agreed_report(
        [
            (
                state.cluster,
                state.basis,
                documents.ChecksEntry(state.claims, guardrails=state.guardrails, cluster_tests=state.cluster_tests),
            )
            for state in form.clusters
        ]
    )
    unseen = tuple(
        finding for state in form.clusters for finding in findings.unseen_findings(state.unseen, state.cluster)
    )
    report = replace(report, findings=(*report.findings, *unseen))
    return _checked(report, well=form.passed)


def _validate_report(form: documents.ValidateOutput) -> Report:
    report = _agreed_report([(cluster, "declared", state.checks) for cluster, state in form.clusters.items()])
    report = replace(report, findings=(*map(findings.problem_finding, form.problems), *report.findings))
    return _checked(report, well=form.valid)


def _checked(report: Report, *, well: bool) -> Report:
    """A result that says that something is wrong, and not what, has lost it."""
    if not well and not any(finding.level is Level.ERROR for finding in report.open_findings):
        raise ResultError("it says that something is wrong, but holds nothing that is")
    return report


def _agreed_report(states: Sequence[tuple[str, str, documents.ChecksEntry]]) -> Report:
    return Report(
        findings=tuple(
            finding for cluster, _, agreed in states for finding in findings.agreed_findings(agreed, cluster)
        ),
        checks=tuple(
            check for cluster, basis, agreed in states for check in findings.agreed_checks(agreed, cluster, basis)
        ),
        looked=tuple((cluster, basis) for cluster, basis, _ in states),
        known=_union(None if agreed.known is None else Counter(agreed.known) for _, _, agreed in states),
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
        problems = [
            f"{'.'.join(map(str, problem['loc'])) or 'it'}: {problem['msg']}" for problem in error.errors()[:_SHOWN]
        ]
        raise ResultError("; ".join(problems)) from error


def _tighten_report(document: dict[str, Any]) -> Report:
    tightened = _read(TIGHTEN, document.get("tightened"))
    return Report(findings=tuple(tighten_findings(tightened)), looked=((tightened.cluster, tightened.basis),))


def _fleet_tighten_report(document: dict[str, Any]) -> Report:
    tightened = _read(FLEET_TIGHTEN, document.get("tightenedFleet"))
    looked = tuple((cluster.cluster, cluster.basis) for cluster in tightened.clusters)
    return Report(findings=tuple(fleet_tighten_findings(tightened)), looked=looked)


def _failed_report(document: dict[str, Any]) -> Report:
    failed = _read(documents.FAILED, document)
    return Report(findings=(findings.failed_finding(failed),), checks=(findings.failed_check(failed),))


_READERS: Final[Mapping[str, Callable[[dict[str, Any]], Report]]] = {
    OutputKind.PLAN: _plan_report,
    OutputKind.SHOW: _plan_report,
    OutputKind.UNDO: _plan_report,
    OutputKind.DRIFT: _drift_report,
    OutputKind.LINT: lambda document: _lint_report(_read(documents.LINT, document)),
    OutputKind.TEST: lambda document: _test_report(_read(documents.TEST, document)),
    OutputKind.VALIDATE: lambda document: _validate_report(_read(documents.VALIDATE, document)),
    OutputKind.TIGHTEN: _tighten_report,
    OutputKind.FLEET_TIGHTEN: _fleet_tighten_report,
    OutputKind.FLEET_DRIFT: lambda document: fleet_result(_shaped(FleetReport, document)),
    OutputKind.FAILED: _failed_report,
}
