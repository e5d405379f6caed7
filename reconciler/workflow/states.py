"""The states that questions, access tests and lint look at: declared, live, a snapshot, before and after a plan."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace

from reconciler.access import ASSUMED_VERSION, Authorizer
from reconciler.adapters.snapshot import SnapshotCluster
from reconciler.manifest import ClusterDeclaration, Manifests
from reconciler.model import (
    AclBinding,
    ClientQuota,
    ClusterState,
    Declaration,
    DesiredQuota,
    DesiredState,
    QuotaEntity,
    is_reserved,
)
from reconciler.plan import created_bindings, deleted_bindings
from reconciler.ports import ReadRequest
from reconciler.report.access_view import AccessView, Basis
from reconciler.workflow.clusters import Target, declared, open_any
from reconciler.workflow.manifests import desired, load
from reconciler.workflow.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.workflow.planning import saved_plan
from reconciler.workflow.reasons import AmbiguousClusterError, NoClusterError, StaleError, WorkflowError


@dataclass(frozen=True, slots=True)
class AccessState:
    """A live or declared state with what the manifests say of the cluster, where there are any.

    ``state`` is what was read of the cluster, ``None`` where nothing was asked of it.
    """

    view: AccessView
    manifests: Manifests | None
    declaration: ClusterDeclaration | None
    desired: DesiredState | None
    state: ClusterState | None = None


def access_views(
    request: StateRequest,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    topic_names: bool = False,
    tell: Tell = ignore,
) -> list[AccessView]:
    """One state, or with a plan the states before and after it; with the topics that can be seen, if asked for."""
    if request.plan is not None:
        return _around_plan(request, request.plan, connection, topic_names=topic_names, tell=tell)
    if not request.live:
        return [declared_access(request).view]
    return [_seen(live_access(request, connection, topic_names=topic_names, tell=tell), topic_names=topic_names).view]


def _seen(found: AccessState, *, topic_names: bool) -> AccessState:
    """The same, with the topics of which the names were asked for."""
    if not topic_names or found.state is None:
        return found
    return replace(found, view=replace(found.view, topics=tuple(sorted(found.state.topic_names))))


def access_states(
    request: StateRequest,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    all_topics: bool = False,
    tell: Tell = ignore,
) -> list[AccessState]:
    """The state of the cluster that is named, as it is or as it is declared; without one, of each declared cluster."""
    if request.live:
        return [live_access(request, connection, all_topics=all_topics, tell=tell)]
    if request.cluster is not None:
        return [declared_access(request)]
    manifests = load(request.path or ".")
    return [_declared(manifests, declaration, request.day) for declaration in manifests.clusters.values()]


def declared_access(request: StateRequest) -> AccessState:
    """What the manifests declare for the cluster that is named, or for the only one; nothing is asked of it."""
    manifests = load(request.path or ".")
    if request.cluster is None and len(manifests.clusters) != 1:
        raise AmbiguousClusterError(tuple(manifests.clusters), snapshot=False)
    name = request.cluster or next(iter(manifests.clusters))
    return _declared(manifests, declared(manifests, name)[0], request.day)


def _declared(manifests: Manifests, declaration: ClusterDeclaration, day: datetime.date) -> AccessState:
    wanted = desired(manifests, declaration.name, day)
    topics = tuple(sorted(name for name, topic in wanted.topics.items() if not topic.absent))
    view = AccessView(declaration.name, Basis.DECLARED, authorizer(declaration, wanted.bindings), topics)
    return AccessState(view, manifests, declaration, wanted)


def live_access(
    request: StateRequest,
    connection: ConnectionOptions,
    *,
    all_topics: bool = False,
    topic_names: bool = False,
    tell: Tell = ignore,
) -> AccessState:
    """What a cluster or a snapshot has; with manifests, each binding that they declare with its place."""
    with open_any(request.path, request.cluster or "", connection, tell) as (manifests, target):
        state = _read(target, all_topics=all_topics, topic_names=topic_names)
        declaration = target.declaration
        wanted = None
        if manifests is not None and declaration is not None:
            wanted = desired(manifests, declaration.name, request.day)
        said = wanted.bindings if wanted is not None else {}
        view = AccessView(
            target.name,
            Basis.SNAPSHOT if isinstance(target.cluster, SnapshotCluster) else Basis.LIVE,
            authorizer(declaration, {binding: said.get(binding) for binding in state.bindings}, state),
            tuple(sorted(state.topics)) if all_topics and state.topic_gap is None else None,
        )
        return AccessState(view, manifests, declaration, wanted, state)


@dataclass(frozen=True, slots=True)
class QuotaState:
    """The client quotas of a cluster, live or as declared, and the places of those that manifests declare."""

    cluster: str
    live: bool
    quotas: frozenset[ClientQuota]
    places: Mapping[QuotaEntity, str]


def quota_state(
    request: StateRequest, connection: ConnectionOptions = ConnectionOptions(), *, tell: Tell = ignore
) -> QuotaState:
    """The quotas that are live, or declared; raises a :class:`WorkflowError` where they cannot be read."""
    if not request.live:
        found = declared_access(request)
        wanted = found.desired.quotas if found.desired else {}
        quotas = frozenset(item.quota for item in wanted.values() if not item.absent)
        return QuotaState(found.view.cluster, False, quotas, _places(wanted))
    with open_any(request.path, request.cluster or "", connection, tell) as (manifests, target):
        state = target.read(ReadRequest(acls=False, all_topics=False, quotas=True))
        if state.quotas is None:
            raise WorkflowError(f"the client quotas could not be read: {state.quota_gap or 'the snapshot has none'}")
        known = manifests is not None and target.declaration is not None
        wanted = desired(manifests, target.name, request.day).quotas if known and manifests else {}
        same = {entity: item for entity, item in wanted.items() if item.quota in state.quotas}
        return QuotaState(target.name, True, state.quotas, _places(same))


def _places(wanted: Mapping[QuotaEntity, DesiredQuota]) -> dict[QuotaEntity, str]:
    return {entity: str(item.declaration.origin) for entity, item in wanted.items()}


def with_desired(found: AccessState) -> AccessView:
    """A live state with everything in scope as the manifests declare it."""
    wanted, declaration, state = found.desired, found.declaration, found.state
    if wanted is None or declaration is None or state is None:
        return found.view
    scope = declaration.scope
    kept = {binding: None for binding in state.bindings if not scope.owns(binding)}
    after = authorizer(declaration, {**kept, **wanted.bindings}, state)
    return replace(found.view, basis=Basis.DESIRED, authorizer=after)


def authorizer(
    declaration: ClusterDeclaration | None,
    bindings: Mapping[AclBinding, Declaration | None],
    live: ClusterState | None = None,
) -> Authorizer:
    """The authorizer of a cluster with these bindings; what its document and its live state do not say is unknown."""
    return Authorizer(
        {binding: note for binding, note in bindings.items() if not is_reserved(binding.pattern.name)},
        declaration.super_users if declaration else (),
        declaration.allow_everyone_if_no_acl_found if declaration else None,
        live.kafka_version if live else ASSUMED_VERSION,
        opaque=live.opaque if live else (),
    )


def _read(target: Target, *, all_topics: bool, topic_names: bool) -> ClusterState:
    declaration = target.declaration
    request = ReadRequest(
        all_topics=all_topics,
        principal=declaration.principal if declaration else None,
        super_users=declaration.super_users if declaration else (),
        topic_listing=topic_names,
    )
    state = target.read(request)
    if state.acl_gap:
        raise WorkflowError(
            f"the ACL listing may not be whole: {state.acl_gap}", "what is missing could change every answer"
        )
    return state


def _around_plan(
    request: StateRequest, plan_file: str, connection: ConnectionOptions, *, topic_names: bool, tell: Tell
) -> list[AccessView]:
    if not request.live:
        raise NoClusterError("a plan holds only what changes, so the state before it has to come from the cluster")
    plan, _ = saved_plan(plan_file)
    found = _seen(live_access(request, connection, topic_names=topic_names, tell=tell), topic_names=topic_names)
    if found.state is not None and found.state.cluster_id != plan.cluster_id:
        raise StaleError(f"the plan is for the cluster {plan.cluster_id}, this is {found.state.cluster_id}")
    added = {binding: step.origin for step in plan.steps for binding in created_bindings([step.change])}
    removed = deleted_bindings(step.change for step in plan.steps)
    before = found.view
    after = replace(before, basis=Basis.PLANNED, authorizer=before.authorizer.with_changes(added, removed))
    return [before, after]
