"""The HTML page, and the page of a server's rounds.

The page's text: a template, its style and its script in one file, under a policy that permits these two only.
"""

import base64
import datetime
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from reconciler.model.characters import counted, safe
from reconciler.model.desired import moment_text
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.proposal import Plan
from reconciler.show.access_lines import PRINCIPALS_SHOWN
from reconciler.show.formats import FormatOptions
from reconciler.show.formats.escaping import bare_name, names_apart, unformulaic
from reconciler.show.formats.page_view import CELL_HEIGHT, CELL_WIDTH, HEAT_CELL_HEIGHT, HeatMap, map_of, page_view
from reconciler.show.reading import Report
from reconciler.show.rounds import RoundHistory


def write(report: Report, options: FormatOptions) -> str:
    """The format: the whole page."""
    return page(report, options.version, options.made_at)


def page(report: Report, version: str, made_at: datetime.datetime | None = None) -> str:
    """The whole page, made at ``made_at``. Nothing in it is fetched, and nothing but its own script may run."""
    style, script = asset("page.css"), asset("page.js")
    template = environment().get_template("page.html")
    return template.render(
        view=page_view(report),
        version=version,
        made="" if made_at is None else f"{made_at.astimezone(datetime.UTC):%Y-%m-%d %H:%M} UTC",
        policy=content_policy(style, script),
        style=Markup(style),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704 - a file of this package
        cell={"height": CELL_HEIGHT},
        heat_cell={"width": CELL_WIDTH, "height": HEAT_CELL_HEIGHT},
    )


def content_policy(style: str, script: str) -> str:
    """What the page may do: show itself, with this style, and run this script."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def asset(name: str) -> str:
    """A file of the templates, as it is."""
    return (files("reconciler.show.formats") / "templates" / name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Whatever is printed is made safe to show, then escaped; there is no way around it but ``Markup``."""
    environment = Environment(
        loader=PackageLoader("reconciler.show.formats", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "moment": moment_text,
        "coded": _coded,
        "counted": counted,
        "name": unformulaic,
        "number": _number,
    }
    environment.filters.update(filters)
    environment.globals["principals_shown"] = PRINCIPALS_SHOWN
    return environment


def _shown(value: object) -> object:
    return safe(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _number(value: int) -> str:
    return f"{value:,}"


def _coded(text: str) -> Markup:
    """A sentence, with the names in it as code; whatever is in it is escaped."""
    parts = names_apart(unformulaic(text))
    code = Markup("<code>{}</code>")
    return Markup().join(
        code.format(bare_name(part)) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


# The page that a server shows: how its clusters are, and what its last rounds did. Drift has a page of its own.

#: So many rounds are on the page.
_SHOWN = 50
#: As in the table of a fleet: ACLs, everything else, and what no plan changes.
_SORTS = ("missing", "undeclared", "topics and others", "skipped")


def rounds_page(history: RoundHistory, version: str, made_at: datetime.datetime, late: tuple[str, ...]) -> str:
    """The whole page, made at ``made_at``; ``late`` are the clusters that no round has read for too long."""
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
            heat_cell={"width": CELL_WIDTH, "height": HEAT_CELL_HEIGHT},
            past=history.past[:_SHOWN],
            version=version,
            made=_round_shown(made_at),
            shown=_round_shown,
            policy=content_policy(style, script),
            style=Markup(style),  # noqa: S704 - a file of this package
            script=Markup(script),  # noqa: S704 - a file of this package
        )
    )


def _heat(history: RoundHistory) -> HeatMap | None:
    """The clusters of a server by the sorts of their differences; of one cluster its line says as much."""
    if len(history.clusters) < 2:
        return None
    plans = {name: reading.drift for name, reading in history.read.items() if reading.drift is not None}
    counts = {name: _counts(plan) for name, plan in plans.items() if plan.steps or plan.skipped}
    return map_of(counts, list(_SORTS), [name for name in history.clusters if name not in plans])


def _counts(plan: Plan) -> dict[str, int]:
    changes = [step.change for step in plan.steps]
    missing, undeclared = len(created_bindings(changes)), len(deleted_bindings(changes))
    counts = (missing, undeclared, len(changes) - missing - undeclared, len(plan.skipped))
    return dict(zip(_SORTS, counts, strict=True))


def _round_shown(moment: datetime.datetime) -> str:
    return f"{moment.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"
