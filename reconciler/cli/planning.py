"""From options to a plan: what ``plan``, ``drift`` and a planning ``apply`` have in common."""

import datetime
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reconciler import __version__
from reconciler.cli.asking import with_answers, with_uses
from reconciler.cli.console import tell
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import PlanningOptions, Reach
from reconciler.cli.state import read_cluster
from reconciler.cli.wiring import Target, desired, opened, read_request, terms, today

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.cli.topic_policies import Seen
    from reconciler.manifest import ClusterDeclaration, Manifests
    from reconciler.model import AclBinding, ClusterState, DesiredState
    from reconciler.plan import Acknowledgement, Plan

#: Manifests may be anybody's: files among them could look like a repository, with settings that name commands to run.
_OWN_REPOSITORY: Final = ("-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false")


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the state that it was made from, and what the manifests declare; ``seen`` is for topic policies."""

    plan: "Plan"
    live: "ClusterState"
    declaration: "ClusterDeclaration"
    desired: "DesiredState"
    manifests: "Manifests"
    seen: "Seen | None" = None


def make_plan(path: str, cluster: str, reach: Reach, options: PlanningOptions, *, ask_broker: bool = False) -> Planned:
    """Read manifests and cluster, and plan; every failure is a :class:`CommandError`.

    With ``ask_broker`` the cluster is asked what it would say to the steps on topics.
    """
    with opened(path, cluster, reach) as (manifests, target):
        planned = plan_on(target, manifests, path, options)
        if not ask_broker:
            return planned
        return replace(planned, plan=with_answers(planned.plan, planned.live, target))


def plan_on(target: Target, manifests: "Manifests", path: str, options: PlanningOptions) -> Planned:
    """Plan for a cluster that is already open."""
    from reconciler.cli.topic_policies import look
    from reconciler.plan import Options, Request, Selection, UnsafeSelectionError, propose

    declaration = target.declaration
    if declaration is None:
        raise CommandError(f"cluster {target.name!r} is not declared in the manifests")
    as_of = options.as_of or today()
    wanted = desired(manifests, declaration.name, as_of)
    warn(manifests, declaration.name, as_of)
    live = read_cluster(target.cluster, read_request(declaration, wanted))
    try:
        selection = Selection(options.only, options.exclude)
    except ValueError as error:
        raise CommandError(str(error), status=Exit.USAGE) from error
    request = Request(
        as_of=as_of,
        options=Options(options.allow_deletes, selection),
        acknowledgements=(*declared_acknowledgements(declaration, as_of), *map(accepted, options.accept)),
        unsupported=unsupported_by(target),
        expected_live=_baseline(options.baseline, declaration),
        tool_version=__version__,
        source_commit=source_commit(path),
    )
    try:
        plan = with_uses(propose(wanted, live, terms(declaration), request), target)
        return Planned(plan, live, declaration, wanted, manifests, look(target, manifests, wanted, live))
    except UnsafeSelectionError as error:
        raise CommandError(str(error), status=Exit.REFUSED) from error


def warn(manifests: "Manifests", cluster: str, as_of: datetime.date) -> None:
    """Say on stderr what no longer counts on that day: acknowledgements and waivers that have expired."""
    from reconciler.manifest import cluster_warnings, render_problem

    for problem in cluster_warnings(manifests, cluster, as_of):
        tell(render_problem(problem))


def accepted(text: str) -> "Acknowledgement":
    """``GUARD=OBJECT`` from the command line."""
    from reconciler.plan import Acknowledgement, Guard

    guard, equals, name = text.partition("=")
    try:
        if not equals or not name:
            raise ValueError
        return Acknowledgement(Guard(guard), name, "accepted on the command line")
    except ValueError:
        guards = ", ".join(Guard)
        raise CommandError(f"--accept {text}: write GUARD=OBJECT", f"guards are: {guards}", Exit.USAGE) from None


def declared_acknowledgements(declaration: "ClusterDeclaration", as_of: datetime.date) -> "list[Acknowledgement]":
    """The acknowledgements of ``Cluster.spec.acknowledge`` that have not expired."""
    from reconciler.manifest import standing_acknowledgements
    from reconciler.plan import Acknowledgement, Guard

    standing = standing_acknowledgements(declaration, as_of)
    return [Acknowledgement(Guard(given.guard), given.object, given.reason or "") for given in standing]


def source_commit(path: str) -> str | None:
    """The commit of the manifests' repository, marked where files differ from it; ``None`` outside of git."""
    commit = _git(path, "rev-parse", "HEAD")
    if commit is None:
        return None
    return f"{commit}-dirty" if _git(path, "status", "--porcelain", "--", ".") else commit


def _git(path: str, *arguments: str) -> str | None:
    directory = Path(path) if Path(path).is_dir() else Path(path).parent
    try:
        done = subprocess.run(
            ["git", *_OWN_REPOSITORY, "-C", str(directory), *arguments],  # noqa: S607 - the user's own git
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def unsupported_by(target: Target) -> "Callable[[AclBinding], str | None]":
    """What the client cannot carry is named; a snapshot carries everything."""
    from reconciler.adapters.snapshot import SnapshotCluster

    if isinstance(target.cluster, SnapshotCluster):
        return lambda _: None
    from reconciler.adapters.kafka.bindings import unsupported_by_client

    return unsupported_by_client


def _baseline(file: str | None, declaration: "ClusterDeclaration") -> int | None:
    """How many bindings in scope a snapshot of before has."""
    if file is None:
        return None
    from reconciler.adapters.snapshot import SnapshotError, parse_snapshot

    try:
        before = parse_snapshot(Path(file).read_text(encoding="utf-8"))
    except (SnapshotError, OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the baseline {file} cannot be read: {error}") from error
    return sum(declaration.scope.owns(binding) for binding in before.bindings)
