"""States for questions: declared, live, snapshots, before and after a plan, on an earlier day."""

import datetime
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from reconciler.access.authorizer import Authorizer
from reconciler.app import reasons
from reconciler.app.cluster_checks import decide_cluster_tests
from reconciler.app.connections import declared_version, manifests_below, read_connections, version_of
from reconciler.app.manifests import desired, held, sound, teams_of
from reconciler.app.options import SNAPSHOT, ConnectionOptions, PastReadings, StateRequest, Tell, ignore
from reconciler.app.records import saved_plan
from reconciler.app.session import Target, declared, open_any, refuse_another_time, time_words, whole
from reconciler.app.terms import SAYS_DEAD_LETTERS, claimed_super_users, dead_letters, declared_dead_letters
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.cluster import with_flavor
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.safeguards import follows_records
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration, DesiredState, Origin, instant_of
from reconciler.model.locks import denials_of_locks, lock_denials, locks
from reconciler.model.markers import break_glass, is_harmless, standing_bridges
from reconciler.model.scope import on_reserved_names
from reconciler.model.state import ClusterState, FactSource, StatedFacts
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.proposal import Plan
from reconciler.ports import ReadRequest
from reconciler.results.access import (
    WITH_LOGINS,
    AccessView,
    Basis,
    ClaimedFacts,
    PastState,
    declared_logins,
    live_logins,
)
from reconciler.results.findings import ClusterTestResult
from reconciler.snapshot.file import SnapshotCluster
from reconciler.system.git import GitError, commit_before, top_of, write_tree

#: Why no dead letter queue is named.
_NO_LETTERS: Final = "dead letter queues of share groups, because the configs of groups are not known"


@dataclass(frozen=True, slots=True)
class AccessState:
    """A live or declared state with what the manifests say of the cluster, where there are any.

    ``state`` is what was read of the cluster, ``None`` where nothing was asked of it; ``cluster_tests`` is what came of
    claims about its brokers, where they were asked for. ``gap`` says why nothing is known of access, where only those
    could be decided.
    """

    view: AccessView
    manifests: Manifests | None
    declaration: ClusterDeclaration | None
    desired: DesiredState | None
    state: ClusterState | None = None
    cluster_tests: tuple[ClusterTestResult, ...] = ()
    gap: str = ""


def access_views(
    request: StateRequest,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    topic_names: bool = False,
    beside: bool = False,
    groups: bool = False,
    tell: Tell = ignore,
) -> list[AccessView]:
    """One state, or with a plan the states before and after it; with the topics that can be seen, if asked for.

    With ``beside`` also what is known of logins and quotas, which takes three more requests; with ``groups`` the dead
    letter queues of share groups. Raises :class:`PastTimeError` and :class:`FutureTimeError` for a time other than now
    of a cluster that is to be read.
    """
    if request.store is not None:
        past = past_access(request, request.store, connection, beside=beside)
        return [_seen(past, topic_names=False, groups=groups).view]
    if request.audit:
        raise reasons.PastStoreError
    if request.live:
        refuse_another_time(request.cluster, request.as_of, ahead=True)
    if request.plan is not None:
        plan = plan_asked(request, request.plan)
    elif not request.live:
        return [_seen(declared_access(request, connection), topic_names=False, groups=groups).view]
    else:
        plan = None
    listings = _listings(beside=beside, groups=groups)
    read = live_access(request, connection, topic_names=topic_names, beside=beside, listings=listings, tell=tell)
    state = _seen(read, topic_names=topic_names, groups=groups)
    return [state.view, *([planned_view(plan, state)] if plan is not None else [])]


def _listings(*, beside: bool, groups: bool) -> tuple[str, ...]:
    return (*(WITH_LOGINS if beside else ()), *((SAYS_DEAD_LETTERS,) if groups else ()))


