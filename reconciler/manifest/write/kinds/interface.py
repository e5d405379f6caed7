"""What an export asks of a kind of resource. Each other module of this folder is one kind and has these functions."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import NamedTuple, Protocol

from reconciler.dataclass import dataclass
from reconciler.manifest.write.text import ExportStyle
from reconciler.model.desired import DesiredState
from reconciler.model.state import ClusterState


class Inexpressible(NamedTuple):
    """What no manifest can say, and why; ``subject`` is what a person calls it."""

    item: object
    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of manifests by path (with ``/``), what they leave out, and comments that belong to no manifest."""

    files: Mapping[str, list[str]] = field(default_factory=dict)
    left: tuple[Inexpressible, ...] = ()
    comments: tuple[str, ...] = ()


class Kind(Protocol):
    """A kind of resource in an export."""

    def exported(self, state: ClusterState, style: ExportStyle) -> Part:
        """All of this kind in ``state``."""
        ...

    def differences(
        self, state: ClusterState, wanted: DesiredState, left: Collection[object], style: ExportStyle
    ) -> Iterator[str]:
        """How the manifests, read back, differ from ``state`` less what is ``left``."""
        ...
