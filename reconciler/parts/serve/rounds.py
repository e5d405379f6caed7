"""Rounds of a server: one after another, from a directory or git.

One round: read manifests and a cluster, compare, and do what a server may do by itself.

About locks, it puts back what vanished of one, and ends one only where the operator's file says so. It remembers the
marks that it saw on a whole lock, and those that its audit log has. One that vanishes without a mark of an unlock is
created again with its DENYs, in one request: that only takes access away. A server never ends a lock for a mark alone:
by ``locksEnd`` it ends one whose end it knew before, and of which no mark names another.
"""

import datetime
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field, replace
from pathlib import Path
from typing import Final, TypeAlias

from reconciler.app.apply import ApplyOptions, Supervisor, Unattended, perform_now
from reconciler.app.cleanup import remove_written_down
from reconciler.app.lock import LockTerms, plan_of_unlock, refuse_unlockable
from reconciler.app.options import ConnectionOptions, PlanOptions, now
from reconciler.app.planning import Planned, plan_on
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.app.records import clock_doubt_of, command_ledger, new_run, source_commit
from reconciler.app.session import Target, open_declared, split_cluster
from reconciler.apply.audit import (
    AboutCommand,
    LockAction,
    LockRecord,
    about_command,
    break_glass_lines,
    lock_line,
)
from reconciler.apply.cleanup import leftovers, removable
from reconciler.apply.environment import Identity, Outcome
from reconciler.apply.lease import time_of
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.characters import as_name, counted
from reconciler.model.desired import instant_of, moment_text
from reconciler.model.listing import Create
from reconciler.model.locks import LockMark, lock_denials, locks, unlocked_at
from reconciler.model.markers import break_glass_over, running_break_glass
from reconciler.model.state import ClusterState
from reconciler.parts.serve import narrowing
from reconciler.plan.guards import NO_GUARDRAILS
from reconciler.ports import Clock, ClusterError
from reconciler.show.rounds import ApprovedOutcome, ApprovedStatus, Round, RoundHistory
from reconciler.system.git import GitError, NoGitError, commit_at, commit_time, fetch, top_of, write_tree
from reconciler.system.journal import LogTail
from reconciler.system.process import SystemClock, give_back

#: By so much the clocks of two machines may differ: a mark of a later time proves nothing yet.
_GRACE = datetime.timedelta(minutes=1)


@dataclass(slots=True)
class SeenLocks:
    """The marks of locks that were seen, or that the audit log has, and that no person has ended since.

    Of each, whether its end was to come when it became known.
    """

    _known: dict[LockMark, bool] = field(default_factory=dict)
    _log: LogTail | None = None

    def look(self, live: ClusterState, at: datetime.datetime, audit: str | None) -> list[tuple[LockAction, LockMark]]:
        """Take in a reading of ``at``; what is news is returned."""
        self._read_log(audit, live.cluster_id)
        news, ended = [], unlocked_at(live.bindings)
        for mark in list(self._known):
            if mark.principal in ended and mark.since <= ended[mark.principal]:
                del self._known[mark]
                news.append((LockAction.UNLOCK, mark._replace(since=ended[mark.principal])))
        for name, lock in locks(live.bindings).items():
            for mark in lock.marks if lock.whole else ():
                later = name not in ended or ended[name] < mark.since
                if later and mark.since <= at + _GRACE and mark not in self._known:
                    self._known[mark] = mark.until is None or at < mark.until
                    news.append((LockAction.SEEN, mark))
        return news

    def missing(self, live: ClusterState) -> dict[str, list[AclBinding]]:
        """What is gone of each lock that nobody ended: DENYs and marks."""
        missing: dict[str, list[AclBinding]] = {}
        for mark in self._known:
            gone = [item for item in (*lock_denials(mark.principal), mark.binding) if item not in live.bindings]
            if gone:
                missing[mark.principal] = list(dict.fromkeys((*missing.get(mark.principal, ()), *gone)))
        return missing

    def over(self, live: ClusterState, at: datetime.datetime) -> list[str]:
        """The principals whose lock has come to its end, by every mark that it has."""
        return [
            name
            for name, lock in locks(live.bindings).items()
            if lock.until is not None and lock.until <= at and all(self._known.get(mark, False) for mark in lock.marks)
        ]

    def _read_log(self, audit: str | None, cluster_id: str) -> None:
        if audit is None:
            return
        self._log = self._log or LogTail(audit)
        for notes in narrowing.records_of(self._log, "lock", LockRecord, cluster_id):
            since = datetime.datetime.fromisoformat(notes.since)
            if notes.action is LockAction.UNLOCK:
                for mark in [item for item in self._known if item.principal == notes.principal and item.since <= since]:
                    del self._known[mark]
            else:
                until = datetime.datetime.fromisoformat(notes.until) if notes.until else None
                by = notes.about.operator if notes.action is LockAction.LOCK else notes.by
                self._known[LockMark(notes.principal, since, until, by, notes.ticket, notes.reason)] = True


