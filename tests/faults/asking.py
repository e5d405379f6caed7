"""Principals that ask every broker, all the time, for what they must never be granted or never be refused.

Which those are follows from two states by the plain reading of the authorizer: what both refuse, and what both permit.
"""

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from reconciler.model.acl import AclBinding, AclOperation
from reconciler.model.acl import ResourceType as ModelResourceType
from tests.property.naive import Ask, permitted

_SHOWN, _UNKNOWN, _REFUSED = 0, 3, 29
# A dozen askers without a pause take both processors from the brokers and the apply that they watch: each change takes
# longer then, and is not watched more closely. The careless orders that they must see last ten times as long.
_PAUSE_SECONDS = 0.03


class Logins(Protocol):
    """A cluster that a user can log in to."""

    def settings(self, user: str, /) -> Mapping[str, str]:
        """Client settings of that user."""
        ...


@dataclass(frozen=True)
class Watch:
    """What one principal asks for: names that both states refuse it, and names that both permit it.

    ``unseen`` are topics that it must never see: there when it may look, or made while it still may.
    """

    user: str
    refused: tuple[str, ...]
    permitted: tuple[str, ...]
    unseen: tuple[str, ...] = ()


@dataclass
class Seen:
    """Answers counted; ``leaks`` were granted what both states refuse, ``cuts`` refused what both permit."""

    answers: int = 0
    leaks: list[str] = field(default_factory=list)
    cuts: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.answers:,} answers, {len(self.leaks):,} leaks, {len(self.cuts):,} cuts"


def watches_between(
    before: Collection[AclBinding],
    after: Collection[AclBinding],
    users: Iterable[str],
    names: Sequence[str],
    *,
    default_allow: bool,
) -> list[Watch]:
    """What each user may not, and may, see of these topics' settings in either state; the rest is not asked for."""

    def may(bindings: Collection[AclBinding], user: str, name: str) -> bool:
        ask = Ask(f"User:{user}", "127.0.0.1", AclOperation.DESCRIBE_CONFIGS, ModelResourceType.TOPIC, name)
        return permitted(bindings, ask, default_allow=default_allow)

    found = []
    for user in users:
        answers = {name: (may(before, user, name), may(after, user, name)) for name in names}
        refused = tuple(name for name, answer in answers.items() if answer == (False, False))
        both = tuple(name for name, answer in answers.items() if answer == (True, True))
        if refused or both:
            found.append(Watch(user, refused, both))
    return found


def settled(logins: Logins, watches: Sequence[Watch], brokers: Sequence[int]) -> None:
    """Wait until every broker answers every watch as both states do; an assertion fails where that takes too long."""
    deadline = time.monotonic() + 60
    for watch in watches:
        with AdminClient({**logins.settings(watch.user), "log_level": "0"}) as admin:
            admin.poll(0)
            for broker in brokers:
                while (seen := _answers(admin, watch, broker)).leaks or seen.cuts or not seen.answers:
                    assert time.monotonic() < deadline, f"broker {broker} does not enforce the state before: {seen}"
                    time.sleep(0.05)


@contextmanager
def asking(logins: Logins, watches: Sequence[Watch], brokers: Sequence[int]) -> Iterator[Seen]:
    """Ask on every broker until a moment after the block's end. Begin where every answer is right already."""
    seen, ended = Seen(), threading.Event()
    threads = [
        threading.Thread(target=_ask, args=(logins.settings(watch.user), watch, broker, seen, ended))
        for watch in watches
        for broker in brokers
    ]
    for thread in threads:
        thread.start()
    try:
        yield seen
        time.sleep(0.3)
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _ask(settings: Mapping[str, str], watch: Watch, broker: int, seen: Seen, ended: threading.Event) -> None:
    """DESCRIBE_CONFIGS of topics, there or not: one request for all names, judged one by one."""
    with AdminClient({**settings, "log_level": "0"}) as admin:
        admin.poll(0)
        while not ended.is_set():
            found = _answers(admin, watch, broker)
            seen.answers += found.answers
            seen.leaks += found.leaks
            seen.cuts += found.cuts
            ended.wait(_PAUSE_SECONDS)


def _answers(admin: AdminClient, watch: Watch, broker: int) -> Seen:
    names = (*watch.refused, *watch.permitted, *watch.unseen)
    resources = {name: ConfigResource(ResourceType.TOPIC, name) for name in names}
    futures = admin.describe_configs(list(resources.values()), broker=broker, request_timeout=10)
    seen = Seen()
    for name, resource in resources.items():
        code = _code(futures[resource])
        seen.answers += code in (_SHOWN, _REFUSED, _UNKNOWN)
        if (code == _UNKNOWN and name in watch.refused) or (code == _SHOWN and name not in watch.permitted):
            seen.leaks.append(f"{watch.user} on broker {broker}: {name}")
        if code == _REFUSED and name in watch.permitted:
            seen.cuts.append(f"{watch.user} on broker {broker}: {name}")
    return seen


def _code(future: "Future[object]") -> int:
    """The answer's error code; the settings of a topic that is there show that it may be seen."""
    try:
        future.result()
    except KafkaException as error:
        return int(error.args[0].code())
    return _SHOWN
