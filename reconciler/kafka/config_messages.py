"""Dynamic configs by kafka-python's messages, in the message client's process: under a name, and of topics.

``ListConfigResources`` names the resources that have them (of client metrics since Kafka 3.7; of groups, whether they
have members or not, since 4.1, KIP-1142); ``DescribeConfigs`` gives their values. A task says which: ``type``,
``source``, ``version`` and ``gap`` are those of ``reconciler.model.config_resource.Listed``.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle
from typing import Any, Final, NamedTuple, TypeAlias

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from kafka.protocol.api_header import ResponseClassRegistry

from reconciler.kafka.raw_messages import Question, error_name, outcome, read, refused, run
from reconciler.kafka.reader_process import Reply, Task

_SET, _DELETE = 0, 1  # AlterConfigOp.OpType
_MOST: Final = 500
#: Of a group whose configs went between the two requests.
_GONE: Final = 69  # GROUP_ID_NOT_FOUND


def _listed(client: KafkaAdminClient, task: Task) -> Reply:
    try:
        answer = read(client, ListConfigResourcesRequest(resource_types=[task["type"]], min_version=task["version"]))
    except errors.IncompatibleBrokerVersion:
        return ("failed", task["gap"])
    if answer.error_code:
        return refused(answer)
    names = sorted(item.resource_name for item in answer.config_resources if item.resource_type == task["type"])
    entries = []
    for start in range(0, len(names), _MOST):
        for result in _described(client, task["type"], names[start : start + _MOST]):
            if result.error_code == _GONE:
                continue
            if result.error_code:
                # One that may not be read makes the listing one that is not whole: it must not look undeclared.
                return refused(result)
            values = [(item.name, item.value) for item in result.configs if item.config_source == task["source"]]
            if any(value is None for _, value in values):
                return ("failed", f"the broker hides a config of {result.resource_name}")
            if values:
                entries.append((result.resource_name, values))
    return ("listed", entries)


def _described(client: KafkaAdminClient, kind: int, names: list[str]) -> Iterator[Any]:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    resources = [resource(resource_type=kind, resource_name=name, configuration_keys=None) for name in names]
    request = DescribeConfigsRequest(resources=resources, include_synonyms=False, include_documentation=False)
    results = {result.resource_name: result for result in read(client, request).results}
    if missing := [name for name in names if name not in results]:
        raise errors.KafkaError(f"the broker's answer leaves out {missing[0]}")
    yield from (results[name] for name in names)


def _altered(client: KafkaAdminClient, task: Task) -> Reply:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = resource.AlterableConfig
    request = IncrementalAlterConfigsRequest(
        resources=[
            resource(
                resource_type=task["type"],
                resource_name=name,
                configs=[
                    config(name=key, config_operation=_DELETE if value is None else _SET, value=value)
                    for key, value in values
                ],
            )
            for name, values in task["alterations"]
        ],
        validate_only=task["only_validate"],
    )
    responses = run(client, request).responses
    return ("altered", [(response.resource_name, *outcome(response)) for response in responses])


# The configs that are set on topics.
#
# A broker tells 33 configs of each topic, nearly all of them defaults, and a client makes an object of each: most of
# the time of reading 10,000 topics. Here an answer to DescribeConfigs of version 4 (``DescribeConfigsResponse.json``)
# is read as bytes. Brokers tell the configs of each topic in one order, and defaults in the same bytes: what a topic
# repeats of the ones before it is compared and skipped, and left out of what is returned. So each config that is set is
# there, of each topic, and a default with the first topic that has it.


#: ``ConfigSource.DYNAMIC_TOPIC_CONFIG``: set on the topic.
OWN: Final = 1
#: Name, value, source, and the synonyms' values and sources.
Configs: TypeAlias = list[tuple[str, str | None, int, list[tuple[str | None, int]]]]


class ConfigAnswer(NamedTuple):
    """``results``: for each resource its name, the error's code and message, and its configs."""

    throttle_time_ms: int
    results: Sequence[tuple[str, int, str | None, Configs]]


def read_answer(data: bytes) -> ConfigAnswer:
    """Raises ``ValueError`` for bytes that are no such answer."""
    return _Reader(data).answer()


