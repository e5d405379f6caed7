"""List all ACLs in child processes, so that a crash of a client library is an error here and does not end us.

It tries up to three ways, in this order: raw messages (``message_client``), the client in one call, the client in
shards. ``docs/decisions/acl-listing.md`` explains the order.
"""

import marshal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Final

from reconciler.adapters.kafka import codes, reader_process
from reconciler.adapters.kafka.bindings import ListedAcls, read_rows
from reconciler.adapters.kafka.first_contact import FIRST_CONTACT_SECONDS
from reconciler.adapters.kafka.kafka_python_settings import kafka_python_settings
from reconciler.adapters.kafka.release import NOTHING_TOLD, ReleaseRules, rules_of
from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.dataclass import dataclass
from reconciler.model import ResourcePattern
from reconciler.model.collector import without_collector
from reconciler.ports import NONE_KNOWN, ClusterError

#: In addition to the request's timeout: to start, to connect, to pass on the rows.
_GRACE_SECONDS: Final = 30.0

SHARDS_GAP: Final = (
    "The ACLs were listed in parts, by resource type and operation, because the cluster has too many for one call of "
    "the Kafka client: ACLs on USER and DELEGATION_TOKEN resources, and with operations that the client cannot name "
    "(CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT and newer), were not listed."
)


class AclReader(StrEnum):
    """How the ACLs are read."""

    MESSAGES = "messages"
    CLIENT = "client"
    SHARDS = "shards"


@dataclass(frozen=True, slots=True)
class ListingResult:
    """A listing, its cluster and that one's rules, how it was read, and what it may lack (``gap``)."""

    cluster_id: str | None
    listing: ListedAcls
    reader: AclReader
    gap: str | None
    rules: ReleaseRules = NOTHING_TOLD


