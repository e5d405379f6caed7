"""The kinds of resources that a plan can change: one module each, found by the type of a change's sides."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from reconciler.codec.codec import Codec
from reconciler.codec.objects import tagged
from reconciler.codec.values import IMPOSSIBLE
from reconciler.model.desired import DesiredState
from reconciler.model.kinds import listed_kind, listed_types
from reconciler.model.listing import Change, ListedItem
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.plan.difference import Comparison, DiffRules
from reconciler.plan.kinds import acl, topic
from reconciler.plan.kinds.interface import Deletions, Kind, LoginAtRisk
from reconciler.plan.kinds.listed import ListedKind, listed_codecs
from reconciler.policy.laws import Lockout

_OWN: Final[tuple[Kind, ...]] = (acl.KIND, topic.KIND)
_BY_TYPE: Final = {side: kind for kind in _OWN for side in kind.types}


def listed(resource: type[ListedItem]) -> ListedKind:
    """The listed kind with resources of this type."""
    kind: ListedKind = listed_kind(resource)
    return kind


def kinds() -> tuple[Kind, ...]:
    """Every kind, in the order in which they are shown."""
    return (*_OWN, *map(listed, listed_types()))


def kind_of(change: Change) -> Kind:
    """The kind of resource that ``change`` is about."""
    resource: type[Any] = type(change.resource)
    return _BY_TYPE.get(resource) or listed(resource)


def kinds_of(changes: Iterable[Change]) -> tuple[Kind, ...]:
    """The kinds that changes are about, in the order in which they are shown."""
    touched = {kind_of(change) for change in changes}
    return tuple(kind for kind in kinds() if kind in touched) if len(touched) > 1 else tuple(touched)


def logins_at_risk(changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
    """What the kinds whose law is a guard of their own say of the logins that have to work."""
    guarded = [change for change in changes if kind_of(change).law(change).lockout is Lockout.GUARD]
    for kind in kinds_of(guarded):
        yield from kind.risks(changes, live, logins)


def deletions(
    changes: Sequence[Change], live: ClusterState, scope: Scope, done: Collection[Change] = ()
) -> tuple[Deletions, ...]:
    """What goes of each kind of which guards count a share; ``done`` are those of the changes that ``live`` shows."""
    results = []
    for kind in kinds_of(change for change in changes if change.after is None):
        own, gone = ([change for change in some if kind_of(change) is kind] for some in (changes, done))
        results.append(kind.deletions(own, live, scope, gone))
    return tuple(filter(None, results))


def compare(desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
    """Two states to changes, every kind of resource: the one definition of difference, whatever engine performs it.

    Scope and ignore are applied to both sides *before* anything is compared: what is outside is never a difference.
    What could not be read is never a difference either: it is listed as skipped, and nothing is planned against it.
    The answer does not depend on the order of either input.
    """
    # A kind that manifests neither declare nor prune differs in nothing, and most plans need not load it.
    due = (listed(item) for item in listed_types() if desired.of(item) or item.KIND in rules.prune)
    return sum((kind.differences(desired, live, scope, rules) for kind in (*_OWN, *due)), Comparison())


def objection(change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
    """What the manifests say, by now, against a change that was planned earlier; ``None``: nothing."""
    return kind_of(change).objection(change, desired, rules)


def describe(change: Change) -> str:
    """A change in a few words, as reports and refusals name it."""
    return kind_of(change).describe(change)


def _action(change: Change) -> str:
    return kind_of(change).action(change)


_CODECS: Final[dict[str, Codec[Any]]] = {
    name: codec
    for codecs in (*(kind.codecs for kind in _OWN), *map(listed_codecs, listed_types()))
    for name, codec in codecs.items()
}
#: A change that a step can perform, in JSON: ``action``, ``before``, ``after``.
STEP_CHANGE: Final[Codec[Change]] = tagged("action", _CODECS, _action, "What is done.")
#: Any change.
CHANGE: Final[Codec[Change]] = tagged("action", {**_CODECS, "Impossible": IMPOSSIBLE}, _action, "What would be done.")
