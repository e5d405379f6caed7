"""A child process with kafka-python, which answers one question: the ACLs, features, topic sizes, or of a listed kind.

Only this module, ``raw_messages`` and the ``…_messages`` of a kind import kafka-python. ``raw_messages`` and
``_cluster_id`` are the only places that go beyond its public API, so the dependency is pinned to 3.0.*. The public
methods are not enough: ``describe_acls`` turns codes into enums and raises for one that is newer than the library, and
for some kinds there is none. Messages keep every code and error, and memory is their only limit.

ACLs are written by these messages too: version 3 of CreateAcls and DeleteAcls has USER resources (KIP-373), for which
confluent-kafka has no codes.
"""

import logging
import os
import ssl
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import kafka
from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol import admin
from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest, DescribeQuorumRequest
from kafka.protocol.metadata import ApiVersionsRequest

from reconciler.kafka.raw_messages import (
    CONTROLLER_MS,
    PATIENCE_MS,
    Question,
    error_name,
    outcome,
    read,
    refused,
    run,
    unsent,
)
from reconciler.kafka.reader_process import ANY, Reply, Task, serve


def _created(client: KafkaAdminClient, task: Task) -> Reply:
    creations = [CreateAclsRequest.AclCreation(*row) for row in task["rows"]]
    answer = run(client, CreateAclsRequest(creations=creations, min_version=3))
    return ("altered", [outcome(result) for result in answer.results])


def _deleted(client: KafkaAdminClient, task: Task) -> Reply:
    """With exact filters. An entry that matched and could not be deleted fails its filter."""
    filters = [DeleteAclsRequest.DeleteAclsFilter(*row) for row in task["rows"]]
    answer = run(client, DeleteAclsRequest(filters=filters, min_version=3))
    failed = (
        next((match for match in result.matching_acls if match.error_code), result) for result in answer.filter_results
    )
    return ("altered", [outcome(result) for result in failed])


#: The outcome of each creation and deletion, in order.
QUESTIONS: Final[Mapping[str, Question]] = {
    "create_acls": Question(_created, writes=True),
    "delete_acls": Question(_deleted, writes=True),
}


_LARGEST_REPLY = 2**31 - 1
_TICK_SECONDS = 0.05
#: A connection that gets no further for so long may be to a broker that stands still: another one is tried beside it.
_NEXT_TRY_TICKS = 20
_MOST_TRIES = 4


class _UnconnectedError(Exception):
    """The client could not connect; nothing was asked."""


