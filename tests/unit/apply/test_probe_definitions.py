"""A barrier by a probe, call by call: whom it waits for and asks, what it says, and what shows default-allow."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product

import pytest

from reconciler.apply.barrier import ProbeBarrier, ProbeSetup
from reconciler.apply.environment import DefaultAllow, Identity, Progress, UnprovenError
from reconciler.apply.run import ApplyEnvironment, Run, StoppedError
from reconciler.model.acl import OpaqueBinding, ResourceType
from reconciler.model.state import ClusterState
from reconciler.ports import CONTROLLER, ClusterError, ProbeAnswer, Visibility
from reconciler.snapshot.file import MemoryCluster
from tests.faults.nodes import Nodes, NodesProbe
from tests.faults.scenario import before, plan_for, wish
from tests.property.clock import StillClock
from tests.worlds import acl

PROBE = "User:probe"
PLAN = plan_for(before(1), wish(1))


class Told(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.proofs: list[tuple[list[int], float]] = []

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)

    def proven(self, brokers: Sequence[int], seconds: float) -> None:
        """Keep it."""
        self.proofs.append(([*brokers], seconds))


class Play:
    """A barrier, and nodes that answer it."""

    def __init__(self, *, default_allow: bool = False, opaque: bool = False) -> None:
        hidden = (OpaqueBinding("x", "User:o", "*", None, None, None, None),) if opaque else ()
        self.live = ClusterState("c", frozenset({acl("x", "User:a")}), opaque=hidden)
        self.cluster, self.clock, self.told = MemoryCluster(self.live), StillClock(), Told()
        self.nodes = Nodes(self.cluster, default_allow=default_allow)
        self.probe: NodesProbe = self.nodes.as_user(PROBE)
        self.stops: Callable[[], bool] = lambda: False

    def barrier(self, seconds: float = 1.0) -> ProbeBarrier:
        """Not started."""
        setup = ProbeSetup(self.probe, PROBE, self.nodes.as_user("User:ours"), seconds=seconds)
        world = ApplyEnvironment(self.cluster, self.clock, self.told, self.stops, identity=Identity("run"))
        return ProbeBarrier(setup, Run(PLAN, world, self.live, False))

    def started(self, seconds: float = 1.0) -> ProbeBarrier:
        """After its start."""
        barrier = self.barrier(seconds)
        barrier.start()
        self.probe.asked.clear()
        return barrier


def test_a_wait_is_for_every_broker_that_was_ever_named_and_says_how_long_it_took() -> None:
    play = Play()
    play.nodes.named = {1, 2}
    play.clock.seconds = 100.0
    barrier = play.started()
    assert barrier.expected == {1, 2}
    barrier.wait()
    play.nodes.named = {1, 3}
    barrier.wait()
    assert [brokers for brokers, _ in play.told.proofs] == [[1, 2], [1, 2, 3]]
    assert all(0 <= seconds < 1 for _, seconds in play.told.proofs)
    assert barrier.started == {1, 2, 3, CONTROLLER}
    # Of those that had shown the start nobody is asked about it again.
    assert [node for name, node in play.probe.asked if name == "__kr.run.start"] == [3]
    play.nodes.named = {1, 4}
    play.nodes.down.add(4)
    with pytest.raises(StoppedError, match="broker 4"):
        barrier.wait()
    assert len(play.told.proofs) == 2


def test_a_probe_that_cannot_ask_stops_the_run() -> None:
    play = Play()

    class Away(NodesProbe):
        def brokers(self) -> frozenset[int]:
            raise ClusterError("_TRANSPORT", "gone")

    barrier = play.started()
    barrier.setup = replace(barrier.setup, probe=Away(play.nodes, PROBE))
    with pytest.raises(StoppedError, match=f"the probe {PROBE} cannot ask the cluster: .*gone"):
        barrier.wait()


@pytest.mark.parametrize("down", [set(), {2}, {1, 2, 3, CONTROLLER}])
def test_nodes_that_are_slow_at_the_start_are_told_and_no_others(down: set[int]) -> None:
    play = Play()
    play.nodes.down = down
    barrier = play.barrier()
    barrier.start()
    assert barrier.started == {1, 2, 3, CONTROLLER} - down
    named = [note for note in play.told.notes if note.endswith("only what is safe without them will be sent")]
    assert len(named) == len(play.told.notes) == bool(down)
    assert all(f"broker {node} (" in named[0] for node in down - {CONTROLLER})


def test_one_node_that_enforces_ends_the_proof_that_acls_decide() -> None:
    play = Play()
    probe = play.probe
    for node in (1, 2):
        play.nodes.down.add(node)
    barrier = play.barrier()
    barrier.start()
    # Those that had not shown the start are not asked for its proof, and one answer of the others is enough.
    asked = [node for name, node in probe.asked if name != "__kr.run.start"]
    assert sorted(asked) == [CONTROLLER, 3]


class Deaf(NodesProbe):
    """Another authorizer decides: ACLs change nothing."""

    def _answer(self, topic: str, node: int) -> ProbeAnswer:
        return ProbeAnswer(Visibility.PERMITTED)


@pytest.mark.parametrize("stopped", [False, True])
def test_whoever_asked_to_stop_is_not_told_that_acls_do_not_decide(stopped: bool) -> None:
    play = Play()
    play.probe = Deaf(play.nodes, PROBE)
    play.stops = lambda: stopped
    barrier = play.barrier()
    if stopped:
        barrier.start()
    else:
        with pytest.raises(UnprovenError, match="ACLs are stored here and do not decide: a DENY for the probe"):
            barrier.start()


class Sticking(NodesProbe):
    """Nodes that get stuck once a topic is asked about: by default that which shows default-allow."""

    stuck: Collection[int] = ()
    topic = "__kr-flag.run"

    def ask(self, topic: str, nodes: Collection[int]) -> Mapping[int, ProbeAnswer]:
        found = super().ask(topic, nodes)
        if topic == self.topic:
            for node in self.stuck:
                self._nodes.stick(node)
        return found


@pytest.mark.parametrize("default_allow", [False, True])
def test_default_allow_is_what_every_broker_shows_before_and_after_a_binding_covers_the_name(
    default_allow: bool,
) -> None:
    for otherwise, opaque, covered, late in product(((), (2,), (1, 2, 3)), (False, True), (False, True), (False, True)):
        play = Play(default_allow=default_allow, opaque=opaque)
        play.nodes.otherwise = {*otherwise}
        play.nodes.down = {2} if late else set()
        barrier = play.started()
        live = play.live
        if covered:
            live = replace(live, bindings=live.bindings | {acl("*", "User:z")})
        found = barrier.observe_default_allow(live)
        settings = {default_allow != (node in otherwise) for node in (1, 2, 3)}
        if opaque or covered or late or len(settings) > 1:
            assert found is DefaultAllow.UNSEEN
        else:
            assert found is (DefaultAllow.ON if settings == {True} else DefaultAllow.OFF)
        # Where it cannot be seen, or is off at first sight, nothing is put on the name.
        flagged = [one for one in play.cluster.state.bindings if one.pattern.name.startswith("__kr-flag.")]
        assert bool(flagged) is (found is DefaultAllow.ON)


class Deciding(Sticking):
    """Permits the topic that shows default-allow, whatever covers it."""

    def _answer(self, topic: str, node: int) -> ProbeAnswer:
        return ProbeAnswer(Visibility.PERMITTED) if topic == self.topic else super()._answer(topic, node)


@pytest.mark.parametrize("stuck", [(2,), (CONTROLLER,), ()])
def test_an_answer_that_the_binding_does_not_turn_shows_nothing(stuck: tuple[int, ...]) -> None:
    """Whoever may see that topic hears the same; and before every node enforces the binding no answer counts."""
    play = Play(default_allow=True)
    probe = Sticking(play.nodes, PROBE) if stuck else Deciding(play.nodes, PROBE)
    probe.stuck = stuck
    play.probe = probe
    assert play.started(0.1).observe_default_allow(play.live) is DefaultAllow.UNSEEN


def test_a_broker_that_enforces_the_binding_a_little_later_is_waited_for() -> None:
    play = Play(default_allow=True)
    probe = Sticking(play.nodes, PROBE)
    play.probe = probe
    barrier = play.started()
    probe.stuck = (2,)
    sleep = play.clock.sleep

    def catch_up(seconds: float) -> None:
        probe.stuck = ()
        play.nodes.stuck.clear()
        sleep(seconds)

    play.clock.sleep = catch_up  # type: ignore[method-assign]
    assert barrier.observe_default_allow(play.live) is DefaultAllow.ON


def test_without_the_controller_nothing_is_put_on_the_name() -> None:
    play = Play(default_allow=True)
    play.nodes.down = {CONTROLLER}
    barrier = play.started()
    there = play.cluster.state.bindings
    assert barrier.observe_default_allow(play.live) is DefaultAllow.UNSEEN
    assert play.cluster.state.bindings == there


def test_where_some_nodes_enforce_the_others_are_not_waited_for_at_the_start() -> None:
    play = Play()
    probe = Sticking(play.nodes, PROBE)
    probe.topic, probe.stuck = "__kr.run.start", (1, 2, CONTROLLER)
    play.probe = probe
    play.barrier(5.0).start()
    assert play.clock.seconds < 1


def test_a_name_of_another_type_hides_nothing() -> None:
    play = Play(default_allow=True)
    live = replace(play.live, bindings=frozenset({acl("*", "User:z", resource_type=ResourceType.GROUP)}))
    assert play.started().observe_default_allow(live) is DefaultAllow.ON
