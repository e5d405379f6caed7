"""Which names a resource can have: sets, sorted lists of sets, resource sets, and effects on resource sets.

The shortest name of a set is an emptiness test and an example in one.

Topics: the names that Kafka accepts. CLUSTER: its one name. All other types: any non-empty text.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from typing import Annotated, Any, Final, NamedTuple

from reconciler.access.hosts import Hosts
from reconciler.codec.annotated import record_of
from reconciler.codec.codec import TEXT, Codec, constant
from reconciler.codec.objects import derived, field, single
from reconciler.dataclass import dataclass
from reconciler.model.acl import CLUSTER_NAME, WILDCARD, PatternType, ResourcePattern, ResourceType
from reconciler.model.characters import ticked
from reconciler.model.frozen import Layers
from reconciler.model.says import REQUIRED, Says
from reconciler.model.topic import MAX_TOPIC_NAME_LENGTH, topic_name_problem

# Sets of names that ACL patterns mean: every name, the names with a prefix, one name, and what LITERAL ``*`` misses.
#
# LITERAL ``*`` means every name except those that begin with an asterisk and have more characters:
# ``StandardAuthorizerData.checkSection`` treats the pattern ``*`` as a literal that such a name merely starts with,
# and skips it. No topic can have such a name; a group can. PREFIXED ``*`` means exactly those names and ``*`` itself.

#: What ``NameSet.kind`` can be. The order makes a set sort before its subsets.
PREFIX, LITERAL, LONGER = range(3)


class NameSet(NamedTuple):
    """Names that start with ``text``, that one name, or only longer ones. Sorted, a set precedes its subsets."""

    text: str
    kind: int = PREFIX

    @property
    def literal(self) -> bool:
        """Whether this is one name."""
        return self.kind == LITERAL

    def contains(self, other: "NameSet") -> bool:
        """Whether every name of ``other`` is in this set."""
        if self.kind == PREFIX:
            return other.text.startswith(self.text)
        return other == self or (self.kind == LONGER and self._is_longer(other.text))

    def matches(self, name: str) -> bool:
        """Whether ``name`` is in this set."""
        if self.kind == PREFIX:
            return name.startswith(self.text)
        return name == self.text if self.kind == LITERAL else self._is_longer(name)

    def meets(self, other: "NameSet") -> bool:
        """Whether the two sets share a name."""
        return self.contains(other) or other.contains(self)

    def _is_longer(self, name: str) -> bool:
        return name != self.text and name.startswith(self.text)


def literal(name: str) -> NameSet:
    """The set of one name."""
    return NameSet(name, LITERAL)


#: Every name. LITERAL ``*`` maps to it as well, although brokers do not apply ``*`` to ``ASTERISK_NAMES``.
ALL_NAMES: Final = NameSet("")
#: The names that LITERAL ``*`` does not match.
ASTERISK_NAMES: Final = NameSet(WILDCARD, LONGER)


def names_of(pattern: ResourcePattern) -> NameSet:
    """The set of names that a pattern means (KIP-290); for LITERAL ``*`` see ``ALL_NAMES``."""
    if pattern.pattern_type is PatternType.PREFIXED:
        return NameSet(pattern.name)
    return ALL_NAMES if pattern.name == WILDCARD else NameSet(pattern.name, LITERAL)


def matches(pattern: ResourcePattern, name: str) -> bool:
    """Whether a broker applies the pattern to a resource called ``name``."""
    if pattern.is_wildcard:
        return not ASTERISK_NAMES.matches(name)
    return names_of(pattern).matches(name)


def _name_set(name: str, value: Any) -> NameSet:
    match name:
        case "any":
            return ALL_NAMES
        case "longerThan":
            return ASTERISK_NAMES
        case "literal":
            return literal(value)
    return NameSet(value)


def _parts(names: NameSet) -> tuple[str, Any]:
    if names == ALL_NAMES:
        return "any", True
    if names == ASTERISK_NAMES:
        return "longerThan", WILDCARD
    return ("literal" if names.literal else "prefix"), names.text


#: A set of names in JSON, in the words of manifests.
NAMES: Final[Codec[NameSet]] = single(
    _name_set,
    _parts,
    field("any", constant(True), "Every name there is or could be.", True),
    field("longerThan", constant(WILDCARD), "Every longer name that begins so.", WILDCARD),
    field("literal", TEXT, "Exactly this name.", "orders"),
    field("prefix", TEXT, "Every name that begins so.", "orders."),
)


_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_."
_SURROGATES = range(0xD800, 0xE000)
_TOPIC_TEXT = re.compile(r"[a-zA-Z0-9._-]*", re.ASCII)


def is_name(resource_type: ResourceType, name: str) -> bool:
    """Whether a resource of this type can be called ``name``."""
    if resource_type is ResourceType.TOPIC:
        return topic_name_problem(name) is None
    if resource_type is ResourceType.CLUSTER:
        return name == CLUSTER_NAME
    return bool(name)


def has_names(resource_type: ResourceType, key: NameSet) -> bool:
    """Whether some resource of this type can have a name of ``key``."""
    if key.literal:
        return is_name(resource_type, key.text)
    if resource_type is ResourceType.TOPIC:
        return len(key.text) <= MAX_TOPIC_NAME_LENGTH and _TOPIC_TEXT.fullmatch(key.text) is not None
    return resource_type is not ResourceType.CLUSTER or key.matches(CLUSTER_NAME)


def shortest_name(resource_type: ResourceType, key: NameSet, cuts: Iterable[NameSet] = ()) -> str | None:
    """The shortest name of ``key`` that is in none of ``cuts``, letters first; ``None`` if there is none.

    ``cuts`` are inside ``key``. Searches breadth first; each text that is not the answer is one of the cuts, so their
    number bounds the work.
    """
    if key.kind == LITERAL:
        return key.text if key not in cuts and is_name(resource_type, key.text) else None
    cuts = set(cuts)
    if not has_names(resource_type, key) or key in cuts:
        return None
    if resource_type is ResourceType.CLUSTER:
        return CLUSTER_NAME if not any(cut.matches(CLUSTER_NAME) for cut in cuts) else None
    if key.matches(key.text) and is_name(resource_type, key.text) and literal(key.text) not in cuts:
        return key.text
    return _longer_name(resource_type, key.text, cuts)


def _longer_name(resource_type: ResourceType, text: str, cuts: set[NameSet]) -> str | None:
    """The shortest name that is longer than ``text`` and starts with it."""
    pending = [text]
    for start in pending:
        if resource_type is ResourceType.TOPIC and len(start) >= MAX_TOPIC_NAME_LENGTH:
            continue
        # Everything longer than * is cut out.
        if start == ASTERISK_NAMES.text and ASTERISK_NAMES in cuts:
            continue
        for letter in _letters(resource_type):
            name = start + letter
            if NameSet(name) in cuts:
                continue
            if is_name(resource_type, name) and literal(name) not in cuts:
                return name
            pending.append(name)
    return None


def _letters(resource_type: ResourceType) -> Iterator[str]:
    """Characters that may follow in a name. Unlimited for most types, so cuts can never exhaust them."""
    if resource_type is ResourceType.TOPIC:
        return iter(_LETTERS)
    return chain(_LETTERS, (chr(code) for code in count(0xA1) if code not in _SURROGATES))


# A set of names on which a decision is constant: one name set without some sets inside it.

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, order=True)
class ResourceSet:
    """Names of one resource type: those in ``names`` and in none of ``cuts``, which are inside ``names``."""

    resource_type: Annotated[ResourceType, Says("The type of resource.", "TOPIC")]
    names: Annotated[NameSet, NAMES, Says("The names that this is about.", default=REQUIRED)] = ALL_NAMES
    cuts: Annotated[
        tuple[Annotated[NameSet, NAMES], ...],
        Says("Names that are left out of it.", name="except", default=REQUIRED),
    ] = ()

    def contains(self, name: str) -> bool:
        """Whether ``name`` is in the resource set."""
        return self.names.matches(name) and not any(cut.matches(name) for cut in self.cuts)

    def witness(self) -> str | None:
        """A shortest name that a resource can have, or ``None`` if the resource set has none."""
        return shortest_name(self.resource_type, self.names, self.cuts)

    def meets(self, key: NameSet) -> bool:
        """Whether the resource set and ``key`` share a name that a resource can have."""
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
        """The names of a sorted sequence that are in the resource set; for example of all existing topics."""
        # Names of a resource set share its text as a prefix, so they are contiguous in sorted order.
        start = bisect_left(names, self.names.text)
        literals = {cut.text for cut in self.cuts if cut.literal}
        others = [cut for cut in self.cuts if not cut.literal]
        prefixes = tuple(cut.text for cut in others if cut != ASTERISK_NAMES)
        selected = []
        for name in islice(names, start, None):
            if not name.startswith(self.names.text):
                break
            if not self.names.matches(name) or name in literals or (prefixes and name.startswith(prefixes)):
                continue
            if len(prefixes) == len(others) or not ASTERISK_NAMES.matches(name):
                selected.append(name)
        return selected

    def describe(self, shown: int = _SHOWN) -> str:
        """Plain words: ``topics starting with `payments.` except those starting with `payments.audit.` ``.

        At most ``shown`` exceptions are listed; the others are counted. That LITERAL ``*`` does not match names such as
        ``*x`` is not mentioned, unless the resource set consists of just those names.
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
        """The resource set in plain words."""
        return self.describe()


