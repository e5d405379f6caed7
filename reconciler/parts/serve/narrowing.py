"""What a server does by itself: expired access, signed plans, and the evidence for both.

What may be taken away without anybody being asked: access whose time is over. Everything else is a plan for people.

The plan of it is an ordinary one, with the same guards, order and proof. It wants of the cluster what is there, less
what has expired, so that a mistake in the manifests or in this comparison cannot delete anything else.

What may not go does not hold up the rest: else a merge of one expired rule would prolong the access of others.
"""

import datetime
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path
from random import SystemRandom
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from reconciler.app.apply import ApplyOptions, Supervisor, apply_plan
from reconciler.app.approvals import check_approvals
from reconciler.app.manifests import ownerships_of
from reconciler.app.options import ApprovalRule, ConnectionOptions, PlanOptions, now
from reconciler.app.planning import Planned, proposed, request_on
from reconciler.app.reasons import HeldError, NotApprovedError, WorkflowError
from reconciler.app.records import earlier_runs, saved_plan
from reconciler.app.session import Target, split_cluster
from reconciler.app.terms import terms
from reconciler.apply.audit import AUDIT, BreakGlassRecord, LockRecord, Sight
from reconciler.apply.environment import GOOD
from reconciler.apply.records import JournalError, PastRun
from reconciler.codec.codec import SchemaError
from reconciler.dataclass import dataclass
from reconciler.model import markers
from reconciler.model.acl import AclBinding, AclPermissionType, ResourcePattern
from reconciler.model.characters import counted
from reconciler.model.desired import UNWRITTEN, Declaration, DesiredState
from reconciler.model.frozen import FrozenMap
from reconciler.model.markers import LONGEST, BreakGlass
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.file import ids
from reconciler.plan.proposal import Plan
from reconciler.plan.refusal import Guard, Refusal
from reconciler.plan.review.access_review import AccessTrend
from reconciler.show.rounds import ApprovedOutcome, ApprovedStatus
from reconciler.system.journal import LogTail, read_records

_STAYS: Final = Declaration(UNWRITTEN)
_BREAK_GLASS: Final = _STAYS._replace(reason="break-glass access is over")
#: Guards that judge all that is deleted together: a part that they let pass would lead round them.
_OF_ALL: Final = frozenset({Guard.LIMIT, Guard.EMPTY_LIVE})
#: So many plans one round makes to find what may go: it ends in time, and the next one goes on with what is left.
#: In another order each time: whoever names what has to stay must not decide that nothing else is reached.
_MOST_TRIES: Final = 16
_OPENS: Final = "it takes the last ACL from a pattern, which default-allow may open to everybody"
_NOT_THEIRS: Final = "the file that ends it may not declare it (Ownership)"
_UNTRIED: Final = "not judged in this round"

_Make: TypeAlias = Callable[[frozenset[AclBinding]], Plan]


class Revocation(NamedTuple):
    """The plan of what may go, ``None`` for nothing; and how many expired bindings stay, by the reason."""

    plan: Plan | None = None
    staying: Mapping[str, int] = FrozenMap()


def expired_access(planned: Planned, vouched: Collection[AclBinding] = frozenset()) -> frozenset[AclBinding]:
    """The ALLOWs in scope that are live although their time is over, as the manifests or a break-glass mark says.

    A mark's end counts for ``vouched`` access only, and for nothing that the manifests declare: merged, it has had the
    review of any other grant.

    A DENY is never among them: its end gives access, and that is for a person to see.
    """
    scope, live = planned.declaration.scope, planned.live.bindings
    ended = planned.desired.expired.keys() & live - markers.running_break_glass(live, planned.plan.as_of).keys()
    over = markers.break_glass_over(live, planned.plan.as_of).keys() - planned.desired.bindings.keys()
    return frozenset(
        binding
        for binding in ended | over.intersection(vouched)
        if binding.entry.permission_type is AclPermissionType.ALLOW and scope.owns(binding)
    )


def revocation(
    planned: Planned,
    target: Target,
    options: PlanOptions,
    commit: str | None,
    vouched: Collection[AclBinding] = frozenset(),
) -> Revocation:
    """The plan that deletes as much of :func:`expired_access` as may go without a person, and nothing else.

    ``planned`` is the whole comparison of the same reading. A file ends nothing that it may not declare.
    """
    over = expired_access(planned, vouched)
    barred = _not_theirs(planned, over.difference(vouched)) if over else frozenset[AclBinding]()
    proposal = _revocation(planned, target, options, commit, over - barred)
    return proposal._replace(staying={**proposal.staying, _NOT_THEIRS: len(barred)}) if barred else proposal


