"""Collects the bindings of one cluster, and what speaks against them."""

import datetime
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import Final, NamedTuple

from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.declared_bindings import DeclaredBindings, Said, declaration_of
from reconciler.manifest.parts.grants import EntryTable, Grant, grants, size_of
from reconciler.manifest.parts.outside import OutsideScope
from reconciler.manifest.parts.roles import RoleDeclaration, use_problem
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.model import AclBinding, Declaration, Expiry, ResourcePattern, Selector

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
        self._said: dict[AclBinding, Said] = {}
        self._brought: set[AclBinding] = set()
        self._entries = EntryTable()
        self._room = MAX_BINDINGS

    def add(self, rules: Iterable[RuleDeclaration]) -> None:
        """Adds the bindings of a document's rules."""
        for rule in rules:
            if (not isinstance(rule.action, RoleUse) or self._usable(rule, rule.action)) and self._fits(rule):
                for grant in grants(rule, self._roles.here, self._entries):
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

    def _add(self, grant: Grant) -> None:
        said, names = self._said, grant.patterns
        once = len(names) < 2 or len(set(names.patterns)) == len(names)
        # Of a name that is written twice, each place counts.
        places: Iterable[Said] = repeat(names) if once else names.declarations()
        for pattern, place in zip(names.patterns, places, strict=False):
            for entry in grant.entries:
                binding = AclBinding(pattern, entry)
                if said.setdefault(binding, place) is not place:
                    self._add_again(binding, place, written=grant.written)
                elif not grant.written:
                    self._brought.add(binding)

    def _add_again(self, binding: AclBinding, place: Said, *, written: bool) -> None:
        first, declaration = declaration_of(self._said[binding], binding), declaration_of(place, binding)
        if written and binding not in self._brought:
            earlier, later = sorted((first.origin, declaration.origin))
            trouble = Trouble(Code.DUPLICATE_BINDING, f"{binding} is declared twice", "remove one of them")
            self._findings_of(later.file).add_at(trouble, later, related=[earlier])
            return
        if written:
            self._brought.discard(binding)
        longest = min(first, declaration, key=_rank)
        # Whoever of the two says that it stays is heard.
        keep = longest.keep or first.keep or declaration.keep
        self._said[binding] = longest if keep == longest.keep else longest._replace(keep=keep)

    def check_scope(self, outside: OutsideScope) -> None:
        """Names the bindings that the cluster's scope does not let us own."""
        scope = self._cluster.scope
        if scope.include is None and not scope.exclude and not scope.ignore:
            return
        owned: dict[tuple[ResourcePattern, str], bool] = {}
        for binding, said in self._said.items():
            key = (binding.pattern, binding.entry.principal)
            if key not in owned:
                owned[key] = scope.owns(binding)
                if not owned[key]:
                    what = f"{binding.entry.principal} on {binding.pattern}"
                    outside.add(declaration_of(said, binding).origin, what, _selects(binding), _OUTSIDE)

    def on(self, as_of: datetime.date) -> tuple[DeclaredBindings, DeclaredBindings]:
        """What is wanted then, and what has expired."""
        expired = {
            binding: said
            for binding, said in self._said.items()
            if said.expires is not None and said.expires.over(as_of)
        }
        wanted = {key: said for key, said in self._said.items() if key not in expired} if expired else self._said
        return DeclaredBindings(wanted), DeclaredBindings(expired)


def _selects(binding: AclBinding) -> Callable[[Selector], bool]:
    return lambda item: item.selects(binding)


def _rank(declaration: Declaration) -> tuple[float, Declaration]:
    """The one that wants a binding longest comes first, then the one declared first."""
    return -(declaration.expires or _FOREVER).end.timestamp(), Declaration(declaration.origin)
