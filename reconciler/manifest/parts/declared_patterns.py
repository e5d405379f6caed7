"""Patterns with the places that name them: of a million names, a declaration for each would take 200 MB."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from struct import pack, unpack_from
from typing import Final, Self

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.resources import Named
from reconciler.model import Declaration, Expiry, Origin, ResourcePattern, ResourceType

#: The bytes of one place: its line and its column.
_PLACE: Final = 8


@lru_cache(maxsize=256)
def terms_in(
    file: str,
    reason: str | None = None,
    ticket: str | None = None,
    expires: Expiry | None = None,
    keep: str | None = None,
) -> Declaration:
    """What the names of a rule have in common; mostly many rules of a file have the same."""
    return Declaration(Origin(file, 1, 1), reason, ticket, expires, None, keep)


def declared_at(terms: Declaration, places: bytes, index: int) -> Declaration:
    """The declaration at one of packed places, with ``terms`` in everything else."""
    line, column = unpack_from("2I", places, _PLACE * index)
    return terms._replace(origin=Origin(terms.origin.file, line, column))


@dataclass(frozen=True, slots=True)
class DeclaredPatterns:
    """The patterns of one field of a rule; ``kind`` is the field's resource type.

    ``places`` are those of the texts that name the patterns, packed for :func:`declared_at`. In ``terms`` is all else
    that is declared; its own place is not used.
    """

    kind: ResourceType
    patterns: tuple[ResourcePattern, ...]
    places: bytes
    terms: Declaration

    @classmethod
    def of(cls, kind: ResourceType, named: Sequence[Named], terms: Declaration) -> Self:
        """Each pattern at the place of the text that names it."""
        places = [number for _, node in named for number in (node.line + 1, node.column + 1)]
        return cls(kind, tuple([pattern for pattern, _ in named]), pack(f"{len(places)}I", *places), terms)

    @classmethod
    def at(cls, kind: ResourceType, patterns: Sequence[ResourcePattern], declaration: Declaration) -> Self:
        """All of them with one declaration."""
        _, line, column = declaration.origin
        return cls(kind, tuple(patterns), pack("2I", line, column) * len(patterns), declaration)

    def with_role(self, role: Origin) -> "DeclaredPatterns":
        """The same with the place of a role's rule: who edits that decides as much as who uses the role."""
        return DeclaredPatterns(self.kind, self.patterns, self.places, self.terms._replace(role=role))

    def renamed(self, pattern: ResourcePattern) -> "DeclaredPatterns":
        """``pattern`` at the place of the first of them."""
        return DeclaredPatterns(self.kind, (pattern,), self.places[:_PLACE], self.terms)

    def of_type(self, kind: ResourceType) -> "DeclaredPatterns":
        """Those of one type, where the fields of a rule follow each other."""
        of_kind = [index for index, pattern in enumerate(self.patterns) if pattern.resource_type is kind]
        start, end = (of_kind[0], of_kind[-1] + 1) if of_kind else (0, 0)
        return DeclaredPatterns(kind, self.patterns[start:end], self.places[_PLACE * start : _PLACE * end], self.terms)

    def __iter__(self) -> Iterator[tuple[ResourcePattern, Declaration]]:
        """Each pattern with its declaration."""
        for index, pattern in enumerate(self.patterns):
            yield pattern, declared_at(self.terms, self.places, index)
