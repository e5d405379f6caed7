"""``reconciler lint``: what is redundant, dead, risky or forgotten in a set of ACLs."""

import datetime
import sys
from pathlib import Path
from typing import Final

import click

from reconciler.app.lint import lint, simplify
from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.cli import options
from reconciler.cli.change_options import Keeping, also_fail_on, edit_options
from reconciler.cli.console import CommandError, Exit, out, out_json, settings, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.parts import part_module
from reconciler.results import OutputKind
from reconciler.show.lint import lint_document, lint_lines, simplified_document, simplified_lines

_WARNING: Final = "warning"


@click.command("lint", short_help="Find redundant, ineffective and risky ACLs")
@options.optional_path_argument
@options.cluster_option(needed=False)
@options.offline_option
@click.option(
    "--simplify", "smaller", is_flag=True, help="Print a smaller set of bindings with exactly the same access."
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", _WARNING]),
    default="error",
    show_default=True,
    help="Lowest severity that exits with 3.",
)
@click.option(
    "--guardrails",
    metavar="DIR",
    type=click.Path(exists=True),
    help="Manifests that the proposal cannot edit: failOn of the project file there, or above, holds too. What "
    "is found there as well is known in reports.",
)
@click.option(
    "--known-principals",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="File with all existing principals, one per line; others are findings.",
)
@click.option("--fix", is_flag=True, help="Propose an edit of the manifests that ends findings; access stays the same.")
@click.option(
    "--also",
    multiple=True,
    metavar="RULE",
    help="With --fix: end findings of this rule too, which changes access or gives up protection; repeatable.",
)
@edit_options
@options.connection_options
@options.as_of_option
@options.listing_option(
    "states.findings",
    columns={
        "CLUSTER": "cluster",
        "LEVEL": "severity",
        "RULE": "rule name",
        "ABOUT": "subject",
        "FINDING": "message",
        "DECLARED AT": "place",
        "CONDITION": "condition",
    },
)
def command(
    *,
    path: str | None,
    cluster: str | None,
    offline: bool,
    smaller: bool,
    fail_on: str,
    guardrails: str | None,
    known_principals: str | None,
    fix: bool,
    also: tuple[str, ...],
    keeping: Keeping,
    connection: ConnectionOptions,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Find redundant, ineffective and risky ACLs in manifests or on a cluster.

    Excepted findings are counted separately. Exit 3 if there are errors (with --fail-on warning: any finding).
    """
    request = StateRequest(path, cluster, offline, as_of=as_of)
    editing = fix or (smaller and keeping != Keeping())
    _check_fix(fix=fix, smaller=smaller, also=also, keeping=keeping)
    given = click.get_current_context().get_parameter_source("cluster") is click.ParameterSource.COMMANDLINE
    if editing and given:
        raise CommandError("the manifests are edited, for all their clusters", "leave out --cluster", Exit.USAGE)
    if editing:
        fixes = part_module("edit", "lint --fix")
        terms = (request, connection, keeping, output)
        return int(fixes.fix(*terms, also) if fix else fixes.simplify(*terms))
    if smaller:
        states = simplify(request, connection, tell=info_note)
        if output == "json":
            out_json(OutputKind.LINT_SIMPLIFY, simplified_document(states))
        for view, simplified in states if output == "text" else ():
            out(simplified_lines(view, simplified, style_for(sys.stdout)))
        return Exit.OK
    linted = lint(request, connection, principals=_principals(known_principals), base=guardrails, tell=info_note)
    if output == "json":
        out_json(OutputKind.LINT, lint_document(linted))
    else:
        out(lint_lines(linted, style_for(sys.stdout), expand=settings.expand))
    strict = _WARNING in also_fail_on((fail_on,), (_WARNING,), guardrails)
    failed = any(state.has_errors or (strict and state.findings) for state in linted)
    return Exit.FAILED_CHECK if failed else Exit.OK


def _check_fix(*, fix: bool, smaller: bool, also: tuple[str, ...], keeping: Keeping) -> None:
    if fix and smaller:
        raise CommandError("--fix and --simplify exclude each other", "give one of the two", Exit.USAGE)
    if also and not fix:
        raise CommandError("--also is for --fix", status=Exit.USAGE)
    if keeping != Keeping() and not (fix or smaller):
        raise CommandError("--write and --branch are for --fix and --simplify", status=Exit.USAGE)


def _principals(file: str | None) -> frozenset[str] | None:
    if file is None:
        return None
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error
    return frozenset(line for line in lines if line)
