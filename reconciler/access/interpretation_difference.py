"""Where access may differ between two interpretations, and what changes there, for everybody else and each principal.

Only what differs in the entries is compared, so that a difference of a few bindings is fast on a large cluster.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from reconciler.access.api_rights import CLUSTER_NAMES, ON_EVERY_TOPIC
from reconciler.access.by_resource_type import PROBE
from reconciler.access.comparison import AccessComparison
from reconciler.access.effects import RegionEffect
from reconciler.access.index import changed_keys
from reconciler.access.interpretation import Interpretation
from reconciler.access.name_set import ALL_NAMES, NameSet
from reconciler.access.nested_names import meets, meets_any, outermost
from reconciler.access.operations import DENIED
from reconciler.access.work import ROW
from reconciler.model import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, AclOperation, ResourceType

_WRITE: Final = 1 << AclOperation.WRITE | 1 << AclOperation.WRITE + DENIED
#: Where the APIs accept a right on another type instead.
_OTHER_TYPE: Final = {ResourceType.CLUSTER: ResourceType.TOPIC, ResourceType.TOPIC: ResourceType.CLUSTER}
#: What is unknown is the same in both.
InterpretationPair: TypeAlias = tuple[Interpretation, Interpretation]
_TYPES: Final = tuple(kind for kind in ResourceType if kind >= ResourceType.TOPIC)


class InterpretationDifference:
    """The access difference in one comparison: of two interpretations, or of several pairs together."""

    __slots__ = (
        "_answers",
        "_changed",
        "_everyone",
        "_hidden",
        "_movers",
        "_pairs",
        "_reaching",
        "comparison",
        "direct",
    )

    def __init__(
        self, comparison: AccessComparison, pairs: Sequence[InterpretationPair], hidden: frozenset[str]
    ) -> None:
        """``hidden`` are the super users before or after; outside what changes in ``pairs`` nothing is compared."""
        self.comparison = comparison
        self._pairs = pairs
        self._hidden = hidden
        self._answers: dict[tuple[frozenset[object] | None, ...], list[RegionEffect]] = {}
        # Only groups (resource type and principal) whose bindings differ need a comparison: a difference of a few
        # bindings is fast, however many the cluster has.
        changed = {group for before, after in pairs for group in before.index.changed_groups(after.index)}
        self._changed = changed
        self._movers = {principal for _, principal in changed}
        self._everyone: dict[ResourceType, list[NameSet]] = {}
        # In this order, because CLUSTER asks what changes on TOPIC (see _idempotence_may_change).
        for kind in _TYPES:
            self._everyone[kind] = outermost({key for pair in pairs for key in self._everyone_keys(kind, *pair)})
        # Of a principal whose bindings stay, nothing changes on other types.
        self._reaching = tuple(kind for kind in _TYPES if kind in _OTHER_TYPE or self._everyone[kind])
        #: The principals whose own bindings change.
        self.direct = sorted({who for _, who in changed if ":" in who} - hidden - {WILDCARD_PRINCIPAL})

    def _everyone_keys(self, kind: ResourceType, before: Interpretation, after: Interpretation) -> Iterator[NameSet]:
        """The names on which access may change for principals without bindings of their own."""
        if (kind, WILDCARD_PRINCIPAL) in self._changed:
            yield from self._changed_keys(kind, WILDCARD_PRINCIPAL)
        # Default-allow turns missing coverage into access. If it stays on, only names that become covered or uncovered
        # change.
        if before.default_allow != after.default_allow:
            yield ALL_NAMES
        elif before.default_allow and any(changed is kind for changed, _ in self._changed):
            old, new = before.coverage(kind), after.coverage(kind)
            # A new pattern inside a covered one changes nothing, and neither does removing such a pattern.
            yield from new.newly(old)
            yield from old.newly(new)
        # CREATE and DELETE on CLUSTER apply to every topic (ControllerApis.createTopics, deleteTopics).
        if kind is ResourceType.TOPIC and self._cluster_changes(self.comparison.unnamed):
            yield ALL_NAMES
        if kind is ResourceType.CLUSTER and self._idempotence_may_change(WILDCARD_PRINCIPAL):
            yield CLUSTER_NAMES

    def _idempotence_may_change(self, principal: str) -> bool:
        """Whether WRITE on topics changes: it also permits to start an idempotent producer."""
        open_by_default = any(one.default_allow for pair in self._pairs for one in pair)
        # Of the names that default-allow opens and closes, brokers ask about one only; else entries decide.
        zones = self._everyone[ResourceType.TOPIC] if principal == WILDCARD_PRINCIPAL and open_by_default else ()
        if any(zone.matches(PROBE) for zone in zones):
            return True
        changed = (ResourceType.TOPIC, principal) in self._changed
        return changed and bool(self._changed_keys(ResourceType.TOPIC, principal, _WRITE))

    def _changed_keys(self, kind: ResourceType, principal: str, bits: int = -1) -> set[NameSet]:
        found: set[NameSet] = set()
        for before, after in self._pairs:
            old, new = (interpretation.index.group(kind, principal) for interpretation in (before, after))
            found |= changed_keys(old, new, bits)
        return found

    def _cluster_changes(self, principal: str) -> bool:
        """Whether what CLUSTER grants on every topic changes."""
        comparison = self.comparison
        texts = {t for group in comparison.groups(principal, ResourceType.CLUSTER) for t in group.tables}
        for host in comparison.classes(frozenset(texts - {WILDCARD})):
            asked = (principal, host.sample, ResourceType.CLUSTER, CLUSTER_NAMES)
            if any((before.access(*asked) ^ after.access(*asked)) & ON_EVERY_TOPIC for before, after in self._pairs):
                return True
        return False

    def _own_zones(self, kind: ResourceType, principal: str) -> list[NameSet]:
        """The names on which access may change differently for a principal than for everybody else."""
        everyone = self._everyone[kind]
        on_topics, on_cluster = (self._has_own(t, principal) for t in (ResourceType.TOPIC, ResourceType.CLUSTER))
        # Nothing changes for everybody else, and no binding of this principal changes.
        if not everyone and not on_cluster and principal not in self._movers:
            return []
        found = self._changed_keys(kind, principal) if (kind, principal) in self._changed else set()
        # Where everybody else's access changes, a principal with bindings on those names may keep its own.
        if everyone:
            found.update(meets(self._own_keys(kind, principal), everyone))
        if kind is ResourceType.TOPIC and on_cluster:
            found.update(everyone)
            if self._cluster_changes(principal):
                found.add(ALL_NAMES)
        reached = bool(everyone and (on_topics or on_cluster))
        if kind is ResourceType.CLUSTER and (reached or self._idempotence_may_change(principal)):
            found.add(CLUSTER_NAMES)
        return outermost(found)

    def _own_keys(self, kind: ResourceType, principal: str) -> list[NameSet]:
        groups = (interpretation.index.group(kind, principal) for interpretation in self.comparison.interpretations)
        ordered = [group.ordered for group in dict.fromkeys(groups) if group is not None]
        return ordered[0] if len(ordered) == 1 else sorted({key for keys in ordered for key in keys})

    def _has_own(self, kind: ResourceType, principal: str) -> bool:
        return any(interpretation.index.bindings(kind, principal) for interpretation in self.comparison.interpretations)

    def everyone_pieces(self) -> Iterator[RegionEffect]:
        """What changes for everybody else."""
        for kind, zones in self._everyone.items():
            for zone in zones:
                yield from self.comparison.pieces(self.comparison.unnamed, kind, zone)

    def own_pieces(self, principal: str) -> Iterator[RegionEffect]:
        """What changes for one principal, and where nothing changes although it does for everybody else."""
        # Principals with the same entries share an answer: hundreds of them may meet hundreds of changed names.
        if not any(self._everyone.values()):
            yield from self._own_pieces(principal)
            return
        entries = self._entries(principal)
        answer = self._answers.get(entries)
        if answer is None:
            answer = self._answers[entries] = list(self._own_pieces(principal))
        self.comparison.work.spend(ROW * len(answer))
        yield from answer

    def _entries(self, principal: str) -> tuple[frozenset[object] | None, ...]:
        """What a principal's own bindings say, without its name, on the types that count."""
        found: list[frozenset[object] | None] = []
        for kind in self._kinds(principal):
            last: Sequence[AclBinding] | None = None
            for interpretation in self.comparison.interpretations:
                bindings = interpretation.index.bindings(kind, principal)
                # As in the interpretation before: the same list, as a rule.
                same = bindings is last
                found.append(None if same else frozenset([(pattern, entry[1:]) for pattern, entry in bindings]))
                last = bindings
        return tuple(found)

    def _kinds(self, principal: str) -> tuple[ResourceType, ...]:
        """The types that its pieces can be of, and those that decide about them."""
        return _TYPES if principal in self._movers else self._reaching

    def _own_pieces(self, principal: str) -> Iterator[RegionEffect]:
        for kind in self._kinds(principal):
            # Where everybody else's access changes, this principal needs a row even if its own does not change: the
            # row says that it is an exception.
            everyone = self._everyone[kind]
            zones = [(zone, meets_any(zone, everyone)) for zone in self._own_zones(kind, principal)]
            if zones:
                yield from self.comparison.pieces_of_zones(principal, kind, zones)

    def reached(self) -> list[str]:
        """Principals whose own bindings stay but match names on which everybody else's access may change; sorted."""
        # A guess that denies is in the strictest interpretation only, and may make an exception of its principal.
        indexes = {interpretation.index for interpretation in self.comparison.interpretations}
        found: set[str] = set()
        for kind, zones in self._everyone.items():
            if zones:
                other = _OTHER_TYPE.get(kind)
                for index in indexes:
                    found |= index.principals(kind).meeting(zones)
                    if other is not None:
                        found |= index.principals(other).meeting([ALL_NAMES])
        return sorted(found - set(self.direct) - self._hidden - {WILDCARD_PRINCIPAL})
