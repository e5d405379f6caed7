"""What a directory of manifests answers for: globs, selectors, a scope inside another one.

Which bindings and topics a manifest directory answers for.

Ownership is settled before anything is compared, so that what belongs to somebody else can never look deletable.
A binding is selected only if its own pattern lies wholly inside the selector: PREFIXED ``pay`` is not inside
``payments.``, LITERAL ``*`` is inside ``{any: true}`` only.
"""

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final, Generic, TypeVar
from weakref import ref

from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, PatternType, ResourcePattern, ResourceType
from reconciler.model.listing import ListedItem

# Globs over names and paths, matched in linear time.
#
# Whoever writes a manifest writes its globs, and a backtracking matcher never ends on ``*a*a*a*…z``. RE2 does not
# backtrack.

#: Kafka's principals may hold brackets, so nothing else is special.
_IN_NAMES: Final = {"*": ".*", "?": "."}
_IN_PATHS: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
#: Bytes that a compiled glob may take: one of a few hundred thousand characters still fits.
_MEMORY: Final = 1 << 28
_PATH_PARTS: Final = re.compile(r"(\*\*/|\*\*|\*|\?)")


def name_glob(glob: str) -> Callable[[str], bool]:
    """Match whole names: ``*`` is any text and ``?`` any one character."""
    return _matcher(glob, _IN_NAMES)


def glob_contains(outer: str, inner: str) -> bool:
    """Whether ``outer`` matches all that ``inner`` does; ``False`` also where that is true for less simple reasons."""
    matches = name_glob(outer)
    # A star of `inner` stands for any text, for none and for a long one: `?` of `outer` is no answer to it.
    return all(matches(inner.replace("*", text)) for text in ("", "*", "*" * (len(outer) + 1)))


def path_glob(glob: str) -> Callable[[str], bool]:
    """Match whole paths: ``*`` and ``?`` stay inside a name, ``**`` is any directories or everything below."""
    return _matcher(_PATH_PARTS.split(glob), _IN_PATHS)


def _matcher(parts: Iterable[str], wildcards: Mapping[str, str]) -> Callable[[str], bool]:
    import re2  # noqa: PLC0415 - native code, for manifests with globs only

    options = re2.Options()
    options.log_errors, options.dot_nl, options.max_mem = False, True, _MEMORY
    pattern = "".join(wildcards.get(part) or re2.escape(_encodable(part)) for part in parts)
    compiled = re2.compile(pattern, options)
    return lambda text: compiled.fullmatch(_encodable(text)) is not None


def _encodable(text: str) -> str:
    """``text`` with ``?`` for half surrogates: RE2 reads UTF-8, which has none, and no glob can name them."""
    return text.encode("utf-8", "replace").decode()


#: Names that a run uses for its own probe ACLs, bridges and lease: not declarable, left out of every comparison.
RESERVED_PREFIXES: Final = ("__kr.", "__kr-flag.")
#: The fields that name resources of each type, in manifests, selections and plans.
RESOURCE_FIELDS: Final[Mapping[str, ResourceType]] = MappingProxyType(
    {
        "topics": ResourceType.TOPIC,
        "groups": ResourceType.GROUP,
        "transactionalIds": ResourceType.TRANSACTIONAL_ID,
        "cluster": ResourceType.CLUSTER,
        "delegationTokens": ResourceType.DELEGATION_TOKEN,
        "users": ResourceType.USER,
    }
)


def is_reserved(name: str) -> bool:
    """Whether ``name`` is one that only the reconciler itself uses, for a short time."""
    return name.startswith(RESERVED_PREFIXES)


def on_reserved_names(bindings: Iterable[AclBinding]) -> frozenset[AclBinding]:
    """Every mark, bridge marker, probe ACL and lease, and whatever anybody with ALTER wrote under such a name.

    Nearly always none, and a plan asks for each of them: a set, such as all of a cluster, is searched once.
    """
    for same, reserved in tuple(_SEARCHED):
        # To compare the equal sets of two clusters takes longer than to search one.
        if same() is bindings:
            return reserved
    reserved = frozenset(_reserved(bindings))
    if isinstance(bindings, frozenset):
        _SEARCHED.append((ref(bindings), reserved))
    return reserved


