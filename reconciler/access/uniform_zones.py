"""Zones on which a principal has the same access to every name from every host: most of those that many are asked for.

There the effect follows from the masks of the entries that match, so it is decided once for each combination of masks,
and what ``User:*`` has on a zone is looked up once, for all principals.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from reconciler.access.effects import AccessEffect, RegionEffect
from reconciler.access.hosts import ANY_HOST
from reconciler.access.interpretation import Interpretation
from reconciler.access.name_set import LITERAL, NameSet
from reconciler.access.names import has_names, shortest_name
from reconciler.access.nested_names import inside
from reconciler.access.region import Region
from reconciler.model import WILDCARD, WILDCARD_PRINCIPAL, ResourceType

#: The effect for a principal from a host on the names of a type that are in no narrower set.
EffectOf: TypeAlias = Callable[[str, str, ResourceType, NameSet], AccessEffect]
#: A mask for each interpretation, or the one of all of them.
Masks: TypeAlias = tuple[int, ...] | int
# Builds a named tuple without its Python-level constructor: there is one for each principal and zone.
_new: Final = tuple.__new__


class _Shared(NamedTuple):
    """A zone that no entry of ``User:*`` divides, and a shortest name, if it has one.

    ``effects`` are by a principal's own masks, the same for all zones where ``User:*`` has the same masks.
    """

    region: Region
    name: str | None
    effects: dict[Masks, AccessEffect]


class _OfEveryone:
    """What principals share on one resource type: the entries of ``User:*``, and the zones that are known."""

    __slots__ = ("_coverages", "_effects", "_groups", "_kind", "zones")

    def __init__(self, kind: ResourceType, interpretations: Sequence[Interpretation]) -> None:
        self._kind = kind
        self._groups = _Groups(kind, WILDCARD_PRINCIPAL, interpretations)
        self._coverages = [one.coverage(kind) for one in interpretations if one.default_allow]
        self._effects: dict[Masks, dict[Masks, AccessEffect]] = {}
        #: ``None`` for a zone that may be divided whatever a principal's own entries are.
        self.zones: dict[NameSet, _Shared | None] = {}

    def look_at(self, zone: NameSet) -> _Shared | None:
        """Find out about a zone that is not known yet."""
        self.zones[zone] = found = None if self._is_divided(zone) else self._shared(zone)
        return found

    def _is_divided(self, zone: NameSet) -> bool:
        # LITERAL * does not match all names that begin with an asterisk.
        if zone.text[:1] in ("", WILDCARD) or self._groups.divide(zone):
            return True
        # What no entry covers, default-allow divides by the patterns of every principal.
        return not all(coverage.covers(zone) for coverage in self._coverages)

    def _shared(self, zone: NameSet) -> _Shared:
        effects = self._effects.setdefault(self._groups.masks(zone), {})
        if zone.kind == LITERAL:
            return _Shared(Region(self._kind, zone), zone.text if has_names(self._kind, zone) else None, effects)
        return _Shared(Region(self._kind, zone), shortest_name(self._kind, zone), effects)


class UniformZones:
    """Answers for the zones of one comparison that are certainly uniform, and for no others."""

    __slots__ = ("_cluster_hosts", "_effect", "_everyone", "_host", "_interpretations")

    def __init__(self, interpretations: Iterable[Interpretation], effect: EffectOf, host: str) -> None:
        """``effect`` depends on nothing but ``interpretations``; ``host`` stands for hosts that no entry names."""
        self._interpretations = tuple(interpretations)
        self._effect = effect
        self._everyone: dict[ResourceType, _OfEveryone] = {}
        self._host = host
        self._cluster_hosts = bool(_Groups(ResourceType.CLUSTER, WILDCARD_PRINCIPAL, self._interpretations).hosts)

    def pieces(
        self, principal: str, kind: ResourceType, zones: Iterable[NameSet]
    ) -> Iterator[Sequence[RegionEffect] | None]:
        """For each zone its one piece, or none where it has no possible name; ``None`` if it is not uniform."""
        if not self._may_have_any(principal, kind):
            yield from (None for _ in zones)
            return
        everyone = self._everyone.get(kind)
        if everyone is None:
            everyone = self._everyone[kind] = _OfEveryone(kind, self._interpretations)
        known = everyone.zones
        own = _Groups(kind, principal, self._interpretations)
        for zone in zones:
            shared = known[zone] if zone in known else everyone.look_at(zone)
            if shared is None or ((own.hosts or zone.kind != LITERAL) and own.divide(zone)):
                yield None
            elif shared.name is None:
                yield ()
            else:
                masks = own.masks(zone)
                effect = shared.effects.get(masks)
                if effect is None:
                    effect = shared.effects[masks] = self._effect(principal, self._host, kind, zone)
                yield (_new(RegionEffect, (ANY_HOST, shared.region, effect, self._host, shared.name)),)

    def _may_have_any(self, principal: str, kind: ResourceType) -> bool:
        # Rights on CLUSTER count on topics as well, and the other way round: who has any is compared in full.
        if kind is not ResourceType.TOPIC:
            return kind is not ResourceType.CLUSTER
        of = (one.index.bindings(ResourceType.CLUSTER, principal) for one in self._interpretations)
        return not self._cluster_hosts and not any(of)


class _Groups:
    """One principal's bindings on one resource type in each interpretation: as a rule the same group in all."""

    __slots__ = ("_distinct", "_one", "_tables", "hosts")

    def __init__(self, kind: ResourceType, principal: str, interpretations: Sequence[Interpretation]) -> None:
        groups = [one.index.group(kind, principal) for one in interpretations]
        self._distinct = [group for group in dict.fromkeys(groups) if group is not None]
        #: The groups with entries for some hosts only.
        self.hosts = [group for group in self._distinct if group.hosts() is not None]
        self._tables = [None if group is None else group.tables.get(WILDCARD) for group in groups]
        self._one = self._tables[0] if len(set(self._tables)) == 1 else None

    def divide(self, zone: NameSet) -> bool:
        """Whether entries distinguish hosts or names of a zone."""
        for group in self.hosts:
            if group.hosts_on(zone):
                return True
        if zone.kind != LITERAL:
            for group in self._distinct:
                found = inside(group.ordered, zone)
                if len(found) > 1 or (found and found[0] != zone):
                    return True
        return False

    def masks(self, zone: NameSet) -> Masks:
        """What entries for any host say on the names of a zone that are in no narrower set."""
        if self._one is not None:
            return self._one.at_names(zone)
        return tuple([0 if table is None else table.at_names(zone) for table in self._tables])
