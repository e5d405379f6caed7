"""Drift as manifests: what the cluster has and the manifests do not say, or say otherwise, becomes what they say."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reconciler.dataclass import dataclass
from reconciler.diff import Comparison, SkipReason
from reconciler.edit.editing import EditError, edited
from reconciler.edit.kinds import KINDS
from reconciler.edit.pages import Book
from reconciler.model import Change, ClusterState, Declaration, Delete, DesiredState, Origin, Topic
from reconciler.plan.kinds import describe

#: Of what no file declares yet.
_NOWHERE = Origin("", 1, 1)


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: the ``change`` that a plan would make, or Kafka cannot; and where the manifests speak of it."""

    change: Change
    origin: Origin | None = None

    @property
    def keeps(self) -> bool:
        """Whether adopting it writes something that the cluster has; otherwise it removes what the cluster lacks."""
        return self.change.before is not None

    def __str__(self) -> str:
        """In a few words: of what is on one side only, what it is."""
        return describe(self.change).removeprefix("delete ").removeprefix("create ")


@dataclass(frozen=True, slots=True)
class NotAdopted:
    """A difference that stays, and why."""

    subject: str
    reason: str


def differences(comparison: Comparison, live: ClusterState) -> tuple[list[Difference], list[NotAdopted]]:
    """What can be adopted, in the order of plans, and what not even the cluster shows."""
    found = [Difference(one.change, one.origin) for one in comparison.changes]
    left: list[NotAdopted] = []
    for skipped in comparison.skipped:
        undeclared = skipped.subject.removeprefix(f"{Topic.KIND[:-1]} ")
        if skipped.change is not None:
            found.append(Difference(skipped.change, skipped.origin))
        elif skipped.reason is SkipReason.UNDECLARED and undeclared in live.topics:
            found.append(Difference(Delete(live.topics[undeclared])))
        else:
            left.append(NotAdopted(skipped.subject, skipped.detail))
    return found, left


def adopted(
    texts: Mapping[str, str], cluster: str, chosen: Sequence[Difference], live: ClusterState, said: Declaration
) -> tuple[dict[str, str], list[NotAdopted]]:
    """The texts that declare what the cluster has, and the differences that no edit adopts.

    ``said`` gives reason and ticket of what is new.
    """
    told = said._replace(origin=_NOWHERE)
    if not chosen:
        return dict(texts), []
    refused: list[NotAdopted] = []
    try:
        changes = edited(texts, lambda book: _wanted(book, cluster, chosen, live, told, refused))
        after = {path: text for path, text in {**texts, **changes}.items() if text is not None}
        return after, refused
    except EditError as error:
        if len(chosen) == 1:
            return dict(texts), [NotAdopted(str(chosen[0]), error.reasons[0])]
    # One that cannot be written must not keep the others out: each half by itself, down to the one.
    half = len(chosen) // 2
    first, left = adopted(texts, cluster, chosen[:half], live, said)
    second, more = adopted(first, cluster, chosen[half:], live, said)
    return second, left + more


def _wanted(
    book: Book,
    cluster: str,
    chosen: Iterable[Difference],
    live: ClusterState,
    said: Declaration,
    refused: list[NotAdopted],
) -> Mapping[str, DesiredState]:
    state = _Growing(book.desired[cluster])
    for difference in chosen:
        problem = state.adopt(difference.change, live, said)
        if problem is not None:
            refused.append(NotAdopted(str(difference), problem))
    return {**book.desired, cluster: state.state}


class _Growing:
    """A declared state that takes in one change after the other."""

    def __init__(self, state: DesiredState) -> None:
        self.state = replace(state, bindings=dict(state.bindings), topics=dict(state.topics))

    def adopt(self, change: Change, live: ClusterState, said: Declaration) -> str | None:
        """Take a change in, or say why not."""
        for kind in KINDS:
            found = kind.adopted(self.state, change, live, said)
            if isinstance(found, str):
                return found
            if found is not None:
                self.state = found
                return None
        return "the editor does not write this kind of resource"
