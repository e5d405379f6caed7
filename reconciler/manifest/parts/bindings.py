"""Bindings of one cluster with the declarations behind them, and those outside of its scope.

Collects the bindings of one cluster, and what speaks against them.
"""

import datetime
from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias, cast

from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.rules import (
    BroughtRule,
    RoleDeclaration,
    RoleUse,
    RuleDeclaration,
    entries_of,
    grants,
    grants_entry,
    size_of,
    use_problem,
)
from reconciler.manifest.read.findings import Findings, Trouble
from reconciler.manifest.read.problem import Code
from reconciler.model.acl import AccessControlEntry, AclBinding, ResourcePattern
from reconciler.model.characters import first_of
from reconciler.model.desired import FOREVER, Declaration, Expiry, KnowsEnds, Origin
from reconciler.model.scope import Selector

# Bindings with what declares them, as few objects as can be: there may be millions.
#
# A pattern has the rule that names it, and a rule says which entries it comes to. So neither bindings nor entries are
# kept: they are made when they are asked for, and whether one is declared is decided without making any.

_new_binding: Final = partial(tuple.__new__, AclBinding)
#: A rule with more principals and hosts is asked for an entry by a table, not by looking through them.
_FEW: Final = 16


class Placed(NamedTuple):
    """What two rules come to that declare one binding; ``written`` unless roles bring both."""

    declaration: Declaration
    written: bool

    @property
    def expires(self) -> Expiry | None:
        """Until when it holds."""
        return self.declaration.expires


#: What declares a binding: a rule without a role that names its pattern, or what several come to.
Declarer: TypeAlias = RuleDeclaration | Placed
#: What declares the bindings on one pattern: a rule all of them, or each entry its own.
OnPattern: TypeAlias = RuleDeclaration | dict[AccessControlEntry, Declarer]


