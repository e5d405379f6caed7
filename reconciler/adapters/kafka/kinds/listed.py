"""Listed kinds that confluent-kafka has no messages for: read and altered with kafka-python's.

Every message is sent by a child process; ``message_client`` explains why. It answers two questions about each kind:
``listed``, with an entry for each resource, and ``altered``, with an outcome for each.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from reconciler.adapters.kafka import codes
from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.handshake import Handshake
from reconciler.adapters.kafka.kinds.interface import ReadSession
from reconciler.adapters.kafka.listing import ask, no_messages
from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.dataclass import dataclass
from reconciler.model import Change, ClusterState, ListedItem, Listing, resource_of
from reconciler.model.listing import parts
from reconciler.ports import Answer, AnswerStatus

_DONE: Final = Answer(AnswerStatus.DONE)


@dataclass(frozen=True, eq=False)
class MessageKind:
    """A listed kind that is read and altered by messages; ``name`` is that of its module of messages.

    ``item`` makes a resource of an entry, ``key`` its key of the name in an outcome, and ``alteration`` what
    ``altered`` needs of a change, with the settings that hold the references which were followed. ``right`` is what
    reading takes, ``may_alter`` what the handshake told; without ``may_read`` nothing is asked.
    """

    resource: type[ListedItem]
    name: str
    item: Callable[[Any], ListedItem]
    key: Callable[[Any], Any]
    alteration: Callable[[Change, ClientSettings], Any]
    right: str
    may_alter: Callable[[Handshake], bool | None]
    may_read: Callable[[Handshake], bool] = lambda _: True

    @property
    def TYPES(self) -> tuple[type, ...]:  # noqa: N802 - a constant of each kind
        """The type of its resources."""
        return (self.resource,)

    def read(self, session: ReadSession, state: ClusterState) -> ClusterState:
        """All of them, if requested; the reason, if they cannot be read."""
        listing: Listing[ListedItem] = Listing(may_alter=self.may_alter(session.handshake))
        if self.resource.KIND in session.request.listings:
            readable = self.may_read(session.handshake)
            found = self._listed(session.connection.settings) if readable else self._refused
            listing = replace(listing, gap=found) if isinstance(found, str) else replace(listing, items=found)
        return state.with_listing(self.resource, listing)

    def _listed(self, settings: ClientSettings) -> frozenset[ListedItem] | str:
        words = self.resource.WORDS
        match ask(settings, f"{self.name}.listed"):
            case None:
                return self._untaken(settings)
            case ("listed", entries):
                return frozenset(map(self.item, entries))
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
        return f"not authorised to read {self.resource.WORDS}: our principal needs ALLOW {self.right}"

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

        Once a part was done, nothing of a change is known not to be applied.
        """
        sent = [(change,) if only_validate else parts(change) for change in changes]
        answers = [_DONE] * len(changes)
        for number in range(max(map(len, sent))):
            due = [n for n, found in enumerate(sent) if number < len(found) and answers[n].good]
            told = self.requested(connection, [sent[n][number] for n in due], only_validate=only_validate)
            for n, answer in zip(due, told, strict=True):
                begun = number > 0 and not answer.good
                answers[n] = replace(answer, status=AnswerStatus.UNKNOWN) if begun else answer
        return answers

    def requested(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """One request, never retried: if the answer is lost, only reading shows what was done."""
        if not changes:
            return []
        settings = connection.settings
        alterations = [self.alteration(change, settings) for change in changes]
        match ask(settings, f"{self.name}.altered", alterations=alterations, only_validate=only_validate):
            case None:
                return [Answer(AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", self._untaken(settings))] * len(changes)
            case ("altered", outcomes):
                answers = {
                    self.key(name): codes.failure(code, error, settings.redact(message)).answer() if code else _DONE
                    for name, code, error, message in outcomes
                }
                missing = Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", "the broker's answer does not name it")
                return [answers.get(resource_of(change).key, missing) for change in changes]
            case ("unsent", text):
                return [Answer(AnswerStatus.FAILED, "NOT_SENT", settings.redact(text), retriable=True)] * len(changes)
            case reply:
                message = settings.redact(" ".join(map(str, reply)))
                return [Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", message, retriable=True)] * len(changes)