class _Progress(logging.Handler):
    """How far a connection gets, and what stopped it: the library tries again by itself and tells only its log."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: set[tuple[object, ...]] = set()
        self.problem: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        args = record.args if isinstance(record.args, tuple) else ()
        if record.levelno >= logging.WARNING:
            self.problem = next((arg for arg in args if isinstance(arg, Exception)), self.problem)
        elif record.name == "kafka.net.connection":
            # A kind of line, with the number of its request: another connection that does the same again adds nothing.
            self.steps.add((record.msg, *(arg for arg in args if isinstance(arg, int))))

    @property
    def refused(self) -> bool:
        """Whether a broker answered that it does not take such a client: to try again changes nothing."""
        return isinstance(self.problem, errors.BrokerResponseError) and not self.problem.retriable


class _Fixed(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """Hands out the one token that the parent sent."""

    def __init__(self, token: str) -> None:
        self._token = token

    def token(self) -> str:
        return self._token

    def extensions(self) -> dict[str, str]:
        return {}


def answer(task: Task) -> Reply:
    """The reply to ``task``, ``{"settings": …, "tls": …, "token": …, "ask": …, "timeout": …, "first": …, …}``.

    ``ask`` is the name of a question below, or of a module and a question: ``config.listed`` is in ``config_messages``.
    What else it needs is in the task too. ``patience`` is how many seconds a connection may take without getting
    further; if the ``first`` cannot be made, the reply is ``("unconnected", why)``.
    """
    question = _question(task["ask"])
    try:
        client = _connected({**task, "timeout": task["write_timeout"]} if question.writes else task)
    except _UnconnectedError as error:
        if task["first"]:
            return ("unconnected", str(error))
        return unsent(error) if question.writes else ("failed", str(error))
    try:
        return question.answer(client, task)
    except errors.NodeNotReadyError as error:
        if not question.writes:
            raise
        return unsent(error)
    finally:
        # Beside the answer, which a connection that does not end must neither delay nor change.
        threading.Thread(target=client.close, daemon=True).start()


def _connected(task: Task) -> KafkaAdminClient:
    """A client that knows the cluster; raises ``_UnconnectedError`` if it gets no further for ``patience`` s."""
    progress, log = _Progress(), logging.getLogger("kafka")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(progress)
    clients: list[KafkaAdminClient | Exception] = []
    steps = quiet = tries = 0
    # Ticks and not a clock: on a machine that is too busy to run this process, its broker is not late.
    while len(clients) < max(tries, 1) and quiet * _TICK_SECONDS < task["patience"] and not progress.refused:
        if tries < _MOST_TRIES and quiet >= tries * _NEXT_TRY_TICKS:
            # It waits in its constructor, for a broker that stands still too, and takes all the time that it is given.
            thread = threading.Thread(
                target=lambda number=tries: clients.append(_client_or_error(task, number)), daemon=True
            )
            thread.start()
            tries += 1
        thread.join(_TICK_SECONDS)
        if any(isinstance(item, KafkaAdminClient) for item in clients):
            break
        steps, quiet = (len(progress.steps), 0) if len(progress.steps) > steps else (steps, quiet + 1)
    log.removeHandler(progress)
    log.setLevel(logging.CRITICAL)
    for item in clients:
        if isinstance(item, KafkaAdminClient):
            return item
    why = progress.problem or (clients[0] if clients else None)
    silent = f"no broker got further with it for {task['patience']:.0f} s"
    raise _UnconnectedError(silent if why is None else f"{type(why).__name__}: {why}")


def _client_or_error(task: Task, number: int) -> KafkaAdminClient | Exception:
    """A client that asks the bootstrap servers in turn, from another one with each ``number``."""
    milliseconds = int(task["timeout"] * 1000)
    settings = dict(task["settings"])
    servers = settings["bootstrap_servers"]
    settings["bootstrap_servers"] = [servers[number % len(servers)]] if number else servers
    try:
        if task["tls"] is not None:
            settings["ssl_context"] = _context(task["tls"])
        if task["token"] is not None:
            settings["sasl_oauth_token_provider"] = _Fixed(task["token"])
        return KafkaAdminClient(
            **settings,
            receive_message_max_bytes=_LARGEST_REPLY,
            request_timeout_ms=min(milliseconds, PATIENCE_MS),
            bootstrap_timeout_ms=milliseconds,
        )
    except Exception as error:
        return error


def _acls(client: KafkaAdminClient, task: Task) -> Reply:
    request = DescribeAclsRequest(
        resource_type_filter=ANY,
        resource_name_filter=None,
        pattern_type_filter=ANY,
        principal_filter=task.get("principals"),
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )
    answer = read(client, request)
    if answer.error_code:
        return refused(answer)
    rows = [
        (
            r.resource_type,
            r.resource_name,
            r.pattern_type,
            [(a.principal, a.host, a.operation, a.permission_type) for a in r.acls],
        )
        for r in answer.resources
    ]
    return ("rows", _cluster_id(client), rows, _metadata_levels(client))


def _metadata_levels(client: KafkaAdminClient) -> tuple[int, int, int] | None:
    """The level of ``metadata.version``, the newest that the broker supports, the level of ``share.version``.

    Those in force are finalized; a feature that is not has the level 0. It needs no right.
    """
    try:
        finalized, supported = _levels(client)
    except errors.KafkaError:
        return None  # the listing is whole without it
    name = "metadata.version"
    complete = name in finalized and name in supported
    return (finalized[name], supported[name], finalized.get("share.version", 0)) if complete else None


def _levels(client: KafkaAdminClient) -> tuple[dict[str, int], dict[str, int]]:
    """The finalized level of each feature, and the newest that the broker supports (KIP-584)."""
    software = {"client_software_name": "kafka-python", "client_software_version": kafka.__version__}
    answer = read(client, ApiVersionsRequest(**software, min_version=3))
    if answer.error_code:
        raise errors.for_code(answer.error_code)(str(answer))
    finalized = {feature.name: feature.max_version_level for feature in answer.finalized_features or ()}
    return finalized, {feature.name: feature.max_version for feature in answer.supported_features or ()}


def _features(client: KafkaAdminClient, _: Task) -> Reply:
    return ("features", _levels(client)[0])


def _message(name: str, fields: Mapping[str, Any]) -> Any:
    """A message of kafka-python by its name, with what its fields hold; structures in them are mappings too."""
    return _filled(getattr(admin, name), fields)


def _filled(structure: Any, values: Mapping[str, Any]) -> Any:
    fields = structure.fields
    filled = {
        name: [_filled(fields[name].data_class, item) for item in values[name]]
        for name in values
        if values[name] is not None and fields[name].is_struct_array()
    }
    return structure(**{**values, **filled})


def _listed(client: KafkaAdminClient, task: Task) -> Reply:
    """All resources of a kind, each as its entry of the answer has it, by field.

    ``gone`` names the error of a resource that went between the listing of names and its description.
    """
    answer = read(client, _message(task["message"], task["fields"]))
    if answer.error_code:
        return refused(answer)
    entries = []
    for entry in getattr(answer, task["entries"]) or ():  # the message may leave them out, and an error has a code
        row = entry.to_dict(json=False)
        if not row.get("error_code"):
            entries.append(row)
        elif error_name(entry.error_code) != task["gone"]:
            # One that may not be read makes the listing one that is not whole: it must not look undeclared.
            return refused(entry)
    return ("listed", entries)


def _altered(client: KafkaAdminClient, task: Task) -> Reply:
    try:
        request = _message(task["message"], task["fields"])
    except Exception as error:
        # Its text may hold a value of the request, and a salted password logs in as well as a password.
        return ("unsent", f"the request cannot be written: {type(error).__name__}")
    entries = getattr(run(client, request), task["entries"])
    return ("altered", [(entry.to_dict(json=False), *outcome(entry)) for entry in entries])


def _sizes(client: KafkaAdminClient, task: Task) -> Reply:
    """The bytes that each topic takes on all brokers' disks; ``partitions`` are its ids by topic."""
    partitions = task["partitions"]
    sizes = dict.fromkeys(partitions, 0)
    for broker in client.describe_log_dirs(partitions):
        if not broker["log_dirs"]:
            return (
                "failed",
                f"broker {broker['broker']} does not report its log directories: is DESCRIBE on the cluster missing?",
            )
        for directory in broker["log_dirs"]:
            for topic in directory["topics"]:
                sizes[topic["name"]] += sum(item["partition_size"] for item in topic["partitions"])
    return ("sizes", sizes)


