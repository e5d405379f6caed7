"""Collects the bindings of one cluster, and what speaks against them."""

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.declared_bindings import (
    DeclaredBindings,
    OnPattern,
    Placed,
    Said,
    by_entry,
    declaration_of,
    on_pattern,
)
from reconciler.manifest.parts.grants import BroughtRule, entries_of, grants, size_of
from reconciler.manifest.parts.outside import OutsideScope
from reconciler.manifest.parts.roles import RoleDeclaration, use_problem
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.model import AccessControlEntry, AclBinding, Declaration, Expiry, ResourcePattern, Selector

#: More than any controller is known to keep up with: Kafka's own benchmark of its authorizer ends at 2,500,000.
MAX_BINDINGS: Final = 3_000_000
_FOREVER = Expiry(datetime.date.max)
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
        self._on: dict[ResourcePattern, OnPattern] = {}
        #: Of ``_on`` what several rules name: no other pattern shares these dictionaries.
        self._several: dict[ResourcePattern, dict[AccessControlEntry, Said]] = {}
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
        said, on = on_pattern(grant), self._on
        if len(grant.patterns) > 1 and len(set(grant.patterns)) < len(grant.patterns):
            entries = entries_of(grant)
            # Of a name that is written twice, each place counts.
            for pattern, declaration in grant.declared():
                self._add_beside(pattern, entries, Placed(declaration, not isinstance(grant, BroughtRule)))
            return
        taken = [pattern for pattern in grant.patterns if on.setdefault(pattern, said) is not said]
        entries = entries_of(grant) if taken else ()
        for pattern in taken:
            self._add_beside(pattern, entries, grant)

    def _add_beside(self, pattern: ResourcePattern, entries: Iterable[AccessControlEntry], said: Said) -> None:
        """Adds the entries of a rule on a pattern that another rule names, or that it names twice."""
        there = self._several.get(pattern)
        if there is None:
            there = self._on[pattern] = self._several[pattern] = dict(by_entry(self._on.get(pattern, {})))
        for entry in entries:
            first = there.setdefault(entry, said)
            if first is not said:
                there[entry] = self._both(AclBinding(pattern, entry), first, said)

    def _both(self, binding: AclBinding, first: Said, said: Said) -> Said:
        """What two declarations of a binding come to; the first, after reporting that both are written out."""
        earlier, later = (declaration_of(one, binding.pattern) for one in (first, said))
        written = [
            one.written if isinstance(one, Placed) else not isinstance(one, BroughtRule) for one in (first, said)
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
        for pattern, said in self._on.items():
            asked: set[str] = set()
            for entry, one in by_entry(said).items():
                binding = AclBinding(pattern, entry)
                # A scope is about patterns and principals.
                if entry.principal not in asked and not scope.owns(binding):
                    what = f"{entry.principal} on {pattern}"
                    outside.add(declaration_of(one, pattern).origin, what, _selects(binding), _OUTSIDE)
                asked.add(entry.principal)

    def on(self, as_of: datetime.date) -> tuple[DeclaredBindings, DeclaredBindings]:
        """What is wanted then, and what has expired."""
        if not self._ends:
            return DeclaredBindings(self._on), DeclaredBindings({})
        wanted: dict[ResourcePattern, OnPattern] = {}
        expired: dict[ResourcePattern, OnPattern] = {}
        for pattern, said in self._on.items():
            if isinstance(said, RuleDeclaration):
                (expired if _is_over(said, as_of) else wanted)[pattern] = said
                continue
            for over, these in ((False, wanted), (True, expired)):
                if some := {entry: one for entry, one in said.items() if _is_over(one, as_of) is over}:
                    these[pattern] = some
        return DeclaredBindings(wanted), DeclaredBindings(expired)


def _is_over(said: Said, as_of: datetime.date) -> bool:
    return said.expires is not None and said.expires.over(as_of)


def _selects(binding: AclBinding) -> Callable[[Selector], bool]:
    return lambda item: item.selects(binding)


def _files(declaration: Declaration) -> tuple[str, str | None]:
    """The files that have a say in it."""
    return declaration.origin.file, declaration.role and declaration.role.file


def _rank(declaration: Declaration) -> tuple[float, Declaration]:
    """The one that wants a binding longest comes first, then the one declared first."""
    return -(declaration.expires or _FOREVER).end.timestamp(), Declaration(declaration.origin)
