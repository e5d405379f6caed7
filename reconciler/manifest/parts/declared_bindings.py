"""Bindings with what declares them, as few objects as can be: there may be millions."""

from collections.abc import ItemsView, Iterator, KeysView, Mapping
from typing import TypeAlias

from reconciler.manifest.parts.declared_patterns import DeclaredPatterns
from reconciler.model import AclBinding, Declaration

#: What declares a binding: its declaration, or the names of a rule, one of which is the binding's.
Said: TypeAlias = Declaration | DeclaredPatterns


def declaration_of(said: Said, binding: AclBinding) -> Declaration:
    """The declaration of a binding."""
    return said if isinstance(said, Declaration) else said.of(binding[0])


class DeclaredBindings(Mapping[AclBinding, Declaration]):
    """Bindings by identity; a declaration is made when it is asked for."""

    __slots__ = ("_said",)

    def __init__(self, said: dict[AclBinding, Said]) -> None:
        """Keeps ``said``."""
        self._said = said

    def __getitem__(self, binding: AclBinding) -> Declaration:
        """Where and why a binding is declared; raises ``KeyError``."""
        return declaration_of(self._said[binding], binding)

    def __contains__(self, binding: object) -> bool:
        """Whether a binding is declared."""
        return binding in self._said

    def __iter__(self) -> Iterator[AclBinding]:
        """The bindings, in the order of the manifests."""
        return iter(self._said)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._said)

    def keys(self) -> KeysView[AclBinding]:
        """The bindings, as of a dictionary."""
        return self._said.keys()

    def items(self) -> ItemsView[AclBinding, Declaration]:
        """The bindings, each with its declaration."""
        return _Items(self)

    def __repr__(self) -> str:
        """Shows them."""
        return repr(dict(self.items()))


class _Items(ItemsView[AclBinding, Declaration]):
    """As of any mapping; the bindings of one name, which follow each other, have one declaration."""

    __slots__ = ()
    _mapping: DeclaredBindings

    def __iter__(self) -> Iterator[tuple[AclBinding, Declaration]]:
        pattern, before, declaration = None, None, None
        for binding, said in self._mapping._said.items():
            if declaration is None or binding[0] is not pattern or said is not before:
                pattern, before, declaration = binding[0], said, declaration_of(said, binding)
            yield binding, declaration
