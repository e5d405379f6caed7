"""What the page shows, in the order and portions in which it shows it; the template only writes it down."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model.acl import IMPLICATIONS, AclOperation, ResourceType
from reconciler.model.characters import as_name, with_points
from reconciler.plan.file import plan_id
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_change import EVERYBODY_ELSE, AccessChange, operations_words
from reconciler.results.findings import Check, CheckStatus, Finding, FindingGroup, finding_groups
from reconciler.show.access_lines import MOST_HARMLESS, AccessLine, gravity, ordered_lines
from reconciler.show.access_matrix import ALL, LETTERS
from reconciler.show.document import ReportDocument, Row, Section, SectionName
from reconciler.show.fleet_report import FleetCluster, FleetReport
from reconciler.show.plan import plan_document
from reconciler.show.reading import Report, StepCounts, step_counts
from reconciler.show.review import callout_rows
from reconciler.show.verdicts import FirstScreen, Verdict, first_screen, known_rows, plan_counts, plan_verdict, verdict

# Gained and lost access as a picture: principals down, groups of names across, a letter for each operation.
#
# It shows where a plan reaches at a glance; the rows beside it say it exactly.

#: So much fits a screen; what is beyond stands in the rows only, and is counted.
MOST_PRINCIPALS: Final = 40
MOST_GROUPS: Final = 18
CELL_HEIGHT: Final = 24
_NARROWEST: Final = 44
_CHARACTER: Final = 7.3
_LONGEST: Final = 34
#: Around the letters of a cell.
_PADDING: Final = 14
#: ``payments.`` of ``payments.orders``: what names that belong together begin with.
_BEGINNING: Final = re.compile(r"[^._-]+[._-]")

#: What somebody gains and loses in one group of names.
_Moved: TypeAlias = tuple[set[AclOperation], set[AclOperation]]


@dataclass(frozen=True, slots=True)
class ChangeCell:
    """What one principal gains and loses in one group of names; ``title`` says it in words."""

    column: int
    gained: str
    lost: str
    title: str

    @property
    def widths(self) -> tuple[int, int]:
        """What its gains and its losses need, in pixels."""
        return _wide(self.gained), _wide(self.lost)


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """A group of names; as wide as its widest cell, so that nothing of a cell is ever cut."""

    label: str
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class AccessMatrix:
    """The picture: columns by label, rows with their cells, what was left out, and its measures in pixels."""

    columns: tuple[ChangeColumn, ...]
    rows: tuple[tuple[str, tuple[ChangeCell, ...]], ...]
    more_principals: int
    more_groups: int
    letters: tuple[tuple[str, str], ...]
    left: int
    top: int

    @property
    def width(self) -> int:
        """All of it; the last label leans out to the right."""
        return self.right + int(self.top * 0.8)

    @property
    def right(self) -> int:
        """Where the last column ends."""
        return self.columns[-1].x + self.columns[-1].width

    @property
    def height(self) -> int:
        """All of it."""
        return self.top + CELL_HEIGHT * len(self.rows) + 4


def changes_of(rows: Iterable[AccessChange]) -> AccessMatrix | None:
    """The picture of a review's rows, or ``None`` where nothing is gained or lost."""
    rows = tuple(rows)
    cells: dict[tuple[str, str], _Moved] = defaultdict(lambda: (set(), set()))
    kinds: dict[str, ResourceType] = {}
    labels: dict[str, str] = {}
    for row in rows:
        gained, lost = cells[_who(row), _group(row)]
        kinds[_group(row)], labels[_group(row)] = row.resources.resource_type, _group(row, as_name)
        gained.update(row.gained)
        lost.update(row.lost)
    if not cells:
        return None
    principals = Counter(who for who, _ in cells)
    groups = Counter(group for _, group in cells)
    # A crowd of harmless rows must not take the place of one that is not.
    who_first, group_first = _gravest(rows, _who), _gravest(rows, _group)
    order = sorted(principals, key=lambda who: (who != EVERYBODY_ELSE, who_first[who], -principals[who], who))
    shown = sorted(order[:MOST_PRINCIPALS], key=_everybody_first)
    names = sorted(sorted(groups, key=lambda group: (group_first[group], -groups[group], group))[:MOST_GROUPS])
    matrix_rows = [(shortened(who), tuple(_change_cells(who, names, cells, labels, kinds))) for who in shown]
    left = 30 + int(_CHARACTER * max(len(who) for who, _ in matrix_rows))
    used = {operation for pair in cells.values() for side in pair for operation in side}
    return AccessMatrix(
        tuple(_columns(names, [cell for _, some in matrix_rows for cell in some], left)),
        tuple(matrix_rows),
        len(principals) - len(shown),
        len(groups) - len(names),
        tuple((letter, operation.name) for operation, letter in LETTERS.items() if operation in used),
        left,
        30 + int(_CHARACTER * 0.72 * max(len(shortened(group)) for group in names)),
    )


