"""Propagation checks: a fixed wait, or probe ACLs that prove what each broker enforces.

A broker applies ACLs one by one in the order of the log, so whoever enforces the last one that was sent enforces all.
A broker that the cluster does not name any more may still serve clients by what it knew: it is waited for as well.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final

from reconciler.apply.environment import DefaultAllow, UnprovenError
from reconciler.apply.run import Run, StoppedError, create, remove
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.markers import MARK_ENTRY
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import created_bindings
from reconciler.plan.overlap import covering_patterns
from reconciler.ports import CONTROLLER, ClusterError, Probe, ProbeAnswer, Visibility

# A barrier that waits for a fixed time, and cannot verify that it was enough.

#: Seconds after which you are heard when you ask to stop.
_INTERRUPT_SECONDS: Final = 0.5


class FixedWait:
    """Waits ``barrier.wait`` seconds; implements :class:`~reconciler.apply.environment.Barrier`."""

    placed: tuple[AclBinding, ...] = ()
    verifies = False

    def __init__(self, run: Run) -> None:
        """Nothing happens yet."""
        self._run = run

    def start(self) -> None:
        """Nothing to prepare."""

    def check(self, live: ClusterState) -> None:
        """No binding can make a wait less certain than it is."""

    def observe_default_allow(self, live: ClusterState) -> DefaultAllow:
        """A wait sees nothing."""
        return DefaultAllow.UNSEEN

    def wait(self) -> None:
        """Wait, unless you ask to stop."""
        environment, seconds = self._run.environment, self._run.plan.terms.barrier_wait
        environment.progress.barrier(seconds)
        end = environment.clock.monotonic() + seconds
        while not environment.interrupted() and (remaining := end - environment.clock.monotonic()) > 0:
            environment.clock.sleep(min(remaining, _INTERRUPT_SECONDS))

    def end(self) -> tuple[AclBinding, ...]:
        """Nothing was put there."""
        return ()


# Bindings by which a run tells what each node enforces: only its own DENY can turn the answer.
#
# Under ``__kr.<run>.`` the probe's principal is permitted by a prefix and refused, name by name, by a DENY. The
# prefix makes coverage irrelevant, so the pair works with ``allow.everyone.if.no.acl.found`` on and off.

PREFIX: Final = "__kr."
#: A name under it is covered by nothing but a run: so the run learns whether default-allow is on.
FLAG_PREFIX: Final = "__kr-flag."
#: Brokers are asked by the one, the controller by the other.
_OPERATIONS: Final = (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
_ALLOW, _DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


def start_name(run: str) -> str:
    """A name that is permitted as soon as a node enforces the run's first probe ACLs, and stays so."""
    return f"{PREFIX}{run}.start"


def barrier_name(run: str, number: int) -> str:
    """A name that is refused as soon as a node enforces everything before the ``number``-th barrier."""
    return f"{PREFIX}{run}.{number}"


def own_name(run: str) -> str:
    """A name that is refused to ourselves, if we are who the declaration says."""
    return f"{PREFIX}{run}.self"


def canary_name(run: str) -> str:
    """A name that is refused to the probe from the start on, if ACLs decide anything."""
    return f"{PREFIX}{run}.canary"


def start_probe_acls(run: str, principal: str) -> tuple[AclBinding, ...]:
    """Permit ``principal`` every name of this run."""
    pattern = ResourcePattern(ResourceType.TOPIC, f"{PREFIX}{run}.", PatternType.PREFIXED)
    return tuple(AclBinding(pattern, _entry(principal, operation, _ALLOW)) for operation in _OPERATIONS)


def deny_probe_acls(name: str, principal: str) -> tuple[AclBinding, ...]:
    """Refuse ``principal`` one name."""
    pattern = ResourcePattern(ResourceType.TOPIC, name)
    return tuple(AclBinding(pattern, _entry(principal, operation, _DENY)) for operation in _OPERATIONS)


def interfering(bindings: Iterable[AclBinding], principals: Collection[str]) -> tuple[AclBinding, ...]:
    """DENYs that would turn an answer themselves: of these principals or everyone, on names under ``__kr.``."""
    ours = ResourcePattern(ResourceType.TOPIC, PREFIX, PatternType.PREFIXED)
    who = {*principals, WILDCARD_PRINCIPAL}
    return tuple(
        sorted(
            binding
            for binding in bindings
            if binding.entry.permission_type is _DENY
            and binding.entry.principal in who
            and binding.pattern.overlaps(ours)
            and not ours.contains(binding.pattern)
        )
    )


def _entry(principal: str, operation: AclOperation, permission: AclPermissionType) -> AccessControlEntry:
    return AccessControlEntry(principal, WILDCARD, operation, permission)


_POLL_SECONDS: Final = 0.01
_LONGEST_POLL: Final = 0.25
#: What an authorizer of another make (OPA, Ranger) may do; ``docs/decisions/canary.md`` explains how it is seen.
STORED_ONLY: Final = "ACLs are stored here and do not decide"
_ELSEWHERE: Final = (
    "look at authorizer.class.name of the brokers: access is decided where that authorizer says, and nothing that is "
    "applied here can be verified; if it is StandardAuthorizer, check that the probe is no super user"
)