def _seen(access: AccessState, *, topic_names: bool, groups: bool) -> AccessState:
    """The same, with the topics of which the names were asked for, and with dead letter queues."""
    view, state = access.view, access.state
    if topic_names and state is not None:
        view = replace(view, topics=tuple(sorted(state.topic_names)))
    if groups:
        wanted = access.desired or DesiredState()
        letters = declared_dead_letters(wanted) if state is None else dead_letters(state)
        unseen = view.unseen if letters is not None else (*view.unseen, _NO_LETTERS)
        view = replace(view, dead_letters=letters or {}, unseen=unseen)
    return replace(access, view=view)


def access_states(
    request: StateRequest,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    all_topics: bool = False,
    cluster_tests: bool = False,
    beside: bool = False,
    groups: bool = False,
    tell: Tell = ignore,
) -> list[AccessState]:
    """The state of the cluster that is named, as it is or as it is declared; without one, of each declared cluster.

    With ``beside`` also the users, delegation tokens and quotas of a live one, which takes three more requests; with
    ``groups`` the configs of groups.
    """
    if request.live or request.store is not None:
        listings = _listings(beside=beside, groups=groups)
        return [
            live_access(
                request,
                connection,
                all_topics=all_topics,
                cluster_tests=cluster_tests,
                beside=beside,
                listings=listings,
                tell=tell,
            )
        ]
    if request.cluster is not None:
        return [declared_access(request, connection)]
    manifests = _manifests(request, connection)
    return [_declared(manifests, declaration, request) for declaration in manifests.clusters.values()]


def _manifests(request: StateRequest, connection: ConnectionOptions) -> Manifests:
    path = request.path or connection.default_path
    return held(manifests_below(path, connection), path, request.guardrails)


def declared_access(request: StateRequest, connection: ConnectionOptions = ConnectionOptions()) -> AccessState:
    """What the manifests declare for the cluster that is named, or for the only one; nothing is asked of it.

    The facts of the connections file count here too, though nothing connects.
    """
    manifests = _manifests(request, connection)
    if request.cluster is None and len(manifests.clusters) != 1:
        raise reasons.AmbiguousClusterError(tuple(manifests.clusters), snapshot=False)
    name = request.cluster or next(iter(manifests.clusters))
    return _declared(manifests, declared(manifests, name)[0], request)


def _declared(manifests: Manifests, declaration: ClusterDeclaration, request: StateRequest) -> AccessState:
    wanted = desired(manifests, declaration.name, request.at)
    topics = tuple(sorted(name for name, topic in wanted.topics.items() if not topic.absent))
    own = authorizer(declaration, wanted.bindings)
    claims, unseen = claimed_facts(declaration), declaration.flavor.unseen
    besides = declared_logins(wanted, only_scram=declaration.only_scram_logins)
    view = AccessView(
        declaration.name,
        Basis.DECLARED,
        own,
        topics,
        claims,
        unseen=unseen,
        beside=besides,
        as_of=time_words(request.at),
    )
    view = replace(view, owners=partial(teams_of, manifests, declaration.name))
    return AccessState(view, manifests, declaration, wanted)


