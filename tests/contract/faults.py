"""A cluster on which chosen items go wrong: a real implementation of the port around another one."""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from reconciler.model.acl import AclBinding
from reconciler.model.listing import Change, resource_of
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions
from reconciler.plan.kinds import kind_of
from reconciler.ports import Answer, AnswerStatus, Cluster, ClusterError, ReadRequest

Item: TypeAlias = AclBinding | Topic | TopicPartitions | TopicConfigs


class Effect(Enum):
    """Whether an item is applied although the caller is told otherwise."""

    NEVER = auto()
    NOW = auto()
    #: After the next read, which does not show it yet.
    LATER = auto()


TIMED_OUT: Final = Answer(AnswerStatus.UNKNOWN, "_TIMED_OUT", "timed out", retriable=True)


@dataclass(frozen=True)
class Fault:
    """The next ``times`` uses of ``call`` for ``item`` (``None``: for any) get ``answer`` instead of the truth.

    ``call`` is the action of a change (``CreateAcl``), or ``read``; for ``read`` the fault is ``error``.
    A topic is meant by its name.
    """

    call: str
    item: AclBinding | str | None = None
    answer: Answer = TIMED_OUT
    effect: Effect = Effect.NEVER
    times: int = 1
    error: ClusterError | None = None


class FaultyCluster:
    """``inner`` with ``faults``; ``calls`` keeps every call with the items it was given, in order."""

    def __init__(self, inner: Cluster, faults: Sequence[Fault] = ()) -> None:
        self.inner = inner
        self.calls: list[tuple[str, tuple[Item, ...]]] = []
        self._faults = tuple(faults)
        self._left = [fault.times for fault in faults]
        self._later: list[Callable[[], object]] = []

    def read(self, request: ReadRequest) -> ClusterState:
        self.calls.append(("read", ()))
        fault = self._next("read", None)
        if fault is not None and fault.error is not None:
            raise fault.error
        state = self.inner.read(request)
        while self._later:
            self._later.pop(0)()
        return state

    def controller_time(self) -> datetime.datetime | None:
        return self.inner.controller_time()

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        call = kind_of(changes[0]).action(changes[0])
        items = [resource_of(change) for change in changes]
        self.calls.append((call, tuple(items)))
        faults = [self._next(call, item) for item in items]
        late = [change for change, fault in zip(changes, faults, strict=True) if fault and fault.effect is Effect.LATER]
        if late:
            self._later.append(lambda: self.inner.send(late))
        now = [index for index, fault in enumerate(faults) if fault is None or fault.effect is Effect.NOW]
        truth = dict(zip(now, self.inner.send([changes[index] for index in now]), strict=True)) if now else {}
        return [truth[index] if fault is None else fault.answer for index, fault in enumerate(faults)]

    def _next(self, call: str, item: Item | None) -> Fault | None:
        key = item if isinstance(item, AclBinding | None) else getattr(item, "name", None)
        for number, fault in enumerate(self._faults):
            if fault.call == call and fault.item in (None, key) and self._left[number]:
                self._left[number] -= 1
                return fault
        return None
