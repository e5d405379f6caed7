"""Zones on which a principal has the same access to every name from every host: most of those that many are asked for.

There the effect follows from the masks of the entries that match, so it is decided once for each combination of masks,
and what ``User:*`` has on a zone is looked up once, for all principals.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from reconciler.access.effects import AccessEffect, RegionEffect
from reconciler.access.hosts import ANY_HOST
from reconciler.access.index import BindingGroup
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


class UniformZones:
    """Answers for the zones of one comparison that are certainly uniform, and for no others."""

    __slots__ = ("_cluster_hosts", "_effect", "_effects", "_host", "_interpretations", "_open", "_shared")

    def __init__(self, interpretations: Iterable[Interpretation], effect: EffectOf, host: str) -> None:
        """``effect`` depends on nothing but ``interpretations``; ``host`` stands for hosts that no entry names."""
        self._interpretations = tuple(interpretations)
        self._effect = effect
        self._effects: dict[tuple[ResourceType, tuple[int, ...]], dict[Masks, AccessEffect]] = {}
        self._host = host
        self._open = tuple(one for one in self._interpretations if one.default_allow)
        self._shared: dict[ResourceType, dict[NameSet, _Shared | None]] = {}
        groups = self._groups(ResourceType.CLUSTER, WILDCARD_PRINCIPAL)
        self._cluster_hosts = any(group is not None and group.hosts() is not None for group in groups)

    def pieces(
        self, principal: str, kind: ResourceType, zones: Iterable[NameSet]
    ) -> Iterator[Sequence[RegionEffect] | None]:
        """For each zone its one piece, or none where it has no possible name; ``None`` if it is not uniform."""
        if not self._may_have_any(principal, kind):
            yield from (None for _ in zones)
            return
        known = self._shared.setdefault(kind, {})
        groups = self._groups(kind, principal)
        # As a rule, one group: a principal's own entries are the same in every interpretation.
        own = [group for group in dict.fromkeys(groups) if group is not None]
        hosted = [group for group in own if group.hosts() is not None]
        table = own[0].tables.get(WILDCARD) if len(own) == 1 and None not in groups else None
        for zone in zones:
            shared = known[zone] if zone in known else self._look_at(kind, zone)
            if (
                shared is None
                or (hosted and any(group.hosts_on(zone) for group in hosted))
                or (zone.kind != LITERAL and any(_has_parts(group, zone) for group in own))
            ):
                yield None
            elif shared.name is None:
                yield ()
            else:
                masks = _masks_at(groups, zone) if table is None else table.at_names(zone)
                effect = shared.effects.get(masks)
                if effect is None:
                    effect = shared.effects[masks] = self._effect(principal, self._host, kind, zone)
                yield (_new(RegionEffect, (ANY_HOST, shared.region, effect, self._host, shared.name)),)

    def _groups(self, kind: ResourceType, principal: str) -> list[BindingGroup | None]:
        return [one.index.group(kind, principal) for one in self._interpretations]

    def _may_have_any(self, principal: str, kind: ResourceType) -> bool:
        # Rights on CLUSTER count on topics as well, and the other way round: who has any is compared in full.
        if kind is not ResourceType.TOPIC:
            return kind is not ResourceType.CLUSTER
        of = (one.index.bindings(ResourceType.CLUSTER, principal) for one in self._interpretations)
        return not self._cluster_hosts and not any(of)

    def _look_at(self, kind: ResourceType, zone: NameSet) -> _Shared | None:
        """What principals share on a zone, ``None`` if it may be divided without entries of their own."""
        found = self._shared[kind][zone] = self._compiled(kind, zone)
        return found

    def _compiled(self, kind: ResourceType, zone: NameSet) -> _Shared | None:
        # LITERAL * does not match all names that begin with an asterisk.
        if zone.text[:1] in ("", WILDCARD):
            return None
        # What no entry covers, default-allow divides by the patterns of every principal.
        if not all(one.coverage(kind).covers(zone) for one in self._open):
            return None
        groups = self._groups(kind, WILDCARD_PRINCIPAL)
        for group in groups:
            if group is not None and (group.hosts_on(zone) or (zone.kind != LITERAL and _has_parts(group, zone))):
                return None
        effects = self._effects.setdefault((kind, _masks_at(groups, zone)), {})
        if zone.kind == LITERAL:
            return _Shared(Region(kind, zone), zone.text if has_names(kind, zone) else None, effects)
        return _Shared(Region(kind, zone), shortest_name(kind, zone), effects)


def _masks_at(groups: Iterable[BindingGroup | None], zone: NameSet) -> tuple[int, ...]:
    """What entries for any host say on the names of a zone that are in no narrower set."""
    tables = [None if group is None else group.tables.get(WILDCARD) for group in groups]
    return tuple([0 if table is None else table.at_names(zone) for table in tables])


def _has_parts(group: BindingGroup, zone: NameSet) -> bool:
    """Whether entries distinguish names of a zone."""
    found = inside(group.ordered, zone)
    return len(found) > 1 or (len(found) == 1 and found[0] != zone)
