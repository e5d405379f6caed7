"""What reports ask of a kind of resource, and how all listed kinds answer. ACLs and topics each have a module here."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

from reconciler.model.kinds import listed_kind
from reconciler.model.listing import Change, Create, Delete, ListedItem, resource_of, values_of
from reconciler.plan.review.topics import TopicReview


class Detail(NamedTuple):
    """A line below a step; ``role`` is the style in which a terminal shows it."""

    role: str
    text: str


class Words(NamedTuple):
    """Changes in words. ``about`` is a principal or the name of a resource, ``text`` does not begin with a sign.

    ``notes`` hold for every change of this sort, whatever its name.
    """

    about: str
    text: str
    details: tuple[Detail, ...] = ()
    notes: tuple[str, ...] = ()


class Alike(NamedTuple):
    """``gravity`` is 0 for what a reviewer must see first; ``shape`` is equal where changes differ in names only."""

    gravity: int
    shape: Hashable


class Kind(Protocol):
    """A kind of resource. Every function takes changes of this kind only; nothing that it returns is escaped."""

    @property
    def TYPES(self) -> tuple[type, ...]:
        """Which types the sides of its changes have."""
        ...

    @property
    def NOUN(self) -> str:
        """What one of it is called; an ``s`` makes the plural."""
        ...

    @property
    def METRIC(self) -> str:
        """The label ``kind`` of metrics."""
        ...

    @property
    def ACTIONS(self) -> Mapping[str, str]:
        """The label ``action`` of metrics, by the action of plan files: ``CreateAcl`` is ``create``."""
        ...

    def shared(self, change: Change) -> Hashable:
        """Changes next to each other that have this in common share a line; ``None``: this one has its own."""
        ...

    def alike(self, changes: Sequence[Change]) -> Alike:
        """How grave changes that share a line are, and what very many such lines have in common that share another."""
        ...

    def many(self, changes: Sequence[Change], text: str, review: TopicReview) -> str:
        """The words for changes of one shape, how many they are first; ``text`` is what the first ones are called.

        With what a person has to know of all of them together: ``review`` is as in :meth:`words`.
        """
        ...

    def name(self, changes: Sequence[Change]) -> str:
        """How changes that share a line are told from others of their shape."""
        ...

    def details(self, changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
        """The details of :meth:`words`, which are all that is asked of most of very many lines."""
        ...

    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """The words for changes that share a line; ``review`` has the brokers' defaults and what goes with a topic."""
        ...


class ReportedKind(ABC):
    """What reports ask of a listed kind: its ``noun``, and ``at_end``, what the end of one does."""

    noun: ClassVar[str]
    at_end: ClassVar[str]

    @abstractmethod
    def shown(self, name: str, value: Any) -> str:
        """A value of a name as a person writes it."""

    def dim_lines(self, change: Change) -> tuple[str, ...]:
        """Lines below the values; none."""
        return ()

    def notes(self, change: Change) -> tuple[str, ...]:
        """What holds for every change of this sort; nothing."""
        return ()


class ListedKind:
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource

    @cached_property
    def special(self) -> ReportedKind:
        """What is special about it."""
        found: ReportedKind = listed_kind(self._resource)
        return found

    @property
    def TYPES(self) -> tuple[type, ...]:
        """The type of its resources."""
        return (self._resource,)

    @property
    def NOUN(self) -> str:
        """What one of it is called."""
        return self.special.noun

    @property
    def METRIC(self) -> str:
        """The same, in one word."""
        return self.NOUN.replace(" ", "-").lower()

    @property
    def ACTIONS(self) -> Mapping[str, str]:
        """``CreateQuota`` is ``create``."""
        return {f"{verb.capitalize()}{self._resource.NOUN}": verb for verb in ("create", "alter", "delete")}

    def shared(self, change: Change) -> Hashable:
        """Never: each resource has a line of its own."""
        return None

    def alike(self, changes: Sequence[Change]) -> Alike:
        """The values before and after."""
        before, after = values_of(changes[0].before), values_of(changes[0].after)
        gravity = 4 if isinstance(changes[0], Delete) else 6
        return Alike(gravity, (tuple(before.items()), tuple(after.items())))

    def many(self, changes: Sequence[Change], text: str, review: TopicReview) -> str:
        """``300 quotas``."""
        return f"{len(changes):,} {self.NOUN}s"

    def name(self, changes: Sequence[Change]) -> str:
        """``user alice``."""
        return str(resource_of(changes[0]).key)

    def details(self, changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
        """A line for each value."""
        return self.words(changes, review).details

    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """``quota of user alice``, a line for each value that is set, altered or removed, and what the kind adds."""
        change = changes[0]
        item = resource_of(change)
        before, after = values_of(change.before), values_of(change.after)
        role = "add" if isinstance(change, Create) else "remove" if isinstance(change, Delete) else "change"
        moved = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
        lines = tuple(Detail(role, f"{name}{self._sides(name, before.get(name), after.get(name))}") for name in moved)
        more = (Detail("dim", line) for line in self.special.dim_lines(change))
        return Words(item.principal or str(item.key), item.subject, (*lines, *more), self.special.notes(change))

    def _sides(self, name: str, before: Any, after: Any) -> str:
        if before is None and after is not None:
            return f" = {self.special.shown(name, after)}"
        return f": {self._side(name, before)} → {self._side(name, after)}"

    def _side(self, name: str, value: Any) -> str:
        return "not set" if value is None else self.special.shown(name, value)
