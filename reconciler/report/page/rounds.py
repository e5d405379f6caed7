"""The page that a server shows: how its clusters are, and what its last rounds did. Drift has a page of its own."""

import datetime
from urllib.parse import quote

from markupsafe import Markup

from reconciler.plan import Plan, created_bindings, deleted_bindings
from reconciler.report.page import heat_map
from reconciler.report.page.page import asset, content_policy, environment
from reconciler.report.rounds import RoundHistory

#: So many rounds are on the page.
_SHOWN = 50
#: As in the table of a fleet: ACLs, everything else, and what no plan changes.
_SORTS = ("missing", "undeclared", "topics and others", "not changed")


def rounds_page(history: RoundHistory, version: str, made: datetime.datetime, late: tuple[str, ...]) -> str:
    """The whole page, ``made`` at that moment; ``late`` are the clusters that no round has read for too long."""
    style, script = asset("page.css"), asset("page.js")
    return (
        environment()
        .get_template("rounds.html")
        .render(
            clusters=[
                {
                    "name": name,
                    "page": f"/clusters/{quote(name, safe='')}",
                    "latest": history.latest.get(name),
                    "read": history.read.get(name),
                    "late": name in late,
                }
                for name in history.clusters
            ],
            heat=_heat(history),
            heat_cell={"width": heat_map.CELL_WIDTH, "height": heat_map.CELL_HEIGHT},
            past=history.past[:_SHOWN],
            version=version,
            made=_shown(made),
            shown=_shown,
            policy=content_policy(style, script),
            style=Markup(style),  # noqa: S704 - a file of this package
            script=Markup(script),  # noqa: S704 - a file of this package
        )
    )


def _heat(history: RoundHistory) -> heat_map.HeatMap | None:
    """The clusters of a server by the sorts of their differences; of one cluster its line says as much."""
    if len(history.clusters) < 2:
        return None
    plans = {name: one.drift for name, one in history.read.items() if one.drift is not None}
    counts = {name: _counts(plan) for name, plan in plans.items() if plan.steps or plan.skipped}
    return heat_map.map_of(counts, list(_SORTS), [name for name in history.clusters if name not in plans])


def _counts(plan: Plan) -> dict[str, int]:
    changes = [step.change for step in plan.steps]
    missing, undeclared = len(created_bindings(changes)), len(deleted_bindings(changes))
    counts = (missing, undeclared, len(changes) - missing - undeclared, len(plan.skipped))
    return dict(zip(_SORTS, counts, strict=True))


def _shown(moment: datetime.datetime) -> str:
    return f"{moment.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"
