"""What is wanted: where it is declared, when it ends, and everything wanted of one cluster.

What the manifests want of one cluster, each item with the place that declares it; and duties that nobody may hold
together, control topics, and how far rights are followed.
"""

import datetime
import re
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Final, Generic, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclOperation, ResourcePattern
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Item
from reconciler.model.topic import Topic

# Where in the manifests something was declared.


class Origin(NamedTuple):
    """A place in a manifest: path relative to the manifests' root with ``/``, line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """``teams/payments.yaml:12:7``."""
        return f"{self.file}:{self.line}:{self.column}"


# When something that is declared ends, and whether that is over.

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
#: RFC 3339, with whole seconds and an offset: a time without one is a different instant wherever it is read.
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
_ONE_DAY: Final = datetime.timedelta(days=1)
_LAST: Final = datetime.datetime.max.replace(tzinfo=datetime.UTC)


def read_moment(text: str) -> datetime.date:
    """A day as ``YYYY-MM-DD``, or an instant as ``YYYY-MM-DDThh:mm:ssZ`` or with an offset, as one in UTC.

    Raises ``ValueError``.
    """
    if _DAY.fullmatch(text):
        return datetime.date.fromisoformat(text)
    if _INSTANT.fullmatch(text) is None:
        raise ValueError(f"neither a day nor an instant: {text}")
    try:
        return datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)
    except OverflowError:
        raise ValueError(f"out of range: {text}") from None


def moment_text(moment: datetime.date) -> str:
    """``2027-01-31`` for a day, ``2027-01-31T18:00:00Z`` for an instant."""
    if isinstance(moment, datetime.datetime):
        return moment.astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return moment.isoformat()


def instant_of(moment: datetime.date) -> datetime.datetime:
    """The instant itself, or the first one of a day in UTC."""
    if isinstance(moment, datetime.datetime):
        return moment
    return datetime.datetime.combine(moment, datetime.time(), datetime.UTC)


@dataclass(frozen=True, slots=True)
class Expiry:
    """Until when something is wanted: through the day ``until`` in UTC, or before the instant ``until``.

    An instant has an offset; two texts of one instant are equal.
    """

    until: datetime.date

    @classmethod
    def of(cls, text: str) -> "Expiry":
        """From a text as :func:`read_moment` takes it; raises ``ValueError``."""
        return cls(read_moment(text))

    @property
    def end(self) -> datetime.datetime:
        """The first instant at which it is over."""
        if isinstance(self.until, datetime.datetime):
            return self.until
        return _LAST if self.until == datetime.date.max else instant_of(self.until + _ONE_DAY)

    def over(self, as_of: datetime.date) -> bool:
        """Whether it is over at an instant, or when a day begins."""
        return self.end <= instant_of(as_of)

    @property
    def past(self) -> str:
        """``after 2027-01-31``, ``at 2027-01-31T18:00:00Z``: when it ended."""
        return f"{'at' if isinstance(self.until, datetime.datetime) else 'after'} {self}"

    def __str__(self) -> str:
        """As manifests write it, in UTC."""
        return moment_text(self.until)


#: The place of what no file declares yet.
UNWRITTEN: Final = Origin("", 1, 1)
#: The end of what has none.
FOREVER: Final = Expiry(datetime.date.max)


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


class KnowsEnds(Mapping[AclBinding, Declaration]):
    """Declared bindings that find those with an end, and patterns, without making each of millions."""

    __slots__ = ()

    @property
    @abstractmethod
    def patterns(self) -> Collection[ResourcePattern]:
        """What bindings are declared on, each once."""

    @abstractmethod
    def ending(self) -> Iterator[tuple[AclBinding, Expiry]]:
        """Each binding that is declared with an end, and the end."""


def ends_of(bindings: Mapping[AclBinding, Declaration]) -> Iterator[tuple[AclBinding, Expiry]]:
    """Each binding that is declared with an end, and the end."""
    if isinstance(bindings, KnowsEnds):
        yield from bindings.ending()
        return
    yield from (
        (binding, declaration.expires) for binding, declaration in bindings.items() if declaration.expires is not None
    )


def patterns_of(bindings: Mapping[AclBinding, Declaration]) -> Collection[ResourcePattern]:
    """What bindings are declared on, each once."""
    return bindings.patterns if isinstance(bindings, KnowsEnds) else {pattern for pattern, _ in bindings}


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

    def without(self, apart: Collection[AclBinding]) -> "DesiredState":
        """What is declared, but for these bindings; itself where there are none."""
        if not apart:
            return self
        kept, over = (
            {item: declaration for item, declaration in some.items() if item not in apart}
            for some in (self.bindings, self.expired)
        )
        return replace(self, bindings=kept, expired=over)

    def of(self, kind: type[Item]) -> Mapping[Any, DesiredItem[Item]]:
        """What is declared of one listed kind, by key, expired or not."""
        return self.listed.get(kind.KIND, {})


class Through(StrEnum):
    """Which rights count as held, each word with those before it: own ones, those as somebody else, moved records."""

    ACL = "acl"
    IDENTITY = "identity"
    FLOW = "flow"


class Duty(NamedTuple):
    """Any of the operations on any name of the patterns."""

    operations: tuple[AclOperation, ...]
    patterns: tuple[ResourcePattern, ...]


class Control(NamedTuple):
    """Topics whose records a service obeys: a writer acts as the principal of that service."""

    patterns: tuple[ResourcePattern, ...]
    acts: str
    origin: Origin


class Links(NamedTuple):
    """Besides ACLs, what connects principals and topics.

    ``dead_letters``: by share group the topic that gets the records it gives up; ``None``: not known. ``memberships``
    are types of principals, such as ``Group``, that stand for several users who no ACL names. ``tokens``: of each
    delegation token that is there the owner, and who else may read its secret without an ACL.
    """

    controls: tuple[Control, ...] = ()
    dead_letters: Mapping[str, str] | None = None
    memberships: frozenset[str] = frozenset()
    tokens: tuple[tuple[str, frozenset[str]], ...] = ()


NO_LINKS: Final = Links()