def live_access(
    request: StateRequest,
    connection: ConnectionOptions,
    *,
    all_topics: bool = False,
    topic_names: bool = False,
    cluster_tests: bool = False,
    beside: bool = False,
    listings: tuple[str, ...] = (),
    tell: Tell = ignore,
) -> AccessState:
    """What a cluster or a snapshot has; with manifests, each binding that they declare with its place.

    With ``beside`` also what is known of logins, delegation tokens and quotas.

    Raises :class:`PastTimeError` for a past time of a cluster.
    """
    if request.store is not None:
        return past_access(request, request.store, connection, beside=beside)
    refuse_another_time(request.cluster, request.as_of)
    with open_any(request.path, request.cluster, connection, tell, request.guardrails) as (manifests, target):
        declaration = target.declaration
        if manifests is None and declaration is None and connection.connections is not None:
            # Nothing is declared, but the operator's word on the cluster's facts decides answers all the same.
            entry = read_connections(connection.connections).get(target.name)
            declaration = with_flavor(entry.facts) if entry is not None else None
        listings = listings or (WITH_LOGINS if beside else ())
        known_as = replace(target, declaration=declaration)
        tested = decide_cluster_tests(target, manifests, request.at) if cluster_tests and manifests else ()
        with sound():
            if cluster_tests and manifests and declaration and follows_records(manifests, declaration.name):
                listings = (*listings, SAYS_DEAD_LETTERS)
        try:
            asked = ReadRequest(all_topics=all_topics, topic_listing=topic_names, listings=listings, tokens=beside)
            state = _read(known_as, asked)
        except reasons.NoAuthorizerError as error:
            if not tested:
                raise
            nothing = AccessView(target.name, Basis.LIVE, authorizer(declaration, {}))
            return AccessState(nothing, manifests, declaration, None, None, tested, error.message)
        wanted = None
        if manifests is not None and declaration is not None:
            wanted = desired(manifests, declaration.name, request.at)
        declarations = wanted.bindings if wanted is not None else {}
        scram = declaration is not None and declaration.only_scram_logins
        view = AccessView(
            target.name,
            Basis.SNAPSHOT if isinstance(target.cluster, SnapshotCluster) else Basis.LIVE,
            authorizer(declaration, state.bindings, state, _only_live(declarations, state)),
            tuple(sorted(state.topics)) if all_topics and state.topic_gap is None else None,
            claimed_facts(declaration) if declaration is not None else ClaimedFacts(),
            unseen=declaration.flavor.unseen if declaration is not None else (),
            beside=live_logins(state, only_scram=scram) if beside else None,
            as_of=time_words(request.at),
            break_glass={
                binding: mark
                for binding, mark in break_glass(state.bindings, request.at).items()
                if binding not in declarations
            },
            locks=locks(state.bindings),
        )
        if manifests is not None and declaration is not None:
            view = replace(view, owners=partial(teams_of, manifests, declaration.name))
        return AccessState(view, manifests, declaration, wanted, state, tested)


def past_access(
    request: StateRequest,
    store: PastReadings,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    beside: bool = False,
) -> AccessState:
    """What a cluster had at a past time; nothing is asked of it.

    Its super users and default-allow are those that a reading of then has; where none has, those of today are perhaps
    right. What the manifests declare today is not said of what was there then. Raises :class:`RequestError` where the
    time is not covered.
    """
    if request.cluster is None or request.plan is not None or request.offline or SNAPSHOT in request.cluster:
        raise reasons.PastClusterError
    name, manifests, declaration = request.cluster, None, None
    if request.path is None and connection.connections is not None:
        entry = read_connections(connection.connections).get(name)
        declaration = with_flavor(entry.facts) if entry is not None else None
    else:
        manifests = _manifests(request, connection)
        declaration = declared(manifests, name)[0]
    past = store.read(store.place, name, instant_of(request.at), request.audit)
    state = past.state
    version = version_of(state.kafka_version, state.kafka_version_gap, declaration)
    state = replace(state, kafka_version=version)
    if state.acl_gap:
        raise reasons.RequestError(f"the ACLs of that time are not known: {state.acl_gap}")
    scram = declaration is not None and declaration.only_scram_logins
    then = _as_stated(name, declaration, past)
    claims = claimed_facts(then)
    if past.perhaps or state.stated is None:
        claims = replace(claims, past=True, super_users=past.perhaps or claims.super_users)
    view = AccessView(
        name,
        Basis.PAST,
        authorizer(then, state.bindings, state),
        tuple(sorted(state.topics)) if state.topic_gap is None else None,
        claims,
        unseen=then.flavor.unseen,
        beside=live_logins(state, only_scram=scram) if beside else None,
        past=past,
        break_glass=past.break_glass,
    )
    return AccessState(view, manifests, then, None, state)


