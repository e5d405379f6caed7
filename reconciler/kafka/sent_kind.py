"""What Kafka's adapter asks of a listed kind. It imports no client: to know a kind is not to talk to a broker."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from reconciler.model.listing import Change

if TYPE_CHECKING:
    from reconciler.kafka.handshake import Handshake


class SentKind(ABC):
    """A listed kind that is read and altered by messages, ``messages`` naming their module.

    ``asks`` is what every question about it says besides. ``reading_right`` is what reading takes. ``gone`` is the
    error with which a broker says of what is to go that it is not there.
    """

    messages: ClassVar[str]
    reading_right: ClassVar[str]
    gone: ClassVar[str] = ""

    @property
    def asks(self) -> Mapping[str, Any]:
        """Nothing."""
        return {}

    @abstractmethod
    def item(self, entry: Any) -> Any:
        """A resource of an entry of the listing."""

    def outcome_key(self, name: Any) -> Any:
        """The key of the name in an outcome."""
        return str(name)

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