class Declarations:
    """The declarations of bindings by what declares them; of a rule with many names, where each of them is."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        """Nothing is looked at yet."""
        #: By the identity of a rule, with that rule: a copy of these has other ones.
        self._numbers: dict[int, tuple[RuleDeclaration, dict[ResourcePattern, int]]] = {}

    def of(self, declarer: Declarer, pattern: ResourcePattern) -> Declaration:
        """That of the first place that names ``pattern``; raises ``ValueError`` or ``KeyError`` where there is none."""
        if isinstance(declarer, Placed):
            return declarer.declaration
        if len(declarer.patterns) <= _FEW:
            return declarer.declaration_at(declarer.patterns.index(pattern))
        held = self._numbers.get(id(declarer))
        if held is None or held[0] is not declarer:
            numbers: dict[ResourcePattern, int] = {}
            for number, name in enumerate(declarer.patterns):
                numbers.setdefault(name, number)
            held = self._numbers[id(declarer)] = declarer, numbers
        return declarer.declaration_at(held[1][pattern])


def on_pattern(grant: RuleDeclaration) -> OnPattern:
    """A rule for each of its patterns; of one with many principals, each of its entries."""
    return grant if len(grant.principals) + len(grant.hosts) <= _FEW else by_entry(grant)


def by_entry(declarers: OnPattern) -> dict[AccessControlEntry, Declarer]:
    """What declares each entry."""
    return dict.fromkeys(entries_of(declarers), declarers) if isinstance(declarers, RuleDeclaration) else declarers


class DeclaredBindings(KnowsEnds):
    """Bindings by identity; a binding and its declaration are made when they are asked for."""

    __slots__ = ("_count", "_declarations", "_on")

    def __init__(self, on: Mapping[ResourcePattern, OnPattern]) -> None:
        """Keeps ``on``."""
        self._on = on
        self._declarations = Declarations()
        self._count = sum(map(len, (entries for _, entries in _entries(on))))

    def _declarer(self, binding: AclBinding) -> Declarer | None:
        pattern, entry = binding
        declarers = self._on.get(pattern)
        if isinstance(declarers, RuleDeclaration):
            return declarers if grants_entry(declarers, entry) else None
        return None if declarers is None else declarers.get(entry)

    def __getitem__(self, binding: AclBinding) -> Declaration:
        """Where and why a binding is declared; raises ``KeyError``."""
        declarer = self._declarer(binding)
        if declarer is None:
            raise KeyError(binding)
        return self._declarations.of(declarer, binding[0])

    def __contains__(self, binding: object) -> bool:
        """Whether a binding is declared; nothing else is asked for."""
        return self._declarer(cast("AclBinding", binding)) is not None

    def __iter__(self) -> Iterator[AclBinding]:
        """The bindings, in the order of the manifests by the first rule on each pattern."""
        for pattern, entries in _entries(self._on):
            yield from map(_new_binding, zip(repeat(pattern), entries, strict=False))

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    def items(self) -> ItemsView[AclBinding, Declaration]:
        """The bindings, each with its declaration."""
        return _Items(self)

    @property
    def patterns(self) -> Collection[ResourcePattern]:
        """What bindings are declared on."""
        return self._on.keys()

    def ending(self) -> Iterator[tuple[AclBinding, Expiry]]:
        """Each binding that is declared with an end, and the end."""
        for pattern, declarers in self._on.items():
            if not isinstance(declarers, RuleDeclaration):
                yield from (
                    (AclBinding(pattern, entry), declarer.expires)
                    for entry, declarer in declarers.items()
                    if declarer.expires
                )
            elif declarers.expires is not None:
                yield from ((AclBinding(pattern, entry), declarers.expires) for entry in entries_of(declarers))

    def __repr__(self) -> str:
        """Shows them."""
        return repr(dict(self.items()))


class _Items(ItemsView[AclBinding, Declaration]):
    """As of any mapping; the bindings that one rule declares on a pattern have one declaration."""

    __slots__ = ()
    _mapping: DeclaredBindings

    def __iter__(self) -> Iterator[tuple[AclBinding, Declaration]]:
        on, declarations = self._mapping._on, self._mapping._declarations
        for pattern, entries in _entries(on):
            declarers = on[pattern]
            each = repeat(declarers) if isinstance(declarers, RuleDeclaration) else declarers.values()
            before, declaration = None, None
            for entry, declarer in zip(entries, each, strict=False):
                if declaration is None or declarer is not before:
                    before, declaration = declarer, declarations.of(declarer, pattern)
                yield _new_binding((pattern, entry)), declaration


def _entries(
    on: Mapping[ResourcePattern, OnPattern],
) -> Iterator[tuple[ResourcePattern, tuple[AccessControlEntry, ...] | dict[AccessControlEntry, Declarer]]]:
    """The entries on each pattern; those of a rule, whose patterns follow each other, are made once."""
    before: RuleDeclaration | None = None
    entries: tuple[AccessControlEntry, ...] = ()
    for pattern, declarers in on.items():
        if not isinstance(declarers, RuleDeclaration):
            yield pattern, declarers
            continue
        if declarers is not before:
            before, entries = declarers, entries_of(declarers)
        yield pattern, entries


# Reports what is declared and not in a cluster's scope.

#: So many declarations are named of those that one item ignores.
_NAMED: Final = 3
_IGNORED: Final = (
    "remove what is declared, or narrow this item: what it selects is somebody else's and is never planned"
)


class OutsideScope:
    """What lies outside is reported where it is declared; what an item of ``ignore`` selects, once at that item.

    Whoever adds such an item reads there what it would take out of the manifests' hands.
    """

    def __init__(self, cluster: ClusterDeclaration, findings_of: Callable[[str], Findings]) -> None:
        """Starts empty."""
        self._cluster, self._findings_of = cluster, findings_of
        self._ignored: dict[Origin, list[tuple[Origin, str]]] = {}

    def add(self, declared: Origin, what: str, selects: Callable[[Selector], bool], advice: str) -> None:
        """Something that the scope does not own; ``selects`` says whether an item of ``ignore`` is about it."""
        ignoring = self._cluster.ignoring(selects)
        if ignoring is not None:
            self._ignored.setdefault(ignoring, []).append((declared, what))
            return
        message = f"{what} is outside the scope of the cluster {self._cluster.name}"
        trouble = Trouble(Code.OUTSIDE_SCOPE, message, advice)
        self._findings_of(declared.file).add_at(trouble, declared, related=self._cluster.scope_origins)

    def report_ignored(self) -> None:
        """Reports each item that ignores something declared."""
        for item, places in self._ignored.items():
            places.sort()
            named = first_of(places, _NAMED, itemgetter(1))
            message = f"the cluster {self._cluster.name} ignores what the manifests declare: {named}"
            trouble, related = Trouble(Code.OUTSIDE_SCOPE, message, _IGNORED), [place for place, _ in places[:_NAMED]]
            self._findings_of(item.file).add_at(trouble, item, related=dict.fromkeys(related))


#: More than any controller is known to keep up with: Kafka's own benchmark of its authorizer ends at 2,500,000.
MAX_BINDINGS: Final = 3_000_000
_OUTSIDE: Final = (
    "a binding is in scope only if its whole pattern is; widen the scope, or limit the document's clusters"
)


class Roles(NamedTuple):
    """The roles that a cluster's rules can use.

    ``elsewhere`` are the names of roles for other clusters only, ``refused`` of those whose problems are reported.
    """

    here: Mapping[str, RoleDeclaration]
    elsewhere: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()


class BindingTable:
    """Bindings by identity.

    A binding that two rules write out is a mistake. One that a role brings may be brought or written once more:
    it is wanted for as long as any of them wants it.
    """

    def __init__(
        self,
        cluster: ClusterDeclaration,
        roles: Roles,
        findings_of: Callable[[str], Findings],
    ) -> None:
        """Starts empty."""
        self._cluster, self._roles = cluster, roles
        self._findings_of = findings_of
        self._declarations = Declarations()
        self._on: dict[ResourcePattern, OnPattern] = {}
        #: Of ``_on`` what several rules name: no other pattern shares these dictionaries.
        self._several: dict[ResourcePattern, dict[AccessControlEntry, Declarer]] = {}
        #: What other files declare of bindings that are there, and that outlasts them not.
        self.repeated: list[tuple[AclBinding, Declaration]] = []
        self._ends = False
        self._room = MAX_BINDINGS

    def add(self, rules: Iterable[RuleDeclaration]) -> None:
        """Adds the bindings of a document's rules."""
        for rule in rules:
            if (not isinstance(rule.action, RoleUse) or self._usable(rule, rule.action)) and self._fits(rule):
                self._ends |= rule.expires is not None
                for grant in grants(rule, self._roles.here):
                    self._add(grant)

    def _fits(self, rule: RuleDeclaration) -> bool:
        """Whether there is room; a short text can multiply to more than any machine holds."""
        size = size_of(rule, self._roles.here)
        if size <= self._room:
            self._room -= size
            return True
        origin = rule.origin
        message = f"this rule comes to {size:,} bindings; all rules of a cluster may come to {MAX_BINDINGS:,}"
        trouble = Trouble(Code.TOO_MANY_BINDINGS, message, "use a prefix, or make a list shorter")
        self._findings_of(origin.file).add_at(trouble, origin)
        return False

    def _usable(self, rule: RuleDeclaration, use: RoleUse) -> bool:
        trouble = use_problem(rule, use, self._roles.here)
        if trouble is None:
            return True
        if use.name in self._roles.refused:
            return False
        if use.name in self._roles.elsewhere:
            message = f"the role {use.name} does not apply to the cluster {self._cluster.name}"
            trouble = Trouble(Code.ROLE_NOT_HERE, message, "compare spec.clusters of the role and of this document")
        origin = use.declaration.origin
        self._findings_of(origin.file).add_at(trouble, origin)
        return False

    def _add(self, grant: RuleDeclaration) -> None:
        declarers, on = on_pattern(grant), self._on
        if len(grant.patterns) > 1 and len(set(grant.patterns)) < len(grant.patterns):
            entries = entries_of(grant)
            # Of a name that is written twice, each place counts.
            for pattern, declaration in grant.declared():
                self._add_entries(pattern, entries, Placed(declaration, not isinstance(grant, BroughtRule)))
            return
        taken = [pattern for pattern in grant.patterns if on.setdefault(pattern, declarers) is not declarers]
        entries = entries_of(grant) if taken else ()
        for pattern in taken:
            self._add_entries(pattern, entries, grant)

    def _add_entries(self, pattern: ResourcePattern, entries: Iterable[AccessControlEntry], declarer: Declarer) -> None:
        """Adds the entries of a rule on a pattern that another rule names, or that it names twice."""
        there = self._several.get(pattern)
        if there is None:
            there = self._on[pattern] = self._several[pattern] = dict(by_entry(self._on.get(pattern, {})))
        for entry in entries:
            first = there.setdefault(entry, declarer)
            if first is not declarer:
                there[entry] = self._both(AclBinding(pattern, entry), first, declarer)

    def _both(self, binding: AclBinding, first: Declarer, second: Declarer) -> Declarer:
        """What two declarations of a binding come to; the first, after reporting that both are written out."""
        earlier, later = (self._declarations.of(declarer, binding.pattern) for declarer in (first, second))
        written = [
            declarer.written if isinstance(declarer, Placed) else not isinstance(declarer, BroughtRule)
            for declarer in (first, second)
        ]
        if all(written):
            places = sorted((earlier.origin, later.origin))
            trouble = Trouble(Code.DUPLICATE_BINDING, f"{binding} is declared twice", "remove one of them")
            self._findings_of(places[1].file).add_at(trouble, places[1], related=places[:1])
            return first
        longest = min(earlier, later, key=_rank)
        shorter = later if longest is earlier else earlier
        if _files(shorter) != _files(longest):
            self.repeated.append((binding, shorter))
        # Whoever of the two says that it stays is heard.
        keep = longest.keep or earlier.keep or later.keep
        return Placed(longest if keep == longest.keep else longest._replace(keep=keep), any(written))

    def check_scope(self, outside: OutsideScope) -> None:
        """Names the bindings that the cluster's scope does not let us own."""
        scope = self._cluster.scope
        if scope.include is None and not scope.exclude and not scope.ignore:
            return
        for pattern, declarers in self._on.items():
            asked: set[str] = set()
            for entry, declarer in by_entry(declarers).items():
                binding = AclBinding(pattern, entry)
                # A scope is about patterns and principals.
                if entry.principal not in asked and not scope.owns(binding):
                    what = f"{entry.principal} on {pattern}"
                    outside.add(self._declarations.of(declarer, pattern).origin, what, _selects(binding), _OUTSIDE)
                asked.add(entry.principal)

    def on(self, as_of: datetime.date) -> tuple[DeclaredBindings, DeclaredBindings]:
        """What is wanted then, and what has expired."""
        if not self._ends:
            return DeclaredBindings(self._on), DeclaredBindings({})
        wanted: dict[ResourcePattern, OnPattern] = {}
        expired: dict[ResourcePattern, OnPattern] = {}
        for pattern, declarers in self._on.items():
            if isinstance(declarers, RuleDeclaration):
                (expired if _is_over(declarers, as_of) else wanted)[pattern] = declarers
                continue
            for over, these in ((False, wanted), (True, expired)):
                if some := {
                    entry: declarer for entry, declarer in declarers.items() if _is_over(declarer, as_of) is over
                }:
                    these[pattern] = some
        return DeclaredBindings(wanted), DeclaredBindings(expired)


def _is_over(declarer: Declarer, as_of: datetime.date) -> bool:
    return declarer.expires is not None and declarer.expires.over(as_of)


def _selects(binding: AclBinding) -> Callable[[Selector], bool]:
    return lambda item: item.selects(binding)


def _files(declaration: Declaration) -> tuple[str, str | None]:
    """The files that have a say in it."""
    return declaration.origin.file, declaration.role and declaration.role.file


def _rank(declaration: Declaration) -> tuple[float, Declaration]:
    """The one that wants a binding longest comes first, then the one declared first."""
    return -(declaration.expires or FOREVER).end.timestamp(), Declaration(declaration.origin)
