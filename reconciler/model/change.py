"""A change of one resource: what is there before, and what is there after.

What kind of resource it is follows from the type of its sides: an ``AclBinding``, a ``Topic`` (created or deleted),
the ``TopicPartitions``, ``TopicConfigs`` or ``TopicReplicas`` of a live topic (updated). Branch on a kind only in a
``kinds`` folder, which has one file for each: everything else is the same for all of them.
"""

from typing import Any, Generic, TypeAlias, TypeVar

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Create(Generic[T]):
    """A resource that does not exist and should."""

    after: T

    @property
    def before(self) -> None:
        """Nothing is there before."""


@dataclass(frozen=True, slots=True)
class Update(Generic[T]):
    """A resource that exists in another state than it should."""

    before: T
    after: T


@dataclass(frozen=True, slots=True)
class Delete(Generic[T]):
    """A resource that exists and should not; ``before`` is the live one, its id included."""

    before: T

    @property
    def after(self) -> None:
        """Nothing is there after."""


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


Change: TypeAlias = Create[Any] | Update[Any] | Delete[Any] | Impossible
AclChange: TypeAlias = Create[AclBinding] | Delete[AclBinding]


def resource_of(change: Change) -> Any:
    """What a change is about, as it is after it; of a deletion, as it was before."""
    if isinstance(change, Impossible):
        return change
    return change.before if change.after is None else change.after
