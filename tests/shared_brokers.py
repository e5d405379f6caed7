"""Brokers that many tests use: every test file finds them without ACLs, topics and listed kinds of another's."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from reconciler.codec.kinds import LISTED
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ReadRequest
from tests.verbs import deletions

_BATCH = 500
#: Seconds.
_PATIENCE: Final = 20


@contextmanager
def opened(sandbox: Sandbox) -> Iterator[KafkaCluster]:
    """A super user's connection."""
    settings = sandbox.settings("admin", "PLAIN")
    with connect(client_settings(settings.pop("bootstrap.servers"), settings, SecretSource())) as cluster:
        yield cluster


#: All that is managed.
EVERYTHING: Final = ReadRequest(listings=LISTED)


def clear(sandbox: Sandbox, connected: KafkaCluster | None = None, what: ReadRequest = EVERYTHING) -> None:
    """Delete all that is managed: a ``User:*`` of one test file changes whom another's plan gives what.

    ``what`` is less where a test is known to make nothing else: each kind is a process that reads it.
    """
    if connected is None:
        with opened(sandbox) as cluster:
            return clear(sandbox, cluster, what)
    found = connected.read(what)
    topics = [topic for topic in found.topics.values() if not topic.name.startswith("__")]
    # Those of the sandbox stay: its users log in with them.
    own = {f"User:{name}" for name in sandbox.users}
    listed: list[list[Any]] = [
        sorted(item for item in one.items or () if item.principal not in own or item.KIND != ScramUser.KIND)
        for one in found.listings.values()
    ]
    everything: list[list[Any]] = [sorted(found.bindings), topics, *listed]
    for left in everything:
        for start in range(0, len(left), _BATCH):
            answers = connected.send(deletions(left[start : start + _BATCH]))
            assert all(answer.status is AnswerStatus.DONE for answer in answers), answers
    if topics:
        names = {topic.name for topic in topics}
        await_topics(connected, names.isdisjoint)
    return None


def await_topics(connected: KafkaCluster, shown: Callable[[Mapping[str, Topic]], bool]) -> None:
    """Wait until a listing is as it is to be: a broker answers before it shows what was created or deleted."""
    until = time.monotonic() + _PATIENCE
    while not shown(topics := connected.read(ReadRequest(acls=False)).topics):
        assert time.monotonic() < until, sorted(topics)
        time.sleep(0.02)