# What the controllers say of themselves: confluent-kafka has no request for it.

_TIMES: Final = ("last_fetch_timestamp", "last_caught_up_timestamp")


def _time(client: KafkaAdminClient, _: Task) -> Reply:
    """The newest time that the active controller tells, in milliseconds, or -1.

    Of itself it tells its own time of now (KIP-836; ``LeaderState.describeReplicaState``), with any number of replicas.
    """
    topic = DescribeQuorumRequest.TopicData
    wanted = topic(topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)])
    try:
        quorum = read(client, DescribeQuorumRequest(topics=[wanted]), patience=CONTROLLER_MS)
    except errors.KafkaError as error:
        return ("failed", f"{type(error).__name__}: {error}")
    if quorum.error_code:
        return refused(quorum)
    times = [
        getattr(replica, name, -1)
        for topic in quorum.topics
        for partition in topic.partitions
        for replica in (*partition.current_voters, *partition.observers)
        for name in _TIMES
    ]
    return ("time", max(times, default=-1))


_QUESTIONS: Final[Mapping[str, Question]] = {
    "acls": Question(_acls),
    "features": Question(_features),
    "sizes": Question(_sizes),
    "time": Question(_time),
    "listed": Question(_listed),
    "altered": Question(_altered, writes=True),
    **QUESTIONS,
}


def _question(name: str) -> Question:
    """By name. Other modules are imported only where they are asked: the process starts sooner."""
    module, _, question = name.rpartition(".")
    if not module:
        return _QUESTIONS[question]
    function: Question = import_module(f"reconciler.kafka.{module}_messages").QUESTIONS[question]
    return function


def _cluster_id(client: KafkaAdminClient) -> str | None:
    """The cluster of this very connection. Private API: the public ``describe_cluster`` is one more request."""
    cluster_id: str | None = client._manager.cluster.cluster_id
    return cluster_id


def _context(tls: Mapping[str, Any]) -> ssl.SSLContext:
    """A TLS context from librdkafka's settings, named as there without ``ssl.``; PEM text needs no file."""
    location = tls.get("ca.location")
    context = ssl.create_default_context(
        cafile=location if location and not os.path.isdir(location) else None,
        capath=location if location and os.path.isdir(location) else None,
        cadata=tls.get("ca.pem"),
    )
    context.check_hostname = tls.get("endpoint.identification.algorithm", "https") == "https"
    certificate = _path(tls, "certificate")
    if certificate is not None:
        context.load_cert_chain(certificate, _path(tls, "key"), tls.get("key.password"))
    return context


def _path(tls: Mapping[str, Any], name: str) -> str | None:
    """The file of a certificate or key; one that was given as text lies in memory, never on a disk."""
    pem = tls.get(f"{name}.pem")
    if pem is None:
        location: str | None = tls.get(f"{name}.location")
        return location
    descriptor = os.memfd_create(name)
    os.write(descriptor, pem.encode())
    return f"/proc/self/fd/{descriptor}"


if __name__ == "__main__":
    serve(answer)
