"""Curves on two logarithmic scales as SVG: panels side by side, a line of slope one in each to compare with."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

_WIDTH: Final = 380
_HEIGHT: Final = 320
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 30, 70, 45
#: Told apart by people who see no colors by their order at the right end, where each has its name.
_COLORS: Final = ("#0b6e99", "#b3541e", "#2d7d46", "#7a3e9d", "#8a6d00", "#444444")


class Curve(NamedTuple):
    """A named curve; both coordinates of its points are above zero."""

    name: str
    points: Mapping[int, float]


def drawn(across: str, panels: Mapping[str, Sequence[Curve]]) -> str:
    """One panel for each quantity, over one scale that says ``across``."""
    width = len(panels) * _WIDTH
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}"',
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{_HEIGHT}" fill="white"/>',
    ]
    for number, (title, curves) in enumerate(panels.items()):
        parts += [f'<g transform="translate({number * _WIDTH} 0)">', *_panel(title, across, curves), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _panel(title: str, across: str, curves: Sequence[Curve]) -> Iterator[str]:
    xs = sorted({x for curve in curves for x in curve.points})
    ys = [y for curve in curves for y in curve.points.values()]
    left, right = math.log10(xs[0]), math.log10(xs[-1])
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def at(x: float, y: float) -> tuple[float, float]:
        across_part = (math.log10(x) - left) / (right - left or 1)
        up_part = (math.log10(y) - low) / (high - low or 1)
        return (
            round(_LEFT + across_part * (_WIDTH - _LEFT - _RIGHT), 1),
            round(_HEIGHT - _BOTTOM - up_part * (_HEIGHT - _TOP - _BOTTOM), 1),
        )

    yield f'<text x="{_LEFT}" y="18" font-weight="bold">{title}</text>'
    for x in xs:
        column, bottom = at(x, 10**low)
        yield f'<line x1="{column}" y1="{_TOP}" x2="{column}" y2="{bottom}" stroke="#ddd"/>'
        yield f'<text x="{column}" y="{bottom + 15}" text-anchor="middle">{x:,}</text>'
    for power in range(low, high + 1):
        _, row = at(xs[0], 10**power)
        yield f'<line x1="{_LEFT}" y1="{row}" x2="{_WIDTH - _RIGHT}" y2="{row}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 6}" y="{row + 4}" text-anchor="end">{10**power:,g}</text>'
    yield f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{across}</text>'
    linear = min(math.log10(xs[-1] / xs[0]), high - low)
    (x1, y1), (x2, y2) = at(xs[-1] / 10**linear, 10**low), at(xs[-1], 10 ** (low + linear))
    yield f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#999" stroke-dasharray="3 4"/>'
    yield f'<text x="{x2 + 4}" y="{y2 + 4}" fill="#666">linear</text>'
    free = math.inf
    for number, curve in enumerate(sorted(curves, key=lambda one: one.points[max(one.points)])):
        color = _COLORS[number % len(_COLORS)]
        points = [at(x, y) for x, y in sorted(curve.points.items())]
        path = " ".join(f"{x},{y}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'
        yield from (f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>' for x, y in points)
        # Names stand one above the other even where curves end together.
        free = min(points[-1][1] + 4, free - 12)
        yield f'<text x="{points[-1][0] + 6}" y="{free}" fill="{color}">{curve.name}</text>'
