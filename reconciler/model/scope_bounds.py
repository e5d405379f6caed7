"""A scope held inside another one: what both own, and where one owns or leaves out more than the other.

Names in scopes are literal, prefixes, or all there are, so of two sets of names one contains the other or they share
nothing, once lists are taken apart. That makes every answer here exact but one: an item that only several items of the
other scope cover together counts as not covered.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reconciler.model.enums import ResourceType
from reconciler.model.scope import NameSelector, Scope, Selector


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
    left = uncovered((*bounds.exclude, *bounds.ignore), (*own.exclude, *own.ignore))
    return any(own.include is None or any(_share(one, item) for item in own.include) for one in left)


def short_of(own: Scope, bounds: Scope) -> tuple[Selector, ...]:
    """What ``bounds`` owns and ``own`` leaves out, as far as items show it: ignored, excluded, no longer included."""
    taken = (*bounds.exclude, *bounds.ignore)
    found = [item for item in uncovered((*own.ignore, *own.exclude), taken) if _meets(item, bounds.include)]
    if own.include is not None and bounds.include is not None:
        found += [item for item in uncovered(bounds.include, own.include) if item not in found]
    return tuple(found)


def uncovered(items: Iterable[Selector], others: Sequence[Selector]) -> Iterator[Selector]:
    """The parts of ``items`` that no one of ``others`` contains."""
    for item in items:
        for part in _parts(item):
            if not any(_contains(other, part) for other in others):
                yield part


def _meets(item: Selector, include: Sequence[Selector] | None) -> bool:
    return include is None or any(_share(item, one) for one in include)


def _joined(own: Sequence[Selector], bounds: Sequence[Selector]) -> tuple[Selector, ...]:
    return (*own, *(item for item in bounds if any(uncovered([item], own))))


def _shared(own: Iterable[Selector], bounds: Sequence[Selector]) -> Iterator[Selector]:
    for item in own:
        if not any(uncovered([item], bounds)):
            yield item
            continue
        yield from (both for other in bounds if (both := _both(item, other)) is not None)


def _parts(item: Selector) -> Iterator[Selector]:
    """Each literal principal with each literal name, for a list is as many items."""
    for principals in _single(item.principals):
        for names in _single(item.names):
            yield replace(item, principals=principals, names=names)


def _single(names: NameSelector | None) -> Iterable[NameSelector | None]:
    return [NameSelector(literal=(one,)) for one in names.literal] if names is not None and names.literal else [names]


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


def _share(one: Selector, other: Selector) -> bool:
    return _both(one, other) is not None


def _both(one: Selector, other: Selector) -> Selector | None:
    """What both select; ``None`` for nothing."""
    if None not in (one.resource_type, other.resource_type) and one.resource_type is not other.resource_type:
        return None
    principals, names = one.principals or other.principals, one.names or other.names
    kind = one.resource_type or other.resource_type
    if one.principals is not None and other.principals is not None:
        principals = _common_principals(one.principals, other.principals)
        if principals is None:
            return None
    if one.names is not None and other.names is not None and kind is not None:
        names = _common_names(one.names, other.names, kind)
        if names is None:
            return None
    return Selector(principals, kind, names)


def _common_principals(one: NameSelector, other: NameSelector) -> NameSelector | None:
    if one.literal or other.literal:
        first, second = (one, other) if one.literal else (other, one)
        return _literal(name for name in first.literal if second.selects_principal(name))
    return _narrower(one, other)


def _common_names(one: NameSelector, other: NameSelector, kind: ResourceType) -> NameSelector | None:
    if one.literal or other.literal:
        first, second = (one, other) if one.literal else (other, one)
        outer = second.patterns(kind)
        named = zip(first.literal, first.patterns(kind), strict=True)
        return _literal(name for name, inner in named if any(own.contains(inner) for own in outer))
    return _narrower(one, other)


def _narrower(one: NameSelector, other: NameSelector) -> NameSelector | None:
    """Of two prefixes, or ``any_name``, the one inside the other."""
    if one.any_name or other.any_name:
        return other if one.any_name else one
    first, second = one.prefix or "", other.prefix or ""
    if first.startswith(second):
        return one
    return other if second.startswith(first) else None


def _literal(names: Iterable[str]) -> NameSelector | None:
    found = tuple(names)
    return NameSelector(literal=found) if found else None
