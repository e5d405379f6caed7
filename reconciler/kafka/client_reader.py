"""Read all ACLs with confluent-kafka: in one call, or in shards by resource type and operation.

Runs in a child process, because librdkafka aborts the process on more than 100,000 resources in one response, and
overflows its thread's stack on fewer unless the stack size is raised first. A refusal looks like an empty listing: the
parent process has to prove the right to list.
"""

import contextlib
import ctypes
import logging
import time
from concurrent.futures import wait
from itertools import product
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from reconciler.kafka.errors import CodeLog, EntryCodes, as_returned, with_logged
from reconciler.kafka.reader_process import Reply, Task, serve

_STACK_BYTES: Final = 256 * 1024 * 1024
#: More than glibc's ``pthread_attr_t`` and macOS's need.
_ATTR_BYTES: Final = 256
_POLL_SECONDS: Final = 0.05
#: How long warnings may come after the answer that they are about.
_LOG_SECONDS: Final = 1.0
#: Of syslog: librdkafka logs warnings, and what is worse.
_WARNINGS: Final = 4
_NAMED_TYPES: Final = ("TOPIC", "GROUP", "BROKER", "TRANSACTIONAL_ID")


def read(task: Task) -> Reply:
    """The reply to ``task``: ``{"config": …, "token": (text, expires) or None, "shards": bool, "timeout": …}``."""
    raise_thread_stack()
    log = CodeLog()
    logger = logging.Logger("kafka-client", logging.WARNING)
    logger.addHandler(log)
    config = {**task["config"], "log_level": _WARNINGS}
    if task["token"] is not None:
        config["oauth_cb"] = lambda _: tuple(task["token"])
    client = AdminClient(config, logger=logger)
    pairs = _shards() if task["shards"] else [(ResourceType.ANY, AclOperation.ANY)]
    filters = [_filter(*pair, task.get("principals")) for pair in pairs]
    try:
        cluster = client.describe_cluster(request_timeout=task["timeout"])
        # All requests are sent before the first is awaited, so shards are answered in parallel.
        futures = [client.describe_acls(f, request_timeout=task["timeout"]) for f in filters]
        cluster_id = _wait(client, cluster).cluster_id
        listed = [binding for future in futures for binding in _wait(client, future)]
    except KafkaException as error:
        cause = error.args[0]
        return ("failed", f"{cause.name()}: {cause.str()}")
    return ("rows", cluster_id, _rows(listed, _codes(client, listed, log)))


def raise_thread_stack() -> None:
    """Give new threads a stack that fits the parser's data; does nothing if libc lacks the function."""
    with contextlib.suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        attributes = ctypes.create_string_buffer(_ATTR_BYTES)
        libc.pthread_attr_init(attributes)
        libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_STACK_BYTES))
        libc.pthread_setattr_default_np(attributes)


def _shards() -> list[tuple[ResourceType, AclOperation]]:
    operations = [o for o in AclOperation if o not in (AclOperation.UNKNOWN, AclOperation.ANY)]
    return list(product([ResourceType[name] for name in _NAMED_TYPES], operations))


def _filter(resource_type: ResourceType, operation: AclOperation, principals: Any) -> AclBindingFilter:
    anything: Any = None  # the type stubs do not know that a filter's texts are optional
    return AclBindingFilter(
        resource_type, anything, ResourcePatternType.ANY, principals, anything, operation, AclPermissionType.ANY
    )


def _wait(client: AdminClient, future: Any) -> Any:
    """The result; polls meanwhile, because librdkafka requests OAUTHBEARER tokens through a callback."""
    while not future.done():
        client.poll(0)
        wait((future,), timeout=_POLL_SECONDS)
    return future.result()


def _codes(client: AdminClient, listed: list[Any], log: CodeLog) -> list[EntryCodes]:
    """The codes of each entry. The log comes by another queue than the answer, so it is waited for."""
    returned = as_returned(listed)
    if not any(None in item for item in returned):
        return returned
    end = time.monotonic() + _LOG_SECONDS
    while (logged := with_logged(listed, log.codes)) is None and time.monotonic() < end:
        client.poll(_POLL_SECONDS)
    return returned if logged is None else logged


def _rows(
    listed: list[Any], codes: list[EntryCodes]
) -> list[tuple[int | None, str, int | None, list[tuple[str, str, int | None, int | None]]]]:
    """Resource rows; a code that is lost is ``None``."""
    resources: dict[tuple[int | None, str, int | None], list[tuple[str, str, int | None, int | None]]] = {}
    for b, (resource_type, pattern_type, operation, permission_type) in zip(listed, codes, strict=True):
        key = (resource_type, b.name, pattern_type)
        entry = (b.principal, b.host, operation, permission_type)
        resources.setdefault(key, []).append(entry)
    return [(*key, entries) for key, entries in resources.items()]


if __name__ == "__main__":
    serve(read)
