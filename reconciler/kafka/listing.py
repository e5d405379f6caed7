"""ACL listings by child processes, the settings of their clients, and the checks that a listing is complete.

List all ACLs in child processes, so that a crash of a client library is an error here and does not end us.

It tries up to three ways, in this order: raw messages (``message_client``), the client in one call, the client in
shards. ``docs/decisions/acl-listing.md`` explains the order.
"""

import marshal
import subprocess
import threading
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import IO, Any, Final, NamedTuple, cast

from reconciler.dataclass import dataclass
from reconciler.kafka import errors, reader_process
from reconciler.kafka.bindings import ListedAcls, read_rows
from reconciler.kafka.client import AdminConnection
from reconciler.kafka.handshake import AuthorizerPresence, Handshake, handshake_with, probe_authorizer
from reconciler.kafka.reader_process import LENGTH_BYTES
from reconciler.kafka.settings import ClientSettings
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.addresses import RANGES_SINCE
from reconciler.model.characters import as_name, binding_name
from reconciler.model.flavor import FIRST_LEVELS, NEWEST_RELEASE, release_text
from reconciler.model.frozen import without_collector
from reconciler.ports import DONE, NONE_KNOWN, Answer, AnswerStatus, ClusterError

# The release whose rules a cluster's authorizer follows, from the levels of the feature ``metadata.version``.

#: The last level of the newest release that is known here.
_LAST_LEVEL: Final = 33


class ReleaseRules(NamedTuple):
    """The release whose rules apply; where the cluster leaves that open, ``version`` is ``None`` and ``gap`` says why.

    Both are ``None`` for a cluster that tells nothing. ``level`` is the finalized level of ``metadata.version``, and
    ``share_version`` that of share groups.
    """

    version: tuple[int, int] | None
    gap: str | None = None
    level: int | None = None
    share_version: int | None = None


#: Of a cluster that tells no levels.
NO_RELEASE_RULES: Final = ReleaseRules(None)


def release_of(level: int) -> tuple[int, int] | None:
    """The release of a level; ``None`` before 3.3 and after the newest that is known here."""
    place = bisect_right(FIRST_LEVELS, level, key=lambda item: item[0])
    return FIRST_LEVELS[place - 1][1] if place and level <= _LAST_LEVEL else None


def rules_of(finalized: int, supported: int) -> ReleaseRules:
    """The release whose rules apply: that of the broker's code, ``supported``, which has the authorizer.

    ``finalized`` is what all brokers have at least. If 4.4 is between the two, an upgrade is not finished: some brokers
    may take hosts as ranges and some not, so it is left open.
    """
    if supported > _LAST_LEVEL:
        newest = release_text(NEWEST_RELEASE)
        return ReleaseRules(
            None, f"metadata.version {supported} is of a Kafka newer than {newest}, the newest known", finalized
        )
    least, most = release_of(finalized), release_of(supported)
    if least is None or most is None:
        return NO_RELEASE_RULES
    if least < RANGES_SINCE <= most:
        return ReleaseRules(
            None,
            f"brokers run {release_text(most)} and metadata.version is {release_text(least)}'s: perhaps not all do",
            finalized,
        )
    return ReleaseRules(max(least, most), level=finalized)


#: In addition to the request's timeout: to start, to connect, to pass on the rows.
_GRACE_SECONDS: Final = 30.0
#: Bytes of the largest reply after which a process is kept for the next question: it keeps its memory, some 80 MB.
_MOST_KEPT: Final = 2**24
#: A process that replies so ends: its tries to connect may go on, and the next question would be beside them.
_FAILURES: Final = ("unconnected", "failed", "unsent")
#: No reply of these is longer.
_MOST_OF_FAILURE: Final = 2**16

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
    rules: ReleaseRules = NO_RELEASE_RULES


