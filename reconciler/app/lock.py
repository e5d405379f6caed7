"""Lock a principal, list locks, end one: on the cluster, and in no manifest, so that no merge decides about it.

To lock is to deny, so nobody's rules are asked: no owner, no access test, no scope. What is refused is what a lock does
not work on, and what it would break. To end a lock gives access: that is a plan, with everything that a plan has.
"""

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final, NamedTuple

from reconciler.app.access_checks import checks_of
from reconciler.app.apply import ApplyOptions, Supervisor, Unattended, perform_now
from reconciler.app.connections import read_connections
from reconciler.app.manifests import desired, teams_listing
from reconciler.app.options import ClientNote, ConnectionOptions, PlanOptions, Tell, ignore, moment, now
from reconciler.app.planning import Planned, proposed, request_on
from reconciler.app.probe import barrier_of, run_of_nothing
from reconciler.app.reasons import (
    InvalidManifestsError,
    PlanRefusedError,
    RequestError,
    UnsavedPlanError,
    WorkflowError,
)
from reconciler.app.records import RecordOptions, command_ledger, new_run
from reconciler.app.session import Target, open_any
from reconciler.app.terms import terms, unbounded
from reconciler.apply.audit import LockAction, LockRecord, about_command, lock_line
from reconciler.apply.environment import Identity, Result, UnprovenError
from reconciler.apply.run import StoppedError
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.resources import principal_problem
from reconciler.model.acl import ANONYMOUS, WILDCARD_PRINCIPAL, AclBinding
from reconciler.model.characters import as_name, is_visible, skeleton
from reconciler.model.desired import Declaration, DesiredState, Origin, moment_text
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Create, Delete
from reconciler.model.locks import (
    LOCKED_PATTERNS,
    LONGEST_REASON,
    Lock,
    LockMark,
    denials_of_locks,
    lock_denials,
    locks,
    unlock_marks,
    unlocked_at,
)
from reconciler.model.markers import NOBODY, standing_bridges
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState, DelegationTokens, FactSource
from reconciler.plan.proposal import Options, Plan
from reconciler.plan.refusal import AcceptedGuard, Guard, refusal
from reconciler.ports import Answer, ClusterError, ReadRequest
from reconciler.results.access import WHO_LOGS_IN, live_logins, token_lines
from reconciler.retry import attempts, polls
from reconciler.system.process import SystemClock

_ALL: Final = ReadRequest(all_topics=False)
_HERE: Final = Origin("command line", 1, 1)
#: Where a client that TLS is to know by a certificate has it.
_OWN_CERTIFICATE: Final = ("ssl.certificate.location", "ssl.certificate.pem")
#: Seconds in which the broker that lists ACLs has to show what the controller took.
_SHOWN: Final = 30.0


@dataclass(frozen=True, slots=True)
class LockTerms:
    """Whom to lock, why, and until when if somebody names an end; ``accept`` are words of the operator."""

    principal: str
    reason: str
    ticket: str | None = None
    until: datetime.datetime | None = None
    accept: tuple[AcceptedGuard, ...] = ()


