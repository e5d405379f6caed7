"""What is asked of a cluster and how long that took, for ``--verbose``: names of requests, no settings, no contents."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from reconciler.adapters.kafka.settings import ClientSettings

_LOG: Final = logging.getLogger(__name__)


def log_connection(settings: ClientSettings) -> None:
    """Say where a client connects to, and how: the settings that are no secrets and explain most failures."""
    shown = {key: settings.config.get(key) for key in ("bootstrap.servers", "security.protocol", "sasl.mechanisms")}
    text = ", ".join(f"{key} {value}" for key, value in shown.items() if value)
    _LOG.debug("%s", settings.redact(f"connect: {text}"))


def log_client_line(settings: ClientSettings, line: str) -> None:
    """A line of the client's own log, about a connection that failed or a request that timed out."""
    _LOG.debug("%s", settings.redact(f"client: {line}"))


@contextmanager
def timed(request: str) -> Iterator[None]:
    """Say how long a request took, or how long until it failed."""
    began, ended = time.monotonic(), "failed"
    try:
        yield
        ended = "done"
    finally:
        _LOG.debug("%s: %s after %.0f ms", request, ended, (time.monotonic() - began) * 1000)
