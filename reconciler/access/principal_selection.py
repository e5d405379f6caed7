"""Which principals an assertion covers: every possible principal, or some known ones."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, NamedTuple

from reconciler.access.assertion import Assertion
from reconciler.model import WILDCARD_PRINCIPAL, name_glob

#: What makes a glob of a text.
_WILDCARDS: Final = "*?"


class PrincipalSelection(NamedTuple):
    """``named=None`` is every possible principal; ``exempt`` principals are never included."""

    named: frozenset[str] | None
    exempt: frozenset[str]

    def includes(self, principal: str) -> bool:
        """Whether the assertion covers this principal."""
        return principal not in self.exempt and (self.named is None or principal in self.named)


def is_glob(text: str) -> bool:
    """Whether a text selects the known principals that match it, rather than itself."""
    return any(letter in text for letter in _WILDCARDS)


class Principals:
    """The known principals, and which of them a glob selects."""

    __slots__ = ("_globs", "_ordered", "known")

    def __init__(self, known: Iterable[str]) -> None:
        """Sort them; ``User:*`` is not a principal of a connection."""
        self.known = frozenset(known) - {WILDCARD_PRINCIPAL}
        self._ordered = sorted(self.known)
        self._globs: dict[str, frozenset[str]] = {}

    def matching(self, text: str) -> frozenset[str]:
        """The principal itself, or the known principals that a glob matches."""
        if not is_glob(text):
            return frozenset({text})
        if text not in self._globs:
            self._globs[text] = frozenset(self._matching(text))
        return self._globs[text]

    def _matching(self, glob: str) -> list[str]:
        stem = glob[:-1]
        if glob.endswith("*") and not is_glob(stem):
            start, end = (bisect_left(self._ordered, text) for text in (stem, stem + "\U0010ffff"))
            return [name for name in self._ordered[start : end + 1] if name.startswith(stem)]
        return list(filter(name_glob(glob), self._ordered))

    def selected(self, assertion: Assertion, super_users: frozenset[str]) -> PrincipalSelection:
        """The principals of an assertion; super users are exempt, callers handle them separately."""
        exempt = frozenset().union(super_users, *map(self.matching, assertion.excluded))
        if WILDCARD_PRINCIPAL in assertion.principals:
            return PrincipalSelection(None, exempt)
        return PrincipalSelection(frozenset().union(*map(self.matching, assertion.principals)) - exempt, exempt)