class OtherName(NamedTuple):
    """A principal that may be of the same person or service and is not locked; ``signs`` say what speaks for it."""

    principal: str
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Locked:
    """A lock as the cluster shows it afterwards.

    ``brokers`` enforce it, as each said itself; 0: none was asked. ``doubt`` is why that is not known, and ``gaps`` are
    the DENYs that could not be created, each with why. ``notes`` are what a lock does not end. ``others`` may be other
    names of the same: nothing was done about them.
    """

    cluster: str
    lock: Lock
    seconds: float
    brokers: int = 0
    doubt: str = ""
    gaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    others: tuple[OtherName, ...] = ()
    audit_head: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether everything is denied, as far as anybody was asked."""
        return self.lock.whole and not self.doubt


@dataclass(frozen=True, slots=True)
class Lockable:
    """A principal that may be locked on an open cluster; nothing was sent yet."""

    target: Target
    live: ClusterState
    given: LockTerms
    connection: ConnectionOptions
    manifests: Manifests | None = None

    def lock(self, records: RecordOptions = RecordOptions()) -> Locked:
        """Send the lock as one request, and wait until the cluster shows it. Raises a :class:`WorkflowError`."""
        clock, given, target = SystemClock(), self.given, self.target
        began, since = clock.monotonic(), now().replace(microsecond=0)
        mark = LockMark(
            given.principal, since, given.until, records.who(), given.ticket or "", given.reason[:LONGEST_REASON]
        )
        denials = lock_denials(given.principal)
        gaps = {item: why for item in denials if (why := target.unsupported(item)) is not None}
        with command_ledger(target, records) as ledger:
            about = about_command(Identity(new_run(), records.who()), self.live.cluster_id, target.name)
            end = "" if mark.until is None else moment_text(mark.until)
            stated = (LockAction.LOCK, mark.principal, moment_text(since), clock.now(), end, mark.ticket, mark.reason)
            ledger.intend([lock_line(LockRecord(about, *stated))])
            there = _sent(target, [*(item for item in denials if item not in gaps), mark.binding])
            head = ledger.head
        lock = locks(there).get(given.principal) or Lock(given.principal, (mark,), denials)
        brokers, doubt = _everywhere(target, self.connection, self.live)
        missing = tuple(f"{item.pattern}: {gaps.get(item, 'the cluster does not show it')}" for item in lock.missing)
        seconds = clock.monotonic() - began
        state = self._logins()
        notes = list(self._notes(state))
        others = tuple(self._others(state, notes))
        return Locked(target.name, lock, seconds, brokers, doubt, missing, tuple(notes), others, audit_head=head)

    def _others(self, state: ClusterState, notes: list[str]) -> Iterator[OtherName]:
        """Principals of like name, and those that a team lists with this one, from everything that names principals.

        ``notes`` gets what could not be read.
        """
        principal, facts = self.given.principal, _facts(self.target)
        signs: dict[str, dict[str, None]] = {}

        def named(names: Iterable[str], sign: str) -> None:
            for name in names:
                signs.setdefault(name, {})[sign] = None

        named((binding.entry.principal for binding in state.bindings), "has ACLs")
        named((f"User:{name}" for name in live_logins(state).users or ()), "is a SCRAM user")
        named(facts.super_users, "is a super user, whom no lock stops")
        named(facts.inter_broker_principals, "is a broker")
        for token in (state.tokens or DelegationTokens()).items:
            named([token.owner], "has delegation tokens")
        alike = {name for name in signs if _short_name(name) == _short_name(principal)}
        if self.manifests is not None:
            try:
                for binding, declaration in desired(self.manifests, self.target.name, now().date()).bindings.items():
                    if _short_name(binding.entry.principal) == _short_name(principal):
                        named([binding.entry.principal], f"declared at {declaration.origin}")
                        alike.add(binding.entry.principal)
                for team, names in teams_listing(self.manifests, self.target.name, principal):
                    named(names, f"team {as_name(team)} lists both")
                    alike.update(names)
            except WorkflowError as error:
                notes.append(f"other names that the manifests have are not known: {error}")
        for name in sorted(alike - locks(state.bindings).keys() - {principal, WILDCARD_PRINCIPAL, NOBODY}):
            yield OtherName(name, tuple(signs[name]))

    def _logins(self) -> ClusterState:
        """What bears on a lock besides ACLs: SCRAM users and delegation tokens, as far as they can be read."""
        facts = _facts(self.target)
        request = ReadRequest(
            all_topics=False,
            principal=facts.principal or self.target.login,
            super_users=facts.super_users,
            listings=[WHO_LOGS_IN],
            tokens=True,
        )
        try:
            return self.target.cluster.read(request)
        except ClusterError as error:
            return replace(self.live, tokens=DelegationTokens(gap=str(error)))

    def _notes(self, state: ClusterState) -> tuple[str, ...]:
        """What stays although everything is denied."""
        principal = self.given.principal
        notes = ["open connections stay, and each request on them is refused"]
        notes += _token_notes(state.tokens or DelegationTokens(gap="a snapshot tells of none"), principal)
        beside = live_logins(state)
        if beside.users is None:
            why = beside.gaps.get(ScramUser.WORDS, "the SCRAM users were not read")
            notes.append(f"whether it has a SCRAM login, which would stay, is not known: {why}")
        elif principal.removeprefix("User:") in beside.users:
            notes.append(f"the SCRAM login stays: “reconciler users disable {principal}” ends it")
        if self.given.until is not None and not _facts(self.target).emergency.locks_end:
            notes.append(
                "its end is a note: “reconciler unlock” ends it, for the operator's file has no locksEnd: true"
            )
        return tuple(notes)


#: The common name of a distinguished name (RFC 4514), in which a comma may be escaped.
_COMMON_NAME: Final = re.compile(r"(?:^|[,+/])\s*CN\s*=\s*((?:\\.|[^,+/\\])+)", re.IGNORECASE)


def _short_name(principal: str) -> str:
    """What names of one person have in common: no type, realm, host, case, or rest of a distinguished name."""
    name = principal.partition(":")[2]
    if (common := _COMMON_NAME.search(name)) is not None:
        name = common[1].replace("\\", "")
    return skeleton(re.split(r"[@/]", name.strip(), maxsplit=1)[0].casefold())


def _token_notes(tokens: DelegationTokens, principal: str) -> Iterator[str]:
    """What delegation tokens do that log in as a locked principal, or that it may read."""
    own = any(token.owner == principal for token in tokens.items)
    for number, line in enumerate(token_lines(tokens, principal)):
        denied = own and not number
        yield f"{line}: {'they are denied as well' if denied else 'no ACL stops that, so lock that one too'}"
    if tokens.gap:
        other = "other" if own else "any"
        yield f"whether it owns {other} delegation tokens is not known, but they are denied as well: {tokens.gap}"


@contextmanager
def lockable(
    path: str | None,
    cluster: str | None,
    given: LockTerms,
    connection: ConnectionOptions = ConnectionOptions(),
    tell: Tell = ignore,
) -> Iterator[Lockable]:
    """The principal on a cluster, ready to be locked. Raises a :class:`RequestError` for one that a lock is not for."""
    _check_name(given)
    with _opened(path, cluster, connection, tell) as (manifests, target):
        live = target.read_whole(_ALL)
        refuse_unlockable(given, target, live)
        if live.may_alter_acls is False:
            raise WorkflowError("our principal may not alter ACLs, so it cannot lock", "grant it ALTER on the cluster")
        yield Lockable(target, live, given, connection, manifests)


@contextmanager
def _opened(
    path: str | None, cluster: str | None, connection: ConnectionOptions, tell: Tell
) -> Iterator[tuple[Manifests | None, Target]]:
    """The cluster. Manifests that are not sound hold up no lock where the operator's file knows the cluster."""
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(open_any(path, cluster, connection, tell))
        except InvalidManifestsError as error:
            stated = connection.connections is not None and cluster in read_connections(connection.connections)
            if path is None or not stated:
                raise
            tell(ClientNote(f"without the manifests, which are not sound: {error.problems[0].message}"))
            opened = stack.enter_context(open_any(None, cluster, connection, tell))
        yield opened


