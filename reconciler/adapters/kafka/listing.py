"""Lists all ACLs by child processes, so that what kills a client library is an answer here, never our death.

Three readers, each tried only where the one before could not read: raw messages (``message_reader``), the client in
one call, the client in shards. Why in this order: ``docs/decisions/acl-listing.md``.
"""

import marshal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from reconciler.adapters.kafka import codes
from reconciler.adapters.kafka.bindings import ListedAcls, read_rows
from reconciler.adapters.kafka.kafka_python_settings import kafka_python_settings
from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.model.collector import without_collector
from reconciler.ports import ClusterError

#: Runs a module of ours from where we are ourselves: a Spark worker got the code with its job, and its Python has none.
_PROGRAM: Final = (
    "import runpy, sys; root, module = sys.argv[1:]; root in sys.path or sys.path.insert(0, root); "
    "runpy.run_module(module, run_name='__main__')"
)
_ROOT: Final = str(Path(__file__).parents[3])
#: Beyond the request's own timeout: starting, connecting, handing the rows over.
_GRACE_SECONDS: Final = 30.0

SHARDS_GAP: Final = (
    "The ACLs were listed in parts, by resource type and operation, because the cluster has too many for one call of "
    "the Kafka client: ACLs on USER and DELEGATION_TOKEN resources, and with operations that the client cannot name "
    "(CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT and newer), were not looked for."
)


class AclReader(StrEnum):
    """Who reads the ACLs."""

    MESSAGES = "messages"
    CLIENT = "client"
    SHARDS = "shards"


@dataclass(frozen=True, slots=True)
class ListingResult:
    """A listing, the cluster it came from, who read it, and what was not looked for."""

    cluster_id: str | None
    listing: ListedAcls
    reader: AclReader
    gap: str | None


class ListingProcess:
    """One reader at work in a process of its own."""

    def __init__(self, module: str, task: dict[str, Any]) -> None:
        """Makes it ready; ``-P`` keeps the working directory, which others may write to, off its import path."""
        isolated = ["-I"] if sys.flags.isolated else ["-P"]
        self._timeout = task["timeout"] + _GRACE_SECONDS
        self._process = subprocess.Popen(
            [sys.executable, *isolated, "-W", "ignore", "-c", _PROGRAM, _ROOT, f"reconciler.adapters.kafka.{module}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._output = b""
        self._thread = threading.Thread(target=self._talk, args=(marshal.dumps(task),), daemon=True)

    def begin(self) -> None:
        """Hands over the task, once; before that it only loads its libraries."""
        if self._thread.ident is None:
            self._thread.start()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def _talk(self, task: bytes) -> None:
        try:
            self._output, _ = self._process.communicate(task, timeout=self._timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def reply(self) -> tuple[Any, ...]:
        """Waits for the reply; a child that ended without one is ``("died", exit status)``."""
        self.begin()
        self._thread.join()
        status = self._process.returncode
        if status != 0:
            return ("died", status)
        with without_collector():
            reply: tuple[Any, ...] = marshal.loads(self._output)  # noqa: S302 - our own child wrote it
        return reply

    def stop(self) -> None:
        """Ends it, at work or not."""
        if self._process.poll() is None:
            self._process.kill()
        self.begin()  # which also closes its pipes
        self._thread.join()


class AclListing:
    """A listing under way: made ready early, begun once the cluster has greeted us, joined late."""

    def __init__(self, settings: ClientSettings, readers: Sequence[AclReader] = tuple(AclReader)) -> None:
        """Makes the first of ``readers`` ready that these settings permit; nothing is sent yet."""
        self._settings = settings
        self._tasks = [(reader, task) for reader in readers if (task := _task(reader, settings)) is not None]
        self._child = _start(*self._tasks[0])

    @property
    def pid(self) -> int:
        """The process that is at work now."""
        return self._child.pid

    def begin(self) -> None:
        """Lets it list, from now on."""
        self._child.begin()

    def result(self) -> ListingResult:
        """The listing, begun if it was not yet.

        Raises :class:`ClusterError` if it was refused, or if no reader could read it.

        What ``Reader.CLIENT`` and ``Reader.SHARDS`` return is empty also where it was refused: the caller must have
        the right to list proven.
        """
        troubles: list[str] = []
        for turn, (reader, task) in enumerate(self._tasks):
            if turn:
                self._child = _start(reader, task)
            match self._child.reply():
                case ("rows", cluster_id, rows):
                    gap = SHARDS_GAP if reader is AclReader.SHARDS else None
                    with without_collector():
                        return ListingResult(cluster_id, read_rows(rows), reader, gap)
                case ("refused", code, name, message):
                    raise refusal(code, name, self._settings.redact(message))
                case ("died", status):
                    troubles.append(f"{reader}: the process ended with status {status}")
                case ("failed", text):
                    troubles.append(f"{reader}: {self._settings.redact(text)}")
        raise ClusterError(
            "acl_listing_failed",
            "the ACLs could not be read by any means: " + "; ".join(troubles),
            "The Kafka client cannot read more than 100,000 resources in one listing; settings that kafka-python "
            "takes too (see docs/client-settings.md) have no such limit.",
        )

    def stop(self) -> None:
        """Ends whatever is still at work."""
        self._child.stop()


def features(settings: ClientSettings) -> dict[str, int] | None:
    """The cluster's finalized features by name, or ``None`` where these settings or the broker do not tell."""
    task = _task(AclReader.MESSAGES, settings)
    if task is None:
        return None
    match _start(AclReader.MESSAGES, {**task, "features": True}).reply():
        case ("features", found):
            return dict(found)
        case _:
            return None


def log_dir_sizes(settings: ClientSettings, partitions: Mapping[str, Sequence[int]]) -> dict[str, int] | str:
    """Bytes on all brokers' disks by topic, or why these settings or the brokers do not tell."""
    task = _task(AclReader.MESSAGES, settings)
    if task is None:
        return "the client library that can ask for it does not take these settings"
    wanted = {name: list(ids) for name, ids in partitions.items()}
    match _start(AclReader.MESSAGES, {**task, "sizes": wanted}).reply():
        case ("sizes", found):
            return dict(found)
        case ("failed", text):
            return settings.redact(str(text))
        case _:
            return "the process that asks for it did not answer"


def refusal(code: int, name: str = "", message: str = "") -> ClusterError:
    """The error of a listing that the cluster refused."""
    if code == codes.CLUSTER_AUTHORIZATION_FAILED:
        return ClusterError(
            codes.NAMES[code],
            "not authorised to list ACLs",
            "Grant our principal ALLOW DESCRIBE on the CLUSTER resource (kafka-cluster).",
        )
    if code == codes.SECURITY_DISABLED:
        return ClusterError(
            codes.NAMES[code],
            "this cluster has no authorizer, so it has no ACLs",
            "Set authorizer.class.name on brokers and controllers, or leave ACLs out.",
        )
    return ClusterError(name or f"ERROR_{code}", message or "the ACL listing was refused")


def _task(reader: AclReader, settings: ClientSettings) -> dict[str, Any] | None:
    if reader is AclReader.MESSAGES:
        carried = kafka_python_settings(settings)
        return carried and {**carried, "features": False, "timeout": settings.request_timeout}
    token = tuple(settings.bearer.token()) if settings.bearer is not None else None
    return {
        "config": dict(settings.config),
        "token": token,
        "shards": reader is AclReader.SHARDS,
        "timeout": settings.request_timeout,
    }


def _start(reader: AclReader, task: dict[str, Any]) -> ListingProcess:
    return ListingProcess("message_reader" if reader is AclReader.MESSAGES else "client_reader", task)
