"""What questions need besides the access of a state: the client quotas, and as whom a principal could act."""

from collections.abc import Iterator
from dataclasses import replace

from reconciler.access.effective import Access, OwnAccess, access_of
from reconciler.access.holders import Flow
from reconciler.access.names import ResourceSet
from reconciler.access.questions import Grounds
from reconciler.access.reach import Hop, Known, Reach, ReachRow
from reconciler.app.access_checks import links_of
from reconciler.app.manifests import desired, sound
from reconciler.app.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.app.session import open_any, refuse_another_time, time_words
from reconciler.app.states import AccessState, access_states, check_cluster, declared_access, plan_asked, planned_view
from reconciler.app.terms import dead_letters, declared_dead_letters
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.model.desired import NO_LINKS, Links
from reconciler.model.kinds.quota import ClientQuota
from reconciler.model.listing import Change, items_after
from reconciler.ports import ReadRequest
from reconciler.results.access import AccessView, ActedAs, Basis, ReachAnswer
from reconciler.show.quota import QuotaView
from reconciler.snapshot.file import SnapshotCluster


def quota_views(
    request: StateRequest, connection: ConnectionOptions = ConnectionOptions(), *, tell: Tell = ignore
) -> list[QuotaView]:
    """The quotas of one state, or with a plan of the states before and after it.

    Raises a :class:`WorkflowError` where they cannot be read: a client is not unlimited because nobody may look.
    """
    if request.store is not None:
        raise RequestError("quotas are asked of a cluster as it is now", "leave the past time out, or the client id")
    plan = None if request.plan is None else plan_asked(request, request.plan)
    if not request.live:
        access = declared_access(request, connection)
        wanted = access.desired.of(ClientQuota) if access.desired else {}
        declared = frozenset(item.item for item in wanted.values() if not item.goes)
        return [QuotaView(access.view.cluster, Basis.DECLARED, declared, wanted, as_of=access.view.as_of)]
    refuse_another_time(request.cluster, request.as_of, ahead=True)
    with open_any(request.path, request.cluster, connection, tell) as (manifests, target):
        state = target.read(ReadRequest(acls=False, all_topics=False, listings=[ClientQuota.KIND]))
        is_declared = manifests is not None and target.declaration is not None
        wanted = desired(manifests, target.name, request.at).of(ClientQuota) if is_declared and manifests else {}
        basis = Basis.SNAPSHOT if isinstance(target.cluster, SnapshotCluster) else Basis.LIVE
    live, gap = state.listing(ClientQuota).items, state.listing(ClientQuota).gap
    # A listing that could not be read is no empty one: "no quota" would be taken for "unlimited".
    if live is None:
        raise WorkflowError(f"the client quotas could not be read: {gap or 'the snapshot has none'}")
    before = QuotaView(target.name, basis, live, wanted, time_words(request.at))
    if plan is None:
        return [before]
    check_cluster(plan, state)
    after = items_after(ClientQuota, live, (step.change for step in plan.steps))
    return [before, replace(before, basis=Basis.PLANNED, quotas=after)]


def reach(
    request: StateRequest,
    principal: str,
    hops: int | None = None,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    tell: Tell = ignore,
) -> list[tuple[AccessView, ReachAnswer]]:
    """What a principal reaches in each state by at most ``hops`` hops; with a plan, before and after it.

    Raises a :class:`WorkflowError`.
    """
    if request.live:
        refuse_another_time(request.cluster, request.as_of, ahead=True)
    plan = None if request.plan is None else plan_asked(request, request.plan)
    results = access_states(replace(request, plan=None), connection, beside=True, groups=True, tell=tell)
    answers = []
    for state in results:
        views = [(state.view, _links(state))]
        if plan is not None:
            views.append((planned_view(plan, state), _links(state, tuple(step.change for step in plan.steps))))
        tokens = state.state.tokens if state.state is not None else None
        for view, links in views:
            answers.append((view, replace(_answer(view, links, principal, hops), tokens=tokens)))
    return answers


def _links(state: AccessState, changes: tuple[Change, ...] = ()) -> Links:
    letters = dead_letters(state.state, changes) if state.state is not None else None
    if state.state is None and state.desired is not None:
        letters = declared_dead_letters(state.desired)
    links = NO_LINKS._replace(dead_letters=letters)
    if state.manifests is not None and state.declaration is not None:
        with sound():
            links = links_of(state.manifests, state.declaration, letters)
    tokens = state.state.tokens if state.state is not None else None
    return links._replace(tokens=tuple((token.owner, token.holders) for token in tokens.items) if tokens else ())


def _answer(view: AccessView, links: Links, principal: str, most: int | None) -> ReachAnswer:
    authorizer = view.authorizer
    people = Known.of(authorizer, links, [principal])._replace(claimed=frozenset())
    least, greatest = authorizer.interpretations.both
    certain = Reach(least, people, links)
    sure = dict(_identities(certain, certain.reached(principal, most)))
    perhaps = dict[str | None, tuple[Hop, ...]]()
    if greatest is not least or links.memberships:
        world = Reach(greatest, people, links, perhaps=True)
        perhaps = {who: via for who, via in _identities(world, world.reached(principal, most)) if who not in sure}
    own = OwnAccess(authorizer)

    def access(who: str | None, via: tuple[Hop, ...]) -> tuple[Access, ...]:
        if who is None:
            return ()
        # What everybody may do is listed once, with what the principal may do itself.
        return tuple(own.rows(who) if via else access_of(authorizer, who))

    identities = [
        ActedAs(who, via, access(who, via), results is sure, bool(via and who is not None and own.everybody_else))
        for results in (sure, perhaps)
        for who, via in results.items()
    ]
    coming, going = (
        ((), ()) if None in sure else tuple(tuple(_moved(certain, sure, reading=item)) for item in (False, True))
    )
    rights = [right for item in identities for hop in item.hops for right in hop.requests]
    rights += [right for _, moves in (*coming, *going) for hop in moves for right in hop.requests]
    gap = "" if links.dead_letters is not None else "configs of groups"
    return ReachAnswer(principal, tuple(identities), coming, going, Grounds(authorizer).of(rights), gap)


def _identities(reach: Reach, rows: list[ReachRow]) -> Iterator[tuple[str | None, tuple[Hop, ...]]]:
    seen = set[str]()
    for number, row in enumerate(rows):
        if row.principals is None:
            yield None, reach.path(rows, number)
        yield from ((who, reach.path(rows, number, who)) for who in sorted((row.principals or frozenset()) - seen))
        seen |= row.principals or frozenset()


def _moved(
    reach: Reach, acts_as: dict[str | None, tuple[Hop, ...]], *, reading: bool
) -> Iterator[tuple[ResourceSet, tuple[Hop, ...]]]:
    """Where others could move what these principals WRITE; else from where what they READ could come."""
    own = [who for who in acts_as if who is not None]
    held = reach.rights(ResourceType.TOPIC, AclOperation.WRITE if reading else AclOperation.READ)
    pieces = [piece.resources for who in own for piece in held.pieces(who, ResourceSet(ResourceType.TOPIC))]
    flow = Flow(reach, pieces, reading=reading, trusted=own)
    for number, zone in enumerate(flow.zones):
        if zone.move is not None:
            yield zone.resources, flow.moves(number)