def keep_locks(
    seen: SeenLocks, planned: Planned, target: Target, connection: ConnectionOptions, apply: ApplyOptions
) -> list[str]:
    """Put back what vanished, lock whom the operator's file locks, end what it lets end; what a person has to know."""
    live, at, rules = planned.live, instant_of(planned.plan.as_of), planned.declaration.emergency
    news = seen.look(live, at, apply.records.audit)
    wanted = seen.missing(live)
    held = locks(live.bindings)
    refused = []
    for name in rules.locked:
        if name in wanted or (name in held and held[name].whole):
            continue
        terms = LockTerms(name, "the operator's file locks it")
        mark = LockMark(name, at.replace(microsecond=0), None, apply.records.who(), "", terms.reason)
        try:
            refuse_unlockable(terms, target, live)
            wanted[name] = [*lock_denials(name), mark.binding]
        except WorkflowError as error:
            refused.append(f"{as_name(name)} is not locked, as the operator's file demands: {error}")
    about = about_command(Identity(new_run(), apply.records.who()), live.cluster_id, target.name)
    notes = refused + _written(target, apply, (_record(about, action, mark) for action, mark in news))
    for name, bindings in wanted.items():
        notes.append(_put_back(target, name, bindings))
    for name in seen.over(live, at) if rules.locks_end else ():
        notes += _ended(name, planned, target, connection, apply)
    return notes


def _record(about: AboutCommand, action: LockAction, mark: LockMark) -> LockRecord:
    until = "" if mark.until is None else moment_text(mark.until)
    texts = (until, mark.ticket, mark.reason, mark.operator)
    return LockRecord(about, action, mark.principal, moment_text(mark.since), SystemClock().now(), *texts)


def _written(target: Target, apply: ApplyOptions, news: Iterable[LockRecord]) -> list[str]:
    lines = [lock_line(item) for item in news]
    if not lines:
        return []
    with command_ledger(target, apply.records) as ledger:
        why = ledger.conclude(lines)
    return [f"what was seen of locks could not be written down: {why}"] if why else []


def _put_back(target: Target, name: str, bindings: list[AclBinding]) -> str:
    """One request, as the lock was; the next round shows whether it is there."""
    try:
        answers = target.cluster.send([Create(item) for item in bindings])
    except ClusterError as error:
        return f"the lock of {as_name(name)} vanished in part and could not be put back: {error}"
    refused = [item for item in answers if not item.good]
    if refused:
        return f"the lock of {as_name(name)} vanished in part and could not be put back: {refused[0].message}"
    many = counted(len(bindings), "ACL")
    return f"the lock of {as_name(name)} was not whole, and no unlock says why: {many} created again"


def _ended(
    name: str, planned: Planned, target: Target, connection: ConnectionOptions, apply: ApplyOptions
) -> list[str]:
    plan = plan_of_unlock(LockTerms(name, "its end has come"), planned.live, target, planned.manifests)
    try:
        result = perform_now(plan, planned.live, target, connection, apply)
    except WorkflowError as error:
        return [f"the lock of {as_name(name)} has come to its end and stays: {error}"]
    return [] if result.succeeded else [f"the lock of {as_name(name)} stays in part: {result.stopped}"]


