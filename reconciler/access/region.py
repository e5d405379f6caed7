"""A set of names on which a decision is constant: one name set without some sets inside it."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Final

from reconciler.access.name_set import ALL_NAMES, ASTERISK_NAMES, NAMES, NameSet
from reconciler.access.names import has_names, shortest_name
from reconciler.codec import REQUIRED, TEXT, Record, Says, derived, record_of
from reconciler.dataclass import dataclass
from reconciler.model import ResourceType
from reconciler.model.naming import ticked

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, order=True)
class Region:
    """Names of one resource type: those in ``names`` and in none of ``cuts``, which are inside ``names``."""

    resource_type: Annotated[ResourceType, Says("The type of resource.", "TOPIC")]
    names: Annotated[NameSet, NAMES, Says("The names that this is about.", default=REQUIRED)] = ALL_NAMES
    cuts: Annotated[
        tuple[Annotated[NameSet, NAMES], ...],
        Says("Names that are left out of it.", name="except", default=REQUIRED),
    ] = ()

    def contains(self, name: str) -> bool:
        """Whether ``name`` is in the region."""
        return self.names.matches(name) and not any(cut.matches(name) for cut in self.cuts)

    def witness(self) -> str | None:
        """A shortest name that a resource can have, or ``None`` if the region has none."""
        return shortest_name(self.resource_type, self.names, self.cuts)

    def meets(self, key: NameSet) -> bool:
        """Whether the region and ``key`` share a name that a resource can have."""
        if key == self.names and not self.cuts:
            return has_names(self.resource_type, key)
        if not key.meets(self.names):
            return False
        # Two sets that meet are nested, and a set sorts before its subsets: the greater one is their intersection.
        inner = max(key, self.names)
        if any(cut.contains(inner) for cut in self.cuts):
            return False
        cuts = (cut for cut in self.cuts if inner.contains(cut))
        return shortest_name(self.resource_type, inner, cuts) is not None

    def select(self, names: Sequence[str]) -> list[str]:
        """The names of a sorted sequence that are in the region; for example of all existing topics."""
        # Names of a region share its text as a prefix, so they are contiguous in sorted order.
        start = bisect_left(names, self.names.text)
        literals = {cut.text for cut in self.cuts if cut.literal}
        others = [cut for cut in self.cuts if not cut.literal]
        prefixes = tuple(cut.text for cut in others if cut != ASTERISK_NAMES)
        found = []
        for name in islice(names, start, None):
            if not name.startswith(self.names.text):
                break
            if not self.names.matches(name) or name in literals or (prefixes and name.startswith(prefixes)):
                continue
            if len(prefixes) == len(others) or not ASTERISK_NAMES.matches(name):
                found.append(name)
        return found

    def describe(self, shown: int = _SHOWN) -> str:
        """Plain words: ``topics starting with `payments.` except those starting with `payments.audit.` ``.

        At most ``shown`` exceptions are listed; the others are counted. That LITERAL ``*`` does not match names such as
        ``*x`` is not mentioned, unless the region consists of just those names.
        """
        if self.resource_type is ResourceType.CLUSTER:
            return "the cluster"
        plural = f"{self.resource_type.noun}s"
        if self.names.literal:
            return f"{plural[:-1]} {ticked(self.names.text)}"
        if self.names == ASTERISK_NAMES:
            return f"{plural} that the pattern `*` misses: those starting with `*` and longer"
        everything = f"{plural} starting with {ticked(self.names.text)}" if self.names.text else f"all {plural}"
        cuts = [cut for cut in self.cuts if cut != ASTERISK_NAMES]
        return f"{everything} except {_listed(cuts, shown)}" if cuts else everything

    def __str__(self) -> str:
        """The region in plain words."""
        return self.describe()


#: A region in JSON, with its names in words.
REGION: Final[Record[Region]] = record_of(
    Region, derived("description", TEXT, "The names in words.", "topics starting with orders.", get=Region.describe)
)


def less(regions: Iterable[Region], others: Iterable[Region]) -> list[Region]:
    """``regions`` without ``others``, as regions; parts without a possible name are left out."""
    left = list(regions)
    for other in others:
        left = [part for region in left for part in _without(region, other)]
    return [part for part in left if part.witness() is not None]


def _without(region: Region, other: Region) -> Iterator[Region]:
    """The names of ``region`` that are not in ``other``, as regions."""
    if region.resource_type is not other.resource_type or not other.names.meets(region.names):
        yield region
        return
    # What is outside ``other`` stays; what ``other`` cuts out comes back.
    if not other.names.contains(region.names):
        yield Region(region.resource_type, region.names, (*region.cuts, other.names))
    for cut in other.cuts:
        key = max(cut, region.names)
        if cut.meets(region.names) and not any(own.contains(key) for own in region.cuts):
            yield Region(region.resource_type, key, tuple(own for own in region.cuts if key.contains(own)))


def _listed(cuts: Iterable[NameSet], shown: int) -> str:
    ordered = sorted(cuts, key=lambda cut: (not cut.literal, cut.text))
    texts = [ticked(cut.text) if cut.literal else f"those starting with {ticked(cut.text)}" for cut in ordered]
    if len(texts) > shown + 1:
        texts = [*texts[:shown], f"{len(texts) - shown:,} more"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
