"""Principals that ask every broker, all the time, for what they must never be granted or never be refused."""

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

_REFUSED, _UNKNOWN = 29, 3


@dataclass(frozen=True)
class Watch:
    """What one principal asks for: names that both states refuse it, and names that both permit it."""

    user: str
    refused: tuple[str, ...]
    permitted: tuple[str, ...]


@dataclass
class Seen:
    """Answers counted; ``leaks`` were granted what both states refuse, ``cuts`` refused what both permit."""

    answers: int = 0
    leaks: list[str] = field(default_factory=list)
    cuts: list[str] = field(default_factory=list)


@contextmanager
def watching(
    settings: Mapping[str, Mapping[str, str]], watches: list[Watch], brokers: tuple[int, ...]
) -> Iterator[Seen]:
    """Ask on every broker until the block ends; ``settings`` are each user's. Begin where every answer is right."""
    seen, ended = Seen(), threading.Event()
    threads = [
        threading.Thread(target=_ask, args=(settings[watch.user], watch, broker, seen, ended))
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
    """DESCRIBE_CONFIGS of topics that do not exist: one request for all names, judged one by one."""
    with AdminClient({**settings, "log_level": "0"}) as admin:
        admin.poll(0)
        resources = {name: ConfigResource(ResourceType.TOPIC, name) for name in (*watch.refused, *watch.permitted)}
        while not ended.is_set():
            futures = admin.describe_configs(list(resources.values()), broker=broker, request_timeout=10)
            for name, resource in resources.items():
                code = _code(futures[resource])
                seen.answers += code in (_REFUSED, _UNKNOWN)
                if code == _UNKNOWN and name in watch.refused:
                    seen.leaks.append(f"{watch.user} on broker {broker}: {name}")
                if code == _REFUSED and name in watch.permitted:
                    seen.cuts.append(f"{watch.user} on broker {broker}: {name}")


def _code(future: "Future[object]") -> int:
    try:
        future.result()
    except KafkaException as error:
        return int(error.args[0].code())
    return _UNKNOWN
