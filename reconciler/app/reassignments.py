"""The reassignments that are unfinished on a cluster, whoever began them, and cancelling them."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from reconciler.app.manifests import desired
from reconciler.app.options import ConnectionOptions, Tell, ignore, moment
from reconciler.app.reasons import HeldError, RequestError, WorkflowError
from reconciler.app.records import CommandLedger, RecordOptions, command_ledger, new_run
from reconciler.app.session import Target, open_any
from reconciler.app.terms import terms
from reconciler.apply.audit import about_command
from reconciler.apply.environment import Identity, LeaseRequest, Progress
from reconciler.apply.lease import LeaseClaim, LeaseHeldError, claims_now, holding
from reconciler.apply.moves import Ending, PartitionEnd, TopicMove, cancel, cancelled, cancelling, unthrottle
from reconciler.apply.run import ApplyEnvironment, StoppedError
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.model.characters import as_name
from reconciler.model.state import ClusterState
from reconciler.model.topic import Layout
from reconciler.plan.proposal import Terms
from reconciler.ports import NO_AUTHORIZER, ClusterError, ReadRequest
from reconciler.system.process import SystemClock


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What became of each partition, and why a throttle stays, a sentence each.

    ``unrecorded`` is why the end is not in the audit log, and ``audit_head`` the digest of its last line.
    """

    ends: tuple[PartitionEnd, ...]
    throttles: tuple[str, ...] = ()
    unrecorded: str = ""
    audit_head: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether nothing of what was chosen moves any more, no throttle is left, and all of it is written down."""
        ended = all(end.ending in (Ending.CANCELLED, Ending.OVER) for end in self.ends)
        return ended and not self.throttles and not self.unrecorded


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What moves on an open cluster.

    ``chosen`` are the topics that were asked for, by name or all; ``others`` move too, and ``outside`` are those of
    them that the scope of the manifests leaves to somebody else. Of topics that were named and do not move only a
    throttle may be left. ``acls`` is the reading of the ACLs, among which the lease is; ``None`` where the cluster has
    none, and where nothing is to be cancelled. ``breaks`` are holders of the lease who are known to be gone.
    """

    target: Target
    chosen: tuple[TopicMove, ...]
    others: tuple[TopicMove, ...] = ()
    outside: frozenset[str] = frozenset()
    acls: ClusterState | None = None
    breaks: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether nothing of what was chosen moves, and no throttle of a move is left there."""
        return not any(move.moving or move.throttle for move in self.chosen)

    def cancel(self, records: RecordOptions = RecordOptions()) -> Cancelled:
        """Cancel what was chosen, as it was read, while no other run acts; verified by reading again.

        Raises a :class:`WorkflowError` with nothing sent: :class:`HeldError` where somebody else holds the lease,
        ``RecordsError`` where it cannot be written down.
        """
        identity = Identity(new_run(), records.who())
        try:
            with command_ledger(self.target, records) as ledger, self._held(identity):
                return self._cancel(ledger, identity)
        except LeaseHeldError as error:
            raise _held_error(error.claims) from error
        except StoppedError as error:
            raise WorkflowError(f"the lease cannot be taken: {error}; nothing was sent") from error

    @contextmanager
    def _held(self, identity: Identity) -> Iterator[None]:
        """Hold the cluster's lease; there is none without ACLs, for it is one of them."""
        if self.acls is None:
            yield
            return
        declaration = self.target.declaration
        present = Terms(self.target.name) if declaration is None else terms(declaration)
        request = LeaseRequest(identity.operator, self.breaks)
        environment = ApplyEnvironment(
            self.target.cluster,
            SystemClock(),
            Progress(),
            identity=identity,
            lease_request=request,
            send_seconds=self.target.send_seconds,
        )
        with holding(environment, present, self.acls):
            yield

    def _cancel(self, ledger: CommandLedger, identity: Identity) -> Cancelled:
        clock = SystemClock()
        cluster_id = self._cluster_id() if ledger.is_kept else ""
        about = about_command(identity, cluster_id, self.target.name)
        ledger.intend(cancelling(about, self.chosen, clock.now()))
        ended = self._send()
        lines = cancelled(about, self.chosen, ended.ends, ended.throttles, clock.now())
        return replace(ended, unrecorded=ledger.conclude(lines), audit_head=ledger.head)

    def _cluster_id(self) -> str:
        try:
            return (self.acls or self.target.cluster.read(ReadRequest(acls=False, all_topics=False))).cluster_id
        except ClusterError as error:
            raise WorkflowError(f"which cluster this is cannot be read: {error}", error.advice) from error

    def _send(self) -> Cancelled:
        cluster = self.target.cluster
        ends = cancel(cluster, self.chosen, SystemClock())
        going_on = {end.topic for end in ends if end.ending in (Ending.REFUSED, Ending.UNKNOWN)}
        over = [move for move in self.chosen if move.topic not in going_on]
        others = [*self.others, *(move for move in self.chosen if move.topic in going_on)]
        throttled = unthrottle(cluster, over, others)
        stays = [f"topic {as_name(name)} stays throttled while it moves" for name in sorted(going_on & self._throttled)]
        return Cancelled(ends, (*throttled, *stays))

    @property
    def _throttled(self) -> frozenset[str]:
        return frozenset(move.topic for move in self.chosen if move.is_marked)