class ListingProcess:
    """One question to a reader in a process of its own."""

    def __init__(self, module: str, task: dict[str, Any]) -> None:
        """Take the process that is ready, or start one."""
        self._task, self._module = dict(task), module
        self._process = reader_process.reader(module)
        self._output: bytes | None = None
        self._thread = threading.Thread(target=self._talk, daemon=True)
        #: Held by whoever begins, kills or gives back: another question's process must not be killed in its stead.
        self._lock = threading.Lock()
        self._over = False

    def begin(self, principals: str | None = None) -> None:
        """Pass on the task, once; until then the process only loads its libraries."""
        with self._lock:  # whoever was told by the client's thread, and whoever waits
            if self._thread.ident is None:
                self._task["principals"] = principals
                self._thread.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def _talk(self) -> None:
        timer = threading.Timer(self._task["timeout"] + _GRACE_SECONDS, self._kill)
        timer.daemon = True
        timer.start()
        with suppress(OSError):
            self._output = answer_of(self._process, marshal.dumps(self._task))
        timer.cancel()
        with self._lock:
            kept = not self._over and self._output is not None and _leaves_nothing_behind(self._output)
            self._over = True
        if kept:
            reader_process.give_back(self._module, self._process)
        else:
            reader_process.end_reader(self._process)

    def _kill(self) -> None:
        with self._lock:
            if not self._over:
                self._over = True
                self._process.kill()

    def reply(self) -> tuple[Any, ...]:
        """Wait for the reply; a process that ended without one is ``("died", exit status)``."""
        self.begin()
        self._thread.join()
        if self._output is None:
            return ("died", self._process.returncode)
        with without_collector():
            reply: tuple[Any, ...] = marshal.loads(self._output)  # noqa: S302 - our own child wrote it
        return reply

    def stop(self) -> None:
        """End the process, unless it has answered."""
        self._kill()
        self.begin()  # this also closes the pipes
        self._thread.join()


def _leaves_nothing_behind(reply: bytes) -> bool:
    if len(reply) > _MOST_OF_FAILURE:
        return len(reply) <= _MOST_KEPT
    kind: object = marshal.loads(reply)[0]  # noqa: S302 - our own child wrote it
    return kind not in _FAILURES


def answer_of(process: "subprocess.Popen[bytes]", task: bytes) -> bytes | None:
    """What a process replies, or ``None`` if it ends before all of it is there; raises ``BrokenPipeError``."""
    stdin, stdout = cast("tuple[IO[bytes], IO[bytes]]", (process.stdin, process.stdout))
    stdin.write(task)
    stdin.flush()
    length = stdout.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "big")
    reply = stdout.read(size)
    return reply if len(reply) == size else None


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

    def result(self, patterns: Mapping[ResourcePattern, ResourcePattern] = NONE_KNOWN) -> ListingResult:
        """The listing, which is begun if necessary, on the objects of ``patterns`` where these are equal.

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
                    rules = NO_RELEASE_RULES
                    if levels and levels[0]:
                        finalized, supported, share_version = levels[0]
                        rules = rules_of(finalized, supported)._replace(share_version=share_version)
                    if reader is AclReader.MESSAGES:
                        self._settings.first_contact.established = True
                    elif troubles:
                        self._settings.first_contact.note(_other_reader(troubles))
                    with without_collector():
                        return ListingResult(cluster_id, read_rows(rows, patterns), reader, gap, rules)
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
        case ("features", levels):
            return dict(levels)
        case _:
            return None


def log_dir_sizes(settings: ClientSettings, partitions: Mapping[str, Sequence[int]]) -> dict[str, int] | str:
    """Bytes on all brokers' disks by topic, or why they cannot be read."""
    match ask(settings, "sizes", partitions={name: list(ids) for name, ids in partitions.items()}):
        case None:
            return f"kafka-python, which reads it, {no_messages(settings)}"
        case ("sizes", sizes):
            return dict(sizes)
        case ("failed", text):
            return settings.redact(str(text))
        case _:
            return "the process that reads it did not answer"


def ask(settings: ClientSettings, question: str, **about: Any) -> tuple[Any, ...] | None:
    """The message client's reply to another question than the ACLs; ``None`` where :func:`no_messages` says why."""
    with asking(settings, question, **about) as reply:
        return reply()


