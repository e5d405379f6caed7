"""The admin client of confluent-kafka, its log, a log of requests, and one write request.

A typed wrapper of confluent-kafka's ``AdminClient``: create it, wait for its futures, translate its errors. A write
request has an answer for each item, and nothing is sent twice. An item that the client cannot carry fails alone. Our
values become the client's objects at the last moment, because a filter of the client compares equal to its binding.

The client's objects stay inside this package; its log is only used in the text of errors.
"""

import logging
import math
import re
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock, Thread
from typing import Any, Final, NamedTuple, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from reconciler.kafka.errors import (
    ALL_BROKERS_DOWN,
    AUTHENTICATION,
    SSL,
    TIMED_OUT,
    TRANSPORT,
    UNANSWERED,
    UNKNOWN_SERVER_ERROR,
    ClientFailure,
    connection_problem,
    failure,
    file_problem,
)
from reconciler.kafka.settings import ClientSettings
from reconciler.ports import DONE, Answer, AnswerStatus, ClusterError
from reconciler.retry import attempts
from reconciler.system.process import SystemClock

# What librdkafka's log says about a failure: which broker it was waiting for, and what went wrong there.
#
# An admin future that ran into its timeout says nothing of either. The log does, a moment later, because requests in
# flight are looked at once a second (``rd_kafka_broker_timeout_scan``).

#: syslog's level of information, at which librdkafka tells of connections that brokers close.
LEVEL: Final = 6
_CLOSED: Final = re.compile(r"FAIL .*: Disconnected: ")
_UNREACHABLE: Final = re.compile(r"(?P<who>broker \d+ at \S+): Connect to ")
_TIMEOUT: Final = "REQTMOUT"
#: ``protocol://host:port/1: text``, or ``/bootstrap`` for an address that is no known broker's yet.
_BROKER: Final = re.compile(r"^(?:\w+://)?(?P<address>\S+:\d+)/(?P<broker>\d+|bootstrap): ")


