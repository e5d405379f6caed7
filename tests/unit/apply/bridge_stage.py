"""A cluster with default-allow on which a run builds bridges, and what anybody could have seen of it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from reconciler.apply.barrier import ProbeBarrier, ProbeSetup
from reconciler.apply.environment import Identity, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, ResourceType
from reconciler.model.listing import Change, Create
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard
from reconciler.ports import Answer, AnswerStatus, ClusterError, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.contract.faults import Fault, FaultyCluster
from tests.faults.nodes import Nodes
from tests.faults.scenario import DAY
from tests.property.clock import StillClock
from tests.property.naive import Ask, permitted
from tests.property.transitions import declared
from tests.worlds import acl

PROBE = "User:probe"
DENY = AclPermissionType.DENY
TERMS = Terms("c", default_allow=True, probe=PROBE)


class Recording(MemoryCluster):
    """Keeps every state that anybody could have seen, and calls ``between`` behind each of them."""

    def __init__(self, state: ClusterState) -> None:
        super().__init__(state)
        self.history = [state.bindings]
        self.between: Callable[[], None] = lambda: None
        self.readable = True

    def read(self, request: ReadRequest) -> ClusterState:
        if not self.readable:
            raise ClusterError("_TRANSPORT", "gone")
        return super().read(request)

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        answers: list[Answer] = []
        # A broker shows one creation after the other.
        for part in [[change] for change in changes] if isinstance(changes[0], Create) else [changes]:
            answers += super().send(part)
            self.history.append(self.state.bindings)
        self.between()
        return answers


@dataclass
class Stage:
    """A cluster with default-allow, what it has, and what is wanted of it."""

    live: frozenset[AclBinding]
    wanted: frozenset[AclBinding]
    topics: Collection[str] = ()
    terms: Terms = TERMS
    default_allow: bool = True
    run: str = "run"
    faults: Sequence[Fault] = ()
    clock: StillClock = field(default_factory=StillClock)
    interrupted: Callable[[], bool] = lambda: False
    progress: Progress = field(default_factory=Progress)
    journal: list[Mapping[str, Any]] = field(default_factory=list)
    cluster: Recording = field(init=False)
    nodes: Nodes = field(init=False)

    def __post_init__(self) -> None:
        topics = {name: Topic(name, 1, 1) for name in self.topics}
        self.cluster = Recording(ClusterState("cluster", self.live, topics))
        self.nodes = Nodes(self.cluster, default_allow=self.default_allow)

    def write(self, *records: Mapping[str, Any]) -> None:
        self.journal.extend(records)

    def plan(self) -> Plan:
        """The plan, with everything accepted that a guard asks about."""
        state, request = self.cluster.read(ReadRequest()), Request(DAY, Options(allow_deletes=True))
        # Each word brings steps back, which other guards judge.
        while (made := propose(declared(self.wanted, {}), state, self.terms, request)).refusals:
            words = tuple(AcceptedGuard(refusal.guard, refusal.object) for refusal in made.refusals)
            request = replace(request, accepted=(*request.accepted, *words))
        return made

    def apply(self, plan: Plan | None = None) -> Result:
        made = plan or self.plan()
        live = self.cluster.read(ReadRequest())
        probing = ProbeSetup(self.nodes.as_user(PROBE), PROBE, self.nodes.as_user("User:ours"), seconds=1.0)
        world = ApplyEnvironment(
            FaultyCluster(self.cluster, self.faults),
            self.clock,
            self.progress,
            self.interrupted,
            identity=Identity(self.run),
            journal=self,
            barrier=partial(ProbeBarrier, probing),
            max_batch=2,
        )
        found = check(made, live, self.terms, observable=True)
        return perform(made, live, found, world, lambda exact: check(made, exact, self.terms, observable=True))

    @property
    def bindings(self) -> frozenset[AclBinding]:
        return self.cluster.state.bindings

    def violations(self, asks: Collection[Ask]) -> list[tuple[str, Ask]]:
        """What some state on the way permitted although neither end does, or refused although both permit it."""
        found = []
        before, after = self.live, self.wanted
        for ask in asks:
            ends = [permitted(side, ask, default_allow=self.default_allow) for side in (before, after)]
            for state in self.cluster.history:
                now = permitted(state, ask, default_allow=self.default_allow)
                if now not in ends:
                    found.append(("leak" if now else "cut", ask))
        return found


def asks(*names: str, resource_type: ResourceType = ResourceType.TOPIC) -> list[Ask]:
    return [
        Ask(f"User:{user}", "10.0.0.1", operation, resource_type, name)
        for user in ("a", "b", "stranger")
        for operation in (AclOperation.READ, AclOperation.WRITE)
        for name in names
    ]


CLOSED = frozenset(
    {acl("x", "User:a"), acl("x", "User:b"), acl("x", "User:b", AclOperation.WRITE, DENY), acl("other", "User:z")}
)
OPEN = frozenset({acl("other", "User:z")})
NO = Answer(AnswerStatus.FAILED, "POLICY_VIOLATION", "no")