def refuse_unlockable(given: LockTerms, target: Target, live: ClusterState) -> None:
    """Raise :class:`RequestError` for a principal that a lock is not for, on this cluster."""
    _check_principal(given.principal, target)
    _check_default_allow(given, target, live)


def _check_name(given: LockTerms) -> None:
    """What no lock is for, whatever the cluster."""
    name = given.principal
    if name == WILDCARD_PRINCIPAL:
        raise RequestError("a lock is of one principal, and User:* is everybody", "name the principal")
    if (trouble := principal_problem(name)) is not None:
        raise RequestError(trouble.message, trouble.advice)
    for text in (given.reason, given.ticket):
        if text and not is_visible(text):
            raise RequestError(f"{text!a} has characters that nobody sees", "write the reason and the ticket plainly")
    if given.until is not None and given.until <= now():
        raise RequestError(f"the end {moment_text(given.until)} has passed", "name a later one, or none")


def _check_principal(name: str, target: Target) -> None:
    facts = _facts(target)
    claimed = "; if that is not so, omit PATH and state it in a connections file"
    if name in (target.login, facts.principal) or (name == ANONYMOUS and _is_anonymous(target)):
        raise RequestError(
            f"{as_name(name)} is our own login: locked, it could not even unlock itself",
            "lock it with the login of another administrator",
        )
    if name in facts.super_users:
        stated = claimed if facts.sources.super_users is FactSource.MANIFESTS else ""
        raise RequestError(
            f"{as_name(name)} is a super user: no ACL has an effect on it",
            f"take it out of the brokers' super.users, or disable its login{stated}",
        )
    if name in facts.inter_broker_principals:
        stated = claimed if facts.sources.inter_broker_principals is FactSource.MANIFESTS else ""
        raise RequestError(
            f"the brokers connect to each other as {as_name(name)}: locked, the cluster would stop",
            f"give the brokers another login first{stated}",
        )
    if facts.probe is not None and name == facts.probe.principal:
        raise RequestError(
            f"the propagation check asks brokers as {as_name(name)}: locked, no apply could end",
            "declare another barrier.principal first",
        )
    if facts.flavor.is_alias(name):
        raise RequestError(
            f"{as_name(name)} is a second name of an account of {facts.flavor.title}, and is not denied by it",
            "lock the resource id, User:sa-…",
        )