def altered(settings: ClientSettings, question: str, who: str, **about: Any) -> Sequence[Any] | Answer:
    """The outcomes of one request that changes the cluster, or the one answer to all of it; it is never retried.

    If what it did got lost, only reading shows that. ``who`` begins the sentence that :func:`no_messages` ends.
    """
    match ask(settings, question, **about):
        case None:  # the first connection of this run was tried with this very request, and nothing was sent
            return Answer(AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", f"{who} {no_messages(settings)}")
        case ("altered", outcomes):
            return list(outcomes)
        case ("refused", code, name, message):
            return errors.failure(code, name, settings.redact(message)).answer()
        case ("unsent", text):
            return Answer(AnswerStatus.FAILED, "NOT_SENT", settings.redact(text), retriable=True)
        case reply:
            return Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", settings.redact(" ".join(map(str, reply))), retriable=True)


def item_answer(settings: ClientSettings, code: int, name: str, message: str) -> Answer:
    """The answer for one item of such a request, from its error; the code 0 is none."""
    return errors.failure(code, name, settings.redact(message)).answer() if code else DONE


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
        settings.first_contact.established |= reply[0] not in ("died", "failed", "unsent")
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
    if code == errors.CLUSTER_AUTHORIZATION_FAILED:
        return ClusterError(
            errors.NAMES[code],
            "not authorized to list ACLs",
            "Grant the principal of this tool ALLOW DESCRIBE on CLUSTER kafka-cluster.",
        )
    if code == errors.SECURITY_DISABLED:
        return ClusterError(
            errors.NAMES[code],
            "this cluster has no authorizer, so it has no ACLs",
            "Set authorizer.class.name on brokers and controllers, or do not manage ACLs here.",
        )
    code_name = errors.NAMES.get(code, name or f"ERROR_{code}")
    return ClusterError(
        code_name,
        "the broker failed to list the ACLs" if code == errors.UNKNOWN_SERVER_ERROR else message or "refused",
        "Look into the broker's log: an authorizer of another make, such as Open Policy Agent's, may keep no ACLs.",
    )


def _task(reader: AclReader, settings: ClientSettings) -> dict[str, Any] | None:
    if reader is AclReader.MESSAGES:
        carried = None if settings.first_contact.failure else kafka_python_settings(settings)
        first = not settings.first_contact.established
        timeout = settings.request_timeout
        patience = min(errors.FIRST_CONTACT_SECONDS, timeout) if first else timeout
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


# Check that an ACL listing is of this cluster and is not a refusal that looks empty.
#
# librdkafka returns an empty list if DescribeAcls fails, whatever the reason: it drops the top-level error code. A
# cluster without an authorizer reports every operation as permitted, and another authorizer may keep no ACLs. So a
# listing by the client counts only together with proof of the right to list, and of an authorizer that answers about
# ACLs. Raw messages need no proof: they carry the error code.


def checked_listing(connection: AdminConnection, handshake: Handshake, listed: ListingResult) -> ListingResult:
    """``listed``, or :class:`ClusterError`. ``handshake`` must be from before the listing was read."""
    # Bootstrap addresses of two clusters would mix the topics of one with the ACLs of the other.
    if listed.cluster_id is not None and listed.cluster_id != handshake.cluster_id:
        raise ClusterError(
            "cluster_mismatch",
            f"the bootstrap servers lead to two clusters, {handshake.cluster_id} and {listed.cluster_id}",
            "List only the brokers of one cluster.",
        )
    # One request that returned something was not refused. Of shards, some may have been refused, some not.
    whole_and_filled = listed.reader is AclReader.CLIENT and any(listed.listing)
    if listed.reader is not AclReader.MESSAGES and not whole_and_filled:
        _prove_right_to_list(connection, handshake, empty=not any(listed.listing))
    return listed


def _prove_right_to_list(connection: AdminConnection, before: Handshake, *, empty: bool) -> None:
    """Prove that we were allowed to list before and still are: an empty listing or shard may be a refusal."""
    after = handshake_with(connection)
    if not (before.may_list_acls and after.may_list_acls):
        raise refusal(errors.CLUSTER_AUTHORIZATION_FAILED)
    probe = probe_authorizer(connection)
    if probe.authorizer is AuthorizerPresence.ABSENT:
        raise refusal(errors.SECURITY_DISABLED)
    # Whoever may list and not alter is no super user, so at least one ACL says so.
    if probe.authorizer is AuthorizerPresence.UNKNOWN or (empty and probe.may_alter is False):
        raise ClusterError(
            "acl_listing_unproven",
            "cannot tell whether this cluster has no ACLs, or its authorizer failed to list them",
            "Use client settings that kafka-python supports too (see docs/client-settings.md): it reports the error.",
        )


# Whether a listing of all topics is complete.
#
# A broker silently omits every topic that the caller may not DESCRIBE. The check assumes that
# ``allow.everyone.if.no.acl.found`` is off, so that its answer is right for either value.

#: ALLOW of one of these permits DESCRIBE (``AclEntry``/``StandardAuthorizerData``: implied operations).
_IMPLIES_DESCRIBE: Final = frozenset(
    {
        AclOperation.ALL,
        AclOperation.DESCRIBE,
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.DELETE,
        AclOperation.ALTER,
    }
)
#: DENY of one of these forbids DESCRIBE; a denied READ does not.
_DENIES_DESCRIBE: Final = frozenset({AclOperation.ALL, AclOperation.DESCRIBE})


def topic_listing_gap(
    bindings: Iterable[AclBinding],
    opaque: Iterable[OpaqueBinding],
    principal: str | None,
    super_users: Collection[str],
) -> str | None:
    """``None`` if no topic can be hidden from ``principal``, else a sentence that says why and what to do."""
    if principal is None:
        return "The topic listing may be partial: declare your own principal in spec.principal."
    # No ACL hides anything from a super user.
    if principal in super_users:
        return None
    topic_bindings = [b for b in bindings if b.pattern.resource_type is ResourceType.TOPIC]
    ours = [b for b in topic_bindings if b.entry.principal in (principal, WILDCARD_PRINCIPAL)]
    for binding in sorted(ours):
        if binding.entry.permission_type is AclPermissionType.DENY and binding.entry.operation in _DENIES_DESCRIBE:
            return (
                f"The topic listing may be partial: {binding_name(binding)} can hide topics from {as_name(principal)}."
            )
    for entry in opaque:
        if _may_hide(entry, principal):
            unread = f"an ACL that cannot be read, on {as_name(entry.name)}"
            return f"The topic listing may be partial: {unread}, may hide topics."
    if not any(_shows_every_topic(binding) for binding in ours):
        return (
            f"The topic listing may be partial: {as_name(principal)} has no ALLOW DESCRIBE on TOPIC '*' "
            "(LITERAL, host '*'); grant it, or declare the principal in spec.superUsers if it is a super user."
        )
    return None


def _shows_every_topic(binding: AclBinding) -> bool:
    entry = binding.entry
    return (
        entry.permission_type is AclPermissionType.ALLOW
        and entry.operation in _IMPLIES_DESCRIBE
        and entry.host == WILDCARD
        and binding.pattern.is_wildcard
    )


def _may_hide(entry: OpaqueBinding, principal: str) -> bool:
    """Whether an opaque entry may deny us DESCRIBE on topics.

    A known code can rule it out; a code that the reader lost rules nothing out.
    """
    return (
        entry.principal in (principal, WILDCARD_PRINCIPAL)
        and entry.resource_type in (None, ResourceType.TOPIC)
        and entry.permission_type in (None, AclPermissionType.DENY)
        and (entry.operation is None or entry.operation in _DENIES_DESCRIBE)
    )


# Translate librdkafka's settings for kafka-python.

_SAME: Final = {
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
}
_TLS: Final = frozenset(
    {
        "ca.location",
        "ca.pem",
        "certificate.location",
        "certificate.pem",
        "key.location",
        "key.pem",
        "key.password",
        "endpoint.identification.algorithm",
    }
)
#: Without meaning for a single request, or passed to kafka-python in another way.
_TUNING: Final = frozenset(
    {
        "bootstrap.servers",
        "socket.timeout.ms",
        "socket.keepalive.enable",
        "socket.connection.setup.timeout.ms",
        "connections.max.idle.ms",
        "reconnect.backoff.ms",
        "reconnect.backoff.max.ms",
        "retry.backoff.ms",
        "metadata.max.age.ms",
        "enable.sasl.oauthbearer.unsecure.jwt",
        "sasl.oauthbearer.config",
    }
)
_MECHANISMS: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"})


def kafka_python_settings(settings: ClientSettings) -> dict[str, Any] | None:
    """``{"settings": …, "tls": … or None, "token": … or None}`` for ``message_client``, or ``None``."""
    carried: dict[str, Any] = {"bootstrap_servers": settings.config["bootstrap.servers"].split(",")}
    tls: dict[str, str] = {}
    for key, value in settings.config.items():
        if key in _SAME:
            carried[_SAME[key]] = value
        elif key.startswith("ssl.") and key.removeprefix("ssl.") in _TLS:
            tls[key.removeprefix("ssl.")] = value
        elif key not in _TUNING:
            return None
    if carried.get("sasl_mechanism", "PLAIN") not in _MECHANISMS:
        return None
    if carried.get("sasl_mechanism") == "OAUTHBEARER" and settings.bearer is None:
        return None
    # One connection needs one token; the child process cannot ask for another.
    token = settings.bearer.token().text if settings.bearer is not None else None
    encrypted = "SSL" in carried.get("security_protocol", "PLAINTEXT")
    return {"settings": carried, "tls": tls if encrypted else None, "token": token}
