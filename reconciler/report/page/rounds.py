"""The page that a server shows: how its clusters are, and what its last rounds did. Drift has a page of its own."""

import datetime
from urllib.parse import quote

from markupsafe import Markup

from reconciler.report.page.page import asset, content_policy, environment
from reconciler.report.rounds import RoundHistory

#: So many rounds are on the page.
_SHOWN = 50


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
            past=history.past[:_SHOWN],
            version=version,
            made=_shown(made),
            shown=_shown,
            policy=content_policy(style, script),
            style=Markup(style),  # noqa: S704 - a file of this package
            script=Markup(script),  # noqa: S704 - a file of this package
        )
    )


def _shown(moment: datetime.datetime) -> str:
    return f"{moment.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"
