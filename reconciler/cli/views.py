"""The states that questions, tests and lint are asked of: declared, live, as a snapshot, or before and after a plan."""

import datetime
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import Reach
from reconciler.cli.reading import reached_with_manifests
from reconciler.cli.state import read_cluster
from reconciler.cli.wiring import Target, declared, desired, load, today

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.access import Authorizer
    from reconciler.manifest import ClusterDeclaration, Manifests
    from reconciler.model import AclBinding, ClusterState, Declaration, DesiredState, OpaqueBinding
    from reconciler.report.access_view import AccessView


@dataclass(frozen=True, slots=True)
class Asked:
    """Of which state a command is asked: options as typed. Without ``cluster`` nothing is asked of any cluster."""

    path: str | None
    cluster: str | None
    offline: bool = False
    plan: str | None = None
    as_of: datetime.date | None = None

    @property
    def day(self) -> datetime.date:
        """The day that decides what has expired."""
        return self.as_of or today()


@dataclass(frozen=True, slots=True)
class Looked:
    """A live or declared state with what the manifests say of the cluster, where there are any."""

    view: "AccessView"
    manifests: "Manifests | None"
    declaration: "ClusterDeclaration | None"
    desired: "DesiredState | None"
    state: "ClusterState | None" = None


def views(asked: Asked, reach: Reach, *, topic_names: bool = False) -> "list[AccessView]":
    """One state, or with a plan the states before and after it; with the topics that can be seen, if asked for."""
    if asked.plan is not None:
        return _around_plan(asked, reach, topic_names=topic_names)
    if asked.cluster is None or asked.offline:
        return [look_at_declared(asked).view]
    return [_seen(look_at_live(asked, reach, topic_names=topic_names), topic_names=topic_names).view]


def _seen(looked: Looked, *, topic_names: bool) -> Looked:
    """The same, with the topics of which the names were asked for."""
    if not topic_names or looked.state is None:
        return looked
    return replace(looked, view=replace(looked.view, topics=tuple(sorted(looked.state.topic_names))))


def look_at_declared(asked: Asked) -> Looked:
    """What the manifests declare for ``--cluster``, or for the only cluster; nothing is asked of it."""
    manifests = load(asked.path or ".")
    if asked.cluster is None and len(manifests.clusters) != 1:
        names = ", ".join(manifests.clusters) or "none"
        raise CommandError(
            f"the manifests declare {len(manifests.clusters)} clusters",
            f"write --cluster NAME --offline for what is declared for one of them; declared are: {names}",
            Exit.USAGE,
        )
    name = asked.cluster or next(iter(manifests.clusters))
    return declared_look(manifests, declared(manifests, name)[0], asked.day)


def declared_look(manifests: "Manifests", declaration: "ClusterDeclaration", day: datetime.date) -> Looked:
    """What is declared for one cluster."""
    from reconciler.report.access_view import AccessView, Basis

    wanted = desired(manifests, declaration.name, day)
    topics = tuple(sorted(name for name, topic in wanted.topics.items() if not topic.absent))
    view = AccessView(declaration.name, Basis.DECLARED, authorizer(declaration, wanted.bindings), topics)
    return Looked(view, manifests, declaration, wanted)


def look_at_live(asked: Asked, reach: Reach, *, all_topics: bool = False, topic_names: bool = False) -> Looked:
    """What a cluster or a snapshot has; with manifests, each binding that they declare with its place."""
    with reached_with_manifests(asked.path, asked.cluster or "", reach) as (manifests, target):
        return live_look(manifests, target, asked.day, all_topics=all_topics, topic_names=topic_names)


