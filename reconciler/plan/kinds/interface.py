"""What planning asks of a kind of resource. Each other module of this folder is one kind and has these functions."""

from collections.abc import Mapping
from typing import Any, Protocol

from reconciler.codec import Codec
from reconciler.model import Change


class Kind(Protocol):
    """A kind of resource. Every function takes changes of this kind only."""

    @property
    def TYPES(self) -> tuple[type, ...]:  # noqa: N802 - a constant of each module
        """Which types the sides of its changes have."""
        ...

    @property
    def CODECS(self) -> Mapping[str, Codec[Any]]:  # noqa: N802 - a constant of each module
        """How a change looks in JSON, by its action: an object with the fields ``before`` and ``after``."""
        ...

    def action(self, change: Change) -> str:
        """The name of the operation in plan files and reports, ``CreateAcl``; ids contain it, so it never changes."""
        ...

    def describe(self, change: Change) -> str:
        """The change in a few words, as reports and refusals name it."""
        ...

    def key(self, change: Change) -> tuple[str, Any]:
        """The order inside a phase; the first item is another one in each kind that shares a phase."""
        ...

    def touches(self, change: Change) -> frozenset[object]:
        """What no other step of a plan may change."""
        ...

    def is_reversible(self, change: Change) -> bool:
        """Whether the state before can be restored."""
        ...
