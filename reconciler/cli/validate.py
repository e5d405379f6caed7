"""``reconciler validate``: parse and check manifests, offline."""

import datetime
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from reconciler.cli.agreements import Agreements, agreement_document, agreement_lines, agreements
from reconciler.cli.console import paint_for, say, say_json
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import as_of_option, output_option, path_argument
from reconciler.cli.views import authorizer
from reconciler.cli.wiring import desired, load, manifest_failure, today

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.manifest import ClusterDeclaration, Manifests, Problem
    from reconciler.model import DesiredState


@dataclass(frozen=True, slots=True)
class _Checked:
    """One cluster: what is declared for it, and what speaks against that."""

    name: str
    desired: "DesiredState"
    warnings: "tuple[Problem, ...]"
    agreed: Agreements


@click.command("validate", short_help="Parse and check manifests; offline")
@path_argument
@output_option
@as_of_option
def command(*, path: str, output: str, as_of: datetime.date | None) -> int:
    """Parse and check the manifests below PATH, for every cluster that they declare.

    Nothing is asked of any cluster. Every problem is shown at once, each with its place and what to do about it. Exit 3
    if AccessTests fail on what is declared, a file names what belongs to another team (Ownership), or topics break a
    TopicPolicy.
    """
    day = as_of or today()
    if output == "json":
        return _json(path, day)
    manifests = load(path)
    checked, problems = _check_all(manifests, day)
    if problems:
        raise manifest_failure(problems)
    _print(manifests, checked)
    return Exit.FAILED_CHECK if any(one.agreed.stops for one in checked) else Exit.OK


def _check_all(manifests: "Manifests", day: datetime.date) -> "tuple[list[_Checked], tuple[Problem, ...]]":
    """The clusters for which the manifests hold together, and the problems of the others, each said once."""
    from reconciler.manifest import ManifestError

    checked: list[_Checked] = []
    problems: list[Problem] = []
    for declaration in manifests.clusters.values():
        try:
            checked.append(_check(manifests, declaration, day))
        except CommandError as failure:
            if not isinstance(failure.__cause__, ManifestError):
                raise
            problems.extend(failure.__cause__.problems)
    return checked, ManifestError(problems).problems


def _check(manifests: "Manifests", declaration: "ClusterDeclaration", day: datetime.date) -> _Checked:
    from reconciler.manifest import cluster_warnings

    name = declaration.name
    wanted = desired(manifests, name, day)
    return _Checked(
        name,
        wanted,
        cluster_warnings(manifests, name, day),
        agreements(manifests, name, wanted, lambda: authorizer(declaration, wanted.bindings), day),
    )


def _print(manifests: "Manifests", checked: "list[_Checked]") -> None:
    from reconciler.manifest import render_problem

    paint = paint_for(sys.stdout)
    for warning in dict.fromkeys((*manifests.warnings, *(item for one in checked for item in one.warnings))):
        say([render_problem(warning), ""])
    for one in checked:
        wanted = one.desired
        expired = f", {len(wanted.expired)} expired" if wanted.expired else ""
        say([f"cluster {one.name}: {len(wanted.bindings):,} bindings, {len(wanted.topics):,} topics declared{expired}"])
        say(agreement_lines(one.agreed, paint))
    if not checked:
        say([paint("warn", "no Cluster is declared: nothing can be compared with these manifests yet")])
    if any(one.agreed.stops for one in checked):
        say([paint("error", "not valid: what is declared breaks what was agreed")])
    else:
        say([paint("add", "valid")])


def _json(path: str, day: datetime.date) -> int:
    from reconciler.manifest import ManifestError

    try:
        manifests = load(path)
    except CommandError as failure:
        if not isinstance(failure.__cause__, ManifestError):
            raise
        say_json(_document([], failure.__cause__.problems, valid=False))
        return Exit.ERROR
    checked, problems = _check_all(manifests, day)
    warnings = [*manifests.warnings, *(warning for one in checked for warning in one.warnings)]
    if problems:
        say_json(_document(checked, [*warnings, *problems], valid=False))
        return Exit.ERROR
    valid = not any(one.agreed.stops for one in checked)
    say_json(_document(checked, warnings, valid=valid))
    return Exit.OK if valid else Exit.FAILED_CHECK


def _document(checked: "list[_Checked]", problems: "Iterable[Problem]", *, valid: bool) -> dict[str, object]:
    return {
        "valid": valid,
        "clusters": {
            one.name: {
                "bindings": len(one.desired.bindings),
                "topics": len(one.desired.topics),
                "expired": len(one.desired.expired),
                **agreement_document(one.agreed),
            }
            for one in checked
        },
        "problems": [_problem(problem) for problem in dict.fromkeys(problems)],
    }


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