# Where a server finds the manifests: a directory, or a reference in a git repository.
#
# Each round looks again. What cannot be read ends the round: a server never goes on with manifests of before, for the
# change that it cannot see may be the one that keeps what it is about to take away.


@dataclass(frozen=True, slots=True)
class Checkout:
    """Manifests as they are now: their directory, their commit, and when it was made, where that is known."""

    path: str
    commit: str | None
    committed: datetime.datetime | None = None


@dataclass(frozen=True, slots=True)
class DirectorySource:
    """A directory that somebody else keeps up to date."""

    path: str

    @contextmanager
    def checkout(self) -> Iterator[Checkout]:
        """The directory itself; a link is followed once, so that a round reads one commit where the link moves on."""
        path = str(Path(self.path).resolve())
        yield Checkout(path, source_commit(path))


@dataclass(frozen=True, slots=True)
class GitSource:
    """The directory ``below`` of a reference in a repository on this machine, fetched from ``remote`` first if given.

    Credentials are those of the operator's own git. The repository's working tree stays as it is.
    """

    repository: str
    reference: str
    below: str = "."
    remote: str | None = None

    @contextmanager
    def checkout(self) -> Iterator[Checkout]:
        """The files of the commit in a directory of their own."""
        root = Path(self.repository)
        with tempfile.TemporaryDirectory(prefix="reconciler-serve-") as directory:
            try:
                wanted = self.reference if self.remote is None else fetch(root, self.remote, self.reference)
                commit = commit_at(root, wanted)
                write_tree(root, commit, Path(directory), self.below)
                committed = commit_time(root, commit)
            except GitError as error:
                raise WorkflowError(f"the manifests at {self.reference} cannot be read: {error}") from error
            path = Path(directory, self.below)
            if not path.is_dir():
                raise WorkflowError(f"{self.reference} has no directory {self.below}")
            yield Checkout(str(path), commit, committed)


#: Where the manifests come from.
ManifestSource: TypeAlias = DirectorySource | GitSource


def git_source(path: str, reference: str, remote: str | None) -> GitSource:
    """A directory of a repository, at a reference; raises a :class:`RequestError` where it is in none."""
    try:
        top = top_of(Path(path))
        below = Path(path).resolve().relative_to(top.resolve())
    except NoGitError as error:
        raise RequestError(
            f"a git reference cannot be read: {error}",
            "read a directory that another program keeps up to date, such as git-sync",
        ) from error
    except (GitError, ValueError) as error:
        raise RequestError(f"{path} is in no git repository: {error}") from error
    return GitSource(str(top), reference, str(below), remote)


#: How far the clock of whoever committed may be ahead of ours: by more, ours is behind, and nothing has ended yet.
_CLOCKS_DIFFER: Final = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What a server may do on one cluster, and under which rules.

    Without ``act`` it only looks. ``apply`` says what is written down, and as whose lease; ``approved`` are the signed
    plans that it performs. ``keep`` keeps each reading that differs.
    """

    cluster: str
    act: bool = False
    apply: ApplyOptions = ApplyOptions()
    guardrails: str | None = None
    approved: narrowing.ApprovedPlans | None = None
    #: Reads the cluster whole and keeps that; raises a :class:`WorkflowError`.
    keep: Callable[[Target], None] | None = None
    #: Remembered from round to round.
    witness: narrowing.SeenMarks = field(default_factory=narrowing.SeenMarks)
    locks: SeenLocks = field(default_factory=SeenLocks)

    @property
    def name(self) -> str:
        """The cluster's name in the manifests."""
        return split_cluster(self.cluster)[0] or self.cluster


