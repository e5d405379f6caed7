"""Changes of resources, and the resources that Kafka lists whole.

Listed kinds: resources that Kafka lists whole, in one answer, and that a manifest declares one by one.

Every kind but ACLs and topics is one. ACLs have a law of their own, and topics are read one by one, so both have fields
of their own wherever states are kept; all listed kinds share theirs. A listed kind is named by ``KIND``, the plural of
what it is called, which also names it in documents.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, Generic, NamedTuple, Self, TypeAlias, TypeVar

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, ResourcePattern, ResourceType
from reconciler.model.characters import without_leading_blanks

# A change of one resource: what is there before, and what is there after.
#
# What kind of resource it is follows from the type of its sides: an ``AclBinding``, a ``Topic`` (created or deleted),
# the ``TopicPartitions``, ``TopicConfigs`` or ``TopicReplicas`` of a live topic (updated). Branch on a kind only in a
# ``kinds`` folder, which has one file for each: everything else is the same for all of them.

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Create(Generic[T]):
    """A resource that does not exist and should."""

    after: T

    @property
    def before(self) -> None:
        """Nothing is there before."""

    @property
    def resource(self) -> T:
        """What it is about."""
        return self.after


@dataclass(frozen=True, slots=True)
class Update(Generic[T]):
    """A resource that exists in another state than it should."""

    before: T
    after: T

    @property
    def resource(self) -> T:
        """What it is about, as it is after it."""
        return self.after


@dataclass(frozen=True, slots=True)
class Delete(Generic[T]):
    """A resource that exists and should not; ``before`` is the live one, its id included."""

    before: T

    @property
    def after(self) -> None:
        """Nothing is there after."""

    @property
    def resource(self) -> T:
        """What it is about, as it was before."""
        return self.before


@dataclass(frozen=True, slots=True)
class Impossible:
    """A declared state that Kafka cannot reach, and in ``reason`` what you can do about it.

    ``what`` of the resource ``name`` would have to change: ``partitions``, from ``before`` to ``after``.
    """

    what: str
    name: str
    before: str
    after: str
    reason: str

    @property
    def resource(self) -> "Impossible":
        """It is about no resource that is or can be: itself."""
        return self


Change: TypeAlias = Create[Any] | Update[Any] | Delete[Any] | Impossible
AclChange: TypeAlias = Create[AclBinding] | Delete[AclBinding]


def resource_of(change: Change) -> Any:
    """What a change is about, as it is after it; of a deletion, as it was before."""
    return change.resource


class BrokerRefusal(NamedTuple):
    """Why brokers refuse a value: Kafka's name for the error, and its message."""

    code: str
    message: str


class Unmatched(NamedTuple):
    """Why a resource is about no client that has its name: about none at all, or with ``some`` about none of a kind."""

    message: str
    some: bool = False


def unmatched_by_librdkafka(name: str) -> Unmatched | None:
    """Why no client on librdkafka has a name that is one of its settings; ``None``: it can."""
    if name == without_leading_blanks(name):
        return None
    return Unmatched(
        "clients on librdkafka drop the blank at its start and send another name; Java's keeps it", some=True
    )


class FeatureLevel(NamedTuple):
    """A level of ``metadata.version`` and its name in Kafka, ``3.5-IV2``, and what a controller says below it."""

    number: int
    name: str = ""
    refusal: str = ""


#: Older than KRaft: no controller asks for a level.
EVERY_LEVEL: Final = FeatureLevel(0)