class _Reader:
    """A place in the bytes."""

    __slots__ = ("_alike", "_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        #: By its number in a topic: the bytes of a config that was not set on a topic.
        self._alike: dict[int, bytes] = {}

    def answer(self) -> ConfigAnswer:
        throttle = self._number(4)
        results = [self._result() for _ in range(self._length())]
        self._tags()
        if self._at != len(self._data):
            raise ValueError(f"{len(self._data) - self._at} bytes are left over")
        return ConfigAnswer(throttle, results)

    def _result(self) -> tuple[str, int, str | None, Configs]:
        code, message, _ = self._number(2), self._text(), self._number(1)
        name = self._text()
        configs: Configs = []
        for number in range(self._length()):
            alike = self._alike.get(number)
            if alike is not None and self._data.startswith(alike, self._at):
                self._at += len(alike)
            else:
                self._config(number, configs)
        self._tags()
        return name or "", code, message, configs

    def _config(self, number: int, configs: Configs) -> None:
        begin = self._at
        name, value, _ = self._text() or "", self._text(), self._number(1)
        source, _ = self._number(1), self._number(1)
        synonyms = [self._synonym() for _ in range(self._length())]
        self._number(1)
        self._text()
        self._tags()
        configs.append((name, value, source, synonyms))
        if source != OWN:
            self._alike[number] = self._data[begin : self._at]

    def _synonym(self) -> tuple[str | None, int]:
        self._text()
        synonym = self._text(), self._number(1)
        self._tags()
        return synonym

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big", signed=True)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise ValueError("a length has too many bytes")

    def _length(self) -> int:
        """Of an array; one that is null has none."""
        return max(0, self._varint() - 1)

    def _text(self) -> str | None:
        size = self._varint()
        return self._take(size - 1).decode() if size else None

    def _tags(self) -> None:
        for _ in range(self._varint()):
            self._varint()
            self._take(self._varint())

    def _take(self, size: int) -> bytes:
        data = self._data[self._at : self._at + size]
        if len(data) != size:
            raise ValueError("the answer ends in the middle")
        self._at += size
        return data


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


@contextmanager
def decoded_as_bytes() -> Iterator[None]:
    """Meanwhile answers are decoded as bytes, as far as their version is known here; a process has other questions."""
    ResponseClassRegistry.register_response_class(_Bytes())
    try:
        yield
    finally:
        ResponseClassRegistry.register_response_class(DescribeConfigsResponse)


def _own(client: KafkaAdminClient, task: Task) -> Reply:
    """``("configs", answers, defaults)``: for each topic its own configs, or an error's code, name and message.

    ``defaults`` are the configs with the values that they would have without one on the topic.
    """
    brokers = [broker.node_id for broker in client._manager.cluster.brokers()]
    names = task["names"]
    groups = [names[start : start + _AT_ONCE] for start in range(0, len(names), _AT_ONCE)]
    with decoded_as_bytes():
        answers = _answers_of(
            client, deque(zip(groups, cycle(brokers), strict=False)), max(1, len(brokers)) * _IN_FLIGHT
        )
        first = next((name for name, answer in answers.items() if isinstance(answer, dict)), None)
        if first is None:
            return ("configs", answers, [])
        ((_, code, _, configs),) = _asked(client, [first], None, synonyms=True)
    if code:
        return ("failed", f"the defaults of topic {first} were refused")
    return ("configs", answers, list(_defaults(configs)))


def _answers_of(client: KafkaAdminClient, groups: deque[tuple[Sequence[str], int]], workers: int) -> dict[str, Any]:
    """What each group is answered, by two connections: a broker performs what comes on one of them one by one."""
    answers: dict[str, Any] = {}

    def work(client: KafkaAdminClient) -> None:
        while (group := _next(groups)) is not None:
            answers.update(_outcomes(_asked(client, *group)))

    def work_in_thread() -> None:
        if len(groups) <= workers or (other := _second_client(client)) is None:
            return
        more = [pool.submit(work, other) for _ in range(workers - 1)]
        work(other)
        for item in more:
            item.result()

    with ThreadPoolExecutor(2 * workers) as pool:
        for item in [*(pool.submit(work, client) for _ in range(workers)), pool.submit(work_in_thread)]:
            item.result()
    return answers


def _next(groups: deque[tuple[Sequence[str], int]]) -> tuple[Sequence[str], int] | None:
    try:
        return groups.popleft()
    except IndexError:  # another worker took the last one
        return None


def _second_client(client: KafkaAdminClient) -> KafkaAdminClient | None:
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


def _as_read(result: Any) -> tuple[str, int, str | None, Configs]:
    """A result that the library has decoded."""
    configs = [
        (entry.name, entry.value, entry.config_source, [(same.value, same.source) for same in entry.synonyms or ()])
        for entry in result.configs or ()
    ]
    return result.resource_name, result.error_code, result.error_message, configs


def _outcomes(results: Sequence[tuple[str, int, str | None, Configs]]) -> Iterator[tuple[str, Any]]:
    for name, code, message, configs in results:
        if code:
            yield name, (code, error_name(code), message or "")
        else:
            yield name, {key: value for key, value, source, _ in configs if source == OWN}


def _defaults(configs: Configs) -> Iterator[tuple[str, str]]:
    for name, value, source, synonyms in configs:
        values = [(value, source), *synonyms]
        default = next((text for text, origin in values if origin != OWN), None)
        if default is not None:
            yield name, default


#: All that have configs under a name, and the outcome of each alteration; own configs and defaults of named topics.
QUESTIONS: Final[Mapping[str, Question]] = {
    "listed": Question(_listed),
    "altered": Question(_altered, writes=True),
    "own": Question(_own),
}
