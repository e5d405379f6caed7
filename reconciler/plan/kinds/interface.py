"""What planning asks of a kind of resource. Each other module of this folder is one kind and has these functions."""

from typing import Any, Protocol, TypeAlias

from reconciler.model import Change

#: What JSON can say of one side of a change; ``None``: nothing is there.
Side: TypeAlias = dict[str, Any] | None


class Kind(Protocol):
    """A kind of resource. Every function takes changes of this kind only."""

    @property
    def TYPES(self) -> tuple[type, ...]:  # noqa: N802 - a constant of each module
        """Which types the sides of its changes have."""
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

    def to_json(self, change: Change) -> tuple[Side, Side]:
        """Before and after, as the plan file spells them."""
        ...

    def is_reversible(self, change: Change) -> bool:
        """Whether the state before can be restored."""
        ...
