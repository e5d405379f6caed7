"""Scopes and their selectors in JSON, in the words of manifests."""

from typing import Any, Final

from reconciler.codec.choice import single
from reconciler.codec.containers import TEXTS, array, nullable
from reconciler.codec.interface import Codec
from reconciler.codec.objects import Record, field, record
from reconciler.codec.scalars import TEXT, constant
from reconciler.model.scope import RESOURCE_FIELDS, NameSelector, Scope, Selector


def _names(name: str, value: Any) -> NameSelector:
    return NameSelector(any_name=True) if name == "any" else NameSelector(**{name: value})


def _parts(names: NameSelector) -> tuple[str, Any]:
    if names.any_name:
        return "any", True
    return ("literal", names.literal) if names.prefix is None else ("prefix", names.prefix)


NAMES: Final[Codec[NameSelector]] = single(
    _names,
    _parts,
    field("any", constant(True), "Every name there is or could be.", True),
    field("prefix", TEXT, "Every name that begins so.", "orders."),
    field("literal", TEXTS, "Exactly these names."),
)


def _selector(principals: NameSelector | None = None, **resources: NameSelector | None) -> Selector:
    named = [(key, names) for key, names in resources.items() if names is not None]
    if len(named) > 1:
        raise ValueError("a selector names at most one type of resource")
    for key, names in named:
        return Selector(principals, RESOURCE_FIELDS[key], names)
    return Selector(principals)


def _of(resource_field: str) -> Any:
    wanted = RESOURCE_FIELDS[resource_field]
    return lambda selector: selector.names if selector.resource_type is wanted else None


_WORDS: Final = {
    "topics": "Topics.",
    "groups": "Consumer groups.",
    "transactionalIds": "Transactional ids.",
    "cluster": "The cluster resource.",
    "delegationTokens": "Delegation tokens.",
    "users": "Users, of delegation tokens.",
}
_SELECTOR: Final[Record[Selector]] = record(
    _selector,
    field("principals", NAMES, "Principals.", default=None, omit=True),
    *(field(name, NAMES, words, attr=name, default=None, omit=True, get=_of(name)) for name, words in _WORDS.items()),
    closed=True,
)
SELECTORS: Final = array(_SELECTOR)
SCOPE: Final[Record[Scope]] = record(
    Scope,
    field("include", nullable(SELECTORS), "What the manifests answer for; null: all ACLs and the declared topics."),
    field("exclude", SELECTORS, "What is left out of it."),
    field("ignore", SELECTORS, "What somebody else manages: counted, never planned."),
)
