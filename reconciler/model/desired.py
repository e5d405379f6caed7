"""What the manifests want of one cluster, each wish with the place that declares it."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Generic, NamedTuple, Protocol, runtime_checkable

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.expiry import Expiry
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Item
from reconciler.model.origin import Origin
from reconciler.model.topic import Topic


class Declaration(NamedTuple):
    """Where and why a binding is declared; ``expires`` says until when.

    ``role`` is the rule of a ``Role`` document that names the operation, where ``origin`` only uses that role: whoever
    may edit either place decides what the binding is. ``None`` for a built-in role. ``keep`` says why the binding stays
    although it may not be used.
    """

    origin: Origin
    reason: str | None = None
    ticket: str | None = None
    expires: Expiry | None = None
    role: Origin | None = None
    keep: str | None = None


@runtime_checkable
class KnowsEnds(Protocol):
    """Declared bindings that find those with an end without making a declaration for each of millions."""

    def ending(self) -> Iterator[tuple[AclBinding, Expiry]]:
        """Each binding that is declared with an end, and the end."""


def ends_of(bindings: Mapping[AclBinding, Declaration]) -> Iterator[tuple[AclBinding, Expiry]]:
    """Each binding that is declared with an end, and the end."""
    if isinstance(bindings, KnowsEnds):
        yield from bindings.ending()
        return
    yield from ((binding, said.expires) for binding, said in bindings.items() if said.expires is not None)


@dataclass(frozen=True, slots=True)
class DesiredTopic:
    """A declared topic; with ``absent`` the manifests state that it must not exist.

    In ``topic``, partitions and replication factor are ``None`` where the manifests leave them to the broker.
    ``labels`` are the topic's own; those of its document count less, where something selects topics by labels. ``note``
    is for whoever reads the manifest, of a topic that is to be written there.
    """

    topic: Topic
    origin: Origin
    labels: Mapping[str, str] = field(default_factory=FrozenMap)
    absent: bool = False
    document_labels: Mapping[str, str] = field(default_factory=FrozenMap)
    note: str | None = field(default=None, compare=False)

    @property
    def all_labels(self) -> Mapping[str, str]:
        """Its own labels and those of its document."""
        return FrozenMap({**self.document_labels, **self.labels}) if self.document_labels else self.labels


@dataclass(frozen=True, slots=True)
class DesiredItem(Generic[Item]):
    """A declared resource of a listed kind. ``absent``: it must not exist; ``expired``: its time is over."""

    item: Item
    declaration: Declaration
    absent: bool = False
    expired: bool = False

    @property
    def goes(self) -> bool:
        """Whether the cluster is to have none, for either reason."""
        return self.absent or self.expired


@dataclass(frozen=True, slots=True)
class DesiredState:
    """What is declared for one cluster at one time; ``expired`` bindings are wanted no longer.

    ``repeated`` are declarations by other files of bindings that are in one of the two already, from roles: they change
    nothing while the other stands, and their files speak for the binding all the same.

    ``listed`` are the declared resources of listed kinds by ``KIND`` and key; a kind of which none is declared is not
    there. :meth:`of` gives those of one kind with their type.
    """

    bindings: Mapping[AclBinding, Declaration] = field(default_factory=dict)
    topics: Mapping[str, DesiredTopic] = field(default_factory=dict)
    expired: Mapping[AclBinding, Declaration] = field(default_factory=dict)
    listed: Mapping[str, Mapping[Any, DesiredItem[Any]]] = field(default_factory=dict)
    repeated: tuple[tuple[AclBinding, Declaration], ...] = field(default=(), compare=False)

    def of(self, kind: type[Item]) -> Mapping[Any, DesiredItem[Item]]:
        """What is declared of one listed kind, by key, expired or not."""
        return self.listed.get(kind.KIND, {})