def _not_theirs(planned: Planned, over: frozenset[AclBinding]) -> frozenset[AclBinding]:
    """Those that end by a file which Ownership does not let speak for them, and by no mark that is vouched for."""
    rules = ownerships_of(planned.manifests, planned.declaration.name, planned.plan.as_of)
    expired = planned.desired.expired
    return frozenset(
        binding
        for binding in over
        if (declaration := expired.get(binding)) is not None
        and any(rule.forbids(binding, declaration) for rule in rules)
    )


def _revocation(
    planned: Planned, target: Target, options: PlanOptions, commit: str | None, over: frozenset[AclBinding]
) -> Revocation:
    """The plan that deletes as much of ``over`` as may go without a person."""
    if not over:
        return Revocation()

    def make(chosen: frozenset[AclBinding]) -> Plan:
        return _plan(planned, target, options, commit, chosen)

    whole = make(over)
    why = why_not_narrowing(whole)
    if why is None:
        return Revocation(whole)
    if of_all := [refusal for refusal in whole.refusals if refusal.guard in _OF_ALL]:
        return Revocation(None, {_refusal_words(of_all): len(over)})
    opened = _may_open(whole)
    candidates = [binding for binding in over if binding.pattern not in opened]
    SystemRandom().shuffle(candidates)
    return _most(make, candidates, len(over) - len(candidates))


def _may_open(plan: Plan) -> frozenset[ResourcePattern]:
    """The patterns without any ACL after it, where default-allow is not established to be off."""
    return frozenset() if plan.terms.established_default_allow is False else frozenset(plan.coverage.opened)


def _most(make: _Make, candidates: list[AclBinding], opening: int) -> Revocation:
    """As many as may go together: all, else halves, each judged on top of those before it."""
    staying = Counter({_OPENS: opening} if opening else {})
    chosen, best = frozenset[AclBinding](), None
    parts = [candidates] if candidates else []
    for _ in range(_MOST_TRIES):
        if not parts:
            break
        part = parts.pop()
        plan = make(chosen | frozenset(part))
        why = why_not_narrowing(plan)
        if why is None:
            chosen, best = chosen | frozenset(part), plan
        elif len(part) == 1:
            staying[why] += 1
        else:
            half = len(part) // 2
            parts += [part[half:], part[:half]]
    if parts:
        staying[_UNTRIED] += sum(map(len, parts))
    return Revocation(best, staying)


def _plan(
    planned: Planned, target: Target, options: PlanOptions, commit: str | None, over: frozenset[AclBinding]
) -> Plan:
    """The plan that deletes these and nothing else."""
    live, present = planned.live, terms(planned.declaration)
    # What runs put there for themselves is left out of a plan's comparison; wanted here, it would be created.
    ours = markers.standing_bridges(live.bindings)
    stays = (
        binding
        for binding in live.bindings - over - ours
        if present.scope.owns(binding) and not is_reserved(binding.pattern.name)
    )
    declared = planned.desired.bindings
    wanted = DesiredState(
        bindings={binding: declared.get(binding, _STAYS) for binding in stays},
        expired={binding: planned.desired.expired.get(binding, _BREAK_GLASS) for binding in over},
    )
    request = replace(
        request_on(target, "", replace(options, allow_deletes=True), live),
        source_commit=commit,
        report_topics=False,
    )
    # Nothing but ACLs is compared, so nothing else may be pruned; the terms of the cluster hold when it is performed.
    plan = proposed(planned.manifests, wanted, live, replace(present, prune=frozenset()), request)
    return replace(plan, terms=present)


def why_not_narrowing(plan: Plan) -> str | None:
    """Why a plan may not be performed without a person; ``None``: all that it does is to take access away.

    Under default-allow the end of a binding may open a pattern to everybody: then it is not narrowing at all.
    """
    if any(step.change.after is not None for step in plan.steps):
        return "it does more than to delete"
    if _may_open(plan):
        return _OPENS
    if plan.access.trend not in (AccessTrend.NONE, AccessTrend.NARROWING):
        return "somebody would gain access"
    if plan.refusals:
        return _refusal_words(plan.refusals)
    return None


def _refusal_words(refusals: Sequence[Refusal]) -> str:
    return "; ".join(f"{refusal.guard}: {refusal.message}" for refusal in refusals)


# Which break-glass access a server may end: a mark alone proves nothing, for whoever may alter ACLs can write one.
#
# It ends what was given by a run that wrote to the audit log of this server, and what a server has seen as
# break-glass access before its end, or its mark before the access. Access that had been there without a mark is not
# ended, whatever mark comes to it. Between two readings access may be given and be over: that counts, because it was
# not there before.

#: By so much the clocks of two machines may differ.
_GRACE: Final = datetime.timedelta(minutes=1)


