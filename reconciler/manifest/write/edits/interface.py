"""What the editor asks of a kind of resource. Each other module of this folder is one kind and has these functions."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

from reconciler.dataclass import dataclass
from reconciler.manifest.write.pages import Book, NewDocument, Page
from reconciler.manifest.write.spans import Splice
from reconciler.model.desired import Declaration, DesiredState
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState

#: What is to be declared, by cluster.
Wanted = Mapping[str, DesiredState]


@dataclass(slots=True)
class Changes:
    """What one step changes: places in files that are there, documents that are new, and those that go."""

    splices: dict[str, list[Splice]] = field(default_factory=lambda: defaultdict(list))
    documents: list[NewDocument] = field(default_factory=list)
    gone: list[Page] = field(default_factory=list)

    def at(self, page: Page, splices: list[Splice]) -> None:
        """Change the file of a document."""
        self.splices[page.path] += splices


class Kind(Protocol):
    """A kind of resource, and the ``DOCUMENT`` that declares it.

    ``CONTENT`` are the keys of its spec that declare something, ``WRITTEN`` those that the editor writes.

    Both steps see the manifests anew, and write into ``changes`` what brings them to ``wanted``. They propose: the
    editor compares the result with what is wanted, and writes nothing else.
    """

    @property
    def DOCUMENT(self) -> str:
        """What a document is called."""
        ...

    @property
    def CONTENT(self) -> tuple[str, ...]:
        """The keys of its spec that declare something."""
        ...

    @property
    def WRITTEN(self) -> frozenset[str]:
        """Those that the editor writes."""
        ...

    def told(self, state: DesiredState) -> Mapping[Any, object]:
        """All that is declared of this kind, with what a plan does not compare, wherever it is declared."""
        ...

    def adopted(
        self, state: DesiredState, change: Change, live: ClusterState, said: Declaration
    ) -> DesiredState | str | None:
        """What is declared as the cluster has it, where a change would be made; ``said`` is for what is new.

        A text says why no manifest can declare that. ``None``: the change is of another kind.
        """
        ...

    def second(self, state: DesiredState, old: str, new: str) -> DesiredState:
        """With the same for the principal ``new`` of what is declared for ``old``."""
        ...

    def without(self, state: DesiredState, old: str) -> DesiredState:
        """Without what is declared for a principal."""
        ...

    def reduce(self, book: Book, wanted: Wanted, changes: Changes) -> None:
        """Remove what declares more than is wanted; it may remove too much."""
        ...

    def extend(self, book: Book, wanted: Wanted, changes: Changes) -> None:
        """Declare what is still missing."""
        ...
