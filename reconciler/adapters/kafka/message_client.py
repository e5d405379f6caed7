"""A child process with kafka-python: reads ACLs, features, topic sizes and client quotas, and alters quotas.

This is the only module that imports kafka-python, and ``_run`` and ``_cluster_id`` are the only places that go beyond
its public API, so the dependency is pinned to 3.0.*. The public methods are not enough: ``describe_acls`` turns codes
into enums and raises for one that is newer than the library, and there is none for quotas. Messages keep every code and
error, and memory is their only limit.
"""

import logging
import os
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol.admin import AlterClientQuotasRequest, DescribeAclsRequest, DescribeClientQuotasRequest

from reconciler.adapters.kafka.child_process import ANY, Reply, Task, serve

_ATTEMPTS = 3
_BACKOFF_SECONDS = 0.2
_LARGEST_REPLY = 2**31 - 1


class _Fixed(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """Hands out the one token that the parent sent."""

    def __init__(self, token: str) -> None:
        self._token = token

    def token(self) -> str:
        return self._token

    def extensions(self) -> dict[str, str]:
        return {}


def answer(task: Task) -> Reply:
    """The reply to ``task``: ``{"settings": …, "tls": …, "token": …, "features": bool, "timeout": seconds}``.

    With ``sizes``, partitions by topic, the reply is the bytes that each topic takes on all brokers' disks. With
    ``quotas`` it is all client quotas, with ``alter_quotas`` the outcome of each alteration.
    """
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    settings = dict(task["settings"])
    if task["tls"] is not None:
        settings["ssl_context"] = _context(task["tls"])
    if task["token"] is not None:
        settings["sasl_oauth_token_provider"] = _Fixed(task["token"])
    milliseconds = int(task["timeout"] * 1000)
    try:
        client = KafkaAdminClient(
            **settings,
            receive_message_max_bytes=_LARGEST_REPLY,
            request_timeout_ms=milliseconds,
            bootstrap_timeout_ms=milliseconds,
        )
    except errors.KafkaError as error:
        if task.get("alter_quotas"):
            return ("unsent", f"{type(error).__name__}: {error}")
        raise
    if task.get("alter_quotas"):
        return _alter_quotas(client, task["alter_quotas"], only_validate=task["only_validate"])
    if task.get("quotas"):
        return _quotas(client)
    if task.get("sizes"):
        return _sizes(client, task["sizes"])
    return _features(client) if task["features"] else _acls(client)


def _acls(client: KafkaAdminClient) -> Reply:
    request = DescribeAclsRequest(
        resource_type_filter=ANY,
        resource_name_filter=None,
        pattern_type_filter=ANY,
        principal_filter=None,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )
    answer = _send(client, request)
    if answer.error_code:
        name = getattr(errors.for_code(answer.error_code), "message", "")
        return ("refused", answer.error_code, name, answer.error_message or name)
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


def _metadata_levels(client: KafkaAdminClient) -> tuple[int, int] | None:
    """The finalized level of ``metadata.version`` and the newest that the broker supports; needs no right."""
    try:
        found = _retried(client.describe_features).get("metadata.version", {})
    except errors.KafkaError:
        return None  # the listing is whole without it
    return (found["finalized"][1], found["supported"][1]) if found.keys() >= {"finalized", "supported"} else None


def _features(client: KafkaAdminClient) -> Reply:
    found = _retried(client.describe_features)
    return ("features", {name: one["finalized"][1] for name, one in found.items() if "finalized" in one})


def _sizes(client: KafkaAdminClient, partitions: Mapping[str, list[int]]) -> Reply:
    sizes = dict.fromkeys(partitions, 0)
    for broker in client.describe_log_dirs(partitions):
        if not broker["log_dirs"]:
            return (
                "failed",
                f"broker {broker['broker']} does not report its log directories: is DESCRIBE on the cluster missing?",
            )
        for directory in broker["log_dirs"]:
            for topic in directory["topics"]:
                sizes[topic["name"]] += sum(one["partition_size"] for one in topic["partitions"])
    return ("sizes", sizes)


def _quotas(client: KafkaAdminClient) -> Reply:
    answer = _send(client, DescribeClientQuotasRequest(components=[], strict=False))
    if answer.error_code:
        name = getattr(errors.for_code(answer.error_code), "message", "")
        return ("refused", answer.error_code, name, answer.error_message or name)
    entries = [
        ([(part.entity_type, part.entity_name) for part in one.entity], [(v.key, v.value) for v in one.values])
        for one in answer.entries
    ]
    return ("quotas", entries)


def _alter_quotas(client: KafkaAdminClient, alterations: list[Any], *, only_validate: bool) -> Reply:
    """Sends one request, never twice: what an answer that got lost has done is not known here."""
    entry = AlterClientQuotasRequest.EntryData
    request = AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData(entity_type=kind, entity_name=name) for kind, name in parts],
                ops=[entry.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values],
            )
            for parts, values in alterations
        ],
        validate_only=only_validate,
    )
    try:
        answer = _run(client, request)
    except errors.NodeNotReadyError as error:
        return ("unsent", f"{type(error).__name__}: {error}")
    outcomes = [
        (
            [(part.entity_type, part.entity_name) for part in one.entity],
            one.error_code,
            getattr(errors.for_code(one.error_code), "message", ""),
            one.error_message or "",
        )
        for one in answer.entries
    ]
    return ("altered", outcomes)


def _send(client: KafkaAdminClient, request: Any) -> Any:
    """The broker's answer to a request that only reads."""
    return _retried(lambda: _run(client, request))


def _retried(read: Callable[[], Any]) -> Any:
    """The result of ``read``, repeated if the connection was not ready or was lost."""
    for attempt in range(_ATTEMPTS):
        try:
            return read()
        except (errors.NodeNotReadyError, errors.KafkaConnectionError):
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_BACKOFF_SECONDS * 2**attempt)
    raise AssertionError("the last attempt returns or raises")


def _run(client: KafkaAdminClient, request: Any) -> Any:
    """Send one message, once. Private API: the client has no public method that sends a message as it is."""
    return client._manager.run(client._manager.send, request)


def _cluster_id(client: KafkaAdminClient) -> str | None:
    """The cluster of this very connection. Private API: the public ``describe_cluster`` is one more request."""
    found: str | None = client._manager.cluster.cluster_id
    return found


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
