"""A barrier that proves, by sentinels, what every broker and the active controller enforce.

A broker applies ACLs one by one in the order of the log, so whoever enforces the last one that was sent enforces all.
A broker that the cluster does not name any more may still serve clients by what it knew: it is waited for as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from reconciler.apply.barrier import UnprovenError, put, remove
from reconciler.apply.environment import ProbeSetup
from reconciler.apply.run import Run, StoppedError
from reconciler.apply.sentinels import (
    barrier_name,
    deny_sentinels,
    interfering,
    own_name,
    start_name,
    start_sentinels,
)
from reconciler.model import AclBinding, ClusterState, CreateAcl
from reconciler.ports import CONTROLLER, ClusterError, ProbeAnswer, Visibility

_POLL_SECONDS: Final = 0.01
_LONGEST_POLL: Final = 0.25


@dataclass(slots=True)
class Proof:
    """Knows, by sentinels, what every node enforces."""

    run: Run
    probe_setup: ProbeSetup
    number: int = 0
    placed: list[AclBinding] = field(default_factory=list)
    expected: set[int] = field(default_factory=set)
    started: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The run that the sentinels belong to."""
        return self.run.environment.identity.run

    def begin(self) -> None:
        """Put the first sentinels there and prove who we are; nodes that do not answer are waited for later."""
        self.trust(self.run.start)
        self._expect()
        own = self.probe_setup.own_principal
        if own is not None:
            self.place((*start_sentinels(self.name, own), *deny_sentinels(own_name(self.name), own)))
        self.place(start_sentinels(self.name, self.probe_setup.principal))
        self._await_start(self._deadline(), patient=False)
        if own is not None:
            self._prove_ourselves(own)

    def trust(self, live: ClusterState) -> None:
        """Refuse where a DENY, there or planned, would turn an answer that only ours may turn."""
        planned = (step.change.binding for step in self.run.plan.steps if isinstance(step.change, CreateAcl))
        if found := interfering((*live.bindings, *planned), [self.probe_setup.principal]):
            raise UnprovenError(
                f"the probe's answers would mean nothing: {found[0]}", "declare barrier: {wait: 2s}, or another probe"
            )

    def stand(self) -> None:
        """See :class:`Barrier`."""
        clock = self.run.environment.clock
        began, deadline = clock.monotonic(), self._deadline()
        self._expect()
        self._await_start(deadline)
        self.number += 1
        name = barrier_name(self.name, self.number)
        self.place(deny_sentinels(name, self.probe_setup.principal))
        self._await(name, Visibility.REFUSED, {*self.expected, CONTROLLER}, deadline)
        self.run.environment.progress.proven(sorted(self.expected), clock.monotonic() - began)

    def end(self) -> tuple[AclBinding, ...]:
        """See :class:`Barrier`."""
        left = remove(self.run, self.placed)
        self.placed = list(left)
        return left

    def _deadline(self) -> float:
        return self.run.environment.clock.monotonic() + self.probe_setup.seconds

    def _expect(self) -> None:
        """Whoever was declared, or ever named by the cluster during this run."""
        self.expected |= self.probe_setup.brokers
        try:
            self.expected |= self.probe_setup.probe.brokers()
        except ClusterError as error:
            raise StoppedError(f"the probe {self.probe_setup.principal} cannot ask the cluster: {error}") from error

    def place(self, bindings: Sequence[AclBinding]) -> None:
        """Create bindings of the run's own, which its end takes away; raises ``StoppedError``."""
        self.placed.extend(bindings)
        put(self.run, bindings, "the barrier's sentinels")

    def _await_start(self, deadline: float, *, patient: bool = True) -> None:
        """Wait for the nodes that have not shown the first sentinels yet."""
        waiting = {*self.expected, CONTROLLER} - self.started
        silent = self._poll(start_name(self.name), Visibility.PERMITTED, waiting, deadline)
        self.started |= waiting - silent.keys()
        if silent and patient:
            raise StoppedError(self._unreached(silent))
        if silent:
            self.run.environment.progress.note(
                f"{self._unreached(silent)}; only what is safe without them will be sent"
            )

    def _await(self, name: str, wanted: Visibility, nodes: Iterable[int], deadline: float) -> None:
        if silent := self._poll(name, wanted, set(nodes), deadline):
            raise StoppedError(self._unreached(silent))

    def _poll(self, name: str, wanted: Visibility, waiting: set[int], deadline: float) -> dict[int, ProbeAnswer]:
        """Ask until all have answered as wanted; those that have not by the deadline, with their last answers."""
        clock = self.run.environment.clock
        seconds = _POLL_SECONDS
        while True:
            answers = self.probe_setup.probe.ask(name, waiting)
            waiting = {node for node in waiting if answers[node].visibility is not wanted}
            if not waiting or clock.monotonic() >= deadline or self.run.environment.interrupted():
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
        """Ask brokers that answered, as ourselves; one that enforces the sentinels is proof."""
        expected = Visibility.PERMITTED if self.probe_setup.own_is_super else Visibility.REFUSED
        brokers = sorted(self.started - {CONTROLLER})
        found: list[tuple[Visibility, Visibility]] = []
        for broker in brokers:
            refused = self.probe_setup.own.ask(own_name(self.name), [broker])[broker].visibility
            permitted = self.probe_setup.own.ask(start_name(self.name), [broker])[broker].visibility
            if (refused, permitted) == (expected, Visibility.PERMITTED):
                return
            found.append((refused, permitted))
        if brokers:
            advice = "look at spec.principal and spec.superUsers, and at whom client logs in as"
            raise UnprovenError(_disproof(own, found, is_super=self.probe_setup.own_is_super), advice)


def _disproof(own: str, found: Sequence[tuple[Visibility, Visibility]], *, is_super: bool) -> str:
    if (Visibility.PERMITTED, Visibility.PERMITTED) in found:
        return f"a DENY for {own} does not refuse us: we are somebody else, or a super user that superUsers leaves out"
    if is_super:
        return f"ACLs decide what we may do, so we are not the super user {own}"
    return f"an ALLOW for {own} does not permit us anything, so we are somebody else"
