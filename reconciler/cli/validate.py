"""``reconciler validate`` and ``test``: check manifests, offline; run access tests, also against a cluster."""

import datetime
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click

from reconciler.app.options import ConnectionOptions, PastReadings, StateRequest
from reconciler.app.reasons import InvalidManifestsError
from reconciler.app.test import TestedAccess, run_tests
from reconciler.app.validate import ManifestValidation, ValidatedCluster, validate
from reconciler.cli import change_options, options
from reconciler.cli.console import CommandError, Exit, out, out_json, settings, style_for
from reconciler.cli.notes import info_note
from reconciler.codec.kinds import PLURALS
from reconciler.manifest.read.problem import Problem, problems_text
from reconciler.model.characters import Style, counted, first_of, safe
from reconciler.model.desired import DesiredState
from reconciler.results import OutputKind
from reconciler.results.documents import VALIDATE, ValidatedEntry, ValidateOutput
from reconciler.show import review
from reconciler.show.claims import checks_entry, checks_lines, claims_lines, cluster_test_lines, test_document
from reconciler.show.findings import problem_entry

#: So many clusters have a line each.
_EACH: Final = 20
#: So many of those that share a line are named.
_NAMED: Final = 5


@click.command("validate", short_help="Check manifests offline")
@options.path_argument
@options.output_option
@options.as_of_option
@change_options.guardrails_option
@change_options.base_option
@click.option(
    "--fail-on",
    type=click.Choice([change_options.GUARDRAILS]),
    help="Exit 3 if the manifests do not only tighten the guardrails of --base, or ask for more than --guardrails "
    "allow.",
)
def command(
    *,
    path: str,
    output: str,
    as_of: datetime.date | None,
    guardrails: str | None,
    base: str | None,
    fail_on: str | None,
) -> int:
    """Check the manifests below PATH, for every cluster that they declare.

    No cluster is contacted. Every problem is reported at once, with its place and what to do. Exit 3 if access tests
    fail on what is declared, a file names what another team owns (Ownership), or a topic breaks a TopicPolicy.
    With --expand, variables, roles and short forms are shown as what they stand for on each cluster.
    """
    if fail_on is not None:
        change_options.check_comparable(base, guardrails)
    failing = change_options.also_fail_on(
        () if fail_on is None else (fail_on,), (change_options.GUARDRAILS,), base, guardrails
    )
    try:
        validation = validate(path, as_of, guardrails=guardrails, base=base)
        if validation.problems and output != "json":
            raise InvalidManifestsError(validation.problems)
    except InvalidManifestsError as failure:
        if output != "json":
            raise
        out_json(OutputKind.VALIDATE, _document((), failure.problems, valid=False))
        return Exit.ERROR
    if output == "json":
        problems = (*validation.warnings, *validation.problems)
        document = _document(
            validation.clusters, problems, validation.touched, valid=validation.valid, expand=settings.expand
        )
        out_json(OutputKind.VALIDATE, document)
    else:
        _print(validation, expand=settings.expand)
    loosened = bool(failing) and change_options.weakened(*(cluster.checks for cluster in validation.clusters))
    return Exit.ERROR if validation.problems else Exit.OK if validation.valid and not loosened else Exit.FAILED_CHECK


def _print(validation: ManifestValidation, *, expand: bool) -> None:
    style = style_for(sys.stdout)
    if warnings := tuple(dict.fromkeys(validation.warnings)):
        out([*problems_text(warnings, heading=False, expand=expand).split("\n"), ""], whole=True)
    out(review.guardrail_lines(review.together(cluster.checks.guardrails for cluster in validation.clusters), style))
    for names, lines in _cluster_lines(validation.clusters, style, expand=expand):
        out([f"{_named(names)}: {lines[0]}", *lines[1:]])
    if validation.clusters and not validation.tests_declared:
        out([review.no_tests_line(style)])
    if not validation.clusters:
        out([style("warn", "no Cluster is declared: nothing can be compared with these manifests yet")])
    if validation.touched is not None and len(validation.clusters) > 1:
        out([f"this change can touch: {', '.join(validation.touched) or 'no cluster'}"])
    if not validation.valid:
        out([style("error", "not valid: policy checks failed")])
    else:
        out([style("add", "valid")])