class ClientLog(logging.Handler):
    """Keeps the ``last`` line about a failure and the last about a request that ``timed_out``; empty without one.

    ``lost`` is the last known broker to which no connection can be made, as people name it.
    ``closed`` is the last about a connection that a broker closed, which many do to connections that nobody uses: it
    explains something only where no broker ever answered.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Keep none yet; ``tell`` is told of every line once."""
        super().__init__()
        self.last = self.timed_out = self.closed = self.lost = ""
        self._tell, self._reported = tell, set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line: an error, or the timeout of a request. Other warnings are about settings."""
        message = record.getMessage()
        line = broker_words(message.rpartition("]: ")[2])  # after the thread's name
        words = line.partition(" (after ")[0]
        if words not in self._reported:  # the client tries again and again, each time after other milliseconds
            self._reported.add(words)
            self._tell(line)
        if message.startswith(_TIMEOUT):
            self.last = self.timed_out = line
        elif record.levelno >= logging.ERROR:
            self.last = line
            self.lost = _lost(line) or self.lost
        elif _CLOSED.match(message):
            self.closed = line


def _lost(line: str) -> str:
    """``broker 2 at host:9092`` of a line that says that it cannot be reached; empty for every other line."""
    match = _UNREACHABLE.match(line)
    return match["who"] if match else ""


def broker_words(line: str) -> str:
    """A line of the log that begins with the broker as people name it: ``broker 1 at host:9092: Connect to …``."""
    match = _BROKER.match(line)
    if match is None:
        return line
    address, broker = match["address"], match["broker"]
    who = f"bootstrap server {address}" if broker == "bootstrap" else f"broker {broker} at {address}"
    return f"{who}: {line[match.end() :]}"


# What is asked of a cluster and how long that took, for ``--verbose``: names of requests, no settings, no contents.

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


T = TypeVar("T")
#: What a part of a question is known by.
K = TypeVar("K", bound=Hashable)

#: How often a waiting call polls for callbacks; an answered call returns at once.
_POLL_SECONDS: Final = 0.05
_READ_ATTEMPTS: Final = 4
#: A reading is asked again by a new client after so many seconds without an answer, as often as there are numbers. A
#: broker that stands still is named as the controller until ``broker.session.timeout.ms``, 9 s: the second client may
#: be sent to it too. A large answer may take long, so that the waits grow.
_ASK_AGAIN_SECONDS: Final = (8.0, 8.0, 16.0)
#: The same where a broker is known to refuse connections, as often as it takes.
_LOST_SECONDS: Final = 2.0
#: How often a client that waits for such a broker is told to ask for the controller again, and how long that may take.
#: It tries one that refuses thousands of times a second meanwhile, whatever ``reconnect.backoff.ms`` says. A broker
#: that only says nothing may be at work, so its client is told less often.
_CONTROLLER_SECONDS, _QUIET_SECONDS = 0.5, 3.0
#: Seconds for which a new client is given a chance, and how many are kept whose answers may still be due.
_YOUNG_SECONDS: Final = 1.0
_MOST_RETIRED: Final = 8
#: How long to wait for brokers that all refuse the connection, if none has answered yet.
_FIRST_CONTACT_SECONDS: Final = 5.0
#: How long after a timeout the log may take to name the broker that did not answer.
_LOG_SECONDS: Final = 2.0

_ADVICE: Final[Mapping[int, str]] = {
    TIMED_OUT: "Check the bootstrap servers, the security protocol and the network path to the brokers.",
    TRANSPORT: "Check the bootstrap servers, the security protocol and the network path to the brokers.",
    AUTHENTICATION: "Check the SASL mechanism, the user name and the password or token.",
    SSL: "Check the CA (ssl.ca.location or ssl.truststore.location), the host names in the brokers' "
    "certificates, and that this listener speaks TLS.",
}
#: Errors by which a connection ends that was never established.
_UNCONNECTED: Final = (TIMED_OUT, TRANSPORT, AUTHENTICATION, SSL)
#: Brokers answered before, so that the settings are right.
_LOST: Final = "Check that this broker is up and can be reached from here, then run the same command again."


class AdminConnection:
    """One ``AdminClient``, made once and reused, with the settings it was made from."""

    def __init__(self, settings: ClientSettings) -> None:
        """Create the client; nothing is sent yet. Raises :class:`ClusterError` if the client refuses a setting."""
        self.settings = settings
        self._log = ClientLog(partial(log_client_line, settings))
        self._refused: KafkaError | None = None
        self._all_down = False
        self._heard = False
        self._failed = False
        self._reported: set[str] = set()
        self._retired: list[AdminClient] = []
        self._renewing = Lock()
        self._client, self._since = self._new_client(), time.monotonic()

    def _new_client(self) -> AdminClient:
        """A client that knows nothing of the brokers yet; raises :class:`ClusterError` if it refuses a setting."""
        settings = self.settings
        logger = logging.Logger("kafka-client", logging.INFO)
        logger.addHandler(self._log)
        config: dict[str, Any] = {**settings.config, "log_level": LEVEL, "error_cb": self._on_error}
        if settings.bearer is not None:
            bearer = settings.bearer
            bearer.token()  # raises the real error; librdkafka would only report a missing token after ten seconds
            config["oauth_cb"] = lambda _: tuple(bearer.token())
        try:
            # Without a logger librdkafka writes its log to stderr.
            return AdminClient(config, logger=logger)
        except KafkaException as error:
            refused = self.failure(error)
            problem = file_problem(refused.message, settings.config)
            raise (ClusterError(refused.name, *problem) if problem else self.cluster_error(refused)) from None

    def close(self) -> None:
        """Close the connections to the brokers."""
        # AdminClient has no close(); leaving its context destroys the librdkafka handle.
        self._client.__exit__(None, None, None)

    @property
    def admin(self) -> AdminClient:
        """The client for the next request: a new one where a broker was lost, or a request failed, since it was made.

        librdkafka keeps a broker as the controller that has died, waits for it and asks nobody else.
        """
        young = time.monotonic() - self._since < _YOUNG_SECONDS
        if self._heard and (self._failed or self._log.lost) and not young:
            self._try_others()
        return self._client

    def _try_others(self) -> None:
        """Go on with a new client, which asks any broker that answers who the controller is; the old one is closed."""
        with self._renewing:
            self._tell()
            self._log.lost, self._failed = "", False
            self._retired.append(self._client)
            self._client, self._since = self._new_client(), time.monotonic()
            self._close_retired(_MOST_RETIRED)

    def _tell(self) -> None:
        who = self._log.lost or "the cluster"
        if who not in self._reported:
            self._reported.add(who)
            _LOG.warning("%s", self.settings.redact(f"{who} does not answer, trying others"))

    def _ask_for_controller(self) -> None:
        """Have this client ask any broker who the controller is: a request that waits for a dead one goes to another.

        Every broker of KRaft names any one that it takes for alive, and passes on what is for the controller. What was
        sent is not sent again.
        """
        if self._log.lost and self._heard:
            self._tell()
        with suppress(KafkaException):
            self._client.list_topics(timeout=_CONTROLLER_SECONDS)
            # Some broker answers, so that the settings are right: the first question may be on its way to a dead one.
            self._heard = True

    def _close_retired(self, but: int) -> None:
        """Close all but the last few that were replaced: answers to requests of those may still be due."""
        while len(self._retired) > but:
            # In a thread: a client that waits for a dead broker may take a while.
            Thread(target=self._retired.pop(0).__exit__, args=(None, None, None), daemon=True).start()

    def _on_error(self, error: KafkaError) -> None:
        # Errors of connections only arrive here; futures just run into their timeout.
        if error.code() in (AUTHENTICATION, SSL):
            self._refused = error
        if error.code() == ALL_BROKERS_DOWN:
            self._all_down = True

    def _hopeless(self, waited: float) -> KafkaError | None:
        """Why waiting is useless: no broker ever answered, and all of them refuse us.

        librdkafka treats refused connections and failed logins as retriable and would retry until the timeout.
        """
        if self._heard:
            return None
        patient = waited < _FIRST_CONTACT_SECONDS
        if self._all_down and self._refused is None and not patient:
            return KafkaError(TRANSPORT, "no broker answers")
        if patient and not self._all_down:  # another broker may answer, or another token be accepted
            return None
        return self._refused

    def wait(self, future: Future[T]) -> T:
        """The future's result. Polls meanwhile, because librdkafka requests OAUTHBEARER tokens through a callback.

        Raises ``KafkaException``.
        """
        self._log.timed_out = ""
        if not future.done():  # of a thousand answers to one request all but the first are there
            self._wait(future)
        result = future.result()
        self._heard = True
        return result

    def _wait(self, future: Future[Any]) -> None:
        started = asked = time.monotonic()
        while not future.done():
            self._client.poll(0)
            waited = time.monotonic() - started
            patience = _CONTROLLER_SECONDS if self._log.lost else _QUIET_SECONDS
            if time.monotonic() - asked > patience:
                self._ask_for_controller()
                asked = time.monotonic()
            if (error := self._hopeless(waited)) is not None:
                raise KafkaException(error)
            if waited > self.settings.send_seconds:
                raise KafkaException(KafkaError(TIMED_OUT, "the client did not answer in time"))
            wait((future,), timeout=_POLL_SECONDS)

    def read(self, ask: Callable[[], Future[T]]) -> T:
        """The result of ``ask``, retried a few times if that may help; raises :class:`ClusterError`."""
        for turn in attempts(SystemClock(), _READ_ATTEMPTS):
            try:
                (answered,) = self._asked(("",), lambda _: {"": ask()}).values()
                return self.wait(answered)
            except KafkaException as error:
                failed = self.failure(error)
                # Before first contact _hopeless has waited long enough: another round would only delay the error.
                if not (self._heard and failed.worth_reading_again) or turn == _READ_ATTEMPTS - 1:
                    raise self.cluster_error(failed) from None
        raise AssertionError("the last attempt returns or raises")

    def read_each(
        self, names: Sequence[K], ask: Callable[[Sequence[K]], Mapping[K, Future[T]]]
    ) -> dict[K, T | ClientFailure]:
        """The result of one request for each name; names with a retriable failure are requested again a few times."""
        outcomes: dict[K, T | ClientFailure] = {}
        pending = list(names)
        for _ in attempts(SystemClock(), _READ_ATTEMPTS):
            for name, future in self._asked(pending, ask).items():
                result: T | ClientFailure = self.outcome(future)
                outcomes[name] = result
            pending = [name for name in pending if _worth_asking_again(outcomes[name])]
            if not pending:
                break
        return outcomes

    def _asked(self, names: Sequence[K], ask: Callable[[Sequence[K]], Mapping[K, Future[T]]]) -> dict[K, Future[T]]:
        """A future for each name. What has no answer after a few seconds is asked again by a new client.

        Only readings are: a write must not be performed twice. Before first contact nothing is asked again.
        """
        rounds, began = [dict(ask(names))], time.monotonic()
        asked, kept = began, len(self._retired)
        while self._heard and time.monotonic() - began < self.settings.send_seconds:
            waiting = [name for name in names if not any(_answered(item.get(name)) for item in rounds)]
            due = [item[name] for item in rounds for name in waiting if name in item and not item[name].done()]
            if not due:
                break
            self._client.poll(0)
            quiet = time.monotonic() - asked
            # Once the caller's own timeout is over, what was asked last is waited for, and nothing more is asked.
            open_yet = [name for name in waiting if not _timed_out(rounds[0].get(name))]
            if open_yet and quiet > (_LOST_SECONDS if self._log.lost else _patience(len(rounds))):
                self._try_others()
                rounds.append(dict(ask(open_yet)))
                asked = time.monotonic()
            else:
                wait(due, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
        # Before clients are closed: what still waits there ends with an error that says nothing.
        best = {name: _best([item[name] for item in rounds if name in item]) for name in names}
        self._close_retired(kept)
        return best

    def outcome(self, future: Future[T]) -> T | ClientFailure:
        """The future's result or failure."""
        try:
            return self.wait(future)
        except KafkaException as error:
            return self.failure(error)

    def failure(self, error: KafkaException) -> ClientFailure:
        """The failure, with Kafka's name for it and without secrets."""
        cause = error.args[0]
        self._failed |= isinstance(cause, KafkaError) and cause.code() in UNANSWERED
        # An error of the Python layer can carry a plain text instead of a KafkaError.
        if not isinstance(cause, KafkaError):
            return ClientFailure(UNKNOWN_SERVER_ERROR, "UNKNOWN_SERVER_ERROR", self.settings.redact(str(cause)))
        return failure(cause.code(), cause.name(), self.settings.redact(cause.str()))

    def cluster_error(self, failed: ClientFailure) -> ClusterError:
        """The failure of a whole request; if no broker caused it, with the client's last log line."""
        message = failed.message
        line = self._last_line(failed)
        if not self._heard and failed.code in _UNCONNECTED:
            # Of a wrong login only the message speaks, of what the transport noticed only the log.
            protocol = self.settings.config.get("security.protocol", "PLAINTEXT")
            problem = connection_problem(line or self.settings.redact(self._log.closed) or message, protocol)
            if problem is not None:
                return ClusterError(failed.name, *problem)
        # Codes below -1 are librdkafka's own; its log says more about them, such as which certificate is wrong.
        if failed.code < UNKNOWN_SERVER_ERROR and line and line not in message:
            message = f"{message} ({line})"
        lost = self._heard and failed.code in (TIMED_OUT, TRANSPORT)
        return ClusterError(failed.name, message, _LOST if lost else _ADVICE.get(failed.code, ""))

    def _last_line(self, failed: ClientFailure) -> str:
        """The client's last log line, without secrets."""
        if hasattr(self, "_client"):
            self._client.poll(0)
            in_flight = failed.code == TIMED_OUT and not failed.never_sent
            end = time.monotonic() + (_LOG_SECONDS if in_flight else 0)
            while not self._log.timed_out and time.monotonic() < end:
                self._client.poll(_POLL_SECONDS)
        return self.settings.redact(self._log.timed_out or self._log.last)