class ListingProcess:
    """One reader in a process of its own."""

    def __init__(self, module: str, task: dict[str, Any]) -> None:
        """Start the process."""
        self._task, self._timeout = dict(task), task["timeout"] + _GRACE_SECONDS
        self._process = reader_process.reader(module)
        self._output = b""
        self._thread = threading.Thread(target=self._talk, daemon=True)
        self._once = threading.Lock()

    def begin(self, principals: str | None = None) -> None:
        """Pass on the task, once; until then the process only loads its libraries."""
        with self._once:  # whoever was told by the client's thread, and whoever waits
            if self._thread.ident is None:
                self._task["principals"] = principals
                self._thread.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def _talk(self) -> None:
        try:
            # Reads both pipes at once: a child that fills one while the other is read would wait for ever.
            self._output, _ = self._process.communicate(marshal.dumps(self._task), timeout=self._timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def reply(self) -> tuple[Any, ...]:
        """Wait for the reply; a process that ended without one is ``("died", exit status)``."""
        self.begin()
        self._thread.join()
        status = self._process.returncode
        # Aborted by its library (-6), or killed after its time: whatever it wrote may be cut off.
        if status != 0:
            return ("died", status)
        with without_collector():
            reply: tuple[Any, ...] = marshal.loads(self._output)  # noqa: S302 - our own child wrote it
        return reply

    def stop(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self.begin()  # this also closes the pipes
        self._thread.join()


class AclListing:
    """An ACL listing: started early, begun after the handshake, awaited late."""

    def __init__(self, settings: ClientSettings, readers: Sequence[AclReader] = tuple(AclReader)) -> None:
        """Start the first of ``readers`` that supports these settings; nothing is sent yet."""
        self._settings = settings
        self._tasks = [(reader, task) for reader in readers if (task := _task(reader, settings)) is not None]
        self._child = _start(*self._tasks[0])
        self._principals: str | None = None

    @property
    def pid(self) -> int:
        """The id of the current process."""
        return self._child.pid

    def begin(self, principals: str | None = None) -> None:
        """Begin to list the ACLs of all principals, or of those that a filter of DescribeAcls names."""
        self._principals = principals
        self._child.begin(principals)

    def result(self, known: Mapping[ResourcePattern, ResourcePattern] = NONE_KNOWN) -> ListingResult:
        """The listing, which is begun if necessary, on patterns of ``known`` where these are equal.

        Raises :class:`ClusterError` if the cluster refused it, or if every reader failed. With ``AclReader.CLIENT`` and
        ``AclReader.SHARDS`` a refused listing is empty: the caller has to prove the right to list.
        """
        troubles: list[str] = []
        for turn, (reader, task) in enumerate(self._tasks):
            if turn:  # the first was started early, by the constructor
                self._child = _start(reader, task)
                self._child.begin(self._principals)
            match self._child.reply():
                case ("rows", cluster_id, rows, *levels):
                    gap = SHARDS_GAP if reader is AclReader.SHARDS else None
                    rules = rules_of(*levels[0]) if levels and levels[0] else NOTHING_TOLD
                    if reader is AclReader.MESSAGES:
                        self._settings.first_contact.made = True
                    elif troubles:
                        self._settings.first_contact.note(_other_reader(troubles))
                    with without_collector():
                        return ListingResult(cluster_id, read_rows(rows, known), reader, gap, rules)
                # The cluster's word: another reader would be refused too, or take the refusal for an empty listing.
                case ("refused", code, name, message):
                    raise refusal(code, name, self._settings.redact(message))
                case ("unconnected", text):
                    self._settings.first_contact.give_up(self._settings.redact(text))
                    troubles.append(f"{reader}: {self._settings.redact(text)}")
                case ("died", status):
                    troubles.append(f"{reader}: the process ended with status {status}")
                case ("failed", text):
                    troubles.append(f"{reader}: {self._settings.redact(text)}")
        raise ClusterError(
            "acl_listing_failed",
            "no reader could read the ACLs: " + "; ".join(troubles),
            "librdkafka cannot read more than 100,000 resources in one listing. With client settings that kafka-python "
            "supports too (see docs/client-settings.md) there is no such limit.",
        )

    def stop(self) -> None:
        """End the current process."""
        self._child.stop()


def features(settings: ClientSettings) -> dict[str, int] | None:
    """The cluster's finalized features by name, or ``None`` if they cannot be read."""
    match ask(settings, "features"):
        case ("features", found):
            return dict(found)
        case _:
            return None


def log_dir_sizes(settings: ClientSettings, partitions: Mapping[str, Sequence[int]]) -> dict[str, int] | str:
    """Bytes on all brokers' disks by topic, or why they cannot be read."""
    match ask(settings, "sizes", partitions={name: list(ids) for name, ids in partitions.items()}):
        case None:
            return f"kafka-python, which reads it, {no_messages(settings)}"
        case ("sizes", found):
            return dict(found)
        case ("failed", text):
            return settings.redact(str(text))
        case _:
            return "the process that reads it did not answer"


def ask(settings: ClientSettings, question: str, **about: Any) -> tuple[Any, ...] | None:
    """The message client's reply to another question than the ACLs; ``None`` where :func:`no_messages` says why."""
    with asking(settings, question, **about) as reply:
        return reply()


@contextmanager
def asking(settings: ClientSettings, question: str, **about: Any) -> Iterator[Callable[[], tuple[Any, ...] | None]]:
    """The same, and what is between goes on while it is answered."""
    task = _task(AclReader.MESSAGES, settings)
    if task is None:
        yield lambda: None
        return
    process = _start(AclReader.MESSAGES, {**task, "ask": question, **about})
    process.begin()

    def replied() -> tuple[Any, ...] | None:
        reply = process.reply()
        if reply[0] == "unconnected":
            settings.first_contact.give_up(settings.redact(reply[1]))
            return None
        settings.first_contact.made |= reply[0] not in ("died", "failed", "unsent")
        return reply

    try:
        yield replied
    finally:
        process.stop()


def no_messages(settings: ClientSettings) -> str | None:
    """Why the message client is not used, as the end of a sentence about kafka-python; ``None`` where it is."""
    if settings.first_contact.failure:
        return f"cannot connect to this cluster: {settings.first_contact.failure}"
    if kafka_python_settings(settings) is None:
        return "does not take these client settings (docs/client-settings.md)"
    return None


def refusal(code: int, name: str = "", message: str = "") -> ClusterError:
    """The error of a listing that the cluster refused."""
    if code == codes.CLUSTER_AUTHORIZATION_FAILED:
        return ClusterError(
            codes.NAMES[code],
            "not authorized to list ACLs",
            "Grant the principal of this tool ALLOW DESCRIBE on CLUSTER kafka-cluster.",
        )
    if code == codes.SECURITY_DISABLED:
        return ClusterError(
            codes.NAMES[code],
            "this cluster has no authorizer, so it has no ACLs",
            "Set authorizer.class.name on brokers and controllers, or do not manage ACLs here.",
        )
    known = codes.NAMES.get(code, name or f"ERROR_{code}")
    return ClusterError(
        known,
        "the broker failed to list the ACLs" if code == codes.UNKNOWN_SERVER_ERROR else message or "refused",
        "Look into the broker's log: an authorizer of another make, such as Open Policy Agent's, may keep no ACLs.",
    )


def _task(reader: AclReader, settings: ClientSettings) -> dict[str, Any] | None:
    if reader is AclReader.MESSAGES:
        carried = None if settings.first_contact.failure else kafka_python_settings(settings)
        first = not settings.first_contact.made
        timeout = settings.request_timeout
        patience = min(FIRST_CONTACT_SECONDS, timeout) if first else timeout
        about = {"timeout": timeout, "write_timeout": settings.write_timeout, "first": first, "patience": patience}
        return carried and {**carried, "ask": "acls", **about}
    # A token and not its source: a child could not ask a callback of ours, and must not hold what mints tokens.
    token = tuple(settings.bearer.token()) if settings.bearer is not None else None
    return {
        "config": dict(settings.config),
        "token": token,
        "shards": reader is AclReader.SHARDS,
        "timeout": settings.request_timeout,
    }


def _other_reader(troubles: Sequence[str]) -> str:
    return f"the ACLs were read in another way than usual: {'; '.join(troubles)}"


def _start(reader: AclReader, task: dict[str, Any]) -> ListingProcess:
    return ListingProcess(reader_process.MESSAGES if reader is AclReader.MESSAGES else "client_reader", task)
