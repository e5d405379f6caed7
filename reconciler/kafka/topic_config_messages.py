"""The configs that are set on topics, by kafka-python's messages, in the message client's process.

A broker tells 33 configs of each topic, nearly all of them defaults, and a client makes an object of each: most of the
time of reading 10,000 topics. Here an answer is read as bytes, and what it repeats of topic after topic is skipped.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any, Final

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import DescribeConfigsRequest, DescribeConfigsResponse
from kafka.protocol.api_header import ResponseClassRegistry

from reconciler.kafka.child_process import Reply, Task
from reconciler.kafka.config_answer import OWN, ConfigAnswer, Configs, read_answer
from reconciler.kafka.raw_messages import Question, read

_TOPIC: Final = 2
#: Topics in one request: an answer of about a megabyte.
_AT_ONCE: Final = 500
#: Requests on their way to each broker: it answers one while we read another.
_IN_FLIGHT: Final = 2
#: Milliseconds that a second connection may take: the first goes on meanwhile.
_PATIENCE_MS: Final = 3_000
#: From this version on strings and arrays are compact (KIP-482): what older brokers answer, the library decodes.
_COMPACT: Final = 4


#: Made here and not when the first answer comes: the library registers a version's class as it makes it, over ours.
_HEADER: Final = DescribeConfigsResponse[_COMPACT]


class _Bytes:
    """Takes the place of the library's ``DescribeConfigsResponse`` where an answer is decoded."""

    API_KEY: Final = DescribeConfigsResponse.API_KEY

    def __getitem__(self, version: int) -> Any:
        """What decodes answers of a version."""
        return self if version >= _COMPACT else DescribeConfigsResponse[version]

    def parse_header(self, buffer: Any) -> Any:
        """The header, as the library reads it."""
        return _HEADER.parse_header(buffer)

    def decode(self, buffer: Any) -> ConfigAnswer:
        """The rest."""
        return read_answer(buffer.read())


def decode_bytes() -> None:
    """From now on answers are decoded as bytes, as far as their version is known here."""
    ResponseClassRegistry.register_response_class(_Bytes())


def _own(client: KafkaAdminClient, task: Task) -> Reply:
    """``("configs", told, defaults)``: for each topic its own configs, or an error's code, name and message.

    ``defaults`` are the configs with the values that they would have without one on the topic.
    """
    decode_bytes()
    brokers = [broker.node_id for broker in client._manager.cluster.brokers()]
    names = task["names"]
    groups = [names[start : start + _AT_ONCE] for start in range(0, len(names), _AT_ONCE)]
    told = _told(client, deque(zip(groups, cycle(brokers), strict=False)), max(1, len(brokers)) * _IN_FLIGHT)
    first = next((name for name, found in told.items() if isinstance(found, dict)), None)
    if first is None:
        return ("configs", told, [])
    ((_, code, _, configs),) = _asked(client, [first], None, synonyms=True)
    if code:
        return ("failed", f"the defaults of topic {first} were refused")
    return ("configs", told, list(_defaults(configs)))


def _told(client: KafkaAdminClient, groups: deque[tuple[Sequence[str], int]], workers: int) -> dict[str, Any]:
    """What each group is answered, by two connections: a broker performs what comes on one of them one by one."""
    told: dict[str, Any] = {}

    def work(client: KafkaAdminClient) -> None:
        while (group := _next(groups)) is not None:
            told.update(_outcomes(_asked(client, *group)))

    def work_beside() -> None:
        if len(groups) <= workers or (other := _beside(client)) is None:
            return
        more = [pool.submit(work, other) for _ in range(workers - 1)]
        work(other)
        for item in more:
            item.result()

    with ThreadPoolExecutor(2 * workers) as pool:
        for item in [*(pool.submit(work, client) for _ in range(workers)), pool.submit(work_beside)]:
            item.result()
    return told


def _next(groups: deque[tuple[Sequence[str], int]]) -> tuple[Sequence[str], int] | None:
    try:
        return groups.popleft()
    except IndexError:  # another worker took the last one
        return None


def _beside(client: KafkaAdminClient) -> KafkaAdminClient | None:
    """A second connection, or ``None`` where a cluster that takes one does not take another."""
    try:
        return KafkaAdminClient(**{**client.config, "bootstrap_timeout_ms": _PATIENCE_MS})
    except errors.KafkaError:
        return None


def _asked(
    client: KafkaAdminClient, names: Sequence[str], broker: int | None, *, synonyms: bool = False
) -> Sequence[tuple[str, int, str | None, Configs]]:
    wanted = DescribeConfigsRequest.DescribeConfigsResource
    resources = [wanted(resource_type=_TOPIC, resource_name=name, configuration_keys=None) for name in names]
    request = DescribeConfigsRequest(resources=resources, include_synonyms=synonyms, include_documentation=False)
    answer = read(client, request, broker)
    results: Sequence[tuple[str, int, str | None, Configs]] = (
        answer.results if isinstance(answer, ConfigAnswer) else [_as_read(result) for result in answer.results]
    )
    if sorted(name for name, _, _, _ in results) != sorted(names):
        raise errors.KafkaError("the broker did not answer about every topic")
    return results


def _as_read(one: Any) -> tuple[str, int, str | None, Configs]:
    """A result that the library has decoded."""
    configs = [
        (entry.name, entry.value, entry.config_source, [(same.value, same.source) for same in entry.synonyms or ()])
        for entry in one.configs or ()
    ]
    return one.resource_name, one.error_code, one.error_message, configs


def _outcomes(results: Sequence[tuple[str, int, str | None, Configs]]) -> Iterator[tuple[str, Any]]:
    for name, code, message, configs in results:
        if code:
            yield name, (code, getattr(errors.for_code(code), "message", ""), message or "")
        else:
            yield name, {key: value for key, value, source, _ in configs if source == OWN}


def _defaults(configs: Configs) -> Iterator[tuple[str, str]]:
    for name, value, source, synonyms in configs:
        known = [(value, source), *synonyms]
        found = next((text for text, origin in known if origin != OWN), None)
        if found is not None:
            yield name, found


#: Own configs and defaults of the topics that are named.
QUESTIONS: Final[Mapping[str, Question]] = {"own": Question(_own)}
