"""Patterns with the places that name them: of a million names, a declaration for each would take 200 MB."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from struct import pack, unpack_from

from reconciler.manifest.parts.resources import Named
from reconciler.model import Declaration, Expiry, Origin, ResourcePattern, ResourceType


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


class DeclaredPatterns:
    """The patterns of one field of a rule; each one's declaration is made when it is asked for.

    ``kind`` is the resource type of the field.
    """

    __slots__ = ("_places", "_terms", "kind", "patterns")

    def __init__(self, kind: ResourceType, named: Sequence[Named], terms: Declaration) -> None:
        """Each pattern at the place of the text that names it, with ``terms`` in everything else."""
        self.kind = kind
        self.patterns = tuple([pattern for pattern, _ in named])
        places = [number for _, node in named for number in (node.line + 1, node.column + 1)]
        self._places = pack(f"{len(places)}I", *places)
        self._terms = terms

    @classmethod
    def at(
        cls, kind: ResourceType, patterns: Sequence[ResourcePattern], declaration: Declaration
    ) -> "DeclaredPatterns":
        """All of them with one declaration."""
        found = cls(kind, (), declaration)
        found.patterns = tuple(patterns)
        _, line, column = declaration.origin
        found._places = pack("2I", line, column) * len(found.patterns)
        return found

    def with_role(self, role: Origin) -> "DeclaredPatterns":
        """The same with the place of a role's rule: who edits that decides as much as who uses the role."""
        found = DeclaredPatterns(self.kind, (), self._terms._replace(role=role))
        found.patterns, found._places = self.patterns, self._places
        return found

    def renamed(self, pattern: ResourcePattern) -> "DeclaredPatterns":
        """``pattern`` at the place of the first of them."""
        found = DeclaredPatterns(self.kind, (), self._terms)
        found.patterns, found._places = (pattern,), self._places[:8]
        return found

    @property
    def expires(self) -> Expiry | None:
        """Until when all of them hold."""
        return self._terms.expires

    def of(self, pattern: ResourcePattern) -> Declaration:
        """The declaration of the first that is ``pattern``; raises ``ValueError`` where there is none."""
        return self._declaration(self.patterns.index(pattern))

    def declarations(self) -> Iterator[Declaration]:
        """One for each pattern, in order."""
        return map(self._declaration, range(len(self.patterns)))

    def _declaration(self, index: int) -> Declaration:
        line, column = unpack_from("2I", self._places, 8 * index)
        return self._terms._replace(origin=Origin(self._terms.origin.file, line, column))

    def __eq__(self, other: object) -> bool:
        """Same patterns at the same places, with the same terms."""
        return isinstance(other, DeclaredPatterns) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        """By the patterns."""
        return hash(self.patterns)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.patterns)

    def __iter__(self) -> Iterator[tuple[ResourcePattern, Declaration]]:
        """Each pattern with its declaration."""
        return zip(self.patterns, self.declarations(), strict=True)
