"""A scope as the plan file spells it, and back."""

from typing import Any

from reconciler.model import RESOURCE_FIELDS, NameSelector, ResourceType, Scope, Selector

_FIELD_OF = {resource_type: name for name, resource_type in RESOURCE_FIELDS.items()}


def scope_side(scope: Scope) -> dict[str, Any]:
    """``include`` is ``null`` where the scope is all ACLs and the declared topics."""
    return {
        "include": None if scope.include is None else [_selector_side(item) for item in scope.include],
        "exclude": [_selector_side(item) for item in scope.exclude],
        "ignore": [_selector_side(item) for item in scope.ignore],
    }


def scope_from(side: dict[str, Any]) -> Scope:
    """The inverse of :func:`scope_side`; raises ``KeyError``, ``TypeError`` or ``ValueError`` for anything else."""
    include = side["include"]
    return Scope(
        include=None if include is None else tuple(map(_selector_from, include)),
        exclude=tuple(map(_selector_from, side["exclude"])),
        ignore=tuple(map(_selector_from, side["ignore"])),
    )


def _selector_side(selector: Selector) -> dict[str, Any]:
    side: dict[str, Any] = {}
    if selector.principals is not None:
        side["principals"] = _names_side(selector.principals)
    if selector.resource_type is not None and selector.names is not None:
        side[_FIELD_OF[selector.resource_type]] = _names_side(selector.names)
    return side


def _names_side(names: NameSelector) -> dict[str, Any]:
    if names.any_name:
        return {"any": True}
    return {"literal": list(names.literal)} if names.prefix is None else {"prefix": names.prefix}


def _selector_from(side: dict[str, Any]) -> Selector:
    principals = _names_from(side["principals"]) if "principals" in side else None
    for field, names in side.items():
        if field != "principals":
            return Selector(principals, ResourceType(RESOURCE_FIELDS[field]), _names_from(names))
    return Selector(principals)


def _names_from(side: dict[str, Any]) -> NameSelector:
    return NameSelector(tuple(side.get("literal", ())), side.get("prefix"), side.get("any", False))
