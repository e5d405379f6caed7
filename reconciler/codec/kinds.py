"""The listed kinds in JSON, all in one way: by the annotations of their values, as they were read, and as declared."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import BOOLEAN, TEXT, Codec, SchemaError, array, converted, nullable
from reconciler.codec.objects import Field, Record, field, record, snake
from reconciler.codec.values import ORIGIN
from reconciler.model.desired import Declaration, DesiredItem, Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds import listed_types
from reconciler.model.listing import NOT_READ, ListedItem, Listing
from reconciler.model.topic import Topic


class Kind(NamedTuple):
    """A listed kind: the type of its resources, whose ``KIND`` names the field that holds them, and their codec."""

    TYPE: type[ListedItem]
    CODEC: Record[Any]

    @property
    def gap_field(self) -> str:
        """The field that says why they could not be read: ``quotaGap``."""
        return f"{self.TYPE.KIND.removesuffix('s')}Gap"

    @property
    def file_stem(self) -> str:
        """The file of an export that holds them, without its ending: ``quotas``."""
        return re.sub("[A-Z]", lambda match: f"-{match[0].lower()}", self.TYPE.KIND)


KINDS: Final = tuple(Kind(item, record_of(item)) for item in listed_types())
#: The names of all listed kinds: who wants to read everything asks for these.
LISTED: Final = tuple(kind.TYPE.KIND for kind in KINDS)
#: What people call several of each, by name: ``group configs``.
PLURALS: Final[Mapping[str, str]] = {kind.TYPE.KIND: kind.file_stem.replace("-", " ") for kind in KINDS}
#: The kinds of which everything undeclared can be to go, as manifests and plan files say it under ``prune``.
PRUNABLE: Final = (Topic.KIND, *LISTED)


def json_kind(resource: type[ListedItem]) -> Kind:
    """The listed kind with resources of this type."""
    return next(kind for kind in KINDS if kind.TYPE is resource)


def listings(*, lines: bool = False) -> Record[Mapping[str, Listing[Any]]]:
    """Listings by ``KIND``: ``quotas``, absent where they were not read, and ``quotaGap``, which says why.

    With ``lines``, a resource a line. Whether we may alter them is not kept: that is of one moment and one login.
    """
    return record(_listings, *(item for kind in KINDS for item in _fields(kind, lines=lines)))


def _fields(kind: Kind, *, lines: bool) -> tuple[Field, Field]:
    name = kind.TYPE.KIND
    return (
        field(
            name,
            nullable(_items(kind, lines=lines)),
            f"{_capital(kind)}, sorted; null where they were not read.",
            get=lambda listed: listed.get(name, NOT_READ).items,
            default=None,
            omit=True,
        ),
        field(
            kind.gap_field,
            nullable(TEXT),
            f"Why the {kind.TYPE.WORDS} could not be read; null where they were, or nobody asked.",
            f"not authorised to read {kind.TYPE.WORDS}",
            get=lambda listed: listed.get(name, NOT_READ).gap,
            default=None,
            omit=True,
        ),
    )


def _capital(kind: Kind) -> str:
    words = kind.TYPE.WORDS
    return f"{words[0].upper()}{words[1:]}"


def _items(kind: Kind, *, lines: bool) -> Codec[frozenset[Any]]:
    plain = array(kind.CODEC, lines=lines)

    def write(items: Iterable[ListedItem]) -> Any:
        return plain.write(tuple(sorted(items, key=lambda item: item.key)))

    return converted(plain, _once, write)


def _once(items: tuple[ListedItem, ...]) -> frozenset[ListedItem]:
    by_key: dict[Any, ListedItem] = {}
    # A set would keep two quotas of one entity, and whichever came last would be taken for the live one.
    for item in items:
        if by_key.setdefault(item.key, item) is not item:
            raise SchemaError(f"the {item.subject} occurs twice")
    return frozenset(items)


def _listings(**facts: Any) -> Mapping[str, Listing[Any]]:
    return FrozenMap(
        {name: Listing(facts[snake(name)], facts[snake(kind.gap_field)]) for kind in KINDS for name in [kind.TYPE.KIND]}
    )


def _desired_item(item: ListedItem, origin: Origin, goes: bool) -> DesiredItem[Any]:
    return DesiredItem(item, Declaration(origin), absent=goes)


def _desired_items(kind: Kind) -> Field:
    name = kind.TYPE.KIND
    entry = record(
        _desired_item,
        field("item", kind.CODEC, "What is declared."),
        field("origin", ORIGIN, "Where it is declared.", f"{name}.yaml:7:14", attr="declaration.origin"),
        field("goes", BOOLEAN, "Whether there is to be none.", False),
    )
    by_key = converted(
        array(entry),
        lambda items: {item.item.key: item for item in items},
        lambda items: [entry.write(items[key]) for key in sorted(items)],
    )
    return field(name, by_key, f"{_capital(kind)}.", get=lambda declared: declared.get(name, {}), default={}, omit=True)


def _declared(**facts: Any) -> Mapping[str, Mapping[Any, DesiredItem[Any]]]:
    names = (kind.TYPE.KIND for kind in KINDS)
    return {name: facts[snake(name)] for name in names if facts[snake(name)]}


#: What is declared of listed kinds, as a comparison needs it: whether it goes, and not why. Closed, unlike listings: a
#: kind that this version does not know would not be compared, and its cluster would look as it is declared.
DECLARED: Final[Record[Mapping[str, Mapping[Any, DesiredItem[Any]]]]] = record(
    _declared, *(_desired_items(kind) for kind in KINDS), closed=True
)
