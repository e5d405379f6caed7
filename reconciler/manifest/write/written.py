"""What writing manifests asks of a listed kind: of an export and of an edit alike."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar


class WrittenKind(ABC):
    """A listed kind in manifests: the ``document`` that declares it.

    ``items_key`` is the key of its items in the document's spec.
    """

    document: ClassVar[str]
    items_key: ClassVar[str]

    @abstractmethod
    def problem(self, item: Any) -> str | None:
        """Why no manifest can declare one; ``None`` if one can."""

    def problem_among(self, item: Any, items: Sequence[Any]) -> str | None:
        """Why no manifest can declare it with the others."""
        return self.problem(item)

    @abstractmethod
    def lines(self, item: Any) -> Iterator[str]:
        """The lines of an item in an export."""

    def named(self, name: str) -> Any | None:
        """The item of a name that must not exist; ``None`` where the key is no name."""
        return None


class EditedKind(WrittenKind):
    """A listed kind whose items say what they are about and, in one mapping under ``values_key``, what they set.

    The leaves of what an item says are YAML that may stand anywhere.
    """

    values_key: ClassVar[str]

    @abstractmethod
    def about(self, item: Any) -> Mapping[str, str | Mapping[str, str]]:
        """What an item is about, by field."""

    @abstractmethod
    def settings(self, item: Any) -> Mapping[str, str]:
        """What it sets, by name."""

    def renamed(self, item: Any, old: str, new: str) -> Any | None:
        """The same for the principal ``new``; ``None`` where it is not about ``old``."""
        return None
