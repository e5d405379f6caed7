"""An implementation of the port under test, and how to wait until it shows what was written."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reconciler.model.acl import AclBinding
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.ports import Answer, AnswerStatus, InspectableCluster, ReadRequest

#: The principal that brokers know us as; a super user, so that every listing is whole.
OURS: Final = "User:reconciler"
#: The ACLs and no topics.
ACLS: Final = ReadRequest(all_topics=False)
_PATIENCE_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Subject:
    """A cluster, and the Kafka version whose rules it keeps."""

    cluster: InspectableCluster
    version: tuple[int, int]

    def read(self, request: ReadRequest) -> ClusterState:
        """One read as ourselves."""
        return self.cluster.read(replace(request, principal=OURS, super_users=(OURS,)))

    def shows(self, request: ReadRequest, expected: Callable[[ClusterState], bool]) -> ClusterState:
        """Reads until ``expected`` holds, a broker may lag behind its answer; fails if it does not come to hold."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not expected(state := self.read(request)):
            assert time.monotonic() < end, "what was written did not come to be seen"
            time.sleep(0.1)
        return state

    def bindings_under(self, prefix: str, expected: set[AclBinding]) -> None:
        """Waits until the bindings whose pattern, principal or host holds ``prefix`` are exactly ``expected``."""
        self.shows(ACLS, lambda state: {b for b in state.bindings if prefix in _texts(b)} == expected)

    def topics(self, *names: str) -> dict[str, Topic]:
        """Waits until all of the topics are seen."""
        return dict(self.shows(these(*names), lambda state: set(state.topics) == set(names)).topics)


def these(*names: str) -> ReadRequest:
    """These topics and no ACLs."""
    return ReadRequest(acls=False, all_topics=False, topic_names=names)


def _texts(binding: AclBinding) -> str:
    return "\n".join((binding.pattern.name, binding.entry.principal, binding.entry.host))


def verdicts(answers: Sequence[Answer]) -> list[AnswerStatus]:
    """The verdicts alone."""
    return [answer.status for answer in answers]


def codes(answers: Sequence[Answer]) -> list[str]:
    """Kafka's names of the errors, empty for what was done."""
    return [answer.code for answer in answers]
