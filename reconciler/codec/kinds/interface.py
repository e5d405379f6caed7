"""What JSON asks of a listed kind. Each other module of this folder is one kind."""

from typing import Any, Protocol

from reconciler.codec.objects import Record
from reconciler.model.listing import ListedItem


class Kind(Protocol):
    """A listed kind."""

    @property
    def TYPE(self) -> type[ListedItem]:  # noqa: N802 - a constant of each module
        """The type of its resources; its ``KIND`` names the field that holds them."""
        ...

    @property
    def CODEC(self) -> Record[Any]:  # noqa: N802 - a constant of each module
        """One of them."""
        ...

    @property
    def NOUN(self) -> str:  # noqa: N802 - a constant of each module
        """What one of them is called; it names the field that says why they could not be read."""
        ...

    @property
    def WORDS(self) -> str:  # noqa: N802 - a constant of each module
        """What they are called in a schema: ``Client quotas``."""
        ...
