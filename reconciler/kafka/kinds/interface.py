"""How a kind of resource is read from and sent to a Kafka cluster.

confluent-kafka has no messages for listed kinds: they are read and altered with kafka-python's. ACLs and topics each
have a module here.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, Protocol

from reconciler.dataclass import dataclass
from reconciler.kafka import errors as codes
from reconciler.kafka.client import AdminConnection
from reconciler.kafka.handshake import Handshake
from reconciler.kafka.listing import AclListing, ask, no_messages
from reconciler.kafka.sent_kind import SentKind
from reconciler.kafka.settings import ClientSettings
from reconciler.model.kinds import listed_kind
from reconciler.model.listing import Change, ListedItem, Listing, parts, resource_of
from reconciler.model.state import ClusterState
from reconciler.ports import NOT_VALIDATED, Answer, AnswerStatus, ReadRequest


@dataclass(frozen=True, slots=True)
class ReadSession:
    """What the kinds share while one :class:`~reconciler.ports.ReadRequest` is answered.

    ``listing`` is the listing of ACLs, which runs in another process; ``seen`` are the names of topics that a broker
    shows us, if all topics were requested.
    """

    connection: AdminConnection
    request: ReadRequest
    handshake: Handshake
    listing: AclListing | None
    seen: Sequence[str]


class Kind(Protocol):
    """A kind of resource. Its changes must all be of this kind, one verb and one type."""

    @property
    def TYPES(self) -> tuple[type, ...]:
        """The types of the before and after sides of its changes."""
        ...

    def read(self, session: ReadSession, state: ClusterState) -> ClusterState:
        """``state``, with the kinds that are already read, and this kind as far as it was requested.

        Raises :class:`~reconciler.ports.ClusterError` rather than leave something out silently.
        """
        ...

    def send(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """See :meth:`reconciler.ports.Cluster.send`; with ``only_validate``, ``InspectableCluster.validate``."""
        ...

    def begin(self, connection: AdminConnection, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
        """See :meth:`reconciler.ports.PipelinedWriter.begin`."""
        ...


_DONE: Final = Answer(AnswerStatus.DONE)


class ListedKind:
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self.resource = resource

    @cached_property
    def _special(self) -> SentKind:
        found: SentKind = listed_kind(self.resource)
        return found

    @property
    def TYPES(self) -> tuple[type, ...]:
        """The type of its resources."""
        return (self.resource,)

    def read(self, session: ReadSession, state: ClusterState) -> ClusterState:
        """All of them, if requested; the reason, if they cannot be read."""
        listing: Listing[ListedItem] = Listing(may_alter=self._special.may_alter(session.handshake))
        if self.resource.KIND in session.request.listings:
            readable = self._special.may_read(session.handshake)
            found = self._listed(session.connection.settings) if readable else self._refused
            listing = replace(listing, gap=found) if isinstance(found, str) else replace(listing, items=found)
        return state.with_listing(self.resource, listing)

    def _listed(self, settings: ClientSettings) -> frozenset[ListedItem] | str:
        words = self.resource.WORDS
        match ask(settings, f"{self._special.messages}listed", **self._special.reading):
            case None:
                return self._untaken(settings)
            case ("listed", entries):
                return frozenset(item for entry in entries if (item := self._special.item(entry)) is not None)
            case ("refused", codes.CLUSTER_AUTHORIZATION_FAILED | codes.GROUP_AUTHORIZATION_FAILED, *_):
                return self._refused
            case ("refused", _, name, message):
                return settings.redact(f"{name}: {message}")
            case ("failed", text):
                return settings.redact(str(text))
            case reply:
                return f"the process that asks for {words} answered {reply}"

    @property
    def _refused(self) -> str:
        return f"not authorised to read {self.resource.WORDS}: our principal needs ALLOW {self._special.reading_right}"

    def _untaken(self, settings: ClientSettings) -> str:
        return f"confluent-kafka has no messages for {self.resource.WORDS}, and kafka-python {no_messages(settings)}"

    def begin(self, connection: AdminConnection, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
        """The same as :meth:`send`; the answers are there."""
        answers = self.send(connection, changes)
        return lambda: answers

    def send(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """One request for each part of a change (``parts``); those of the same number go together.

        Once a part was done, nothing of a change is known not to be applied. One whose secret cannot be used is not
        sent at all.
        """
        if only_validate and not self.resource.CAN_VALIDATE:
            return [NOT_VALIDATED] * len(changes)
        unusable = {n: found for n, item in enumerate(changes) if (found := self._unusable(item, connection.settings))}
        due = [change for n, change in enumerate(changes) if n not in unusable]
        told = iter(self._sent(connection, due, only_validate=only_validate) if due else ())
        return [unusable[n] if n in unusable else next(told) for n in range(len(changes))]

    def _unusable(self, change: Change, settings: ClientSettings) -> Answer | None:
        try:
            for part in parts(change):
                self._special.alteration(part, settings.followed)
        except ValueError as error:
            return Answer(AnswerStatus.FAILED, "UNUSABLE_SECRET", str(error))
        return None

    def _sent(self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool) -> list[Answer]:
        sent = [(change,) if only_validate else parts(change) for change in changes]
        answers = [_DONE] * len(changes)
        for number in range(max(map(len, sent))):
            due = [n for n, found in enumerate(sent) if number < len(found) and answers[n].good]
            told = self.requested(connection, [sent[n][number] for n in due], only_validate=only_validate)
            for n, answer in zip(due, told, strict=True):
                begun = number > 0 and not answer.good
                answers[n] = replace(answer, status=AnswerStatus.UNKNOWN) if begun else answer
        return answers

    def requested(self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool) -> list[Answer]:
        """One request, never retried: if the answer is lost, only reading shows what was done."""
        if not changes:
            return []
        settings = connection.settings
        alterations = [self._special.alteration(change, settings.followed) for change in changes]
        asked = self._special.altering(alterations, only_validate=only_validate)
        match ask(settings, f"{self._special.messages}altered", **asked):
            case None:
                return [Answer(AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", self._untaken(settings))] * len(changes)
            case ("altered", outcomes):
                answers = {
                    self._special.outcome_key(entry): codes.failure(code, error, settings.redact(message)).answer()
                    if code
                    else _DONE
                    for entry, code, error, message in outcomes
                }
                missing = Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", "the broker's answer does not name it")
                found = [answers.get(resource_of(change).key, missing) for change in changes]
                return [self._done(change, answer) for change, answer in zip(changes, found, strict=True)]
            case ("unsent", text):
                return [Answer(AnswerStatus.FAILED, "NOT_SENT", settings.redact(text), retriable=True)] * len(changes)
            case reply:
                message = settings.redact(" ".join(map(str, reply)))
                return [Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", message, retriable=True)] * len(changes)

    def _done(self, change: Change, answer: Answer) -> Answer:
        """The answer; what is gone already is deleted."""
        gone = change.after is None and answer.code != "" and answer.code == self._special.gone
        return _DONE if gone else answer