def _check_default_allow(given: LockTerms, target: Target, live: ClusterState) -> None:
    """Where brokers allow what no ACL covers, a DENY on every name leaves no name uncovered: it shuts out everybody."""
    facts = _facts(target)
    covered = {item.pattern for item in live.bindings}
    if facts.allow_everyone_if_no_acl_found is False or covered.issuperset(LOCKED_PATTERNS):
        return
    accepted = any(
        item.guard is Guard.CLOSED_BY_DEFAULT and item.object in (given.principal, WILDCARD_PRINCIPAL)
        for item in given.accept
    )
    if accepted:
        return
    open_by_default = facts.allow_everyone_if_no_acl_found is True
    name = as_name(given.principal)
    is_on = "is on" if open_by_default else "is not known to be off"
    message = (
        f"allow.everyone.if.no.acl.found {is_on}: with an ACL on every name, which a lock of {name} is, names without "
        "an ACL of their own are closed to everybody else"
    )
    state = "" if open_by_default else "state allowEveryoneIfNoAclFound in the connections file; "
    word = refusal(Guard.CLOSED_BY_DEFAULT, given.principal, message).remedy
    raise RequestError(message, f"{state}disable the login instead, or {word}")


def _is_anonymous(target: Target) -> bool:
    """Whether this connection has no login at all: neither a password or token nor a certificate of its own."""
    if target.settings is None:
        return False
    config = target.settings.config
    protocol = config.get("security.protocol", "plaintext").lower()
    return protocol == "plaintext" or (protocol == "ssl" and config.keys().isdisjoint(_OWN_CERTIFICATE))


def _facts(target: Target) -> ClusterDeclaration:
    return target.facts or ClusterDeclaration(target.name, _HERE)


def _sent(target: Target, bindings: Sequence[AclBinding]) -> frozenset[AclBinding]:
    """The live bindings once they show all of these; to create again what is there changes nothing.

    Raises a :class:`WorkflowError` where no answer says whether it is there.
    """
    clock, why, answers = SystemClock(), "", list[Answer]()
    for _ in attempts(clock):
        try:
            answers = target.cluster.send([Create(item) for item in bindings])
        except ClusterError as error:
            why = str(error)
            continue
        failed = next((item for item in answers if not item.good), None)
        why = "" if failed is None else f"{failed.code}: {failed.message}"
        if failed is None or not failed.retriable:
            break
    there = frozenset[AclBinding]()
    for _ in polls(clock, 0.0 if why else _SHOWN):
        try:
            there = target.cluster.read(_ALL).bindings
        except ClusterError as error:
            why = why or str(error)
            continue
        if there.issuperset(bindings):
            return there
    if not there.intersection(bindings):
        raise WorkflowError(f"it is not locked, as far as the cluster shows: {why}", "run the same command again")
    return there


def _everywhere(target: Target, connection: ConnectionOptions, live: ClusterState) -> tuple[int, str]:
    """How many brokers say that they have what was sent, and why it is not known; 0 where no probe is declared."""
    with barrier_of(target, connection) as (barrier_for, redact):
        if barrier_for is None or target.declaration is None:
            return 0, ""
        run = run_of_nothing(target, target.declaration, live, redact)
        barrier = barrier_for(run)
        try:
            barrier.start()
            barrier.wait()
            return len(target.cluster.brokers()), ""
        except (UnprovenError, StoppedError, ClusterError) as error:
            return 0, f"whether every broker enforces it is not known: {redact(str(error))}"
        finally:
            barrier.end()


# Locks that are there, and those that the operator's file demands.