class ListedItem(ABC):
    """One resource of a listed kind: a value that can be hashed and compared. What most answer alike is inherited.

    ``NOUN`` is what actions call one: ``CreateQuota``. ``WORDS`` is what people call all of them: ``client
    quotas``. ``CAN_VALIDATE``: whether Kafka's protocol can validate a change of one without performing it.
    ``ATOMIC``: whether Kafka takes all values of one in a single request, and writes them in one batch of records;
    otherwise each value is a request of its own (:func:`parts`). ``LEVEL``: the first level of ``metadata.version``
    at which controllers change one; below it they refuse to. ``PLACE``: the type of :attr:`place`, ``None`` where that
    is ``None``. ``PERSONAL``: whether :attr:`principal` can name somebody. ``KEYS``: the names of values that this
    version knows.

    ``values`` are what it sets, by name; a change sets and removes some of them, and the others stay.
    """

    __slots__ = ()

    KIND: ClassVar[str]
    NOUN: ClassVar[str]
    WORDS: ClassVar[str]
    CAN_VALIDATE: ClassVar[bool]
    ATOMIC: ClassVar[bool]
    LEVEL: ClassVar[FeatureLevel]
    PLACE: ClassVar[ResourceType | None]
    PERSONAL: ClassVar[bool]
    KEYS: ClassVar[Mapping[str, Any]]
    values: Mapping[str, Any]

    @property
    @abstractmethod
    def key(self) -> Any:
        """What tells it from all others of its kind; keys can be sorted."""

    @property
    def enforced(self) -> Any:
        """What brokers enforce it on, which is all that tells it from others in effect; mostly the key.

        Two resources with one ``enforced`` are kept apart by Kafka, and of the two only that which was set last is in
        force; once either is deleted, neither is. ``None``: it may be that of any other one whose ``enforced`` is not
        its key.
        """
        return self.key

    @property
    def again(self) -> "Self | None":
        """What stays and shares ``enforced`` with it: it is set again once this one is deleted, to be in force."""
        return None

    @property
    @abstractmethod
    def subject(self) -> str:
        """What a person calls it: ``quota of user alice``."""

    @property
    @abstractmethod
    def principal(self) -> str | None:
        """The one principal that it is about: scope, selections and ownership go by it. ``None``: it is about many."""

    @property
    @abstractmethod
    def place(self) -> ResourcePattern | None:
        """The named resource that it is about: scope, selections and ownership go by that name, by no principal."""

    @property
    @abstractmethod
    def is_disabled(self) -> bool:
        """Whether all that it does is to keep somebody from logging in, as a DENY would."""

    @property
    @abstractmethod
    def unmatched(self) -> Unmatched | None:
        """Why it is about no client, or about none of a kind, whatever name they are given; ``None``: it can be."""

    def with_again(self, again: Any) -> Self:
        """The same resource with ``again``; never asked where ``enforced`` is the key."""
        return self

    @abstractmethod
    def with_values(self, values: Mapping[str, Any]) -> Self:
        """The same resource with other values."""

    def only(self, names: Collection[str]) -> Self:
        """The same resource with some of its values, and with all that belongs to those."""
        return self.with_values({name: value for name, value in self.values.items() if name in names})

    def understands(self, name: str) -> bool:
        """Whether this version knows what a value of that name means. One that it does not know stays as it is."""
        return name in self.KEYS

    def refusal(self, release: tuple[int, int] | None = None) -> BrokerRefusal | None:
        """Why brokers of a release refuse to set these values; ``None`` if they take them, as far as is known.

        Without a release, why every one does.
        """
        return next(self._refusals(release), None)

    @abstractmethod
    def _refusals(self, release: tuple[int, int] | None) -> Iterator[BrokerRefusal]:
        """Each reason, the first one first."""


Item = TypeVar("Item", bound=ListedItem)


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    """All resources of one listed kind on a cluster.

    ``items`` is ``None`` where nobody asked for them or they could not be read, and ``gap`` is why they could not: what
    was not read must never look empty. ``may_alter``: whether our login may change them, ``None`` where nobody told.
    """

    # None and empty are different answers: pruning against "empty" is right, against "not read" it would be an outage.
    items: frozenset[Item] | None = None
    gap: str | None = None
    may_alter: bool | None = None

    @property
    def by_key(self) -> Mapping[Any, Item]:
        """The items by key; none where they were not read."""
        return {item.key: item for item in self.items or ()}


#: Of a kind that nobody asked about.
NOT_READ: Final[Listing[Any]] = Listing()


def values_of(side: Any) -> Mapping[str, Any]:
    """The values on one side of a change; none where nothing is there."""
    values: Mapping[str, Any] = {} if side is None else side.values
    return values


def altered(values: Mapping[str, Any], before: Any, after: Any) -> dict[str, Any]:
    """Live values after a change, which sets and removes its own names only."""
    gone = values_of(before)
    return {name: value for name, value in values.items() if name not in gone} | dict(values_of(after))


def items_after(kind: type[Item], items: Iterable[Item], changes: Iterable[Change]) -> frozenset[Item]:
    """Live resources of one kind with changes made, those of other kinds passed over."""
    after: dict[Any, Any] = {item.key: item for item in items}
    for change in changes:
        item = resource_of(change)
        if isinstance(item, kind):
            there = after.get(item.key, item.with_values({}))
            after[item.key] = there.with_values(altered(there.values, change.before, change.after))
    return frozenset(item for item in after.values() if item.values)


def parts(change: Change) -> tuple[Change, ...]:
    """A change of a listed resource as it is sent: one change for each request, in order.

    Values are set before others are removed, so that a user can log in at any moment. A value that stays is in none.
    What has to be set again goes first: had it stayed, nobody could see that a run ended before that.
    """
    item: ListedItem = resource_of(change)
    if change.after is None and item.again is not None:
        # Kafka writes no record for a value that is set already, and so brokers would not hear of it.
        return Delete(item.again), Delete(item), Create(item.again)
    if item.ATOMIC:
        return (change,)
    before, after = values_of(change.before), values_of(change.after)
    names = [
        *(name for name in after if before.get(name) != after[name]),
        *(name for name in before if name not in after),
    ]
    return tuple(_part(change, name) for name in names) or (change,)


def _part(change: Change, name: str) -> Change:
    before, after = _sides(change, (name,))
    if not values_of(before):
        return Create(after)
    return Update(before, after) if values_of(after) else Delete(before)


def narrowed(change: Change, names: Collection[str]) -> Change:
    """The change of some values only, of the same verb: of an update, one side may be left without any."""
    before, after = _sides(change, names)
    if before is None:
        return Create(after)
    return Delete(before) if after is None else Update(before, after)


def _sides(change: Change, names: Collection[str]) -> tuple[Any, Any]:
    before: Any = change.before
    after: Any = change.after
    return before and before.only(names), after and after.only(names)