#: The sets that were searched last: of each cluster that threads of one process plan there are two.
_SEARCHED: Final[deque[tuple["ref[frozenset[AclBinding]]", frozenset[AclBinding]]]] = deque(maxlen=8)


def _reserved(bindings: Iterable[AclBinding]) -> Iterator[AclBinding]:
    return (binding for binding in bindings if is_reserved(binding.pattern.name))


#: Of so many names each is compared with the one that is asked for.
_MOST_COMPARED: Final = 16


class _ManyNames:
    """Names and prefixes, to find one as quickly among thousands as among a few."""

    __slots__ = ("_lengths", "_prefixes", "texts")

    def __init__(self, texts: Iterable[str], prefixes: Iterable[str]) -> None:
        self.texts, self._prefixes = frozenset(texts), frozenset(prefixes)
        self._lengths = sorted(set(map(len, self._prefixes)))

    def begins(self, name: str) -> bool:
        """Whether a name begins with one of the prefixes."""
        return any(name[:length] in self._prefixes for length in self._lengths)


@dataclass(frozen=True, slots=True, order=True)
class NameSelector:
    """Names: some literal ones and those with one of some prefixes, or (``any_name``) all of them."""

    literal: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    any_name: bool = False
    _many: "_ManyNames | None" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Each topic may be held against an item that lists all of them."""
        many = len(self.literal) + len(self.prefixes) > _MOST_COMPARED
        object.__setattr__(self, "_many", _ManyNames(self.literal, self.prefixes) if many else None)

    def selects_principal(self, principal: str) -> bool:
        """Whether ``principal`` is meant; ``User:*`` only by its own name or by ``any_name``."""
        if self.any_name or self._lists(principal):
            return True
        # User:* is everybody: an item such as {prefix: "User:"} is about principals that have names.
        return principal != WILDCARD_PRINCIPAL and self._begins(principal)

    def selects_name(self, name: str) -> bool:
        """Whether the name of a resource is meant."""
        return self.any_name or self._lists(name) or self._begins(name)

    def _lists(self, name: str) -> bool:
        return name in (self.literal if self._many is None else self._many.texts)

    def _begins(self, name: str) -> bool:
        return name.startswith(self.prefixes) if self._many is None else self._many.begins(name)

    def contains(self, inner: "NameSelector", *, principals: bool) -> bool:
        """Whether it selects all that ``inner`` does; of names of resources, or of ``principals``."""
        if self.any_name or inner.any_name:
            return self.any_name
        if not all(map(self._begins, inner.prefixes)):
            return False
        return all(map(self.selects_principal if principals else self.selects_name, inner.literal))

    def patterns(self, resource_type: ResourceType) -> tuple[ResourcePattern, ...]:
        """The selector as patterns of that type; LITERAL ``*`` stands for ``any_name``."""
        if self.any_name:
            return (ResourcePattern(resource_type, WILDCARD),)
        return (
            *(ResourcePattern(resource_type, name) for name in self.literal),
            *(ResourcePattern(resource_type, prefix, PatternType.PREFIXED) for prefix in self.prefixes),
        )

    def parts(self) -> tuple["NameSelector", ...]:
        """One selector for each name and each prefix; itself where it is about every name."""
        if self.any_name:
            return (self,)
        return (
            *(NameSelector(literal=(name,)) for name in self.literal),
            *(NameSelector(prefixes=(prefix,)) for prefix in self.prefixes),
        )


@dataclass(frozen=True, slots=True)
class Selector:
    """One item of a scope: its fields are ANDed. It names at most one kind of resource.

    ``resource_type`` and ``names`` are both set or both ``None``; ``None`` for ``principals`` or ``names`` means
    that the item does not speak of them.
    """

    principals: NameSelector | None = None
    resource_type: ResourceType | None = None
    names: NameSelector | None = None

    def selects(self, binding: AclBinding) -> bool:
        """Whether the binding lies wholly inside this item."""
        if self.principals is not None and not self.principals.selects_principal(binding.entry.principal):
            return False
        if self.resource_type is None or self.names is None:
            return self.principals is not None
        return any(own.contains(binding.pattern) for own in self.names.patterns(self.resource_type))

    def selects_topic(self, name: str) -> bool:
        """Whether the topic is meant: only items with ``topics`` and no ``principals`` speak of topics."""
        if self.principals is not None or self.resource_type is not ResourceType.TOPIC or self.names is None:
            return False
        return any(own.matches(name) for own in self.names.patterns(ResourceType.TOPIC))

    def selects_listed(self, item: ListedItem) -> bool:
        """Whether a resource of a listed kind is meant.

        One that is about a named resource is selected by an item with such names alone, as a topic is. Any other is
        selected by an item with ``principals`` alone; what is about no principal (the quota of a default, of a client
        id, of an address) by ``{any: true}`` only.
        """
        place = item.place
        if place is not None:
            if self.principals is not None or self.resource_type is not place.resource_type or self.names is None:
                return False
            return self.names.selects_name(place.name)
        # An item with topics or groups was written about access to them: it must not make a quota deletable too.
        if self.principals is None or self.resource_type is not None:
            return False
        principal = item.principal
        return self.principals.any_name if principal is None else self.principals.selects_principal(principal)


_Item = TypeVar("_Item")
#: Of so few items each is asked.
_FEW: Final = 4


class ItemsByName(Generic[_Item]):
    """Items by the names that they select, to find those that may select one."""

    __slots__ = ("_by_prefix", "_by_text", "_lengths", "_others")

    def __init__(self, items: Iterable[tuple[NameSelector | None, _Item]]) -> None:
        """``None`` selects every name, and so does the literal ``*`` of a resource."""
        self._by_text: dict[str, list[_Item]] = {}
        self._by_prefix: dict[str, list[_Item]] = {}
        self._others: list[_Item] = []
        for names, item in items:
            if names is None or names.any_name or WILDCARD in names.literal:
                self._others.append(item)
                continue
            for text in names.literal:
                self._by_text.setdefault(text, []).append(item)
            for text in names.prefixes:
                self._by_prefix.setdefault(text, []).append(item)
        self._lengths = sorted({len(text) for text in self._by_prefix})

    def near(self, name: str | None) -> Iterator[_Item]:
        """The items that may select this name, perhaps one twice; of ``None`` those that select every name."""
        yield from self._others
        if name is not None:
            yield from self._by_text.get(name, ())
            for length in self._lengths:
                yield from self._by_prefix.get(name[:length], ())


class SelectorIndex:
    """Items of a scope by what they name: there can be hundreds, and each binding of a cluster is asked about."""

    __slots__ = ("_by_type", "_items")

    def __init__(self, items: Sequence[Selector]) -> None:
        self._items = items
        #: ``None``: by principals.
        named: dict[ResourceType | None, list[tuple[NameSelector | None, Selector]]] = {}
        for item in items:
            kind = item.resource_type if item.principals is None or item.principals.any_name else None
            named.setdefault(kind, []).append((item.principals if kind is None else item.names, item))
        self._by_type = {kind: ItemsByName(some) for kind, some in named.items()}

    def near(self, principal: str | None, kind: ResourceType | None = None, name: str = "") -> Iterable[Selector]:
        """The items that may select what has this principal and this name; perhaps others."""
        return self._items if len(self._items) <= _FEW else self._named(principal, kind, name)

    def _named(self, principal: str | None, kind: ResourceType | None, name: str) -> Iterator[Selector]:
        if None in self._by_type:
            yield from self._by_type[None].near(principal)
        if kind is not None and kind in self._by_type:
            yield from self._by_type[kind].near(name)


@dataclass(frozen=True)
class Scope:
    """What a directory owns on a cluster: ``include`` first, then less ``exclude``, then less ``ignore``.

    ``include=None`` means all ACLs and the declared topics. ``ignore`` is what somebody else manages: it is
    counted apart from what is merely outside.
    """

    include: tuple[Selector, ...] | None = None
    exclude: tuple[Selector, ...] = ()
    ignore: tuple[Selector, ...] = ()

    @cached_property
    def _included(self) -> SelectorIndex:
        return SelectorIndex(self.include or ())

    @cached_property
    def _excluded(self) -> SelectorIndex:
        return SelectorIndex(self.exclude)

    @cached_property
    def _ignored(self) -> SelectorIndex:
        return SelectorIndex(self.ignore)

    def owns(self, binding: AclBinding) -> bool:
        """Whether a binding may be planned at all."""
        if self.include is not None and not _selects(self._included, binding):
            return False
        if self.exclude and _selects(self._excluded, binding):
            return False
        return not self.ignores(binding)

    def not_owned(self, bindings: frozenset[AclBinding]) -> Collection[AclBinding]:
        """Those that may not be planned at all."""
        if self.include is None and not self.exclude and not self.ignore:
            return on_reserved_names(bindings)
        return [binding for binding in bindings if not self.owns(binding)]

    def owns_topic(self, name: str, *, declared: bool) -> bool:
        """Whether a topic may be planned at all; without ``include`` only declared ones may."""
        included = declared if self.include is None else _selects_topic(self._included, name)
        taken = any(_selects_topic(items, name) for items in (self._excluded, self._ignored))
        return included and not is_reserved(name) and not taken

    @property
    def holds_topics(self) -> bool:
        """Whether an item of ``include`` speaks of topics, whoever has access to them, and so of undeclared ones."""
        items = self.include or ()
        return any(item.principals is None and item.resource_type is ResourceType.TOPIC for item in items)

    def holds_listed(self, kind: type[ListedItem]) -> bool:
        """Whether an item of ``include`` can select one of a listed kind, as :meth:`Selector.selects_listed` does."""
        items = self.include or ()
        if kind.PLACE is not None:
            return any(item.principals is None and item.resource_type is kind.PLACE for item in items)
        alone = (item.principals for item in items if item.principals is not None and item.resource_type is None)
        return any(kind.PERSONAL or principals.any_name for principals in alone)

    def owns_listed(self, item: ListedItem, *, declared: bool) -> bool:
        """Whether a resource of a listed kind may be planned at all; without ``include`` only declared ones may."""
        included = declared if self.include is None else _selects_listed(self._included, item)
        return included and not any(_selects_listed(items, item) for items in (self._excluded, self._ignored))

    def ignores(self, binding: AclBinding) -> bool:
        """Whether somebody else manages this binding, or the reconciler itself uses it for a moment."""
        # Whatever the scope says: a plan that removed the bridge or lease of a run that goes on would break that run.
        if is_reserved(binding.pattern.name):
            return True
        return bool(self.ignore) and _selects(self._ignored, binding)


def _selects(items: SelectorIndex, binding: AclBinding) -> bool:
    kind, name, _ = binding.pattern
    return any(item.selects(binding) for item in items.near(binding.entry.principal, kind, name))


def _selects_topic(items: SelectorIndex, name: str) -> bool:
    return any(item.selects_topic(name) for item in items.near(None, ResourceType.TOPIC, name))


def _selects_listed(items: SelectorIndex, item: ListedItem) -> bool:
    place = item.place
    near = items.near(item.principal) if place is None else items.near(None, place.resource_type, place.name)
    return any(selector.selects_listed(item) for selector in near)


# A scope held inside another one: what both own, and where one owns or leaves out more than the other.
#
# Names in scopes are literal, prefixes, or all there are, so of two sets of names one contains the other or they
# share nothing, once lists are taken apart. That makes every answer here exact but one: an item that only several
# items of the other scope cover together counts as not covered.


def bounded(own: Scope, bounds: Scope) -> Scope:
    """What both scopes own; ``own`` itself where it owns nothing else.

    Without ``include`` only declared topics are owned, which this cannot say once the other has one: whoever lets
    undeclared topics be pruned has to ask both.
    """
    if own.include is None or bounds.include is None:
        include = own.include if bounds.include is None else bounds.include
    else:
        include = tuple(dict.fromkeys(_shared(own.include, bounds.include)))
    return Scope(include, _joined(own.exclude, bounds.exclude), _joined(own.ignore, bounds.ignore))


def beyond(own: Scope, bounds: Scope) -> bool:
    """Whether ``own`` may own what ``bounds`` does not."""
    if bounds.include is not None and (own.include is None or any(uncovered(own.include, bounds.include))):
        return True
    outside = uncovered((*bounds.exclude, *bounds.ignore), (*own.exclude, *own.ignore))
    return any(own.include is None or any(_share(selector, item) for item in own.include) for selector in outside)


def short_of(own: Scope, bounds: Scope) -> tuple[Selector, ...]:
    """What ``bounds`` owns and ``own`` leaves out, as far as items show it: ignored, excluded, no longer included."""
    taken = (*bounds.exclude, *bounds.ignore)
    missing = [item for item in uncovered((*own.ignore, *own.exclude), taken) if _meets(item, bounds.include)]
    if own.include is not None and bounds.include is not None:
        missing += [item for item in uncovered(bounds.include, own.include) if item not in missing]
    return tuple(missing)


def uncovered(items: Iterable[Selector], others: Sequence[Selector]) -> Iterator[Selector]:
    """The parts of ``items`` that no one of ``others`` contains."""
    for item in items:
        for part in _parts(item):
            if not any(_contains(other, part) for other in others):
                yield part


def _meets(item: Selector, include: Sequence[Selector] | None) -> bool:
    return include is None or any(_share(item, selector) for selector in include)


def _joined(own: Sequence[Selector], bounds: Sequence[Selector]) -> tuple[Selector, ...]:
    return (*own, *(item for item in bounds if any(uncovered([item], own))))


def _shared(own: Iterable[Selector], bounds: Sequence[Selector]) -> Iterator[Selector]:
    for item in own:
        if not any(uncovered([item], bounds)):
            yield item
            continue
        yield from (both for other in bounds if (both := _both(item, other)) is not None)


def _parts(item: Selector) -> Iterator[Selector]:
    """Each principal or prefix of principals with each name or prefix, for a list is as many items."""
    for principals in _single(item.principals):
        for names in _single(item.names):
            yield replace(item, principals=principals, names=names)


def _single(names: NameSelector | None) -> Iterable[NameSelector | None]:
    return (None,) if names is None else names.parts()


def _contains(outer: Selector, inner: Selector) -> bool:
    if outer.principals is not None:
        kept = None if inner.principals is None else _common_principals(inner.principals, outer.principals)
        if kept is None or kept != inner.principals:
            return False
    if outer.names is None:
        return outer.principals is not None
    if inner.names is None or inner.resource_type is not outer.resource_type or inner.resource_type is None:
        return False
    return _common_names(inner.names, outer.names, inner.resource_type) == inner.names


def _share(first: Selector, second: Selector) -> bool:
    return _both(first, second) is not None


def _both(first: Selector, second: Selector) -> Selector | None:
    """What both select; ``None`` for nothing."""
    if None not in (first.resource_type, second.resource_type) and first.resource_type is not second.resource_type:
        return None
    principals, names = first.principals or second.principals, first.names or second.names
    kind = first.resource_type or second.resource_type
    if first.principals is not None and second.principals is not None:
        principals = _common_principals(first.principals, second.principals)
        if principals is None:
            return None
    if first.names is not None and second.names is not None and kind is not None:
        names = _common_names(first.names, second.names, kind)
        if names is None:
            return None
    return Selector(principals, kind, names)


def _common_principals(first: NameSelector, second: NameSelector) -> NameSelector | None:
    return _common(first, second, lambda outer, principal: outer.selects_principal(principal))


def _common_names(first: NameSelector, second: NameSelector, kind: ResourceType) -> NameSelector | None:
    def selects(outer: NameSelector, name: str) -> bool:
        return any(own.contains(ResourcePattern(kind, name)) for own in outer.patterns(kind))

    return _common(first, second, selects)


def _common(
    selector: NameSelector, other: NameSelector, selects: Callable[[NameSelector, str], bool]
) -> NameSelector | None:
    """What both select, part by part; ``None`` for nothing. ``selects`` says whether a name alone is meant."""
    if selector.any_name or other.any_name:
        return other if selector.any_name else selector
    literal: dict[str, None] = {}
    prefixes: dict[str, None] = {}
    for first in selector.parts():
        for second in other.parts():
            if first.literal or second.literal:
                outer, inner = (second, first) if first.literal else (first, second)
                literal.update(dict.fromkeys(name for name in inner.literal if selects(outer, name)))
            else:
                shorter, longer = sorted((first.prefixes[0], second.prefixes[0]), key=len)
                prefixes.update(dict.fromkeys([longer] if longer.startswith(shorter) else ()))
    return NameSelector(tuple(literal), tuple(prefixes)) if literal or prefixes else None