class OnlyStoppable(Unattended):
    """Nobody attends a server; somebody may stop it, after the batch in flight."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        """``stopped`` says whether somebody has."""
        self._stopped = stopped

    def interruptions(self) -> AbstractContextManager[Callable[[], bool]]:
        """See :class:`Supervisor`."""
        return nullcontext(self._stopped)


def run_round(
    source: ManifestSource,
    options: ServeOptions,
    connection: ConnectionOptions,
    supervisor: Supervisor,
    *,
    clock_doubt: str | None = None,
) -> Round:
    """One round; whatever goes wrong is in it. ``clock_doubt`` is why the time of this machine is not believed."""
    began, clock = now(), SystemClock()
    start = clock.monotonic()
    deeds = _Deeds(options, connection, supervisor)
    done = Round(options.name, began)
    try:
        with source.checkout() as checkout:
            done = deeds.look(checkout, began, clock_doubt)
    except WorkflowError as error:
        # A log has a line for it, however many an error has.
        done = replace(done, failure=" ".join(str(error).split()), advice=error.advice)
    except OSError as error:
        done = replace(done, failure=f"{error.filename or 'this machine'}: {error.strerror or error}")
    return replace(
        done,
        seconds=clock.monotonic() - start,
        held_back=tuple(deeds.held_back),
        revoked=deeds.revoked,
        waiting=deeds.waiting,
        removed=deeds.removed,
        approved=deeds.approved,
    )


@dataclass(slots=True)
class _Deeds:
    """What a round has done so far: it stands whatever fails afterwards."""

    options: ServeOptions
    connection: ConnectionOptions
    supervisor: Supervisor
    held_back: list[str] = field(default_factory=list)
    revoked: int = 0
    waiting: int = 0
    removed: int = 0
    approved: tuple[ApprovedOutcome, ...] = ()

    def look(self, checkout: Checkout, began: datetime.datetime, clock_doubt: str | None) -> Round:
        """Compare, and act as far as that is permitted; raises a :class:`WorkflowError`."""
        options, supervisor = self.options, self.supervisor
        with open_declared(checkout.path, options.cluster, self.connection, supervisor.tell, options.guardrails) as (
            manifests,
            target,
        ):
            doubt = clock_doubt or _behind(checkout, began)
            doubt = clock_doubt_of(target) if options.act and doubt is None else doubt
            acting = options.act and doubt is None
            if options.act and doubt is not None:
                self.held_back.append(doubt)
            self._keep(target)
            if acting and options.approved is not None:
                apply = replace(self._own_again(), guardrails=options.guardrails)
                setting = narrowing.ApplySetting(checkout.path, options.cluster, self.connection, apply, supervisor)
                for outcome in options.approved.perform(setting):
                    self.approved = (*self.approved, outcome)
            planning = PlanOptions(began.replace(microsecond=0), allow_deletes=True, guardrails=options.guardrails)
            # A report refuses nothing: guards speak when something is to be changed.
            planned = plan_on(target, manifests, checkout.path, planning, guarded=False)
            vouched = self._witness(planned, target, acting=acting) if doubt is None else frozenset()
            self.waiting = len(narrowing.expired_access(planned, vouched))
            if acting:
                self.held_back += keep_locks(options.locks, planned, target, self.connection, self._own_again())
                self._narrow(planned, target, planning, checkout.commit, vouched)
                self._remove_dead(planned, target)
            drift = replace(planned.plan, guardrails=NO_GUARDRAILS, source_commit=checkout.commit)
            end = next_end(planned, planned.plan.as_of)
            return Round(options.name, began, drift=drift, servers=planned.servers, next_end=end)

    def _keep(self, target: Target) -> None:
        """Keep what the cluster has before this round changes it; a round goes on where that fails."""
        if self.options.keep is not None:
            try:
                self.options.keep(target)
            except WorkflowError as error:
                self.held_back.append(str(error))

    def _witness(self, planned: Planned, target: Target, *, acting: bool) -> frozenset[AclBinding]:
        """Take in what this reading shows of break-glass access; what a server may end of it."""
        live, at, records = planned.live, instant_of(planned.plan.as_of), self.options.apply.records
        seen = self.options.witness.look(live, at, records.audit)
        vouched = self.options.witness.vouched(live, at)
        over = [binding for binding in break_glass_over(live.bindings, at) if planned.declaration.scope.owns(binding)]
        if acting:
            staying = narrowing.unended(over, vouched, planned.desired.bindings)
            self.held_back += [_stay(number, why) for why, number in staying.items()]
        if seen and acting:
            identity = Identity(new_run(), records.who())
            about = about_command(identity, live.cluster_id, target.name)
            written = SystemClock().now()
            lines = [
                line
                for sighting in seen
                for line in break_glass_lines(
                    about, sighting.sight, [sighting.access.binding], sighting.access.end, written
                )
            ]
            with command_ledger(target, records) as ledger:
                if why := ledger.conclude(lines):
                    self.held_back.append(f"what was seen of break-glass access could not be written down: {why}")
        return vouched

    def _narrow(
        self,
        planned: Planned,
        target: Target,
        planning: PlanOptions,
        commit: str | None,
        vouched: Collection[AclBinding],
    ) -> None:
        """Delete the access whose time is over, as far as that is all that a plan of it does.

        Marks stay for a while: a request that gave what they mark may arrive once more.
        """
        plan, staying = narrowing.revocation(planned, target, planning, commit, vouched)
        self.held_back += [_stay(number, why) for why, number in staying.items()]
        if plan is None:
            return
        try:
            result = perform_now(plan, planned.live, target, self.connection, self._own_again(), self.supervisor)
        except WorkflowError as error:
            self.held_back.append(_stay(len(plan.steps), str(error)))
            return
        self.revoked = result.count(Outcome.DONE) + result.count(Outcome.ALREADY)
        self.waiting = max(0, self.waiting - self.revoked)
        if not result.succeeded:
            self.held_back.append(result.stopped or "not every expired binding could be deleted")

    def _own_again(self) -> ApplyOptions:
        """How a server applies: a lease of its own name is of a process before this one, which died.

        Were it another that lives, its run would stop, and what it performs would be performed here; one that performs
        plans of the same directory keeps the journal locked. A person's lease holds.
        """
        apply = self.options.apply
        if apply.lease is None:
            return apply
        return replace(apply, lease=replace(apply.lease, breaks=(*apply.lease.breaks, apply.lease.holder)))

    def _remove_dead(self, planned: Planned, target: Target) -> None:
        """Remove what runs left that cannot be going on any more, but for those with a bridge.

        A bridge keeps somebody's access until its plan is performed: what becomes of it is for a person to say.
        """
        now_there = time_of(SystemClock())
        runs = removable(leftovers(planned.live, now_there), planned.live, now_there)
        dead = [run for run in runs if not run.bridges and not run.going_on(now_there)]
        if not dead:
            return
        cluster_id, records = planned.live.cluster_id, self.options.apply.records
        try:
            removal = remove_written_down(target, dead, lambda bridge: True, cluster_id, records)
        except WorkflowError as error:
            self.held_back.append(f"what dead runs left stays: {error}")
            return
        self.removed = sum(len(run.bindings) for run in dead) - len(removal.remaining)
        if removal.remaining:
            self.held_back.append(f"{len(removal.remaining)} bindings of dead runs could not be removed")
        if removal.unrecorded:
            self.held_back.append(f"what was removed could not be written down: {removal.unrecorded}")


def _stay(number: int, why: str) -> str:
    return f"{number} expired {'binding stays' if number == 1 else 'bindings stay'}: {why}"


def _behind(checkout: Checkout, at: datetime.datetime) -> str | None:
    """Why the clock of this machine is behind, if a commit says so."""
    if checkout.committed is None or checkout.committed - at <= _CLOCKS_DIFFER:
        return None
    committed = f"{checkout.committed:%Y-%m-%dT%H:%M:%SZ}"
    return f"this machine's clock is behind: the manifests were committed at {committed}"


def next_end(planned: Planned, as_of: datetime.date) -> datetime.datetime | None:
    """When the next access ends that is declared with an end, or break-glass; ``None`` where none does."""
    declared = (
        declaration.expires.end for declaration in planned.desired.bindings.values() if declaration.expires is not None
    )
    running = running_break_glass(planned.live.bindings, as_of)
    ends = (*declared, *(access.end for access in running.values()))
    return min((end for end in ends if end > instant_of(as_of)), default=None)


# Rounds, one after another, until somebody stops them.

#: Seconds after the first round that fails; each further failure doubles them, up to the interval.
_FIRST_RETRY: Final = 5.0
#: Wall clock against monotonic clock, in seconds: by more than this, somebody has set the clock.
_CLOCK_SET: Final = 60.0
#: Nobody waits for less: a clock that is a little early must not make a round too soon for what it is to see.
_SHORTEST: Final = 0.2
#: Seconds from the beginning of a round to the next that somebody wants sooner: calls of the webhook, however many,
#: must not keep brokers busy.
_SOONEST: Final = 5.0


@dataclass(slots=True)
class ClockWatch:
    """Finds that this machine's clock was set between two rounds.

    Set forwards, it would end access too early; set back, too late. One round looks only, and says so; by the next one
    the clock has proved to be the one that everybody goes by, or is set right again.
    """

    clock: Clock
    _offset: float | None = None

    def doubt(self, at: datetime.datetime) -> str | None:
        """Why the time is not believed in this round."""
        offset = at.timestamp() - self.clock.monotonic()
        before, self._offset = self._offset, offset
        if before is None or abs(offset - before) <= _CLOCK_SET:
            return None
        way = "forwards" if offset > before else "back"
        return f"this machine's clock was set {way} by {abs(offset - before):.0f} s since the last round"


@dataclass(slots=True)
class ServeLoop:
    """Where manifests come from, what is done on which clusters, and how often; ``history`` keeps what was seen."""

    source: ManifestSource
    options: Sequence[ServeOptions]
    connection: ConnectionOptions
    supervisor: Supervisor
    clock: Clock
    history: RoundHistory
    interval: float
    on_round: Callable[[Round], None] = lambda _: None

    def run(self, stopped: Callable[[], bool], wake: threading.Event) -> None:
        """Run rounds until ``stopped``; setting ``wake`` begins the next one, or the end, at once."""
        watch = ClockWatch(self.clock)
        failures, again = 0, False
        while not stopped():
            wake.clear()
            began = self.clock.monotonic()
            doubt = watch.doubt(now())
            rounds = []
            for watched in self.options:
                if stopped():
                    return
                done = run_round(self.source, watched, self.connection, self.supervisor, clock_doubt=doubt)
                self.history.add(done)
                self.on_round(done)
                rounds.append(done)
            failures = failures + 1 if any(done.failure or done.held_back for done in rounds) else 0
            give_back()
            # What a round did is in no reading yet: look again, so that pages and metrics show how it ended. Once, for
            # another tool may put back what goes, again and again.
            again = not again and any(_acted(done) for done in rounds)
            if wake.wait(_SHORTEST if again else self._pause(rounds, failures)):
                while not stopped() and self.clock.monotonic() < began + _SOONEST:
                    self.clock.sleep(_SHORTEST)

    def _pause(self, rounds: Sequence[Round], failures: int) -> float:
        """Seconds to the next round: the interval, or sooner where access ends, or where something failed."""
        pause = self.interval
        if failures:
            # A little at random, so that servers that a broker threw out together do not come back together.
            pause = min(pause, _FIRST_RETRY * 2 ** min(failures - 1, 16)) * (0.8 + 0.4 * self.clock.jitter())
        ends = [done.next_end for done in rounds if done.next_end is not None]
        if ends:
            pause = min(pause, (min(ends) - now()).total_seconds() + _SHORTEST)
        return max(_SHORTEST, pause)


def _acted(done: Round) -> bool:
    performed = any(outcome.status is ApprovedStatus.PERFORMED for outcome in done.approved)
    return bool(done.revoked or done.removed or performed)
