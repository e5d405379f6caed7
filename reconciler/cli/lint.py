"""``reconciler lint``: what is redundant, dead, risky or forgotten in a set of ACLs."""

import datetime
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import paint_for, say, say_json
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import (
    Reach,
    as_of_option,
    cluster_option,
    connection_options,
    output_option,
)
from reconciler.cli.views import Asked, Looked, declared_look, look_at_declared, look_at_live
from reconciler.cli.wiring import load

if TYPE_CHECKING:
    from reconciler.access.lint import LintFinding
    from reconciler.manifest import LintWaiver
    from reconciler.report.lint_text import Linted


@click.command("lint", short_help="Find what is redundant, dead, risky or forgotten; propose a smaller set")
@click.argument("path", required=False, metavar="[PATH]", type=click.Path())
@cluster_option(required=False)
@click.option("--offline", is_flag=True, help="With --cluster: only what is declared for it; ask nothing of it.")
@click.option(
    "--minimise", "smaller", is_flag=True, help="Print a smaller set of bindings with exactly the same access."
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    default="error",
    show_default=True,
    help="Findings from which on the exit status is 3.",
)
@click.option(
    "--known-principals",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="All principals that exist, one a line; others are findings.",
)
@click.option("--explain", metavar="RULE", help="Print what a rule is about, by its code or name; look at nothing.")
@connection_options
@as_of_option
@output_option
def command(
    *,
    path: str | None,
    cluster: str | None,
    offline: bool,
    smaller: bool,
    fail_on: str,
    known_principals: str | None,
    explain: str | None,
    reach: Reach,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Findings about the ACLs that the manifests below PATH declare, or that a cluster has; each with what to do.

    Waivers in the manifests accept findings for a while; those are counted apart. Exit 3 if there are errors (or, with
    --fail-on warning, any finding).
    """
    if explain is not None:
        return _explain(explain)
    looked = _looked(Asked(path, cluster, offline, as_of=as_of), reach)
    if smaller:
        return _minimise(looked, output)
    principals = _principals(known_principals)
    day = Asked(path, cluster, as_of=as_of).day
    linted = [_linted(one, principals, day) for one in looked]
    from reconciler.report.lint_text import lint_document, lint_lines

    if output == "json":
        say_json(lint_document(linted))
    else:
        say(lint_lines(linted, paint_for(sys.stdout)))
    failed = any(one.has_errors or (fail_on == "warning" and one.findings) for one in linted)
    return Exit.FAILED_CHECK if failed else Exit.OK


def _explain(name: str) -> int:
    from reconciler.access.lint import RULES, rule_of
    from reconciler.report.lint_text import rule_lines

    rule = rule_of(name)
    if rule is None:
        known = ", ".join(f"{one.code} {one.name}" for one in RULES)
        raise CommandError(f"there is no lint rule {name!r}", f"choose one of {known}", Exit.USAGE)
    say(rule_lines(rule, paint_for(sys.stdout)))
    return Exit.OK


def _looked(asked: Asked, reach: Reach) -> list[Looked]:
    """The cluster, or what is declared for one, or for each."""
    if asked.cluster is not None and not asked.offline:
        return [look_at_live(asked, reach, all_topics=True)]
    if asked.cluster is not None:
        return [look_at_declared(asked)]
    manifests = load(asked.path or ".")
    return [declared_look(manifests, declaration, asked.day) for declaration in manifests.clusters.values()]


def _minimise(looked: list[Looked], output: str) -> int:
    from reconciler.access.minimise import minimise
    from reconciler.report.lint_text import minimised_document, minimised_lines

    found = [(one.view, minimise(one.view.authorizer)) for one in looked]
    if output == "json":
        say_json(minimised_document(found))
    else:
        for view, minimised in found:
            say(minimised_lines(view, minimised, paint_for(sys.stdout)))
    return Exit.OK


def _linted(looked: Looked, principals: frozenset[str] | None, day: datetime.date) -> "Linted":
    from reconciler.access.lint import lint
    from reconciler.manifest import lint_waivers
    from reconciler.report.lint_text import Linted

    view, declaration = looked.view, looked.declaration
    # What is declared tells of a topic that it shall be, not that no other is there.
    topics = view.topics if looked.state is not None else None
    found = sorted(
        [*lint(view.authorizer, topics=topics, principals=principals, today=day), *_expired(looked)],
        key=lambda finding: finding.order,
    )
    waivers: tuple[LintWaiver, ...] = ()
    if looked.manifests is not None and declaration is not None:
        waivers = tuple(item for item in lint_waivers(looked.manifests, declaration.name) if item.waiver.stands(day))
    ours = [one for one in found if declaration is None or not declaration.scope.ignores(one.binding)]
    ignored = len(found) - len(ours)
    told = [one for one in ours if not _spells_out(one)]
    waived = [(finding, _waiver(finding, waivers)) for finding in told]
    used = {id(waiver) for _, waiver in waived}
    return Linted(
        view,
        tuple(finding for finding, waiver in waived if waiver is None),
        tuple((finding, waiver) for finding, waiver in waived if waiver is not None),
        tuple(waiver for waiver in waivers if id(waiver) not in used),
        ignored,
        len(ours) - len(told),
    )


def _spells_out(finding: "LintFinding") -> bool:
    """Whether it only says that a DESCRIBE stands beside what implies it: usual, and clearer with it than without."""
    from reconciler.access.lint.rules.redundant import redundant
    from reconciler.model import AclOperation

    pattern, entry = finding.binding
    beside = [other for other in finding.related if other.pattern == pattern and other.entry[:2] == entry[:2]]
    implied = entry.operation in (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    named = all(other.entry.operation is not AclOperation.ALL for other in beside)
    return finding.rule is redundant and implied and named and len(beside) == len(finding.related)


def _waiver(finding: "LintFinding", waivers: "tuple[LintWaiver, ...]") -> "LintWaiver | None":
    return next((one for one in waivers if one.covers(finding.rule.code, finding.binding, finding.origin)), None)


def _expired(looked: Looked) -> "list[LintFinding]":
    """Declarations whose last day has passed: their bindings are wanted no longer, so no state holds their dates."""
    from reconciler.access.lint import LintFinding
    from reconciler.access.lint.rules.stale import expired

    ended = looked.desired.expired if looked.desired is not None else {}
    return [
        LintFinding(
            expired,
            binding,
            f"its last day was {declaration.expires}",
            "remove the lines; the next plan removes the binding if it is still there",
            origin=declaration.origin,
        )
        for binding, declaration in sorted(ended.items())
    ]


def _principals(file: str | None) -> frozenset[str] | None:
    if file is None:
        return None
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error
    return frozenset(line for line in lines if line)
