"""What a real broker lets one principal do, asked by requests that change nothing."""

import base64
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaException, Producer, TopicCollection
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic
from confluent_kafka.admin import ResourceType as ConfigType

from reconciler.model.acl import CLUSTER_NAME, SUPPORTED_OPERATIONS, AclOperation, ResourceType

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # its way of reading its own files
    from kafka import KafkaConsumer, TopicPartition
    from kafka.errors import TopicAuthorizationFailedError
    from kafka.net.sasl.oauth import AbstractTokenProvider

#: Kafka's refusals of a topic, a group, the cluster, a transactional id.
_REFUSED: Final = {29, 30, 31, 53}
_NO_COORDINATOR_YET: Final = {14, 15, 16}
_TIMEOUT: Final = 20.0

#: Resource type, name, operation, and whether the broker permitted it.
Seen = tuple[ResourceType, str, AclOperation, bool]


@AbstractTokenProvider.register
class _Unsigned:
    """A token that says who one is, and is believed (RFC 7519, section 6)."""

    def __init__(self, subject: str) -> None:
        self._subject = subject

    def token(self) -> str:
        """Good for an hour."""
        now = int(time.time())
        parts = ({"alg": "none"}, {"sub": self._subject, "iat": now, "exp": now + 3_600})
        texts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
        return ".".join((*texts, ""))

    def extensions(self) -> dict[str, str]:
        """None."""
        return {}


class Witness:
    """One principal's connections to a broker."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        quiet: dict[str, Any] = {**settings, "log_level": "0"}
        self._admin = AdminClient(quiet)
        self._admin.poll(0)
        self._producer = Producer({**quiet, "message.timeout.ms": "10000", "enable.idempotence": "false"})
        self._servers = settings["bootstrap.servers"]
        self._token = _Unsigned(settings["sasl.oauthbearer.config"].removeprefix("principal="))

    def topics(self, names: list[str]) -> Iterator[Seen]:
        """Every operation on topics that exist; those that DESCRIBE hides are probed one by one."""
        asked = self._admin.describe_topics(
            TopicCollection(names), include_authorized_operations=True, request_timeout=_TIMEOUT
        )
        for name, future in asked.items():
            if self._permits(future):
                granted = _names(future.result().authorized_operations)
                for operation in SUPPORTED_OPERATIONS[ResourceType.TOPIC]:
                    yield ResourceType.TOPIC, name, operation, operation.name in granted
            else:
                yield ResourceType.TOPIC, name, AclOperation.DESCRIBE, False
                yield from self._probed(name)

    def _probed(self, name: str) -> Iterator[Seen]:
        resource = ConfigResource(ConfigType.TOPIC, name)
        change = ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
        probes: dict[AclOperation, Callable[[], Any]] = {
            AclOperation.DESCRIBE_CONFIGS: lambda: self._admin.describe_configs([resource]),
            AclOperation.ALTER_CONFIGS: lambda: self._admin.incremental_alter_configs(
                [ConfigResource(ConfigType.TOPIC, name, incremental_configs=[change])], validate_only=True
            ),
            AclOperation.ALTER: lambda: self._admin.create_partitions([NewPartitions(name, 9)], validate_only=True),
        }
        for operation, ask in probes.items():
            yield ResourceType.TOPIC, name, operation, self._permits(next(iter(ask().values())))

    def new_topic(self, name: str) -> bool:
        """Whether a topic that does not exist may be created: CREATE on it or on the cluster."""
        futures = self._admin.create_topics([NewTopic(name, 1, 1)], validate_only=True)
        return self._permits(next(iter(futures.values())))

    def produces(self, name: str) -> bool:
        """Whether a record is accepted."""
        outcome: list[Any] = []
        try:
            self._producer.produce(name, b"x", on_delivery=lambda error, _: outcome.append(error))
            self._producer.flush(_TIMEOUT)
        except KafkaException as error:  # a refusal that the producer already knows of
            outcome.append(error.args[0])
        assert outcome, "the producer gave no answer"
        if outcome[0] is not None:
            assert outcome[0].code() in _REFUSED, outcome[0]
        return outcome[0] is None

    def fetches(self, name: str) -> bool:
        """Whether the records of a topic, which has some, are handed out."""
        consumer = KafkaConsumer(
            bootstrap_servers=self._servers,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=self._token,
            group_id=None,
        )
        try:
            partition = TopicPartition(name, 0)
            if not consumer.partitions_for_topic(name):
                return False  # hidden: there is no leader to ask
            consumer.assign([partition])
            consumer.seek(partition, 0)
            until = time.monotonic() + _TIMEOUT
            while time.monotonic() < until:
                if consumer.poll(timeout_ms=500):
                    return True
        except TopicAuthorizationFailedError:
            return False
        finally:
            consumer.close()
        raise AssertionError(f"the consumer got no answer about {name}")

    def groups(self, names: list[str]) -> Iterator[Seen]:
        """Every operation on groups, whether they exist or not."""
        for name in names:
            future = self._described_group(name)
            if self._permits(future):
                granted = _names(future.result().authorized_operations)
                for operation in SUPPORTED_OPERATIONS[ResourceType.GROUP]:
                    yield ResourceType.GROUP, name, operation, operation.name in granted
            else:
                yield ResourceType.GROUP, name, AclOperation.DESCRIBE, False

    def _described_group(self, name: str) -> "Future[Any]":
        """Asked again while the coordinator is only just coming up."""
        until = time.monotonic() + _TIMEOUT
        while True:
            asked = self._admin.describe_consumer_groups(
                [name], include_authorized_operations=True, request_timeout=_TIMEOUT
            )
            error = asked[name].exception()
            loading = isinstance(error, KafkaException) and error.args[0].code() in _NO_COORDINATOR_YET
            if not loading or time.monotonic() > until:
                return asked[name]
            time.sleep(0.05)

    def cluster(self) -> Iterator[Seen]:
        """Every operation on the cluster, or only that DESCRIBE is refused."""
        found = self._admin.describe_cluster(include_authorized_operations=True, request_timeout=_TIMEOUT).result()
        if found.authorized_operations is None:
            yield ResourceType.CLUSTER, CLUSTER_NAME, AclOperation.DESCRIBE, False
            return
        granted = _names(found.authorized_operations)
        for operation in SUPPORTED_OPERATIONS[ResourceType.CLUSTER]:
            yield ResourceType.CLUSTER, CLUSTER_NAME, operation, operation.name in granted

    @staticmethod
    def _permits(future: "Future[Any]") -> bool:
        """Whether a request was let through, whatever else may be wrong with it."""
        try:
            future.result()
        except KafkaException as error:
            code: int = error.args[0].code()
            if code < 0:  # the client's own: no broker answered
                raise
            return code not in _REFUSED
        return True


def _names(operations: Any) -> set[str]:
    return {operation.name for operation in operations or ()}