def _patience(rounds: int) -> float:
    """Seconds to wait for an answer to what was asked so often already."""
    return _ASK_AGAIN_SECONDS[rounds - 1] if rounds <= len(_ASK_AGAIN_SECONDS) else math.inf


def _best(futures: Sequence[Future[T]]) -> Future[T]:
    """The first that has an answer, else one that has ended, so that nobody waits longer; else the last."""
    ended = (future for test in (_answered, Future.done) for future in futures if test(future))
    return next(ended, futures[-1])


def _answered(future: Future[Any] | None) -> bool:
    """Whether it has a result, or an error of a broker's own: librdkafka's own errors are of one connection."""
    return future is not None and future.done() and _code(future) not in UNANSWERED


def _timed_out(future: Future[Any] | None) -> bool:
    return future is not None and future.done() and _code(future) == TIMED_OUT


def _code(future: Future[Any]) -> int | None:
    """The client's code of a future that failed; ``None`` for a result, and for what is no error of the client."""
    error = future.exception()
    cause = error.args[0] if isinstance(error, KafkaException) else None
    return cause.code() if isinstance(cause, KafkaError) else None


def _worth_asking_again(outcome: object) -> bool:
    return isinstance(outcome, ClientFailure) and outcome.worth_reading_again


#: A KRaft controller refuses more than 10,000 records in a request, and before 4.1 is damaged by it (KAFKA-19347).
MAX_ITEMS: Final = 1_000


