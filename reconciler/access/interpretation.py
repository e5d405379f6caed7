"""One fully known reading of a cluster's access rules; what is not known is spanned by two of them.

Whatever is unknown about a cluster (default-allow, opaque entries) can be read at most permissively and at least
permissively. Access in every possible reading lies between the two, so what both say is certain.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from reconciler.access.index import Index, NameCoverage
from reconciler.access.name_set import NameSet
from reconciler.access.opaque import as_binding, covering, widest
from reconciler.access.operations import EVERY, KafkaVersion, permitted
from reconciler.model import AclBinding, AclPermissionType, OpaqueBinding, ResourceType


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The rules, what covers a resource (the same index unless entries are opaque), and what uncovered names get."""

    index: Index
    cover: Index
    default_allow: bool

    def access(self, principal: str, host: str, resource_type: ResourceType, key: NameSet) -> int:
        """The permitted operations as bits, on names of ``key`` that match no narrower key; super users aside."""
        found = 0
        for table in self.index.view(resource_type, principal, host):
            found |= table.at_names(key)
        # Where some rules are guesses, a match alone does not say that the name is covered.
        if found and self.index is self.cover:
            return permitted(found)
        if self.default_allow and not self.cover.coverage(resource_type).covers(key):
            return EVERY
        return permitted(found)

    def coverage(self, resource_type: ResourceType) -> NameCoverage:
        """What some binding matches."""
        return self.cover.coverage(resource_type)

    def with_changes(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> "Interpretation":
        """The same less ``removed`` and with ``added``."""
        added, removed = tuple(added), tuple(removed)
        index = self.index.with_changes(added, removed)
        cover = index if self.cover is self.index else self.cover.with_changes(added, removed)
        return replace(self, index=index, cover=cover)


class Interpretations(NamedTuple):
    """The least and the most permissive reading: one object where all is known; and what both hold for certain."""

    least: Interpretation
    most: Interpretation
    certain: Index

    @property
    def known(self) -> bool:
        """Whether there is only one reading."""
        return self.least is self.most

    @property
    def both(self) -> tuple[Interpretation, Interpretation]:
        """The least permissive reading, then the most permissive."""
        return self.least, self.most

    def with_changes(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> "Interpretations":
        """Both readings with the same changes."""
        added, removed = tuple(added), tuple(removed)
        least = self.least.with_changes(added, removed)
        if self.least.index is self.certain:
            most = least if self.known else replace(least, default_allow=self.most.default_allow)
            return Interpretations(least, most, least.index)
        most = self.most.with_changes(added, removed)
        return Interpretations(least, most, self.certain.with_changes(added, removed))

    def assuming(self, *, default_allow: bool) -> "Interpretations":
        """The readings that remain once default-allow is known."""
        least = replace(self.least, default_allow=default_allow)
        if self.least.index is self.certain:
            return Interpretations(least, least, self.certain)
        return Interpretations(least, replace(self.most, default_allow=default_allow), self.certain)


def interpret(
    bindings: Iterable[AclBinding],
    opaque: Iterable[OpaqueBinding],
    version: KafkaVersion,
    default_allow: bool | None,
) -> Interpretations:
    """What is known, read twice: opaque entries with lost codes part the readings, as an unknown default-allow does."""
    certain = Index(bindings, version)
    unclear = []
    for entry in opaque:
        if (binding := as_binding(entry)) is None:
            unclear.append(entry)
        else:
            certain = certain.with_changes([binding], ())
    guesses = [binding for entry in unclear for binding in widest(entry)]
    if not guesses:
        least = Interpretation(certain, certain, default_allow is True)
        return Interpretations(
            least, least if default_allow is not None else replace(least, default_allow=True), certain
        )
    kinds = {kind: [g for g in guesses if g.entry.permission_type is kind] for kind in AclPermissionType}
    least = Interpretation(
        certain.with_changes(kinds[AclPermissionType.DENY], ()),
        certain.with_changes(guesses, ()),
        default_allow is True,
    )
    most = Interpretation(
        certain.with_changes(kinds[AclPermissionType.ALLOW], ()),
        certain.with_changes([binding for entry in unclear for binding in covering(entry)], ()),
        default_allow is not False,
    )
    return Interpretations(least, most, certain)
