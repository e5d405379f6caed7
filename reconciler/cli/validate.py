"""``reconciler validate``: parse and check manifests, offline."""

import datetime
import sys
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import out, out_json, style_for
from reconciler.cli.exits import Exit
from reconciler.cli.options import as_of_option, output_option, path_argument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.manifest import Problem
    from reconciler.report.results.documents import ProblemEntry
    from reconciler.workflow import ManifestValidation
    from reconciler.workflow.validation import ValidatedCluster


@click.command("validate", short_help="Check manifests offline")
@path_argument
@output_option
@as_of_option
def command(*, path: str, output: str, as_of: datetime.date | None) -> int:
    """Check the manifests below PATH, for every cluster that they declare.

    No cluster is contacted. Every problem is reported at once, with its place and what to do. Exit 3 if access tests
    fail on what is declared, a file names what another team owns (Ownership), or a topic breaks a TopicPolicy.
    """
    from reconciler.workflow import validate
    from reconciler.workflow.reasons import InvalidManifestsError

    try:
        found = validate(path, as_of)
        if found.problems and output != "json":
            raise InvalidManifestsError(found.problems)
    except InvalidManifestsError as failure:
        if output != "json":
            raise
        out_json(_document((), failure.problems, valid=False))
        return Exit.ERROR
    if output == "json":
        out_json(_document(found.clusters, (*found.warnings, *found.problems), valid=found.valid))
    else:
        _print(found)
    return Exit.ERROR if found.problems else Exit.OK if found.valid else Exit.FAILED_CHECK


def _print(found: "ManifestValidation") -> None:
    from reconciler.manifest import render_problem
    from reconciler.report.checks import checks_lines

    style = style_for(sys.stdout)
    for warning in dict.fromkeys(found.warnings):
        out([render_problem(warning), ""])
    for one in found.clusters:
        wanted = one.desired
        expired = f", {len(wanted.expired)} expired" if wanted.expired else ""
        quotas = f", {len(wanted.quotas):,} quotas" if wanted.quotas else ""
        counts = f"{len(wanted.bindings):,} bindings, {len(wanted.topics):,} topics{quotas}"
        out([f"cluster {one.name}: {counts} declared{expired}"])
        out(checks_lines(one.checks, style))
    if not found.clusters:
        out([style("warn", "no Cluster is declared: nothing can be compared with these manifests yet")])
    if not found.valid:
        out([style("error", "not valid: policy checks failed")])
    else:
        out([style("add", "valid")])


def _document(
    clusters: "Iterable[ValidatedCluster]", problems: "Iterable[Problem]", *, valid: bool
) -> dict[str, object]:
    from reconciler.report.checks import checks_entry
    from reconciler.report.results.codecs import VALIDATE
    from reconciler.report.results.documents import ValidatedEntry, ValidateOutput

    validated = {
        one.name: ValidatedEntry(
            checks_entry(one.checks), len(one.desired.bindings), len(one.desired.topics), len(one.desired.expired)
        )
        for one in clusters
    }
    return VALIDATE.write(ValidateOutput(valid, validated, tuple(map(_problem, dict.fromkeys(problems)))))


def _problem(problem: "Problem") -> "ProblemEntry":
    from reconciler.report.results.documents import ProblemEntry
    from reconciler.report.results.finding import Level

    return ProblemEntry(
        problem.code,
        Level(problem.severity),
        *problem.origin,
        problem.message,
        problem.advice,
        tuple(map(str, problem.related)),
    )