#: A resource set in JSON, with its names in words.
RESOURCES: Final = record_of(
    ResourceSet,
    derived("description", TEXT, "The names in words.", "topics starting with orders.", get=ResourceSet.describe),
)


def common(first: ResourceSet, second: ResourceSet) -> ResourceSet | None:
    """The names of both resource sets, of one resource type; ``None`` if no resource can have such a name."""
    if not first.names.meets(second.names):
        return None
    # Two sets that meet are nested, and a set sorts before its subsets: the greater one is their intersection.
    inner = max(first.names, second.names)
    cuts = {cut for cut in (*first.cuts, *second.cuts) if cut.meets(inner)}
    if any(cut.contains(inner) for cut in cuts):
        return None
    shared = ResourceSet(first.resource_type, inner, tuple(sorted(cuts)))
    return None if shared.witness() is None else shared


def less(resource_sets: Iterable[ResourceSet], others: Iterable[ResourceSet]) -> list[ResourceSet]:
    """``resource_sets`` without ``others``, as resource sets; parts without a possible name are left out."""
    remaining = list(resource_sets)
    for other in others:
        remaining = [part for resources in remaining for part in _without(resources, other)]
    return [part for part in remaining if part.witness() is not None]


def _without(resources: ResourceSet, other: ResourceSet) -> Iterator[ResourceSet]:
    """The names of ``resources`` that are not in ``other``, as resource sets."""
    if resources.resource_type is not other.resource_type or not other.names.meets(resources.names):
        yield resources
        return
    # What is outside ``other`` stays; what ``other`` cuts out comes back.
    if not other.names.contains(resources.names):
        yield ResourceSet(resources.resource_type, resources.names, (*resources.cuts, other.names))
    for cut in other.cuts:
        key = max(cut, resources.names)
        if cut.meets(resources.names) and not any(own.contains(key) for own in resources.cuts):
            yield ResourceSet(resources.resource_type, key, tuple(own for own in resources.cuts if key.contains(own)))


