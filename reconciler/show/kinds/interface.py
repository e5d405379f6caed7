"""What reports ask of a kind of resource. Each other module of this folder is one kind and has these functions."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, Protocol

from reconciler.model.listing import Change
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
