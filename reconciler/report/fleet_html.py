"""A fleet's drift as one page that needs nothing else: numbers, a heat map clusters × teams, what is not known.

No scripts, nothing loaded, light and dark as the reader's system says. What the map shows stands in the table as text.
"""

import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from reconciler.fleet import ClusterDrift, FleetDrift
from reconciler.report.paint import safe

_CELL, _ROW, _LEFT, _TOP = 44, 22, 190, 96
#: Most clusters that the map shows, the ones with most differences first; the table has all that differ.
_MOST: Final = 400
#: How many shades there are beside that of nothing.
_SHADES: Final = 5
#: Background and ink by shade: every pair has a contrast of 4.5 at least.
_LIGHT: Final = (
    "--h1:#fde8e0;--i1:#1c2733;--h2:#f9c4b1;--i2:#1c2733;--h3:#f19a7e;--i3:#1c2733;--h4:#b93a24;--i4:#fff;"
    "--h5:#7d1813;--i5:#fff;--paper:#fff;--ink:#1c2733;--quiet:#56616d;--none:#eef1f4;--line:#d5dbe1;--bad:#a4262c"
)
_DARK: Final = (
    "--h1:#3a2320;--i1:#f3e6e2;--h2:#5d2b22;--i2:#fff;--h3:#8c3a2b;--i3:#fff;--h4:#e2765c;--i4:#14100f;"
    "--h5:#ffb59e;--i5:#14100f;--paper:#15191e;--ink:#e6eaee;--quiet:#a3adb8;--none:#232930;--line:#3a424b;--bad:#ff9a93"
)
_STYLE: Final = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
@media print{{:root{{color-scheme:light;{_LIGHT}}}.map{{overflow:visible}}}}
body{{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:var(--ink);background:var(--paper)}}
h1{{font-size:1.4rem}}h2{{font-size:1.1rem}}.map{{overflow-x:auto}}.quiet{{color:var(--quiet)}}
table{{border-collapse:collapse;margin:1rem 0}}td,th{{padding:.2rem .8rem;text-align:left;vertical-align:top}}
thead th{{border-bottom:1px solid var(--line)}}tbody th{{font-weight:400}}
td.n{{text-align:right;font-variant-numeric:tabular-nums}}tr.failed td,tr.failed th{{color:var(--bad)}}
svg text{{font:12px system-ui,sans-serif;fill:var(--ink)}}rect.h0{{fill:var(--none)}}
rect.unknown{{fill:url(#unknown);stroke:var(--bad)}}#unknown path{{stroke:var(--bad)}}
""" + "".join(f"rect.h{n}{{fill:var(--h{n})}}svg text.h{n}{{fill:var(--i{n})}}" for n in range(1, _SHADES + 1))
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def drift_page(drift: FleetDrift, teams: Mapping[str, Mapping[str, int]]) -> str:
    """The page; ``teams`` has the differences of each cluster by team."""
    return "".join(
        (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Fleet drift</title>',
            f"<style>{_STYLE}</style></head><body><main>\n<h1>Fleet drift</h1>\n",
            *_summary(drift),
            *_map(drift, teams),
            *_table(drift, teams),
            "</main></body></html>\n",
        )
    )


def _escape(text: str) -> str:
    """``text`` as text of the page: no markup, and nothing that hides or turns what stands beside it."""
    return escape(safe(text))


def _summary(drift: FleetDrift) -> Iterator[str]:
    same = len(drift.clusters) - len(drift.differing) - len(drift.failed)
    yield (
        f"<p>{len(drift.clusters):,} clusters: {same:,} as declared, {len(drift.differing):,} differ, "
        f'{len(drift.failed):,} not known.</p>\n<p class="quiet">Snapshot {_escape(drift.run)}, '
        f"taken {_escape(drift.taken)}.</p>\n"
    )
    if drift.doubtful:
        rows = (f"<li>{_escape(item.cluster)}: {_escape(item.doubt)}</li>" for item in drift.doubtful)
        yield f"<p>{len(drift.doubtful):,} not seen whole:</p>\n<ul>{''.join(rows)}</ul>\n"


def _map(drift: FleetDrift, teams: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    unknown = [item.cluster for item in drift.failed]
    differing = sorted(teams, key=lambda name: (-sum(teams[name].values()), name))
    rows = [*unknown, *differing][:_MOST]
    columns = sorted({team for found in teams.values() for team in found})
    if not rows or not columns:
        return
    most = max(count for found in teams.values() for count in found.values())
    width, height = _LEFT + _CELL * len(columns) + 70, _TOP + _ROW * len(rows) + 10
    yield '<h2>Differences by cluster and team</h2>\n<div class="map" tabindex="0" role="region" aria-label="Heat map">'
    yield (
        f'<svg role="img" aria-label="Differences by cluster and team; the table below has them as text" '
        f'width="{width}" height="{height}">\n<defs><pattern id="unknown" width="6" height="6" '
        'patternUnits="userSpaceOnUse"><path d="M0 6L6 0"/></pattern></defs>\n'
    )
    for index, team in enumerate(columns):
        x = _LEFT + _CELL * index + _CELL // 2
        yield f'<text x="{x}" y="{_TOP - 8}" transform="rotate(-45 {x} {_TOP - 8})">{_escape(team)}</text>\n'
    for row, cluster in enumerate(rows):
        y = _TOP + _ROW * row
        yield f'<text x="{_LEFT - 8}" y="{y + 15}" text-anchor="end">{_escape(cluster)}</text>\n'
        if row < len(unknown):
            yield (
                f'<rect class="unknown" x="{_LEFT}" y="{y}" width="{_CELL * len(columns) - 2}" height="{_ROW - 2}">'
                f"<title>{_escape(cluster)}: not known</title></rect>\n"
            )
            continue
        for index, team in enumerate(columns):
            yield _cell(_LEFT + _CELL * index, y, teams[cluster].get(team, 0), most, f"{cluster}, {team}")
    yield "</svg></div>\n"
    hidden = len(unknown) + len(differing) - len(rows)
    if hidden:
        yield f'<p class="quiet">and {hidden:,} clusters with fewer differences, which the table has</p>\n'


def _cell(x: int, y: int, count: int, most: int, what: str) -> str:
    # By orders of magnitude: one cell that is far off must not make all others look alike.
    shade = math.ceil(_SHADES * math.log1p(count) / math.log1p(most)) if count else 0
    title = f"<title>{_escape(what)}: {count:,}</title>"
    box = f'<rect class="h{shade}" x="{x}" y="{y}" width="{_CELL - 2}" height="{_ROW - 2}">{title}</rect>'
    text = f'<text class="h{shade}" x="{x + _CELL // 2}" y="{y + 15}" text-anchor="middle">{_short(count)}</text>'
    return box + (text if count else "") + "\n"


def _short(count: int) -> str:
    """In five characters at most: a cell is no wider."""
    for size, unit in ((1_000_000, "M"), (10_000, "k")):
        if count >= size:
            return f"{count // (1_000 if unit == 'k' else size)}{unit}"
    return f"{count:,}"


def _table(drift: FleetDrift, teams: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    if not (drift.differing or drift.failed):
        return
    yield "<h2>Clusters that differ or are not known</h2>\n<table><thead><tr>"
    titles = ("cluster", "missing", "undeclared", "topics", "left", "by team")
    yield "".join(f'<th scope="col">{title}</th>' for title in titles) + "</tr></thead><tbody>\n"
    for item in drift.clusters:
        if item.failure is not None:
            why = _escape(" ".join(f"{item.failure.code}: {item.failure.message}".split()))
            name = f'<th scope="row">{_escape(item.cluster)}</th>'
            yield f'<tr class="failed">{name}<td colspan="5">not known: {why}</td></tr>\n'
        elif item.differs:
            yield _row(item, teams.get(item.cluster, {}))
    yield "</tbody></table>\n"


def _row(item: ClusterDrift, by_team: Mapping[str, int]) -> str:
    counts = item.counts
    numbers = (counts.creates, counts.deletes, counts.topics, counts.left)
    whose = ", ".join(f"{_escape(team)} {count:,}" for team, count in sorted(by_team.items()) if count)
    cells = "".join(f'<td class="n">{number:,}</td>' for number in numbers)
    return f'<tr><th scope="row">{_escape(item.cluster)}</th>{cells}<td>{whose}</td></tr>\n'