@contextmanager
def reassignments(
    path: str | None,
    cluster: str | None,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    topics: Collection[str] | None = None,
    breaks: Collection[str] | None = None,
    tell: Tell = ignore,
) -> Iterator[Unfinished]:
    """What moves on a cluster: of ``topics``, or with ``None`` everything in scope. Nothing is sent before ``cancel``.

    To cancel, ``breaks`` are the holders of the cluster's lease who are known to be gone; ``None`` for who only looks.
    Raises a :class:`WorkflowError`: :class:`HeldError` where somebody else holds the lease.
    """
    with open_any(path, cluster, connection, tell) as (manifests, target):
        yield unfinished(manifests, target, topics, breaks)


def unfinished(
    manifests: Manifests | None,
    target: Target,
    topics: Collection[str] | None = None,
    breaks: Collection[str] | None = None,
) -> Unfinished:
    """The same of a cluster that is open."""
    acls = None if breaks is None else _acls(target)
    if acls is not None:
        _refuse_held(claims_now(acls, target.cluster, SystemClock()), breaks or ())
    try:
        moves = _moves(target, target.cluster.reassignments())
        outside = _outside(moves, manifests, target)
        if topics is None:
            chosen = [move for name, move in moves.items() if name not in outside]
        else:
            chosen = _named(sorted(set(topics)), moves, outside, target)
    except ClusterError as error:
        raise WorkflowError(f"what is moving is not known: {error}", error.advice) from error
    names = {move.topic for move in chosen}
    others = tuple(move for name, move in moves.items() if name not in names)
    return Unfinished(target, tuple(chosen), others, outside, acls, tuple(breaks or ()))


def _named(
    names: Collection[str], moves: dict[str, TopicMove], outside: frozenset[str], target: Target
) -> list[TopicMove]:
    """The topics of these names; of those that do not move only a throttle may be left."""
    if strangers := sorted(outside & set(names)):
        words = ", ".join(map(as_name, strangers))
        raise RequestError(f"outside the scope of these manifests: {words}", "whoever manages them decides")
    still = [name for name in names if name not in moves]
    read = target.cluster.read(ReadRequest(acls=False, all_topics=False, layout=still)).layout if still else None
    there = _moves(target, read) if read is not None else {}
    if missing := [name for name in still if name not in there]:
        raise RequestError(f"no such topic: {', '.join(map(as_name, missing))}")
    return [moves.get(name) or there[name] for name in names]


def _moves(target: Target, layout: Layout) -> dict[str, TopicMove]:
    """The topics of a layout with their configs."""
    if not layout.topics:
        return {}
    live = target.cluster.read(ReadRequest(acls=False, all_topics=False, topic_names=sorted(layout.topics))).topics
    return {name: TopicMove(name, parts, live.get(name)) for name, parts in layout.topics.items()}


def _outside(moving: Collection[str], manifests: Manifests | None, target: Target) -> frozenset[str]:
    """The topics that the manifests leave to somebody else; none where no manifests were read."""
    if manifests is None or target.declaration is None or not moving:
        return frozenset()
    declared, scope = desired(manifests, target.declaration.name, moment()).topics, target.declaration.scope
    return frozenset(name for name in moving if not scope.owns_topic(name, declared=name in declared))


def _acls(target: Target) -> ClusterState | None:
    """The ACLs, among which the lease is; ``None`` where the cluster can have none."""
    try:
        return target.cluster.read(ReadRequest(all_topics=False))
    except ClusterError as error:
        if error.code == NO_AUTHORIZER:
            return None
        raise WorkflowError(f"whether somebody is applying is not known: {error}", error.advice) from error


def _refuse_held(claims: Collection[LeaseClaim], breaks: Collection[str]) -> None:
    if held := [claim for claim in claims if claim.holder not in breaks]:
        raise _held_error(held)


def _held_error(claims: Sequence[LeaseClaim]) -> HeldError:
    who = "; ".join(f"{claim.holder} by run {claim.run}, until {claim.ends}" for claim in claims)
    return HeldError(f"stop that run first, it may be waiting for what moves: {who}; nothing was sent", list(claims))
