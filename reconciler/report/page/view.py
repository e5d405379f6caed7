"""What the page shows, in the order and portions in which it shows it; the template only writes it down."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model.naming import with_points
from reconciler.plan import TITLES, Plan, plan_id
from reconciler.report.access_lines import AccessLine, ordered_lines
from reconciler.report.bridge_text import stage_number
from reconciler.report.page.changes import Changes, changes_of
from reconciler.report.page.heat_map import HeatMap, heat_map
from reconciler.report.results import Check, CheckStatus, Finding, Report, Verdict, plan_verdict, verdict
from reconciler.report.results.finding_groups import FindingGroup, finding_groups
from reconciler.report.results.fleet import FleetCluster, FleetReport
from reconciler.report.results.notes import Note, plan_notes
from reconciler.report.results.report import StepCounts, step_counts
from reconciler.report.results.verdicts import plan_counts
from reconciler.report.skipped_lines import SkippedGroup, skipped_groups
from reconciler.report.step_lines import StepLine, note_lines, step_lines

#: A principal with more rows gets several portions, so that a page of principals stays small whatever they hold.
ROWS_OF_A_PORTION: Final = 100


@dataclass(frozen=True, slots=True)
class Portion:
    """Rows of one principal; ``part`` and ``parts`` count from 1 where there are several portions."""

    who: str
    rows: tuple[AccessLine, ...]
    gains: int
    losses: int
    part: int = 1
    parts: int = 1


@dataclass(frozen=True, slots=True)
class PhaseView:
    """The steps of one phase; ``number`` is its own among all that are sent, ``first`` that of its first line."""

    number: int
    title: str
    lines: tuple[StepLine, ...]
    notes: tuple[tuple[int, str], ...]
    first: int
    barrier: bool


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan or a drift report, ready to be written down; ``anchor`` is unique on the page."""

    anchor: str
    plan: Plan
    drift: bool
    verdict: Verdict
    counts: str
    step_counts: StepCounts
    portions: tuple[Portion, ...]
    gaining: int
    losing: int
    changes: Changes | None
    phases: tuple[PhaseView, ...]
    notes: tuple[Note, ...]
    skipped: tuple[SkippedGroup, ...]
    address: str = ""

    @property
    def id(self) -> str:
        """What a reviewer approves."""
        return plan_id(self.plan)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reviewer should know."""
        return (*self.plan.warnings, *self.plan.login_warnings)

    @property
    def uncertain(self) -> bool:
        """Whether some rows hold only if what nobody declared has it so."""
        return any(row.reading for row in self.plan.access.access_changes)


@dataclass(frozen=True, slots=True)
class FleetView:
    """A fleet's drift, ready to be written down; ``rows`` are the clusters that differ or are not known."""

    anchor: str
    report: FleetReport
    heat: HeatMap | None
    rows: tuple[FleetCluster, ...]


@dataclass(frozen=True, slots=True)
class PageView:
    """The whole page."""

    title: str
    verdict: Verdict
    plans: tuple[PlanView, ...]
    guardrails: tuple[Finding, ...]
    refusals: tuple[Finding, ...]
    findings: tuple[FindingGroup, ...]
    waived: tuple[Finding, ...]
    checks: tuple[Check, ...]
    passed: tuple[Check, ...]
    standings: tuple[tuple[str, int], ...]
    levels: tuple[tuple[str, int], ...]
    fleets: tuple[FleetView, ...] = ()


def page_view(report: Report) -> PageView:
    """The view of a report."""
    plans = [*((plan, False) for plan in report.plans), *((plan, True) for plan in report.drifts)]
    told = report.other_findings
    levels = Counter(str(one.level) for one in told)
    return PageView(
        _title(report),
        verdict(report),
        tuple(
            _plan_view(number, plan, report.address_of(plan.terms.cluster), drift=drift)
            for number, (plan, drift) in enumerate(plans, 1)
        ),
        report.guardrail_findings,
        tuple(one for one in report.open_findings if one.rule.startswith("guard-")),
        tuple(finding_groups(told)),
        report.waived_findings,
        tuple(check for check in report.broken_checks if not check.told_elsewhere),
        tuple(one for one in report.checks_once if one.standing is CheckStatus.PASSED and one.group != "Fleet"),
        tuple((str(one), report.standings[one]) for one in CheckStatus if report.standings[one]),
        tuple(levels.items()),
        tuple(_fleet_view(number, fleet) for number, fleet in enumerate(report.fleets, 1)),
    )


def _fleet_view(number: int, fleet: FleetReport) -> FleetView:
    rows = tuple(one for one in fleet.clusters if one.failure or one.differs)
    return FleetView(f"fleet-{number}", fleet, heat_map(fleet), rows)


def _title(report: Report) -> str:
    if report.fleets and not report.all_plans:
        return "Drift of the fleet"
    what = "Plan for" if report.plans else "Drift of" if report.drifts else "Report on"
    clusters = sorted({plan.terms.cluster for plan in report.all_plans}) or report.clusters
    named = " and ".join(clusters) if len(clusters) < 3 else f"{len(clusters):,} clusters"
    return f"{what} {named}" if named else "Report on manifests"


def _plan_view(number: int, plan: Plan, address: str, *, drift: bool) -> PlanView:
    rows = plan.access.access_changes
    return PlanView(
        f"plan-{number}",
        plan,
        drift,
        plan_verdict(plan, drift=drift),
        plan_counts(plan, drift=drift),
        step_counts(plan),
        tuple(portions(ordered_lines(rows))),
        len({row.principal for row in rows if row.gained}),
        len({row.principal for row in rows if row.lost}),
        changes_of(rows),
        tuple(_phases(plan)),
        tuple(plan_notes(plan, expand=True)),
        tuple(skipped_groups(plan, fold=False)),
        address,
    )


def portions(lines: Iterable[AccessLine]) -> Iterator[Portion]:
    """Lines by principal, each where its first line is; no portion has more than a hundred."""
    found: dict[str, list[AccessLine]] = {}
    for line in lines:
        found.setdefault(with_points(line.who), []).append(line)
    for who, group in found.items():
        rows = tuple(group)
        gains = sum(row.sign == "+" for row in rows)
        parts = -(-len(rows) // ROWS_OF_A_PORTION)
        for part in range(parts):
            some = rows[part * ROWS_OF_A_PORTION : (part + 1) * ROWS_OF_A_PORTION]
            yield Portion(who, some, gains, len(rows) - gains, part + 1, parts)


def _phases(plan: Plan) -> Iterator[PhaseView]:
    first = 1
    found = [
        (phase, tuple(lines)) for phase, lines in groupby(step_lines(plan, fold=False), key=lambda line: line.phase)
    ]
    for number, (phase, lines) in enumerate(found):
        following = [later for later, _ in found[number + 1 :]]
        awaited = bool(following) and any(phase <= barrier < following[0] for barrier in plan.barriers)
        yield PhaseView(stage_number(plan, phase), TITLES[phase], lines, tuple(note_lines(lines)), first, awaited)
        first += len(lines)