@dataclass(frozen=True, slots=True)
class ProbeSetup:
    """How to ask nodes: as ``principal`` by ``probe``, and as ourselves by ``own``.

    ``own_principal`` is what the declaration says of us, and ``own_is_super`` whether it calls us a super user;
    ``brokers`` are those that it expects, ``seconds`` the time that a barrier may take.
    """

    probe: Probe
    principal: str
    own: Probe
    own_principal: str | None = None
    own_is_super: bool = False
    brokers: frozenset[int] = frozenset()
    seconds: float = 30.0


@dataclass(slots=True)
class ProbeBarrier:
    """Verifies by probe ACLs; implements :class:`~reconciler.apply.environment.Barrier`."""

    setup: ProbeSetup
    run: Run
    number: int = 0
    placed: list[AclBinding] = field(default_factory=list)
    expected: set[int] = field(default_factory=set)
    started: set[int] = field(default_factory=set)

    @property
    def verifies(self) -> bool:
        """It does."""
        return True

    @property
    def name(self) -> str:
        """The run that the probe ACLs belong to."""
        return self.run.environment.identity.run

    def start(self) -> None:
        """Put the first probe ACLs there and prove who we are; nodes that do not answer are waited for later."""
        self.check(self.run.start)
        self._expect()
        own = self.setup.own_principal
        if own is not None:
            self._place((*start_probe_acls(self.name, own), *deny_probe_acls(own_name(self.name), own)))
        probe = self.setup.principal
        self._place((*start_probe_acls(self.name, probe), *deny_probe_acls(canary_name(self.name), probe)))
        # Nodes that are slow now have until the first barrier: what comes before it is safe without them.
        self._prove_acls_decide(self._await_start(self._deadline(), patient=False))
        if own is not None:
            self._prove_ourselves(own)

    def check(self, live: ClusterState) -> None:
        """Refuse where a DENY, there or planned, would turn an answer that only ours may turn."""
        planned = created_bindings(step.change for step in self.run.plan.steps)
        if denies := interfering((*live.bindings, *planned), [self.setup.principal]):
            raise UnprovenError(
                f"the probe's answers would mean nothing: {denies[0]}", "declare barrier: {wait: 2s}, or another probe"
            )

    def wait(self) -> None:
        """See ``Barrier``."""
        clock = self.run.environment.clock
        began, deadline = clock.monotonic(), self._deadline()
        self._expect()
        self._await_start(deadline)
        self.number += 1
        name = barrier_name(self.name, self.number)
        self._place(deny_probe_acls(name, self.setup.principal))
        self._await(name, Visibility.REFUSED, {*self.expected, CONTROLLER}, deadline)
        self.run.environment.progress.proven(sorted(self.expected), clock.monotonic() - began)

    def observe_default_allow(self, live: ClusterState) -> DefaultAllow:
        """Ask every broker about a name that nothing covers, and again once somebody else's binding covers it.

        One answer shows nothing: "unknown topic" is what an open cluster says, and also what you hear if you may see
        every topic. Only if a binding on that very name turns the answer is it default-allow.
        """
        # Named after the run: no binding of others can cover it by chance, and no earlier run's is left.
        nonce = ResourcePattern(ResourceType.TOPIC, f"{FLAG_PREFIX}{self.name}")
        whole = {*self.expected, CONTROLLER} <= self.started
        if not whole or live.opaque or any(pattern.contains(nonce) for pattern in covering_patterns(live)):
            return DefaultAllow.UNSEEN
        first = self._seen(nonce.name)
        if first == {Visibility.REFUSED}:
            return DefaultAllow.OFF
        if first != {Visibility.PERMITTED}:
            return DefaultAllow.UNSEEN
        try:
            self._place((AclBinding(nonce, MARK_ENTRY),))
            self.wait()
        except StoppedError:  # the barrier before anything destructive will say it again
            return DefaultAllow.UNSEEN
        return DefaultAllow.ON if self._seen(nonce.name) == {Visibility.REFUSED} else DefaultAllow.UNSEEN

    def end(self) -> tuple[AclBinding, ...]:
        """See ``Barrier``."""
        remaining = remove(self.run, self.placed)
        self.placed = list(remaining)
        return remaining

    def _deadline(self) -> float:
        return self.run.environment.clock.monotonic() + self.setup.seconds

    def _expect(self) -> None:
        """Whoever was declared, or ever named by the cluster during this run."""
        # It only grows: a broker that left the cluster's metadata may go on serving clients by old ACLs.
        self.expected |= self.setup.brokers
        try:
            self.expected |= self.setup.probe.brokers()
        except ClusterError as error:
            raise StoppedError(f"the probe {self.setup.principal} cannot ask the cluster: {error}") from error

    def _place(self, bindings: Sequence[AclBinding]) -> None:
        """Create bindings of the run's own, which its end takes away; raises ``StoppedError``."""
        # Before they are created: of a request that timed out some may exist.
        self.placed.extend(bindings)
        create(self.run, bindings, "the probe ACLs")

    def _seen(self, name: str) -> set[Visibility]:
        return {answer.visibility for answer in self.setup.probe.ask(name, self.expected).values()}

    def _await_start(self, deadline: float, *, patient: bool = True) -> dict[int, ProbeAnswer]:
        """Wait for the nodes that have not shown the first probe ACLs yet; those that still do not, with their answers.

        Raises ``StoppedError`` for them where it is ``patient``.
        """
        waiting = {*self.expected, CONTROLLER} - self.started
        silent = self._poll(start_name(self.name), Visibility.PERMITTED, waiting, deadline)
        self.started |= waiting - silent.keys()
        if silent and patient:
            raise StoppedError(self._unreached(silent))
        if silent:
            self.run.environment.progress.note(
                f"{self._unreached(silent)}; only what is safe without them will be sent"
            )
        return silent

    def _prove_acls_decide(self, late: Mapping[int, ProbeAnswer]) -> None:
        """Raise :class:`UnprovenError` where no node does what the first probe ACLs say, though each one answers.

        ``late`` are the nodes on which the ALLOW has no effect. One node on which the DENY has one is proof enough: for
        the others there are the barriers.
        """
        probe, answers = self.setup.principal, late
        if self.started:
            answers = self._poll(
                canary_name(self.name), Visibility.REFUSED, {*self.started}, self._deadline(), every=False
            )
            if len(answers) < len(self.started):
                return
        wanted, effect = (Visibility.PERMITTED, "a DENY") if self.started else (Visibility.REFUSED, "an ALLOW")
        if not self.run.environment.interrupted() and {answer.visibility for answer in answers.values()} == {wanted}:
            raise UnprovenError(f"{STORED_ONLY}: {effect} for the probe {probe} has no effect on any node", _ELSEWHERE)

    def _await(self, name: str, wanted: Visibility, nodes: Iterable[int], deadline: float) -> None:
        if silent := self._poll(name, wanted, set(nodes), deadline):
            raise StoppedError(self._unreached(silent))

    def _poll(
        self, name: str, wanted: Visibility, waiting: set[int], deadline: float, *, every: bool = True
    ) -> dict[int, ProbeAnswer]:
        """Ask until all, or one, answered as wanted; those that have not by the deadline, with their last answers."""
        clock, asked = self.run.environment.clock, len(waiting)
        seconds = _POLL_SECONDS
        while True:
            answers = self.setup.probe.ask(name, waiting)
            waiting = {node for node in waiting if answers[node].visibility is not wanted}
            if (
                not waiting
                # One broker's answer shows that default-allow is on; that a change is enforced takes every broker's.
                or (not every and len(waiting) < asked)
                or clock.monotonic() >= deadline
                or self.run.environment.interrupted()
            ):
                return {node: answers[node] for node in waiting}
            clock.sleep(seconds)
            seconds = min(_LONGEST_POLL, 2 * seconds)

    def _unreached(self, silent: dict[int, ProbeAnswer]) -> str:
        if self.run.environment.interrupted():
            return "interrupted while waiting until every node enforces what was sent"
        named = "; ".join(
            f"{'the active controller' if node == CONTROLLER else f'broker {node}'} "
            f"({answer.detail or f'still {answer.visibility}, by ACLs of before'})"
            for node, answer in sorted(silent.items())
        )
        return f"not every node enforces what was sent: {named}"

    def _prove_ourselves(self, own: str) -> None:
        """Ask brokers that answered, as ourselves; one that enforces the probe ACLs is proof."""
        expected = Visibility.PERMITTED if self.setup.own_is_super else Visibility.REFUSED
        brokers = sorted(self.started - {CONTROLLER})
        answers: list[tuple[Visibility, Visibility]] = []
        for broker in brokers:
            refused = self.setup.own.ask(own_name(self.name), [broker])[broker].visibility
            permitted = self.setup.own.ask(start_name(self.name), [broker])[broker].visibility
            if (refused, permitted) == (expected, Visibility.PERMITTED):
                return
            answers.append((refused, permitted))
        if brokers:
            advice = "check spec.principal, spec.superUsers, and the login in client"
            raise UnprovenError(_disproof(own, answers, is_super=self.setup.own_is_super), advice)


def _disproof(own: str, answers: Sequence[tuple[Visibility, Visibility]], *, is_super: bool) -> str:
    if (Visibility.PERMITTED, Visibility.PERMITTED) in answers:
        return f"a DENY for {own} does not refuse us: we are somebody else, or a super user that superUsers leaves out"
    if is_super:
        return f"ACLs decide what we may do, so we are not the super user {own}"
    return f"an ALLOW for {own} does not permit us anything, so we are somebody else"