class _Belief(StrEnum):
    """What is known of access with a mark. ``UNSEEN``: it was over when it was first seen."""

    GIVEN = "given"
    DOUBTED = "doubted"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is new, for the audit log."""

    sight: Sight
    access: BreakGlass


@dataclass(slots=True)
class SeenMarks:
    """What was seen of one cluster, reading by reading, and what the audit log says of it."""

    _beliefs: dict[AclBinding, _Belief] = field(default_factory=dict)
    #: Of the bindings in the last reading, for a server has 100,000 of them.
    _before: frozenset[int] | None = None
    _before_at: datetime.datetime = datetime.datetime.max.replace(tzinfo=datetime.UTC)
    _log: LogTail | None = None
    #: When access was said to be given or seen, and its end then.
    _given: dict[AclBinding, list[tuple[datetime.datetime, datetime.datetime]]] = field(default_factory=dict)
    _doubted: set[tuple[AclBinding, datetime.datetime]] = field(default_factory=set)

    def look(self, live: ClusterState, at: datetime.datetime, audit: str | None) -> list[Sighting]:
        """Take in a reading of ``at``, which is a time that is believed; what is news is returned."""
        self._read_log(audit, live.cluster_id)
        marks = [*markers.every_break_glass(live.bindings)]
        marked = {mark.binding for mark in marks}
        for binding, belief in list(self._beliefs.items()):
            # What was given may arrive once more; of anything else nothing is left.
            if binding not in marked or (belief is not _Belief.GIVEN and binding not in live.bindings):
                del self._beliefs[binding]
        running, sightings = markers.running_break_glass(live.bindings, at), []
        for binding, access in markers.break_glass(live.bindings, at).items():
            before = self._beliefs.get(binding)
            if before is not None and not (before is _Belief.UNSEEN and binding in running):
                continue
            belief, logged = self._belief(access, running=binding in running, unseen=before is _Belief.UNSEEN)
            self._beliefs[binding] = belief
            if not logged and belief is not _Belief.UNSEEN:
                sightings.append(Sighting(Sight.SEEN if belief is _Belief.GIVEN else Sight.DOUBTED, access))
        for access in marks:
            # The mark came first, as it does in every run of ours: its access may arrive at any time.
            if (
                access.binding not in live.bindings
                and at < access.end <= at + LONGEST
                and access.binding not in self._beliefs
            ):
                self._beliefs[access.binding] = _Belief.GIVEN
                sightings.append(Sighting(Sight.SEEN, access))
        # Marks that do not count yet mark all the same: their access did not go without, or it did before they came.
        for access in marks:
            if access.binding not in live.bindings or access.binding in self._beliefs:
                continue
            logged = (access.binding, access.end) in self._doubted
            doubted = logged or self._was_there(access.binding)
            self._beliefs[access.binding] = _Belief.DOUBTED if doubted else _Belief.UNSEEN
            if doubted and not logged:
                sightings.append(Sighting(Sight.DOUBTED, access))
        self._before, self._before_at = frozenset(map(hash, live.bindings)), at
        return sightings

    def vouched(self, live: ClusterState, at: datetime.datetime) -> frozenset[AclBinding]:
        """The access that is over, and that was given as break-glass access as far as anybody here knows."""
        over = markers.break_glass_over(live.bindings, at)
        return frozenset(binding for binding in over if self._beliefs.get(binding) is _Belief.GIVEN)

    def _belief(self, access: BreakGlass, *, running: bool, unseen: bool) -> tuple[_Belief, bool]:
        """What to believe of access that is new here, and whether the audit log says so."""
        given = self._given.get(access.binding, ())
        if any(since - _GRACE <= access.end <= end + LONGEST for since, end in given):
            return _Belief.GIVEN, True
        if (access.binding, access.end) in self._doubted:
            return _Belief.DOUBTED, True
        was_there = self._was_there(access.binding)
        if was_there and not unseen:
            return _Belief.DOUBTED, False
        # What was there before was doubted above, or runs; before the first reading nothing is later.
        if running or access.end > self._before_at:
            return _Belief.GIVEN, False
        return _Belief.UNSEEN, False

    def _was_there(self, binding: AclBinding) -> bool:
        return self._before is not None and hash(binding) in self._before

    def _read_log(self, audit: str | None, cluster_id: str) -> None:
        if audit is None:
            return
        if self._log is None:
            self._log = LogTail(audit)
        for record in records_of(self._log, "break-glass", BreakGlassRecord, cluster_id):
            end = datetime.datetime.fromisoformat(record.end)
            for binding in record.bindings:
                if record.action is Sight.DOUBTED:
                    self._doubted.add((binding, end))
                else:
                    since = datetime.datetime.fromisoformat(record.time)
                    self._given.setdefault(binding, []).append((since, end))


Record = TypeVar("Record", BreakGlassRecord, LockRecord)


def records_of(log: LogTail, word: str, kind: type[Record], cluster_id: str) -> Iterator[Record]:
    """What is new of one kind in the audit log, about a cluster; what cannot be read says nothing."""
    for record in log.records({word}):
        try:
            content = AUDIT.read(record).content
        except (SchemaError, ValueError):
            continue
        if isinstance(content, kind) and content.about.cluster.id == cluster_id:
            yield content


def unended(
    over: Collection[AclBinding], vouched: Collection[AclBinding], declared: Collection[AclBinding]
) -> dict[str, int]:
    """How many of the break-glass bindings that are over stay, by the reason."""
    counts: dict[str, int] = {}
    for binding in over:
        if binding in declared:
            why = "break-glass access is over, but the manifests declare it: apply them, or revoke it by an edit"
        elif binding not in vouched:
            why = (
                "nobody here saw its break-glass mark before the end, which anybody who may alter ACLs can write: "
                "revoke it at once by hand if it has to go"
            )
        else:
            continue
        counts[why] = counts.get(why, 0) + 1
    return counts


# Saved plans that people have signed: performed by a server as ``apply`` would, the same bytes once to their end.
#
# Which bytes were performed is in the audit log and in the journals of the directory, also of a file with another
# name.


@dataclass(frozen=True, slots=True)
class ApplySetting:
    """How a server applies: where the manifests are now, how to reach the cluster, what is written down, who is told.

    ``cluster`` is ``NAME`` or ``NAME=snapshot:FILE``, which stands for it.
    """

    path: str
    cluster: str
    connection: ConnectionOptions
    options: ApplyOptions
    supervisor: Supervisor


@dataclass(slots=True)
class ApprovedPlans:
    """The plans ``*.json`` in a directory that ``rule`` approves."""

    directory: str
    rule: ApprovalRule
    _over: set[str] = field(default_factory=set)
    _log: LogTail | None = None
    #: Of runs that the audit log tells of: the digest of the plan's file.
    _digests: dict[str, str] = field(default_factory=dict)

    def perform(self, setting: ApplySetting) -> Iterator[ApprovedOutcome]:
        """Perform the plans for one cluster that are approved and not over, in the order of their names."""
        name, _ = split_cluster(setting.cluster)
        self._read_records(setting.options.records.audit)
        for file in sorted(Path(self.directory).glob("*.json")):
            try:
                plan, digest = saved_plan(str(file))
            except WorkflowError as error:
                yield ApprovedOutcome(file.name, ApprovedStatus.FAILED, str(error))
                continue
            if plan.terms.cluster != name or digest in self._over:
                continue
            outcome = self._performed(str(file), plan, digest, setting)
            if outcome is not None:
                yield outcome

    def _read_records(self, audit: str | None) -> None:
        """Which bytes were performed, whatever the file's name: by the audit log and all journals of the directory."""
        if audit is not None:
            self._log = self._log or LogTail(audit)
            self._take(self._log.records({"run", "end"}))
        for journal in sorted(Path(self.directory).glob("*.journal")):
            # What cannot be read is said where its own plan is about to be performed.
            with suppress(JournalError, OSError):
                self._take(read_records(str(journal)))

    def _take(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            run, digest = str(record.get("run")), record.get("fileDigest")
            if record.get("record") == "run" and isinstance(digest, str):
                self._digests[run] = digest
            elif record.get("record") == "end" and record.get("succeeded") is True and run in self._digests:
                self._over.add(self._digests[run])

    def _performed(self, file: str, plan: Plan, digest: str, setting: ApplySetting) -> ApprovedOutcome | None:
        name = Path(file).name
        try:
            # Before anything else: an unsigned file must not make the server read journals or clusters.
            check_approvals(file, digest, self.rule, now())
            _, whole = ids(plan)
            if _is_over(plan, earlier_runs(f"{file}.journal", whole)):
                self._over.add(digest)
                return None
            own = replace(setting.options, require_id=digest, approvals=self.rule)
            result = apply_plan(
                file, setting.path, setting.cluster, setting.connection, own, supervisor=setting.supervisor
            )
        except NotApprovedError as error:
            return ApprovedOutcome(name, ApprovedStatus.WAITING, str(error))
        except HeldError as error:
            return ApprovedOutcome(name, ApprovedStatus.HELD, str(error))
        except WorkflowError as error:
            return ApprovedOutcome(name, ApprovedStatus.FAILED, str(error))
        if not result.succeeded:
            return ApprovedOutcome(name, ApprovedStatus.FAILED, result.stopped or "not every step is done")
        self._over.add(digest)
        refused = len(plan.refused)
        why = f"{counted(refused, 'change')} refused by safety checks, and not in it" if refused else ""
        return ApprovedOutcome(name, ApprovedStatus.PERFORMED, why)


def _is_over(plan: Plan, runs: Iterable[PastRun]) -> bool:
    """Whether the journal tells of a run to the end: with every step done, or seen to be done."""
    return any(run.ended and all(run.steps.get(step.id) in GOOD for step in plan.steps) for run in runs)
