"""Listed kinds: a declared resource against the live one, all of its values together.

Values that this version does not know stay as they are, unless they are declared: they are listed, and nothing is
planned against them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.diff.difference import Comparison, DeclaredChange, DiffRules, Skipped, SkipReason
from reconciler.model import (
    Change,
    ClusterState,
    Create,
    Delete,
    DesiredItem,
    DesiredState,
    ListedItem,
    Scope,
    Update,
    resource_of,
)

_UNDECLARED = "no manifest declares it: declare it, ignore it, or let the cluster's document prune it"
_UNKNOWN = "this version does not know the key, which stays as it is"


class ListedKind:
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """Declared resources in order, then those to be pruned; all are skipped where they could not be read."""
        declared, listing = desired.of(self._resource), live.listing(self._resource)
        prune = self._resource.KIND in rules.prune
        if listing.items is None:
            gap = listing.gap or f"the {self._resource.WORDS} of this cluster were not read"
            return Comparison(skipped=tuple(self._unread(declared, gap, prune=prune)))
        changes: list[DeclaredChange] = []
        skipped: list[Skipped] = []
        there = listing.by_key
        for key in sorted(declared):
            wanted = declared[key]
            known, unknown = _understood(wanted.item, there.get(key))
            found = _change(wanted.item, known, goes=wanted.goes)
            place = wanted.declaration.origin
            refused = None if wanted.goes else wanted.item.refusal(live.kafka_version)
            if refused is None:
                changes += [DeclaredChange(change, wanted.declaration) for change in found]
            else:
                skipped += [
                    Skipped(SkipReason.IMPOSSIBLE, wanted.item.subject, refused.message, change, place)
                    for change in found
                ]
            skipped += [
                Skipped(SkipReason.UNSUPPORTED, f"{wanted.item.subject}: {name}", _UNKNOWN, None, place)
                for name in unknown
            ]
        for key in sorted(there.keys() - declared.keys()) if prune else ():
            # Only where include names it: without include a directory answers for what it declares only.
            if scope.owns_listed(there[key], declared=False):
                nothing = there[key].with_values({})
                changes += map(DeclaredChange, _change(nothing, _understood(nothing, there[key])[0], goes=True))
        if rules.report_topics and not prune:
            skipped += self._undeclared(declared, there, scope)
        return Comparison(tuple(changes), tuple(skipped))

    def _undeclared(self, declared: Mapping[Any, Any], there: Mapping[Any, Any], scope: Scope) -> Iterator[Skipped]:
        """As of topics: whoever declares none of a kind does not answer for it."""
        for key in sorted(there.keys() - declared.keys()) if declared else ():
            if scope.owns_listed(there[key], declared=False):
                yield Skipped(SkipReason.UNDECLARED, there[key].subject, _UNDECLARED, Delete(there[key]))

    def _unread(self, declared: Mapping[Any, DesiredItem[Any]], gap: str, *, prune: bool) -> Iterator[Skipped]:
        for _, wanted in sorted(declared.items()):
            yield Skipped(SkipReason.UNREADABLE, wanted.item.subject, gap, origin=wanted.declaration.origin)
        if prune:
            yield Skipped(SkipReason.UNREADABLE, f"{self._resource.WORDS} that no manifest declares", gap)

    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """Values to set have to be those declared; what is to be deleted has to be unwanted."""
        item = resource_of(change)
        if not isinstance(item, self._resource):
            return None
        wanted = desired.of(self._resource).get(item.key)
        if isinstance(change, Delete):
            if wanted is not None and not wanted.goes:
                return "not to be declared"
            gone = wanted is not None or self._resource.KIND in rules.prune
            return None if gone else "to be declared absent"
        return None if wanted is not None and not wanted.absent and wanted.item == item else "to be declared so"


def _understood(wanted: ListedItem, live: ListedItem | None) -> tuple[ListedItem, list[str]]:
    """The live resource without values that nobody here understands, and the names of those."""
    values = {} if live is None else live.values
    # A change that named one would remove what nobody here understands.
    unknown = sorted(name for name in values if name not in wanted.values and not wanted.understands(name))
    return wanted.with_values({name: value for name, value in values.items() if name not in unknown}), unknown


def _change(wanted: ListedItem, live: ListedItem, *, goes: bool) -> Iterator[Change]:
    if not live.values:
        if not goes:
            yield Create(wanted)
    elif goes:
        yield Delete(live)
    elif live.values != wanted.values:
        yield Update(live, wanted)