def live_look(
    manifests: "Manifests | None",
    target: Target,
    day: datetime.date,
    *,
    all_topics: bool = False,
    topic_names: bool = False,
) -> Looked:
    """The same of a cluster that is open already."""
    from reconciler.adapters.snapshot import SnapshotCluster
    from reconciler.report.access_view import AccessView, Basis

    state = _read(target, all_topics=all_topics, topic_names=topic_names)
    declaration = target.declaration
    wanted = desired(manifests, declaration.name, day) if manifests is not None and declaration is not None else None
    notes = _noted(state.bindings, wanted)
    known = all_topics and state.topic_gap is None
    view = AccessView(
        target.name,
        Basis.SNAPSHOT if isinstance(target.cluster, SnapshotCluster) else Basis.LIVE,
        authorizer(declaration, notes, state.opaque),
        tuple(sorted(state.topics)) if known else None,
    )
    return Looked(view, manifests, declaration, wanted, state)


def with_desired(looked: Looked) -> "AccessView":
    """A live state with everything in scope as the manifests declare it."""
    from reconciler.report.access_view import Basis

    wanted, declaration, state = looked.desired, looked.declaration, looked.state
    if wanted is None or declaration is None or state is None:
        return looked.view
    scope = declaration.scope
    kept = {binding: None for binding in state.bindings if not scope.owns(binding)}
    after = authorizer(declaration, {**kept, **wanted.bindings}, state.opaque)
    return replace(looked.view, basis=Basis.DESIRED, authorizer=after)


def authorizer(
    declaration: "ClusterDeclaration | None",
    bindings: "Mapping[AclBinding, Declaration | None]",
    opaque: "Iterable[OpaqueBinding]" = (),
) -> "Authorizer":
    """The authorizer of a cluster with these bindings; what its document does not say is unknown."""
    from reconciler.access import Authorizer
    from reconciler.model import is_reserved

    return Authorizer(
        {binding: note for binding, note in bindings.items() if not is_reserved(binding.pattern.name)},
        declaration.super_users if declaration else (),
        declaration.allow_everyone_if_no_acl_found if declaration else None,
        opaque=opaque,
    )


def _read(target: Target, *, all_topics: bool, topic_names: bool) -> "ClusterState":
    from reconciler.ports import ReadRequest

    declaration = target.declaration
    request = ReadRequest(
        all_topics=all_topics,
        principal=declaration.principal if declaration else None,
        super_users=declaration.super_users if declaration else (),
        topic_listing=topic_names,
    )
    state = read_cluster(target.cluster, request)
    if state.acl_gap:
        raise CommandError(
            f"the ACL listing may not be whole: {state.acl_gap}", "what is missing could change every answer"
        )
    return state


def _noted(bindings: "Iterable[AclBinding]", wanted: "DesiredState | None") -> "dict[AclBinding, Declaration | None]":
    said = wanted.bindings if wanted is not None else {}
    return {binding: said.get(binding) for binding in bindings}


def _around_plan(asked: Asked, reach: Reach, *, topic_names: bool) -> "list[AccessView]":
    from reconciler.cli.show import saved_plan
    from reconciler.model import CreateAcl, DeleteAcl
    from reconciler.report.access_view import Basis

    if asked.cluster is None or asked.offline:
        raise CommandError(
            "a plan holds only what changes, so the state before it has to come from the cluster",
            "add --cluster NAME, or --cluster snapshot:FILE",
            Exit.USAGE,
        )
    plan, _ = saved_plan(str(asked.plan))
    looked = _seen(look_at_live(asked, reach, topic_names=topic_names), topic_names=topic_names)
    if looked.state is not None and looked.state.cluster_id != plan.cluster_id:
        raise CommandError(
            f"the plan is for the cluster {plan.cluster_id}, this is {looked.state.cluster_id}", status=Exit.STALE
        )
    added = {step.change.binding: step.origin for step in plan.steps if isinstance(step.change, CreateAcl)}
    removed = [step.change.binding for step in plan.steps if isinstance(step.change, DeleteAcl)]
    before = looked.view
    after = replace(before, basis=Basis.PLANNED, authorizer=before.authorizer.with_changes(added, removed))
    return [before, after]