@dataclass(frozen=True, slots=True)
class LockList:
    """The locks of a cluster, and whom the operator's file locks although the cluster has no whole lock of it."""

    cluster: str
    locks: tuple[Lock, ...]
    demanded: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether each denies everything, and each that is demanded is there."""
        return all(item.whole for item in self.locks) and not self.demanded


def list_locks(path: str | None, cluster: str | None, connection: ConnectionOptions = ConnectionOptions()) -> LockList:
    """The locks on a cluster. Raises a :class:`WorkflowError`."""
    with _opened(path, cluster, connection, ignore) as (_, target):
        held = locks(target.read_whole(_ALL).bindings)
        demanded = _facts(target).emergency.locked
        missing = tuple(name for name in demanded if name not in held or not held[name].whole)
        return LockList(target.name, tuple(held.values()), missing)


# The end of a lock: a plan of its DENYs, which gives access as any other.


def unlock(
    path: str | None,
    cluster: str | None,
    given: LockTerms,
    connection: ConnectionOptions = ConnectionOptions(),
    options: ApplyOptions = ApplyOptions(),
    *,
    supervisor: Supervisor = Unattended(),
) -> Result:
    """Delete the DENYs of a lock, then its marks. Raises a :class:`WorkflowError` with nothing sent."""
    if options.approvals is not None:
        raise UnsavedPlanError("people approve a saved plan")
    with _unlocking(path, cluster, given, connection, supervisor.tell) as (planned, target):
        needed = planned.declaration.emergency.unlock_approvals
        if needed:
            raise UnsavedPlanError(f"the operator's file asks for {needed} approvals of an unlock")
        plan = planned.plan
        if plan.refusals:
            supervisor.review(plan)
            raise PlanRefusedError(plan=plan, refusals=plan.refusals)
        checks = checks_of(planned) if planned.manifests.clusters else None
        result = perform_now(plan, planned.live, target, connection, options, supervisor, checks=checks)
        return result if plan.steps else _without_marks(result, given.principal, planned.live, target)


def plan_unlock(
    path: str | None,
    cluster: str | None,
    given: LockTerms,
    connection: ConnectionOptions = ConnectionOptions(),
    tell: Tell = ignore,
) -> Planned:
    """The plan of it for people to sign, which ``apply_plan`` performs; nothing is sent. Raises as the other."""
    with _unlocking(path, cluster, given, connection, tell) as (planned, _):
        return planned


@contextmanager
def _unlocking(
    path: str | None, cluster: str | None, given: LockTerms, connection: ConnectionOptions, tell: Tell
) -> Iterator[tuple[Planned, Target]]:
    name = given.principal
    with open_any(path, cluster, connection, tell) as (manifests, opened):
        declaration = _facts(opened)
        target = opened if opened.declaration is not None else opened.declared_as(declaration)
        if name in declaration.emergency.locked:
            raise RequestError(
                f"the operator's file locks {as_name(name)}", "take it out of locked: there, and unlock it then"
            )
        live = target.read_whole(_ALL)
        if name not in locks(live.bindings):
            ended = unlocked_at(unlock_marks(live.bindings, now())).get(name)
            when = "" if ended is None else f"; its lock was ended at {moment_text(ended)}"
            raise RequestError(f"{as_name(name)} is not locked here{when}", "“reconciler locks” lists who is")
        declared = manifests or Manifests((), {}, {}, (), {})
        plan = plan_of_unlock(given, live, target, declared)
        yield Planned(plan, live, declaration, DesiredState(), declared, servers=target.bootstrap_servers), target


def _without_marks(result: Result, name: str, live: ClusterState, target: Target) -> Result:
    """After an unlock that was cut off once it had deleted every DENY: only marks are left, which deny nobody."""
    marks = [Delete(mark.binding) for mark in locks(live.bindings)[name].marks]
    try:
        failed = [item for item in target.cluster.send(marks) if not item.good]
    except ClusterError as error:
        raise WorkflowError(
            f"the marks of the lock may still be there: {error}", "run the same command again"
        ) from error
    return replace(result, stopped="not every mark of the lock could be removed" if failed else "")


def plan_of_unlock(given: LockTerms, live: ClusterState, target: Target, manifests: Manifests) -> Plan:
    """What is there without the DENYs of this lock, whatever manifests, their scope and their limits say."""
    going = {item for item in lock_denials(given.principal) if item in live.bindings}
    ours = standing_bridges(live.bindings) | denials_of_locks(live.bindings, given.principal)
    stays = (item for item in live.bindings - ours - going if not is_reserved(item.pattern.name))
    stated = Declaration(_HERE, f"unlock: {given.reason}", given.ticket)
    wanted = DesiredState(dict.fromkeys(stays, Declaration(_HERE)), expired=dict.fromkeys(going, stated))
    present = terms(_facts(target))
    asked = request_on(target, "", PlanOptions(moment(), allow_deletes=True, accept=given.accept), live)
    request = replace(asked, options=Options(allow_deletes=True, unlock=given.principal), report_topics=False)
    plan = proposed(manifests, wanted, live, unbounded(present), request)
    return replace(plan, terms=present)