def _columns(names: Sequence[str], cells: Sequence[ChangeCell], x: int) -> Iterator[ChangeColumn]:
    for number, name in enumerate(names):
        width = max((sum(cell.widths) for cell in cells if cell.column == number), default=0) + 4
        width = max(width, _NARROWEST)
        yield ChangeColumn(shortened(name), x, width)
        x += width


def _wide(letters: str) -> int:
    return int(_CHARACTER * (len(letters) + 1)) + _PADDING if letters else 0


def _gravest(rows: Iterable[AccessChange], of: Callable[[AccessChange], str]) -> dict[str, int]:
    """The gravest that there is to show of each principal, or of each group of names."""
    gravest: dict[str, int] = {}
    for row in rows:
        sides = [gravity(row, sign) for sign, moved in (("+", row.gained), ("-", row.lost)) if moved]
        gravest[of(row)] = min([*sides, gravest.get(of(row), MOST_HARMLESS)])
    return gravest


def _who(row: AccessChange) -> str:
    return row.principal or EVERYBODY_ELSE


def shortened(text: str) -> str:
    """A label that is not too long; the whole text stands in the rows."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _everybody_first(who: str) -> tuple[bool, str]:
    return who != EVERYBODY_ELSE, who


def _change_cells(
    who: str,
    columns: Sequence[str],
    cells: dict[tuple[str, str], _Moved],
    words: dict[str, str],
    kinds: dict[str, ResourceType],
) -> Iterable[ChangeCell]:
    for number, group in enumerate(columns):
        if (who, group) not in cells:
            continue
        gained, lost = cells[who, group]
        parts = [f"{verb} {_names(side)}" for verb, side in (("gains", gained), ("loses", lost)) if side]
        subject = who if who == EVERYBODY_ELSE else as_name(who)
        title = f"{subject} {' and '.join(parts)} on {words[group]}"
        kind = kinds[group]
        yield ChangeCell(number, _letters(gained, kind), _letters(lost, kind), title)


def _group(row: AccessChange, name: Callable[[str], str] = str) -> str:
    """The group of names that a row belongs to: for a label, or with ``name`` for a sentence."""
    kind, text = row.resources.resource_type, row.resources.names.text
    if kind is ResourceType.CLUSTER:
        return "the cluster"
    if not text:
        return f"every {kind.noun}"
    beginning = _BEGINNING.match(text)
    prefix = "" if kind is ResourceType.TOPIC else f"{kind.noun} "
    if beginning is not None:
        return f"{prefix}{name(beginning.group())}…"
    return f"{prefix}{name(text)}" if row.resources.names.literal else f"{prefix}{name(text)}…"


def _letters(operations: set[AclOperation], kind: ResourceType) -> str:
    """What is in the words of a row, in letters: without what is implied, and all of them."""
    if operations and operations_words(sorted(operations), kind) == "everything":
        return ALL
    implied = {IMPLICATIONS[operation] for operation in operations if operation in IMPLICATIONS}
    return "".join(letter for operation, letter in LETTERS.items() if operation in operations - implied)


def _names(operations: set[AclOperation]) -> str:
    return ", ".join(operation.name for operation in sorted(operations))


# Differences by cluster and team, or by cluster and sort, as a picture; a table has what it shows as text.

CELL_WIDTH: Final = 44
HEAT_CELL_HEIGHT: Final = 22
_LEFT, _TOP, _RIGHT = 190, 96, 70
#: Most clusters that the map shows, the ones with most differences first; the table has all that differ.
_MOST: Final = 400
#: How many shades there are besides that of no difference; ``page.css`` has their colours.
SHADES: Final = 5


@dataclass(frozen=True, slots=True)
class HeatCell:
    """The differences of one cluster and team. ``shade`` is 0 to ``SHADES``, ``label`` at most five characters."""

    x: int
    shade: int
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One cluster; without cells where nothing is known of it."""

    y: int
    cluster: str
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Teams or sorts across, clusters down, measures in pixels; ``hidden`` clusters are in the table only."""

    columns: tuple[tuple[int, str], ...]
    rows: tuple[HeatRow, ...]
    hidden: int
    left: int = _LEFT
    top: int = _TOP

    @property
    def width(self) -> int:
        """All of it; the last label leans out to the right."""
        return _LEFT + CELL_WIDTH * len(self.columns) + _RIGHT

    @property
    def height(self) -> int:
        """All of it."""
        return _TOP + HEAT_CELL_HEIGHT * len(self.rows) + 10


def heat_map(report: FleetReport) -> HeatMap | None:
    """The map, or ``None`` where no team has a difference."""
    teams = {cluster.cluster: cluster.teams for cluster in report.differing}
    columns = sorted({team for counts in teams.values() for team in counts})
    return map_of(teams, columns, [cluster.cluster for cluster in report.unknown])


def map_of(teams: Mapping[str, Mapping[str, int]], columns: list[str], unknown: Sequence[str]) -> HeatMap | None:
    """The map of counts by cluster and column, with those first of which nothing is known; ``None`` without any."""
    differing = sorted(teams, key=lambda name: (-sum(teams[name].values()), name))
    shown = [*unknown, *differing][:_MOST]
    most = max((count for counts in teams.values() for count in counts.values()), default=0)
    if not shown or not columns or not most:
        return None
    rows = (
        HeatRow(_TOP + HEAT_CELL_HEIGHT * number, name, _heat_cells(name, teams.get(name), columns, most))
        for number, name in enumerate(shown)
    )
    middle = _LEFT + CELL_WIDTH // 2
    labels = tuple((middle + CELL_WIDTH * number, team) for number, team in enumerate(columns))
    return HeatMap(labels, tuple(rows), len(unknown) + len(differing) - len(shown))


def _heat_cells(cluster: str, teams: Mapping[str, int] | None, columns: list[str], most: int) -> tuple[HeatCell, ...]:
    if teams is None:
        return ()
    counts = [(team, teams.get(team, 0)) for team in columns]
    return tuple(
        HeatCell(_LEFT + CELL_WIDTH * number, _shade(count, most), _short(count), f"{cluster}, {team}: {count:,}")
        for number, (team, count) in enumerate(counts)
    )


def _shade(count: int, most: int) -> int:
    # By orders of magnitude: one cell that is far off must not make all others look alike.
    return math.ceil(SHADES * math.log1p(count) / math.log1p(most)) if count else 0


def _short(count: int) -> str:
    """In five characters at most, because a cell is no wider; empty for zero."""
    for size, unit, divisor in ((1_000_000, "M", 1_000_000), (10_000, "k", 1_000)):
        if count >= size:
            return f"{count // divisor}{unit}"
    return f"{count:,}" if count else ""


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
    changes: AccessMatrix | None
    document: ReportDocument
    address: str = ""

    @property
    def id(self) -> str:
        """What a reviewer approves."""
        return plan_id(self.plan)

    @property
    def phases(self) -> tuple[tuple[int, Section], ...]:
        """The steps of each phase, with the number of its first line."""
        sections = self.document.of(SectionName.STEPS)
        first = accumulate((len(section.rows) for section in sections), initial=1)
        return tuple(zip(first, sections, strict=False))

    @property
    def callouts(self) -> tuple[Row, ...]:
        """What stands out."""
        return tuple(callout_rows(self.plan.access))

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
    screen: FirstScreen
    plans: tuple[PlanView, ...]
    guardrails: tuple[Finding, ...]
    refusals: tuple[Finding, ...]
    findings: tuple[FindingGroup, ...]
    excepted: tuple[Finding, ...]
    checks: tuple[Check, ...]
    passed: tuple[Check, ...]
    standings: tuple[tuple[str, int], ...]
    levels: tuple[tuple[str, int], ...]
    fleets: tuple[FleetView, ...] = ()
    known: tuple[Row, ...] = ()


def page_view(report: Report) -> PageView:
    """The view of a report."""
    plans = [*((plan, False) for plan in report.plans), *((plan, True) for plan in report.drifts)]
    findings = report.other_findings
    levels = Counter(str(finding.level) for finding in findings)
    in_base = frozenset(report.known_findings)
    return PageView(
        _title(report),
        verdict(report),
        first_screen(report),
        tuple(
            _plan_view(number, plan, report.address_of(plan.terms.cluster), drift=drift)
            for number, (plan, drift) in enumerate(plans, 1)
        ),
        report.guardrail_findings,
        report.refusals,
        tuple(finding_groups(findings)),
        tuple(finding for finding in report.excepted_findings if finding not in in_base),
        report.open_checks,
        tuple(check for check in report.checks_once if check.standing is CheckStatus.PASSED and check.group != "Fleet"),
        tuple((str(status), report.standings[status]) for status in CheckStatus if report.standings[status]),
        tuple(levels.items()),
        tuple(_fleet_view(number, fleet) for number, fleet in enumerate(report.fleets, 1)),
        tuple(known_rows(report)),
    )


def _fleet_view(number: int, fleet: FleetReport) -> FleetView:
    rows = tuple(cluster for cluster in fleet.clusters if cluster.failure or cluster.differs)
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
        plan_document(plan, fold=False),
        address,
    )


def portions(lines: Iterable[AccessLine]) -> Iterator[Portion]:
    """Lines by principal, each where its first line is; no portion has more than a hundred."""
    by_principal: dict[str, list[AccessLine]] = {}
    for line in lines:
        by_principal.setdefault(with_points(line.who), []).append(line)
    for who, group in by_principal.items():
        rows = tuple(group)
        gains = sum(row.sign == "+" for row in rows)
        parts = -(-len(rows) // ROWS_OF_A_PORTION)
        for part in range(parts):
            some = rows[part * ROWS_OF_A_PORTION : (part + 1) * ROWS_OF_A_PORTION]
            yield Portion(who, some, gains, len(rows) - gains, part + 1, parts)
