"""Differences by cluster and team, or by cluster and sort, as a picture; a table has what it shows as text."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.report.results.fleet import FleetReport

CELL_WIDTH: Final = 44
CELL_HEIGHT: Final = 22
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
        return _TOP + CELL_HEIGHT * len(self.rows) + 10


def heat_map(report: FleetReport) -> HeatMap | None:
    """The map, or ``None`` where no team has a difference."""
    teams = {one.cluster: one.teams for one in report.differing}
    columns = sorted({team for found in teams.values() for team in found})
    return map_of(teams, columns, [one.cluster for one in report.unknown])


def map_of(teams: Mapping[str, Mapping[str, int]], columns: list[str], unknown: Sequence[str]) -> HeatMap | None:
    """The map of counts by cluster and column, with those first of which nothing is known; ``None`` without any."""
    differing = sorted(teams, key=lambda name: (-sum(teams[name].values()), name))
    shown = [*unknown, *differing][:_MOST]
    most = max((count for found in teams.values() for count in found.values()), default=0)
    if not shown or not columns or not most:
        return None
    rows = (
        HeatRow(_TOP + CELL_HEIGHT * number, name, _cells(name, teams.get(name), columns, most))
        for number, name in enumerate(shown)
    )
    middle = _LEFT + CELL_WIDTH // 2
    labels = tuple((middle + CELL_WIDTH * number, team) for number, team in enumerate(columns))
    return HeatMap(labels, tuple(rows), len(unknown) + len(differing) - len(shown))


def _cells(cluster: str, teams: Mapping[str, int] | None, columns: list[str], most: int) -> tuple[HeatCell, ...]:
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