def _as_stated(name: str, declaration: ClusterDeclaration | None, past: PastState) -> ClusterDeclaration:
    """A declaration with what was stated at a past time; what is not known of then, only the manifests say at most."""
    today = declaration or ClusterDeclaration(name, Origin("command line", 1, 1))
    stated = past.state.stated
    if stated is None:
        # Super users of today are perhaps those of then.
        stated = StatedFacts(today.super_users, FactSource.MANIFESTS)
    by = FactSource.MANIFESTS if past.perhaps else stated.super_users_by
    sources = replace(today.sources, super_users=by, default_allow=stated.default_allow_by)
    allow = None if past.perhaps_allowed else stated.default_allow
    return replace(today, super_users=stated.super_users, allow_everyone_if_no_acl_found=allow, sources=sources)


def _only_live(declarations: Mapping[AclBinding, Declaration], state: ClusterState) -> Mapping[AclBinding, Declaration]:
    """What manifests say of bindings that are there."""
    return (
        declarations
        if declarations.keys() <= state.bindings
        else {b: note for b, note in declarations.items() if b in state.bindings}
    )


def with_desired(access: AccessState) -> AccessView:
    """A live state with everything in scope as the manifests declare it; bridges and locks stay: no plan ends them."""
    wanted, declaration, state = access.desired, access.declaration, access.state
    if wanted is None or declaration is None or state is None:
        return access.view
    scope = declaration.scope
    bridges = standing_bridges(state.bindings) | denials_of_locks(state.bindings)
    kept = {binding: None for binding in state.bindings if not scope.owns(binding) or binding in bridges}
    after = authorizer(declaration, {**kept, **wanted.bindings}, state)
    return replace(access.view, basis=Basis.DESIRED, authorizer=after)


def authorizer(
    declaration: ClusterDeclaration | None,
    bindings: Mapping[AclBinding, Declaration | None] | frozenset[AclBinding],
    live: ClusterState | None = None,
    declarations: Mapping[AclBinding, Declaration] | None = None,
) -> Authorizer:
    """The authorizer of a cluster with these bindings; what its document and its live state do not say is unknown.

    ``declarations`` are those of some of them, where ``bindings`` is a set.
    """
    bindings, declarations = with_effect(bindings, declarations)
    stated = Authorizer(
        bindings,
        declaration.super_users if declaration else (),
        declaration.allow_everyone_if_no_acl_found if declaration else None,
        live.kafka_version if live else declared_version(declaration),
        opaque=live.opaque if live else (),
        notes=declarations,
    )
    return stated.with_members(declaration.flavor.membership_types) if declaration else stated


def with_effect(
    bindings: Mapping[AclBinding, Declaration | None] | frozenset[AclBinding],
    notes: Mapping[AclBinding, Declaration] | None = None,
) -> tuple[Mapping[AclBinding, Declaration | None] | frozenset[AclBinding], Mapping[AclBinding, Declaration] | None]:
    """Both without probe ACLs and markers, which permit nobody anything; any other one on a reserved name does."""
    harmless = set(filter(is_harmless, on_reserved_names(bindings)))
    if not harmless:
        return bindings, notes
    notes = {b: note for b, note in notes.items() if b not in harmless} if notes else notes
    if isinstance(bindings, frozenset):
        return bindings - harmless, notes
    return {b: note for b, note in bindings.items() if b not in harmless}, notes


def claimed_facts(declaration: ClusterDeclaration) -> ClaimedFacts:
    """The facts about a cluster's access that only the manifests state."""
    default_allow = declaration.allow_everyone_if_no_acl_found
    source = declaration.sources.default_allow
    return ClaimedFacts(
        frozenset(claimed_super_users(declaration)),
        default_allow if source.is_claim else None,
        vendor=declaration.flavor.title if source is FactSource.FLAVOR else "",
    )


def as_established(stated: Authorizer, declaration: ClusterDeclaration) -> Authorizer:
    """The authorizer of a cluster with default-allow unknown where only the manifests state it.

    What is asked of declarations alone is about what they declare, this fact with them.
    """
    return stated.doubting(default_allow=declaration.sources.default_allow.is_claim)


