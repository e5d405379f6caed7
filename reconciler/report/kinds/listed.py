"""Listed kinds in reports: what a resource is called, and each of its values before and after."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from reconciler.dataclass import dataclass
from reconciler.model import Change, Create, Delete, resource_of, values_of
from reconciler.plan import TopicReview
from reconciler.plan.kinds.listed import ListedKind as PlannedKind
from reconciler.report.kinds.interface import Alike, Detail, Words


@dataclass(frozen=True, eq=False)
class ListedKind:
    """One listed kind; ``value`` shows a value of a name as a person writes it, ``at_end`` what its end does."""

    planned: PlannedKind
    noun: str
    value: Callable[[str, Any], str]
    at_end: str

    @property
    def TYPES(self) -> tuple[type, ...]:  # noqa: N802 - a constant of each kind
        """The type of its resources."""
        return self.planned.TYPES

    @property
    def NOUN(self) -> str:  # noqa: N802 - a constant of each kind
        """What one of it is called."""
        return self.noun

    @property
    def METRIC(self) -> str:  # noqa: N802 - a constant of each kind
        """The same, in one word."""
        return self.noun.replace(" ", "-").lower()

    @property
    def ACTIONS(self) -> Mapping[str, str]:  # noqa: N802 - a constant of each kind
        """``CreateQuota`` is ``create``."""
        return {action: action.removesuffix(self.planned.noun).lower() for action in self.planned.CODECS}

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
        return f"{len(changes):,} {self.noun}s"

    def name(self, changes: Sequence[Change]) -> str:
        """``user alice``."""
        return str(resource_of(changes[0]).key)

    def details(self, changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
        """A line for each value."""
        return self.words(changes, review).details

    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """``quota of user alice``, and a line for each value that is set, altered or removed."""
        change = changes[0]
        item = resource_of(change)
        before, after = values_of(change.before), values_of(change.after)
        role = "add" if isinstance(change, Create) else "remove" if isinstance(change, Delete) else "change"
        moved = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
        lines = tuple(Detail(role, f"{name}{self._sides(name, before.get(name), after.get(name))}") for name in moved)
        return Words(item.principal or str(item.key), item.subject, lines)

    def _sides(self, name: str, before: Any, after: Any) -> str:
        if before is None and after is not None:
            return f" = {self.value(name, after)}"
        return f": {self._side(name, before)} → {self._side(name, after)}"

    def _side(self, name: str, value: Any) -> str:
        return "not set" if value is None else self.value(name, value)