class Item(NamedTuple):
    """One item of a request; ``identity`` is unique in it, ``answer`` is set if the item need not be sent."""

    identity: Hashable
    answer: Answer | None
    #: Creates the client's object; may raise for values that it cannot carry.
    payload: Callable[[], Any]
    #: The client's key for the item's future; ``None`` for the object itself.
    key: Hashable = None


def request(
    connection: AdminConnection, call: Callable[..., Mapping[Any, Future[Any]]], items: Sequence[Item]
) -> list[Answer]:
    """Send ``items`` with a method of the client; one answer for each, in order. Without items nothing is sent."""
    return begin_request(connection, call, items)()


def begin_request(
    connection: AdminConnection, call: Callable[..., Mapping[Any, Future[Any]]], items: Sequence[Item]
) -> Callable[[], list[Answer]]:
    """Send as :func:`request` does; what is returned waits for the answers."""
    _check(items)
    payloads = [item.payload() if item.answer is None else None for item in items]
    sendable = [payload for payload in payloads if payload is not None]
    futures = call(sendable, request_timeout=connection.settings.write_timeout) if sendable else {}
    # To hash one of the client's objects takes as long as to make one, and its keys are the very objects it was given.
    given = {id(key): future for key, future in futures.items()}

    def answer(item: Item, payload: Any) -> Answer:
        if item.answer is not None:
            return item.answer
        future = given.get(id(payload)) if item.key is None else None
        return answer_of(connection, future or futures[payload if item.key is None else item.key])

    return lambda: [answer(item, payload) for item, payload in zip(items, payloads, strict=True)]


def answer_of(connection: AdminConnection, future: Future[Any]) -> Answer:
    """The answer for one item, from its future."""
    outcome = connection.outcome(future)
    return outcome.answer() if isinstance(outcome, ClientFailure) else DONE


def unsupported(problem: str | None) -> Answer | None:
    """The answer for an item that the client cannot carry; ``None`` without a problem."""
    return None if problem is None else Answer(AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", problem)


def _check(items: Sequence[Item]) -> None:
    """Refuse requests that are too large, or with duplicates, which the client would merge."""
    if len(items) > MAX_ITEMS:
        raise ValueError(f"at most {MAX_ITEMS} items a request, not {len(items)}")
    if len({item.identity for item in items}) != len(items):
        raise ValueError("an item was given twice in one request")