def _read(target: Target, request: ReadRequest) -> ClusterState:
    declaration = target.declaration
    request = replace(
        request,
        # As whom we log in is enough to tell which tokens are hidden from us.
        principal=(declaration.principal if declaration else None) or (target.login if request.tokens else None),
        super_users=declaration.super_users if declaration else (),
    )
    return whole(target.read_counted(request))


def planned_view(plan: Plan, read: AccessState) -> AccessView:
    """A state with the steps of a plan done; raises :class:`StaleError` if it is not of the cluster of the plan."""
    if read.state is not None:
        check_cluster(plan, read.state)
    added = {binding: step.origin for step in plan.steps for binding in created_bindings([step.change])}
    removed = deleted_bindings(step.change for step in plan.steps)
    before = read.view
    besides = before.beside and before.beside.after(step.change for step in plan.steps)
    authorized = before.authorizer.with_changes(added, removed)
    held = {name: lock for name, lock in before.locks.items() if not {*removed}.intersection(lock_denials(name))}
    letters = before.dead_letters
    if read.state is not None and _NO_LETTERS not in before.unseen:
        letters = dead_letters(read.state, [step.change for step in plan.steps]) or {}
    after = replace(before, basis=Basis.PLANNED, authorizer=authorized, beside=besides, locks=held)
    return replace(after, dead_letters=letters)


def plan_asked(request: StateRequest, plan_file: str) -> Plan:
    """The plan before and after which something is asked; raises :class:`NoClusterError` if no cluster is named."""
    if not request.live:
        raise reasons.NoClusterError(
            "a plan holds only what changes, so the state before it has to come from the cluster"
        )
    return saved_plan(plan_file)[0]


def check_cluster(plan: Plan, live: ClusterState) -> None:
    """Raise :class:`StaleError` if a state is not of the cluster that a plan is for."""
    if live.cluster_id != plan.cluster_id:
        raise reasons.StaleError(f"the plan is for the cluster {plan.cluster_id}, this is {live.cluster_id}")


# What the manifests declared on an earlier day, by the history of the repository that they are in.
#
# Whoever commits sets the clock of the commit. That can make a rule look older than it is, and so propose to remove
# it; the proposal is reviewed like any other.

_NOTHING: Final = Manifests((), {}, {}, (), {})


def declared_then(
    path: str, cluster: str, day: datetime.date, connection: ConnectionOptions = ConnectionOptions()
) -> Collection[AclBinding] | None:
    """The bindings that were declared for a cluster before a day began; ``None`` if no history says so."""
    return DeclaredThen(path, connection).of(cluster, day)


class DeclaredThen:
    """The manifests of earlier days, each day's read once for as many clusters as ask."""

    def __init__(self, path: str, connection: ConnectionOptions = ConnectionOptions()) -> None:
        """``path`` is where the manifests are now."""
        self._path, self._connection = path, connection
        self._known: dict[datetime.date, Manifests | None] = {}

    def of(self, cluster: str, day: datetime.date) -> Collection[AclBinding] | None:
        """The bindings that were declared for a cluster before a day began; ``None`` if no history says so."""
        if day not in self._known:
            self._known[day] = self._manifests(day)
        manifests = self._known[day]
        try:
            return (
                None
                if manifests is None
                else desired(manifests, cluster, day).bindings
                if cluster in manifests.clusters
                else ()
            )
        except reasons.WorkflowError:
            return None

    def _manifests(self, day: datetime.date) -> Manifests | None:
        place = Path(self._path).resolve()
        root = place if place.is_dir() else place.parent
        try:
            commit, top = commit_before(root, day), top_of(root).resolve()
            if commit is None:
                return None
            with tempfile.TemporaryDirectory() as directory:
                below = place.relative_to(top)
                write_tree(root, commit, Path(directory), below.as_posix())
                then = Path(directory, below)
                return manifests_below(str(then), self._connection) if then.exists() else _NOTHING
        except (GitError, reasons.WorkflowError, OSError):
            # No repository, or what was there then cannot be read by today's rules: nothing is known.
            return None
