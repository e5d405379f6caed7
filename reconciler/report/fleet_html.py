"""A fleet's drift as one page that needs nothing else: numbers, a heat map clusters × teams, what is not known."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from reconciler.fleet import FleetDrift

_CELL, _ROW, _LEFT, _TOP = 44, 22, 180, 90
#: Most clusters that the map shows, the ones with most differences first.
_MOST: Final = 400
_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:#1c2733;background:#fff}
h1{font-size:1.4rem}table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .8rem;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}tr.failed td{color:#a4262c}
svg text{font:12px system-ui,sans-serif}
"""


def drift_page(drift: FleetDrift, teams: Mapping[str, Mapping[str, int]]) -> str:
    """The page; ``teams`` has the differences of each cluster by team."""
    return "".join(
        (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Fleet drift</title>',
            f"<style>{_STYLE}</style></head><body>\n<h1>Fleet drift</h1>\n",
            *_summary(drift),
            *_map(teams),
            *_table(drift),
            "</body></html>\n",
        )
    )


def _summary(drift: FleetDrift) -> Iterator[str]:
    same = len(drift.clusters) - len(drift.differing) - len(drift.failed)
    yield (
        f"<p>Snapshot {escape(drift.run)}, taken {escape(drift.taken)}: {len(drift.clusters):,} clusters, "
        f"{same:,} as declared, {len(drift.differing):,} differ, {len(drift.failed):,} not known.</p>\n"
    )


def _map(teams: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    rows = sorted(teams, key=lambda name: (-sum(teams[name].values()), name))[:_MOST]
    columns = sorted({team for found in teams.values() for team in found})
    if not rows or not columns:
        return
    most = max(count for found in teams.values() for count in found.values())
    width, height = _LEFT + _CELL * len(columns) + 60, _TOP + _ROW * len(rows) + 10
    yield f'<svg role="img" aria-label="Differences by cluster and team" width="{width}" height="{height}">\n'
    for index, team in enumerate(columns):
        x = _LEFT + _CELL * index + _CELL // 2
        yield f'<text x="{x}" y="{_TOP - 8}" transform="rotate(-45 {x} {_TOP - 8})">{escape(team)}</text>\n'
    for row, cluster in enumerate(rows):
        y = _TOP + _ROW * row
        yield f'<text x="{_LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(cluster)}</text>\n'
        for index, team in enumerate(columns):
            yield _cell(_LEFT + _CELL * index, y, teams[cluster].get(team, 0), most, f"{cluster}, {team}")
    yield "</svg>\n"


def _cell(x: int, y: int, count: int, most: int, what: str) -> str:
    light = 96 - (round(46 * count / most) if count else 0)
    ink = "#fff" if light < 62 else "#1c2733"
    title = f"<title>{escape(what)}: {count:,}</title>"
    box = f'<rect x="{x}" y="{y}" width="{_CELL - 2}" height="{_ROW - 2}" fill="hsl(12 75% {light}%)">{title}</rect>'
    text = f'<text x="{x + _CELL // 2}" y="{y + 15}" text-anchor="middle" fill="{ink}">{count:,}</text>'
    return box + (text if count else "") + "\n"


def _table(drift: FleetDrift) -> Iterator[str]:
    titles = ("cluster", "missing", "undeclared", "topics", "left")
    yield "<table><thead><tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr></thead>\n"
    for item in drift.clusters:
        name = escape(item.cluster)
        if item.failure is not None:
            why = escape(f"{item.failure.code}: {item.failure.message}")
            yield f'<tr class="failed"><td>{name}</td><td colspan="4">not known: {why}</td></tr>\n'
        elif item.differs:
            counts = item.counts
            numbers = (counts.creates, counts.deletes, counts.topics, counts.left)
            yield f"<tr><td>{name}</td>" + "".join(f'<td class="n">{number:,}</td>' for number in numbers) + "</tr>\n"
    yield "</table>\n"
