"""The page's text: a template, its style and its script in one file, under a policy that permits these two only."""

import base64
import datetime
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from reconciler.model import moment_text
from reconciler.report.access_lines import PRINCIPALS_SHOWN
from reconciler.report.formats.escaping import bare_name, names_apart, unformulaic
from reconciler.report.page import changes, heat_map
from reconciler.report.page.view import page_view
from reconciler.report.results import Report
from reconciler.report.style import counted, safe


def page(report: Report, version: str, made: datetime.datetime | None = None) -> str:
    """The whole page, ``made`` at that moment. Nothing in it is fetched, and nothing but its own script may run."""
    style, script = asset("page.css"), asset("page.js")
    template = environment().get_template("page.html")
    return template.render(
        view=page_view(report),
        version=version,
        made="" if made is None else f"{made.astimezone(datetime.UTC):%Y-%m-%d %H:%M} UTC",
        policy=content_policy(style, script),
        style=Markup(style),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704 - a file of this package
        cell={"height": changes.CELL_HEIGHT},
        heat_cell={"width": heat_map.CELL_WIDTH, "height": heat_map.CELL_HEIGHT},
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
    return (files("reconciler.report.page") / "templates" / name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Whatever is printed is made safe to show, then escaped; there is no way around it but ``Markup``."""
    environment = Environment(
        loader=PackageLoader("reconciler.report.page", "templates"),
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
