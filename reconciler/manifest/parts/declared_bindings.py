"""Bindings with what declares them, as few objects as can be: there may be millions.

A pattern has the rule that names it, and a rule says which entries it comes to. So neither bindings nor entries are
kept: they are made when they are asked for, and whether one is declared is decided without making any.
"""

from collections.abc import ItemsView, Iterator, Mapping
from functools import partial
from itertools import repeat
from typing import Final, NamedTuple, TypeAlias

from reconciler.manifest.parts.grants import entries_of, grants_entry
from reconciler.manifest.parts.rules import RuleDeclaration
from reconciler.model import AccessControlEntry, AclBinding, Declaration, Expiry, ResourcePattern

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
Said: TypeAlias = RuleDeclaration | Placed
#: What declares the bindings on one pattern: a rule all of them, or each entry its own.
OnPattern: TypeAlias = RuleDeclaration | dict[AccessControlEntry, Said]


def declaration_of(said: Said, pattern: ResourcePattern) -> Declaration:
    """The declaration of bindings on a pattern."""
    return said.declaration if isinstance(said, Placed) else said.declaration_of(pattern)


def on_pattern(grant: RuleDeclaration) -> OnPattern:
    """A rule for each of its patterns; of one with many principals, each of its entries."""
    return grant if len(grant.principals) + len(grant.hosts) <= _FEW else by_entry(grant)


def by_entry(said: OnPattern) -> dict[AccessControlEntry, Said]:
    """What declares each entry."""
    return dict.fromkeys(entries_of(said), said) if isinstance(said, RuleDeclaration) else said


class DeclaredBindings(Mapping[AclBinding, Declaration]):
    """Bindings by identity; a binding and its declaration are made when they are asked for."""

    __slots__ = ("_count", "_on")

    def __init__(self, on: Mapping[ResourcePattern, OnPattern]) -> None:
        """Keeps ``on``."""
        self._on = on
        self._count = sum(map(len, (entries for _, entries in _entries(on))))

    def _said(self, binding: AclBinding) -> Said | None:
        pattern, entry = binding
        said = self._on.get(pattern)
        if isinstance(said, RuleDeclaration):
            return said if grants_entry(said, entry) else None
        return None if said is None else said.get(entry)

    def __getitem__(self, binding: AclBinding) -> Declaration:
        """Where and why a binding is declared; raises ``KeyError``."""
        said = self._said(binding)
        if said is None:
            raise KeyError(binding)
        return declaration_of(said, binding[0])

    def __contains__(self, binding: object) -> bool:
        """Whether a binding is declared."""
        return isinstance(binding, AclBinding) and self._said(binding) is not None

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

    def ending(self) -> Iterator[tuple[AclBinding, Expiry]]:
        """Each binding that is declared with an end, and the end."""
        for pattern, said in self._on.items():
            if not isinstance(said, RuleDeclaration):
                yield from ((AclBinding(pattern, entry), one.expires) for entry, one in said.items() if one.expires)
            elif said.expires is not None:
                yield from ((AclBinding(pattern, entry), said.expires) for entry in entries_of(said))

    def __repr__(self) -> str:
        """Shows them."""
        return repr(dict(self.items()))


class _Items(ItemsView[AclBinding, Declaration]):
    """As of any mapping; the bindings that one rule declares on a pattern have one declaration."""

    __slots__ = ()
    _mapping: DeclaredBindings

    def __iter__(self) -> Iterator[tuple[AclBinding, Declaration]]:
        on = self._mapping._on
        for pattern, entries in _entries(on):
            said = on[pattern]
            each = repeat(said) if isinstance(said, RuleDeclaration) else said.values()
            before, declaration = None, None
            for entry, one in zip(entries, each, strict=False):
                if declaration is None or one is not before:
                    before, declaration = one, declaration_of(one, pattern)
                yield _new_binding((pattern, entry)), declaration


def _entries(
    on: Mapping[ResourcePattern, OnPattern],
) -> Iterator[tuple[ResourcePattern, tuple[AccessControlEntry, ...] | dict[AccessControlEntry, Said]]]:
    """The entries on each pattern; those of a rule, whose patterns follow each other, are made once."""
    before: RuleDeclaration | None = None
    made: tuple[AccessControlEntry, ...] = ()
    for pattern, said in on.items():
        if not isinstance(said, RuleDeclaration):
            yield pattern, said
            continue
        if said is not before:
            before, made = said, entries_of(said)
        yield pattern, made