def _cluster_lines(
    clusters: Sequence[ValidatedCluster], style: Style, *, expand: bool
) -> Iterator[tuple[list[str], list[str]]]:
    """What is said of each cluster; in a fleet those of which the same is said share it, unless all is wanted."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for cluster in clusters:
        wanted = cluster.desired
        over = _expired(wanted)
        expired = f", {over} expired" if over else ""
        counts = {"ACL": len(wanted.bindings), "topic": len(wanted.topics)}
        for kind, items in wanted.listed.items():
            counts[PLURALS[kind].removesuffix("s")] = sum(not item.expired for item in items.values())
        counts_words = ", ".join(counted(count, noun) for noun, count in counts.items())
        declared = review.declared_lines(wanted, style) if expand else ()
        lines = (f"{counts_words} declared{expired}", *declared, *checks_lines(cluster.checks, style, expand=expand))
        if expand or len(clusters) <= _EACH:
            yield [cluster.name], list(lines)
        else:
            alike.setdefault(lines, []).append(cluster.name)
    yield from ((names, list(lines)) for lines, names in alike.items())


def _expired(wanted: DesiredState) -> int:
    """How many declarations of any kind are over."""
    return len(wanted.expired) + sum(item.expired for items in wanted.listed.values() for item in items.values())


def _named(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"cluster {names[0]}"
    return f"{len(names):,} clusters ({first_of(names, _NAMED)})"


def _document(
    clusters: Iterable[ValidatedCluster],
    problems: Iterable[Problem],
    touched: tuple[str, ...] | None = None,
    *,
    valid: bool,
    expand: bool = False,
) -> dict[str, object]:
    validated = {
        cluster.name: ValidatedEntry(
            len(cluster.desired.bindings),
            len(cluster.desired.topics),
            _expired(cluster.desired),
            review.declared_entries(cluster.desired) if expand else (),
            review.declared_topic_entries(cluster.desired) if expand else (),
            checks_entry(cluster.checks),
        )
        for cluster in clusters
    }
    return VALIDATE.write(ValidateOutput(valid, validated, tuple(map(problem_entry, dict.fromkeys(problems))), touched))


@click.command("test", short_help="Run access tests against manifests or a live cluster")
@options.path_argument
@options.cluster_option(needed=False)
@options.offline_option
@click.option(
    "--as-is", is_flag=True, help="With --cluster: test the live bindings as they are, without the manifests."
)
@click.option("--all", "all_of_them", is_flag=True, help="Also show the tests that pass.")
@options.connection_options
@change_options.guardrails_option
@change_options.base_option
@options.as_of_option
@options.with_options(options.past_options)
@options.output_option
def test_command(
    *,
    path: str,
    cluster: str | None,
    offline: bool,
    as_is: bool,
    all_of_them: bool,
    connection: ConnectionOptions,
    guardrails: str | None,
    base: str | None,
    as_of: datetime.date | None,
    store: PastReadings | None,
    audit: tuple[str, ...],
    output: str,
) -> int:
    """Run the access tests below PATH over every name, principal and host that exists or could exist.

    Without --cluster, they run on what is declared for each cluster; with it, on the live bindings with those in scope
    replaced by what is declared, and cluster tests run on what the brokers tell. Exit 3 if a test fails or is
    undecided, unless it is a warning or excepted. With --store, today's tests run on the bindings of then.
    """
    if as_is and (cluster is None or offline):
        raise CommandError("--as-is is about a live cluster", "add --cluster NAME", Exit.USAGE)
    request = StateRequest(path, cluster, offline, None, as_of, guardrails, store, audit)
    decided = run_tests(request, connection, as_is=as_is or store is not None, base=base, tell=info_note)
    if output == "json":
        out_json(OutputKind.TEST, test_document(decided))
    else:
        _print_tests(decided, all_of_them=all_of_them)
    stopping = any(result.stops for state in decided for result in state.claims) or any(
        result.stops for state in decided for result in state.cluster_tests
    )
    return Exit.FAILED_CHECK if stopping else Exit.OK


def _print_tests(decided: list[TestedAccess], *, all_of_them: bool) -> None:
    style = style_for(sys.stdout)
    if not decided:
        out([style("warn", "no Cluster is declared: nothing can be tested with these manifests yet")])
    out(review.guardrail_lines(review.together(state.guardrails for state in decided), style))
    for view, results, _, of_cluster, unasked in decided:
        out([style("title", safe(view.words))])
        out(claims_lines(results, style, all_of_them=all_of_them))
        out(cluster_test_lines(of_cluster, style, all_of_them=all_of_them))
        if unasked:
            claims = counted(unasked, "claim")
            out([style("dim", f"{claims} about brokers and features not decided: add --cluster NAME")])
