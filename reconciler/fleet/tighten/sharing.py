"""Rights that clusters have by one text: they go on all of these clusters or on none, by what was seen on any.

A rule of manifests may serve many clusters. The logs of one of them say nothing about the others, so a right goes only
where each cluster that has it from the same place would lose it in the same way.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, NamedTuple, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.fleet.tighten.evidence import NO_PERIOD, BindingUsage, Period
from reconciler.fleet.tighten.narrowing import Held, HeldReason, Narrowing
from reconciler.fleet.usage.days import DaySet
from reconciler.model import AclBinding, Origin, ResourceType

#: A right of a cluster.
ClusterRight: TypeAlias = tuple[str, AclBinding]
#: So many clusters are named.
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class SharedUsage:
    """What was seen on one cluster; of a right that it shares, with what was seen of that on the others.

    An implementation of :class:`SeenUsage`.
    """

    period: Period = NO_PERIOD
    usage: Mapping[AclBinding, BindingUsage] = field(default_factory=dict)
    principals: Mapping[str, DaySet] = field(default_factory=dict)
    creates: Mapping[str, frozenset[tuple[ResourceType, str]]] = field(default_factory=dict)


class _Group(NamedTuple):
    """Rights of one text. ``uneven``: by its variables it is not the same right everywhere, so it is not rewritten."""

    members: frozenset[ClusterRight]
    uneven: bool


class SharedRights:
    """Which rights of which clusters are declared together."""

    def __init__(self, declared: Mapping[str, Iterable[tuple[AclBinding, Origin]]]) -> None:
        """``declared`` are the rights of each cluster with the places of their names; one may have several."""
        leads: dict[ClusterRight, ClusterRight] = {}
        uneven: set[ClusterRight] = set()

        def lead(one: ClusterRight) -> ClusterRight:
            while (above := leads.get(one, one)) != one:
                leads[one] = leads.get(above, above)
                one = above
            return one

        for sides in _by_place(declared):
            even = len({frozenset(side) for side in sides.values()}) == 1
            together: dict[object, list[ClusterRight]] = defaultdict(list)
            for cluster, bindings in sorted(sides.items()):
                for binding in sorted(bindings):
                    together[binding if even else binding.entry.operation].append((cluster, binding))
            for first, *others in together.values():
                uneven |= set() if even else {first}
                for other in others:
                    leads[lead(other)] = lead(first)
        members: dict[ClusterRight, set[ClusterRight]] = defaultdict(set)
        for right in leads:
            members[lead(right)] |= {right, lead(right)}
        loose = {lead(right) for right in uneven}
        groups = [_Group(frozenset(found), first in loose) for first, found in members.items()]
        self._groups: dict[ClusterRight, _Group] = {right: group for group in groups for right in group.members}

    def seen_by_all(self, usages: Mapping[str, SharedUsage]) -> dict[str, SharedUsage]:
        """The usage of each cluster, with that of the others in what it shares with them."""
        merged: dict[tuple[int, AclBinding], BindingUsage] = {}
        for cluster, found in usages.items():
            for binding, usage in found.usage.items():
                if (group := self._groups.get((cluster, binding))) is not None:
                    merged.setdefault((id(group), binding), BindingUsage()).add(usage)
        shared: dict[str, dict[AclBinding, BindingUsage]] = defaultdict(dict)
        for group in {id(group): group for group in self._groups.values()}.values():
            for cluster, binding in group.members:
                if (all_of_it := merged.get((id(group), binding))) is not None:
                    shared[cluster][binding] = all_of_it
        return {
            cluster: replace(found, usage={**found.usage, **shared.get(cluster, {})})
            for cluster, found in usages.items()
        }

    def agreed(
        self, proposed: Mapping[str, Sequence[Narrowing]]
    ) -> tuple[dict[str, list[Narrowing]], dict[str, list[Held]]]:
        """The narrowings that hold on every cluster that shares them; and by cluster what the others hold."""
        kept = {cluster: list(found) for cluster, found in proposed.items()}
        held: dict[str, list[Held]] = {cluster: [] for cluster in proposed}
        while True:
            by_right = {
                (cluster, one): each for cluster, found in kept.items() for each in found for one in each.bindings
            }
            again = False
            for cluster, found in kept.items():
                for narrowing in found:
                    differing = self._differing(cluster, narrowing, by_right)
                    if differing is not None:
                        held[cluster] += [Held(one, HeldReason.SHARED, differing) for one in narrowing.bindings]
                        again = True
                gone = {one.binding for one in held[cluster]}
                kept[cluster] = [one for one in found if one.first not in gone]
            if not again:
                return kept, held

    def _differing(self, cluster: str, narrowing: Narrowing, by_right: Mapping[ClusterRight, Narrowing]) -> str | None:
        """Which clusters do not narrow it in the same way; ``None`` where all do that share it."""
        differing: set[str] = set()
        alone = True
        for binding in narrowing.bindings:
            group = self._groups.get((cluster, binding))
            for right in group.members if group is not None else ():
                other = by_right.get(right)
                if other is None or not _same(narrowing, other, uneven=group is not None and group.uneven):
                    alone = False
                    differing |= {right[0]} - {cluster}
        return None if alone else _named(sorted(differing))


def _same(one: Narrowing, other: Narrowing, *, uneven: bool) -> bool:
    if uneven:
        return not one.into and not other.into
    return (one.bindings, one.into) == (other.bindings, other.into)


def _named(clusters: Sequence[str]) -> str:
    more = f" and {len(clusters) - _NAMED:,} more" if len(clusters) > _NAMED else ""
    return ", ".join(clusters[:_NAMED]) + more


def _by_place(declared: Mapping[str, Iterable[tuple[AclBinding, Origin]]]) -> Iterable[dict[str, set[AclBinding]]]:
    """The rights of each cluster by the place of their names, of places that serve several clusters."""
    found: dict[Origin, dict[str, set[AclBinding]]] = defaultdict(dict)
    for cluster, rights in declared.items():
        for binding, place in rights:
            found[place].setdefault(cluster, set()).add(binding)
    return [sides for sides in found.values() if len(sides) > 1]
