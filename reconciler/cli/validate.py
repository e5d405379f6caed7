"""``reconciler validate``: parse and check manifests, offline."""

import datetime
import sys
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import paint_for, say, say_json
from reconciler.cli.exits import Exit
from reconciler.cli.options import as_of_option, output_option, path_argument
from reconciler.cli.wiring import desired, load, read_sources, today
from reconciler.report.paint import counted

if TYPE_CHECKING:
    from reconciler.manifest import Problem


@click.command("validate", short_help="Parse and check manifests; offline")
@path_argument
@output_option
@as_of_option
def command(*, path: str, output: str, as_of: datetime.date | None) -> int:
    """Parse and check the manifests below PATH, for every cluster that they declare.

    Nothing is asked of any cluster. Every problem is shown at once, each with its place and what to do about it.
    """
    from reconciler.manifest import render_problem

    if output == "json":
        return _json(path, as_of or today())
    manifests = load(path)
    paint = paint_for(sys.stdout)
    for warning in manifests.warnings:
        say([render_problem(warning), ""])
    for name in manifests.clusters:
        state = desired(manifests, name, as_of or today())
        expired = f", {len(state.expired)} expired" if state.expired else ""
        sizes = f"{counted(len(state.bindings), 'binding')}, {counted(len(state.topics), 'topic')}"
        say([f"cluster {name}: {sizes} declared{expired}"])
    if not manifests.clusters:
        say([paint("warn", "no Cluster is declared: nothing can be compared with these manifests yet")])
    say([paint("add", "valid")])
    return Exit.OK


def _json(path: str, as_of: datetime.date) -> int:
    from reconciler.manifest import ManifestError, desired_state, load

    problems: list[Problem] = []
    clusters: dict[str, object] = {}
    try:
        manifests = load(read_sources(path))
        problems.extend(manifests.warnings)
        for name in manifests.clusters:
            state = desired_state(manifests, name, as_of)
            clusters[name] = {
                "bindings": len(state.bindings),
                "topics": len(state.topics),
                "expired": len(state.expired),
            }
    except ManifestError as error:
        problems.extend(error.problems)
        say_json({"valid": False, "clusters": clusters, "problems": [_problem(problem) for problem in problems]})
        return Exit.ERROR
    say_json({"valid": True, "clusters": clusters, "problems": [_problem(problem) for problem in problems]})
    return Exit.OK


def _problem(problem: "Problem") -> dict[str, object]:
    return {
        "code": problem.code,
        "severity": problem.severity,
        "file": problem.origin.file,
        "line": problem.origin.line,
        "column": problem.origin.column,
        "message": problem.message,
        "advice": problem.advice,
        "related": [str(origin) for origin in problem.related],
    }
