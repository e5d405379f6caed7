"""``reconciler test``: decide the AccessTests, on what is declared or on a cluster."""

import datetime
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from reconciler.cli.asserting import decide_tests
from reconciler.cli.console import paint_for, say, say_json
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import (
    Reach,
    as_of_option,
    cluster_option,
    connection_options,
    output_option,
    path_argument,
)
from reconciler.cli.views import Asked, declared_look, look_at_declared, look_at_live, with_desired
from reconciler.cli.wiring import load

if TYPE_CHECKING:
    from reconciler.access import Authorizer
    from reconciler.report.access_view import AccessView
    from reconciler.report.claim_results import ClaimResult


@click.command("test", short_help="Decide the AccessTests, on what is declared or on a cluster")
@path_argument
@cluster_option(required=False)
@click.option("--offline", is_flag=True, help="With --cluster: only what is declared for it; ask nothing of it.")
@click.option("--as-is", is_flag=True, help="With --cluster: what is there now, not what the manifests make of it.")
@click.option("--all", "all_of_them", is_flag=True, help="Show the claims that hold, too.")
@connection_options
@as_of_option
@output_option
def command(
    *,
    path: str,
    cluster: str | None,
    offline: bool,
    as_is: bool,
    all_of_them: bool,
    reach: Reach,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Decide the AccessTests of the manifests below PATH over every name, principal and host there is or could be.

    Without --cluster, on what is declared for each cluster; with it, on the live bindings with those in scope as
    declared. Exit 3 if a claim fails or is undecided, unless it is a warning or waived.
    """
    if as_is and (cluster is None or offline):
        raise CommandError("--as-is is about a live cluster", "add --cluster NAME", Exit.USAGE)
    asked = Asked(path, cluster, offline, as_of=as_of)
    decided = _decided(asked, reach, as_is=as_is)
    if output == "json":
        say_json(_document(decided))
    else:
        _print(decided, all_of_them=all_of_them)
    return Exit.FAILED_CHECK if any(result.stops for _, results in decided for result in results) else Exit.OK


def _decided(asked: Asked, reach: Reach, *, as_is: bool) -> "list[tuple[AccessView, tuple[ClaimResult, ...]]]":
    """Each state with its results."""
    if asked.cluster is not None and not asked.offline:
        looked = look_at_live(asked, reach)
        pairs = [(looked, looked.view if as_is else with_desired(looked))]
    elif asked.cluster is not None:
        looked = look_at_declared(asked)
        pairs = [(looked, looked.view)]
    else:
        manifests = load(asked.path or ".")
        all_of_them = [declared_look(manifests, declaration, asked.day) for declaration in manifests.clusters.values()]
        pairs = [(looked, looked.view) for looked in all_of_them]
    decided = []
    for looked, view in pairs:
        if looked.manifests is None or looked.declaration is None:
            raise CommandError("the tests stand in manifests", "give PATH", Exit.USAGE)
        name = looked.declaration.name
        results = decide_tests(looked.manifests, name, partial(_authorizer, view), asked.day)
        decided.append((view, results))
    return decided


def _authorizer(view: "AccessView") -> "Authorizer":
    return view.authorizer


def _print(decided: "list[tuple[AccessView, tuple[ClaimResult, ...]]]", *, all_of_them: bool) -> None:
    from reconciler.report.claims_text import claims_lines
    from reconciler.report.paint import safe

    paint = paint_for(sys.stdout)
    if not decided:
        say([paint("warn", "no Cluster is declared: nothing can be tested with these manifests yet")])
    for view, results in decided:
        say([paint("title", safe(view.words))])
        say(claims_lines(results, paint, all_of_them=all_of_them))


def _document(decided: "list[tuple[AccessView, tuple[ClaimResult, ...]]]") -> dict[str, object]:
    from reconciler.report.claims_text import claim_document

    return {
        "passed": not any(result.stops for _, results in decided for result in results),
        "clusters": [
            {**view.document(), "claims": [claim_document(result) for result in results]} for view, results in decided
        ],
    }
