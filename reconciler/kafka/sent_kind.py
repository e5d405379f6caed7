"""What Kafka's adapter asks of a listed kind. It imports no client: to know a kind is not to talk to a broker."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from reconciler.model.listing import Change

if TYPE_CHECKING:
    from reconciler.kafka.handshake import Handshake


class SentKind(ABC):
    """A listed kind that is read and altered by Kafka's messages.

    ``messages`` is the module of the message client that asks for it, with a dot; empty where one message reads and
    one alters (:class:`MessageKind`). ``reading_right`` is what reading takes. ``gone`` is the error with which a
    broker says of what is to go that it is not there.
    """

    messages: ClassVar[str] = ""
    reading_right: ClassVar[str]
    gone: ClassVar[str] = ""

    @property
    @abstractmethod
    def reading(self) -> Mapping[str, Any]:
        """What the question for all of them says."""

    @abstractmethod
    def altering(self, alterations: Sequence[Any], *, only_validate: bool) -> Mapping[str, Any]:
        """What the question that alters some says."""

    @abstractmethod
    def item(self, entry: Any) -> Any | None:
        """A resource of an entry of the listing; ``None``: the entry is of none."""

    @abstractmethod
    def outcome_key(self, entry: Any) -> Any:
        """The key of the resource that an outcome is about."""

    @abstractmethod
    def alteration(self, change: Change, secrets: Mapping[str, str]) -> Any:
        """What the message needs of a change; ``secrets`` are the values of the references that were followed.

        Raises ``ValueError``, without the value, for a secret that cannot be used.
        """

    @abstractmethod
    def may_alter(self, handshake: "Handshake") -> bool | None:
        """Whether our login may alter them, as the handshake told; ``None``: it did not."""

    def may_read(self, handshake: "Handshake") -> bool:
        """Whether our login may read them, as the handshake told; without it nothing is asked."""
        return True


class MessageKind(SentKind):
    """A kind that one message reads and one alters, each called as in kafka-python.

    ``entries`` is the field of both answers that has an entry a resource; ``everything`` are the fields of the message
    that reads all.
    """

    reads: ClassVar[str]
    alters: ClassVar[str]
    everything: ClassVar[Mapping[str, Any]]
    entries: ClassVar[str]

    @property
    def reading(self) -> Mapping[str, Any]:
        """The message that reads."""
        return {"message": self.reads, "fields": dict(self.everything), "entries": self.entries, "gone": self.gone}

    def altering(self, alterations: Sequence[Any], *, only_validate: bool) -> Mapping[str, Any]:
        """The message that alters."""
        fields = self.request(alterations, only_validate=only_validate)
        return {"message": self.alters, "fields": fields, "entries": self.entries}

    @abstractmethod
    def request(self, alterations: Sequence[Any], *, only_validate: bool) -> Mapping[str, Any]:
        """The fields of the message that alters."""