def _listed(cuts: Iterable[NameSet], shown: int) -> str:
    ordered = sorted(cuts, key=lambda cut: (not cut.literal, cut.text))
    texts = [ticked(cut.text) if cut.literal else f"those starting with {ticked(cut.text)}" for cut in ordered]
    if len(texts) > shown + 1:
        texts = [*texts[:shown], f"{len(texts) - shown:,} more"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


# What a comparison of access says of names: operations gained and lost.


class AccessEffect(NamedTuple):
    """Operations gained and lost, as bits."""

    gained: int
    lost: int


NO_EFFECT: Final = AccessEffect(0, 0)


class ResourceEffect(NamedTuple):
    """One resource set with one effect for some hosts; ``host`` and ``name`` are an example."""

    hosts: Hosts
    resources: ResourceSet
    effect: AccessEffect
    host: str
    name: str


# Sorted name sets: a set sorts before its subsets, so what is inside one follows it without a gap.

_EVERY_NAME: Final = [ALL_NAMES]
#: Of lists of which one is so much shorter, the longer one is not walked.
_FEWER: Final = 16


def outermost(keys: Iterable[NameSet]) -> list[NameSet]:
    """The sets that no other one contains, sorted."""
    outer: list[NameSet] = []
    # A set sorts before its subsets, so the last outermost set is the only one that can contain the next.
    last: NameSet | None = None
    for key in sorted(keys):
        # Most are single names, which contain only themselves.
        if last is None or (key != last if last.kind == LITERAL else not last.contains(key)):
            outer.append(key)
            last = key
    return outer


def meets(ordered: list[NameSet], disjoint: list[NameSet]) -> list[NameSet]:
    """What the sets of the first list share with those of the second, which are ``outermost`` ones; some twice."""
    if disjoint == _EVERY_NAME:
        return ordered
    if len(disjoint) * _FEWER < len(ordered):
        return [both for zone in disjoint for both in _shared_with(ordered, zone)]
    shared = []
    for key in ordered:
        at = bisect_right(disjoint, key)
        if at and disjoint[at - 1].contains(key):
            shared.append(key)
        else:
            shared.extend(inside(disjoint, key))
    return shared


def _shared_with(ordered: list[NameSet], zone: NameSet) -> list[NameSet]:
    """What ``zone`` shares with each set: those inside it, and itself if one is around it."""
    within = inside(ordered, zone)
    return [zone, *within] if zone not in within[:1] and any(_holds(ordered, key) for key in around(zone)) else within


def _holds(ordered: list[NameSet], key: NameSet) -> bool:
    at = bisect_left(ordered, key)
    return ordered[at : at + 1] == [key]


def around(key: NameSet) -> Iterator[NameSet]:
    """The sets that contain ``key``, wider ones first, itself included."""
    yield from (NameSet(key.text[:length]) for length in range(len(key.text) + (key.kind != LITERAL)))
    if key.kind == LITERAL:
        yield from (NameSet(key.text), key)
    if ASTERISK_NAMES.contains(key):
        yield ASTERISK_NAMES


def inside(ordered: list[NameSet], key: NameSet) -> list[NameSet]:
    """The sets of a sorted list that are inside ``key``."""
    if key.literal:
        start = bisect_left(ordered, key)
        return [key] if start < len(ordered) and ordered[start] == key else []
    if not key.text:
        return ordered
    start = bisect_left(ordered, key)
    end = start
    while end < len(ordered) and ordered[end].text.startswith(key.text):
        end += 1
    return ordered[start:end]


def meets_any(key: NameSet, disjoint: list[NameSet]) -> bool:
    """Whether ``key``, a prefix or one name, shares a name with one of ``disjoint``, which are ``outermost`` ones."""
    if disjoint == _EVERY_NAME:
        return True
    at = bisect_right(disjoint, key)
    if at and disjoint[at - 1].contains(key):
        return True
    return not key.literal and at < len(disjoint) and disjoint[at].text.startswith(key.text)


# Name sets to bit masks: literals and prefixes compiled so that a look-up is one bisect and a short walk.


class NameIndex:
    """For each name the OR of the masks of all name sets that contain it. Immutable."""

    __slots__ = ("base", "literals", "masks", "parents", "prefixes")

    def __init__(self, rules: Mapping[NameSet, int]) -> None:
        """Compile the masks; a longer prefix includes the masks of the shorter ones around it."""
        self.base = rules.get(ALL_NAMES, 0)
        self.prefixes = sorted(names.text for names in rules if names.kind == PREFIX and names.text)
        self.parents: list[int] = []
        self.masks: list[int] = []
        for index, text in enumerate(self.prefixes):
            parent = index - 1
            while parent >= 0 and not text.startswith(self.prefixes[parent]):
                parent = self.parents[parent]
            self.parents.append(parent)
            # Brokers do not apply LITERAL * to names that begin with an asterisk, so its mask is not inherited there.
            around = self.masks[parent] if parent >= 0 else 0 if text[0] == WILDCARD else self.base
            self.masks.append(rules[NameSet(text)] | around)
        literals = {names.text: mask for names, mask in rules.items() if names.kind == LITERAL}
        # Most principals have names alone, and nothing around them.
        wide = self.base or self.prefixes
        own = {text: mask | self.under(text) for text, mask in literals.items()} if wide else literals
        # The name * itself is the one such name that LITERAL * does match.
        if self.base:
            own[WILDCARD] = own.get(WILDCARD, 0) | self.under(WILDCARD) | self.base
        self.literals: Mapping[str, int] = own

    def with_changes(self, rules: Mapping[NameSet, int], keys: Iterable[NameSet]) -> "NameIndex":
        """The index of ``rules``, which differ from those of this one on ``keys`` alone; what stays is shared."""
        keys = sorted(keys)
        # New prefixes move all others to another place. What every name inherits is worth no exception.
        if any(key.text[:1] in ("", WILDCARD) or not (key.literal or self._has_prefix(key.text)) for key in keys):
            return NameIndex(rules)
        copy = NameIndex.__new__(NameIndex)
        copy.base, copy.prefixes, copy.parents = self.base, self.prefixes, self.parents
        prefixes = [key.text for key in keys if not key.literal]
        copy.masks = self.masks.copy() if prefixes else self.masks
        for prefix in prefixes:
            copy._inherit(prefix, rules)
        texts = {key.text for key in keys if key.literal}
        for prefix in prefixes:
            texts.update(text for text in self.literals if text.startswith(prefix))
        masks = {text: rules.get(literal(text)) for text in texts}
        literals = self.literals if isinstance(self.literals, Layers) else Layers(self.literals)
        copy.literals = literals.with_items(
            {text: None if mask is None else mask | copy.under(text) for text, mask in masks.items()}
        )
        return copy

    def _has_prefix(self, text: str) -> bool:
        at = bisect_left(self.prefixes, text)
        return self.prefixes[at : at + 1] == [text]

    def _inherit(self, prefix: str, rules: Mapping[NameSet, int]) -> None:
        """Compile the masks from a prefix on inwards; one without a rule any more has that of those around it."""
        for index in range(bisect_left(self.prefixes, prefix), len(self.prefixes)):
            text, parent = self.prefixes[index], self.parents[index]
            if not text.startswith(prefix):
                return
            self.masks[index] = rules.get(NameSet(text), 0) | (self.masks[parent] if parent >= 0 else self.base)

    def at(self, name: str) -> int:
        """The mask of one name."""
        mask = self.literals.get(name)
        return self.under(name) if mask is None else mask

    def under(self, prefix: str) -> int:
        """The mask of names that start with ``prefix``, are longer, and are in no narrower set."""
        prefixes = self.prefixes
        index = bisect_right(prefixes, prefix) - 1
        while index >= 0:
            if prefix.startswith(prefixes[index]):
                return self.masks[index]
            index = self.parents[index]
        return 0 if prefix[:1] == WILDCARD else self.base

    def at_names(self, names: NameSet) -> int:
        """The mask on a set of names, except on the narrower sets of this index."""
        text, kind = names
        mask = self.literals.get(text) if kind == LITERAL else None
        return self.under(text) if mask is None else mask


# Names that some binding matches, whatever its principal, host, operation and permission.


class NameCoverage:
    """The covered names of one resource type. Single names are kept as texts: of those there can be a million."""

    __slots__ = ("_first", "_gone", "_literals", "_table", "_wide")

    def __init__(
        self, keys: Iterable[NameSet], first: "NameCoverage | None" = None, gone: Collection[NameSet] = ()
    ) -> None:
        """Compile the name sets, each of which is a prefix or one name.

        With ``first`` they are more than it has, and it loses the sets of ``gone``: to change a few of a million.
        """
        literals: set[str] = set()
        wide: set[NameSet] = set()
        for key in keys:
            if key.kind == LITERAL:
                literals.add(key.text)
            else:
                wide.add(key)
        self._literals = sorted(literals)
        self._wide = sorted(wide)
        self._table = NameIndex(dict.fromkeys(self._wide, 1))
        self._first, self._gone = first, gone

    def covers(self, key: NameSet) -> bool:
        """Whether every name of ``key`` is covered. No finite set of longer names covers a prefix."""
        if self._table.at_names(key) != 0 or (key.kind == LITERAL and self._holds(key.text)):
            return True
        if self._first is None or not self._first.covers(key):
            return False
        # LITERAL * does not apply to names that begin with an asterisk and are longer.
        starred = key.text[:1] == WILDCARD and key != literal(WILDCARD)
        return not self._gone or any(self._has(near) for near in around(key) if near != ALL_NAMES or not starred)

    def covers_name(self, name: str) -> bool:
        """Whether some binding's pattern matches ``name``."""
        return self.covers(literal(name))

    def _holds(self, name: str) -> bool:
        at = bisect_left(self._literals, name)
        return at < len(self._literals) and self._literals[at] == name

    def _has(self, key: NameSet) -> bool:
        at = bisect_left(self._wide, key)
        if self._wide[at : at + 1] == [key] or (key.kind == LITERAL and self._holds(key.text)):
            return True
        return key not in self._gone and self._first is not None and self._first._has(key)

    def within(self, key: NameSet) -> list[NameSet]:
        """The sets inside ``key``, itself included, in order."""
        if key.literal:
            return [key] if self._has(key) else []
        own = [*inside(self._wide, key), *self._names_in(key)]
        if self._first is not None:
            own += [names for names in self._first.within(key) if names not in self._gone]
        return sorted(own)

    def edges_within(self, key: NameSet) -> list[NameSet]:
        """Of the sets inside ``key`` those that no other one covers, in order: inside them everything is covered."""
        if key.text and not key.text.startswith(WILDCARD) and self.covers(key):
            return []
        # LITERAL * contains every set, and covers no name that begins with an asterisk and is longer.
        starred: list[NameSet] = []
        others: list[NameSet] = []
        for names in self.within(key):
            (starred if names.text.startswith(WILDCARD) else others).append(names)
        return sorted([*outermost(others), *outermost(starred)])

    def _names_in(self, key: NameSet) -> Iterator[NameSet]:
        for at in range(bisect_left(self._literals, key.text), len(self._literals)):
            name = self._literals[at]
            if not name.startswith(key.text):
                return
            if key.matches(name):  # of longer names only, the text itself is none
                yield literal(name)
