"""The resource sets of a zone on which an effect is constant, for many classes of hosts at once.

Entries with a host speak of few names each, as a rule. So one class, the hosts that no entry names, is compared on
every name, and every other class only on the names that its own entries match: elsewhere it has the same resource sets.
That is exact, and work grows with the entries, not with names times hosts.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from operator import attrgetter
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from reconciler.access.hosts import ClassSet
from reconciler.access.interpretation import Work
from reconciler.access.names import NameSet, ResourceSet
from reconciler.dataclass import dataclass
from reconciler.model.acl import ResourceType

E = TypeVar("E")
#: The effect on the names of a node that are in no narrower one, by the node's index.
EffectAt: TypeAlias = Callable[[int], E]


class Span(NamedTuple):
    """A node and all nodes inside it: indexes from ``start`` up to, without, ``end``."""

    start: int
    end: int


class NodeTree:
    """Name sets, outer ones first: which are inside which."""

    __slots__ = ("ends", "nodes", "parents")

    def __init__(self, nodes: Sequence[NameSet]) -> None:
        """``nodes`` are sorted, so that those inside one follow it."""
        self.nodes = nodes
        self.parents: list[int] = []
        self.ends = [len(nodes)] * len(nodes)
        around: list[int] = []
        for index, key in enumerate(nodes):
            # Sorted, the sets inside one follow it without a gap, so a stack of what is open is all there is to know.
            while around and not nodes[around[-1]].contains(key):
                self.ends[around.pop()] = index
            self.parents.append(around[-1] if around else -1)
            around.append(index)

    def spans(self, touched: Sequence[int]) -> list[Span]:
        """The nodes that begin a touched part, with all inside: disjoint, in order."""
        spans: list[Span] = []
        for index in touched:
            # A node inside a span that is already found is part of it.
            if not spans or index >= spans[-1].end:
                spans.append(Span(index, self.ends[index]))
        return spans


@dataclass(slots=True)
class _Kept(Generic[E]):
    """A node whose effect differs from that of the kept node around it; ``cuts`` are the kept nodes inside."""

    effect: E
    cuts: list[int] = field(default_factory=list)


class ResourceSets(Generic[E]):
    """The resource sets of one class of hosts, and what becomes of them for others."""

    __slots__ = ("_above", "_kept", "_tree", "_work", "resource_type")

    def __init__(self, resource_type: ResourceType, tree: NodeTree, effect: EffectAt[E], work: Work) -> None:
        """Ask for the effect on every node."""
        work.spend(len(tree.nodes))
        self.resource_type = resource_type
        self._tree = tree
        self._work = work
        self._kept: dict[int, _Kept[E]] = {}
        #: For each node: itself if it is kept, else the kept node around it.
        self._above: list[int] = []
        for index, parent in enumerate(tree.parents):
            node_effect, outer = effect(index), self._above[parent] if parent >= 0 else -1
            # The same effect as around it: no boundary, so one resource set fewer to show.
            if outer >= 0 and self._kept[outer].effect == node_effect:
                self._above.append(outer)
                continue
            if outer >= 0:
                self._kept[outer].cuts.append(index)
            self._kept[index] = _Kept(node_effect)
            self._above.append(index)

    def all(self) -> list[tuple[ResourceSet, E]]:
        """Every resource set with its effect."""
        return [(self._resources(index, kept.cuts), kept.effect) for index, kept in self._kept.items()]

    def _resources(self, index: int, cuts: Sequence[int]) -> ResourceSet:
        nodes = self._tree.nodes
        return ResourceSet(self.resource_type, nodes[index], tuple(nodes[cut] for cut in cuts))

    def replaced(
        self, spans: Sequence[Span], effect: EffectAt[E], *, wanted: Callable[[E], bool]
    ) -> tuple[list[tuple[ResourceSet, E]], list[tuple[ResourceSet, E]]]:
        """For a class that differs on the nodes of ``spans``: the sets that it lacks, and those instead of them.

        A resource set around a span is among them if its cuts change and its effect is ``wanted``.
        """
        lacking: list[tuple[ResourceSet, E]] = []
        instead: list[tuple[ResourceSet, E]] = []
        # Spans may share the resource set around them. Its cuts are changed once for all of them, after the last span.
        outside: dict[int, tuple[list[Span], list[int]]] = {}
        for span in spans:
            parent = self._tree.parents[span.start]
            outer = self._above[parent] if parent >= 0 else -1
            lacking += [
                (self._resources(index, kept.cuts), kept.effect)
                for index in range(*span)
                if (kept := self._kept.get(index)) is not None
            ]
            own, cuts = self._within(span, outer, effect)
            instead += [(self._resources(index, kept.cuts), kept.effect) for index, kept in own.items()]
            if outer >= 0:
                changed = outside.setdefault(outer, ([], []))
                changed[0].append(span)
                changed[1].extend(cuts)
        for outer, (parts, added) in outside.items():
            kept = self._kept[outer]
            if wanted(kept.effect):
                self._work.spend(len(kept.cuts))
                # Cuts inside a span are gone with it; ``added`` has what is cut out of the span instead.
                stay = [cut for cut in kept.cuts if not any(start <= cut < end for start, end in _near(parts, cut))]
                cuts = sorted([*stay, *added])
                if cuts != kept.cuts:
                    lacking.append((self._resources(outer, kept.cuts), kept.effect))
                    instead.append((self._resources(outer, cuts), kept.effect))
        return lacking, instead

    def _within(self, span: Span, outer: int, effect: EffectAt[E]) -> tuple[dict[int, _Kept[E]], list[int]]:
        """The kept nodes of a span, and which of them are cut out of the kept node around the span."""
        self._work.spend(span.end - span.start)
        own: dict[int, _Kept[E]] = {}
        cuts: list[int] = []
        above: dict[int, int] = {}
        for index in range(*span):
            parent = self._tree.parents[index]
            # Inside the span what counts is this class's own kept nodes, outside of it the usual ones.
            around = above[parent] if parent >= span.start else outer
            node_effect = effect(index)
            if around >= 0 and (own[around] if around in own else self._kept[around]).effect == node_effect:
                above[index] = around
                continue
            if around in own:
                own[around].cuts.append(index)
            elif around >= 0:
                cuts.append(index)
            own[index], above[index] = _Kept(node_effect), index
        return own, cuts


_START: Final = attrgetter("start")


def _near(parts: Sequence[Span], cut: int) -> Sequence[Span]:
    """The one of some ordered, disjoint spans that may hold an index."""
    at = bisect_right(parts, cut, key=_START)
    return parts[at - 1 : at]


class ResourceClasses(dict[tuple[ResourceSet, E], ClassSet]):
    """Resource sets with their effects, and for which classes of hosts, by number, each is one."""

    def __init__(self, wanted: Callable[[E], bool]) -> None:
        """``wanted`` says whether resource sets with an effect are looked for."""
        super().__init__()
        self.wanted = wanted

    def add(self, items: Iterable[tuple[ResourceSet, E]], number: int) -> None:
        """Resource sets of one class."""
        for item in items:
            if self.wanted(item[1]):
                self.setdefault(item, ClassSet()).members.append(number)

    def lack(self, items: Iterable[tuple[ResourceSet, E]], number: int) -> None:
        """Usual resource sets that one class does not have."""
        for item in items:
            if self.wanted(item[1]):
                self.setdefault(item, ClassSet()).lacking.add(number)

    def usual(self, items: Iterable[tuple[ResourceSet, E]], lacking: set[int]) -> None:
        """Resource sets of every class that is not said to lack them, nor one of ``lacking``."""
        for item in items:
            if self.wanted(item[1]):
                where = self.setdefault(item, ClassSet())
                where.usual = True
                where.lacking |= lacking
