"""``reconciler undo``: plan to revert what a run of a saved plan performed."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import tell
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import (
    PlanningOptions,
    Reach,
    as_of_option,
    connection_options,
    expand_option,
    output_option,
)
from reconciler.report.paint import safe

if TYPE_CHECKING:
    import datetime

    from reconciler.apply import PastRun
    from reconciler.cli.planning import Planned
    from reconciler.manifest import ClusterDeclaration
    from reconciler.model import DesiredState
    from reconciler.plan import Plan
    from reconciler.ports import ReadRequest


@click.command("undo", short_help="Plan to revert what applying a saved plan did")
@click.argument("plan_file", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@click.argument("path", metavar="[PATH]", default=".")
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False), help="Save the plan, for apply.")
@click.option("--journal", metavar="FILE", help="Where the run kept its journal.  [default: PLAN.journal]")
@click.option("--run", "only_run", metavar="RUN", help="Only what this run did.  [default: every run of the plan]")
@click.option("--allow-deletes", is_flag=True, help="Delete what the run created.")
@click.option("--accept", multiple=True, metavar="GUARD=OBJECT", help="Let a guard pass this object; repeatable.")
@as_of_option
@expand_option
@connection_options
@output_option
def command(
    *,
    plan_file: str,
    path: str,
    out: str | None,
    journal: str | None,
    only_run: str | None,
    allow_deletes: bool,
    accept: tuple[str, ...],
    as_of: "datetime.date | None",
    expand: bool,
    reach: Reach,
    output: str,
) -> int:
    """Plan to revert the steps that the journal of PLAN marks as done, against the cluster as it is now.

    Nothing is written to the cluster: save the plan with --out and apply it. What cannot be restored is said.
    """
    from reconciler.cli.agreements import agreements_behind
    from reconciler.cli.plan import print_plan, save_plan, verdict
    from reconciler.cli.recording import earlier_runs, journal_of
    from reconciler.cli.show import saved_plan
    from reconciler.plan import plan_id

    plan, _ = saved_plan(plan_file)
    runs = _chosen(earlier_runs(journal_of(plan_file, journal), plan_id(plan)), only_run)
    options = PlanningOptions(as_of, allow_deletes=allow_deletes, accept=accept)
    planned = _planned(plan, plan_file, path, runs, reach, options)
    agreed = agreements_behind(planned, planned.plan.as_of)
    print_plan(planned, agreed, expand=expand, output=output, command="undo")
    tell(safe(_git_advice(plan)))
    status = verdict(planned, agreed, saved=out is not None)
    if status is Exit.OK and out is not None:
        save_plan(planned, out)
    return status


def _chosen(runs: "list[PastRun]", only_run: str | None) -> "list[PastRun]":
    chosen = [run for run in runs if only_run in (None, run.run)]
    if not chosen:
        known = ", ".join(run.run for run in runs) or "none"
        raise CommandError("the journal tells of no such run of this plan", f"it has: {known}", Exit.USAGE)
    return chosen


def _planned(
    plan: "Plan", plan_file: str, path: str, runs: "Iterable[PastRun]", reach: Reach, options: PlanningOptions
) -> "Planned":
    from reconciler import __version__
    from reconciler.apply.undo import performed_steps, reversal
    from reconciler.cli.asking import with_uses
    from reconciler.cli.planning import (
        Planned,
        accepted,
        declared_acknowledgements,
        source_commit,
        unsupported_by,
    )
    from reconciler.cli.state import read_cluster
    from reconciler.cli.topic_policies import look
    from reconciler.cli.wiring import desired, opened, terms, today
    from reconciler.model import Origin
    from reconciler.plan import Options, Request, propose

    with opened(path, plan.terms.cluster, reach) as (manifests, target):
        declaration = target.declaration
        if declaration is None:
            raise CommandError(f"cluster {target.name!r} is not declared in the manifests")
        as_of = options.as_of or today()
        declared = desired(manifests, declaration.name, as_of)
        live = read_cluster(target.cluster, reading(plan, declaration, declared))
        if live.cluster_id != plan.cluster_id:
            message = f"the plan is for cluster {plan.cluster_id}, this is cluster {live.cluster_id}"
            raise CommandError(message, status=Exit.STALE)
        steps = performed_steps(plan, list(runs), live)
        back = reversal(steps, live, declaration.scope, declared, Origin(plan_file, 1, 1))
        request = Request(
            as_of=as_of,
            options=Options(options.allow_deletes),
            acknowledgements=(*declared_acknowledgements(declaration, as_of), *map(accepted, options.accept)),
            unsupported=unsupported_by(target),
            warnings=back.kept,
            tool_version=__version__,
            source_commit=source_commit(path),
        )
        # Only what the run touched: that manifests are silent about other topics or settings is no wish here.
        quiet = replace(terms(declaration), prune_topics=False, ignore_configs=())
        reverting = with_uses(propose(back.desired, live, quiet, request), target)
        return Planned(reverting, live, declaration, declared, manifests, look(target, manifests, declared))


def reading(plan: "Plan", declaration: "ClusterDeclaration", declared: "DesiredState") -> "ReadRequest":
    """What any plan for this cluster has to see, and by name the topics that this one touched."""
    from reconciler.cli.wiring import read_request
    from reconciler.plan import touched_topics

    asked, names = read_request(declaration, declared), touched_topics(plan.steps)
    some = bool(names)
    return replace(
        asked,
        topic_names=names,
        all_topics=asked.all_topics or some,
        broker_defaults=asked.broker_defaults or some,
    )


def _git_advice(plan: "Plan") -> str:
    commit = plan.source_commit
    if commit is None:
        return "The manifests still want what this reverts: revert them as well, or the next plan brings it back."
    if commit.endswith("-dirty"):
        return f"The plan was made from uncommitted files on top of {commit.removesuffix('-dirty')}: revert those too."
    return f"With it goes: git revert {commit}  (otherwise the next plan brings it back)"
