"""JSON of the model's values: bindings, patterns, places, changes, scopes."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from reconciler.codec.codec import (
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    TEXT,
    TEXTS,
    Codec,
    SchemaError,
    array,
    by_name,
    constant,
    converted,
    integer,
    nullable,
    text,
    unexpected,
)
from reconciler.codec.objects import Record, derived, field, record
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Expiry, Origin, moment_text, read_moment
from reconciler.model.listing import Create, Delete, Impossible, Update
from reconciler.model.scope import RESOURCE_FIELDS, NameSelector, Scope, Selector

RESOURCE_TYPE: Final = by_name(member for member in ResourceType if member >= ResourceType.TOPIC)
PATTERN_TYPE: Final = by_name(member for member in PatternType if member >= PatternType.LITERAL)
OPERATION: Final = by_name(member for member in AclOperation if member >= AclOperation.ALL)
PERMISSION: Final = by_name(member for member in AclPermissionType if member >= AclPermissionType.DENY)
NAME: Final = text(least=1)
ASSIGNMENTS: Final = array(array(COUNT))

_TYPE: Final = ("resourceType", RESOURCE_TYPE, "The type of resource.", "TOPIC")
_NAME: Final = ("name", NAME, "The name.", "orders")
_PATTERN_TYPE: Final = ("patternType", PATTERN_TYPE, "How the name is compared.", "LITERAL")
_PRINCIPAL: Final = ("principal", TEXT, "The principal, as Kafka writes it.", "User:svc-orders")
_HOST: Final = ("host", TEXT, "The address that a connection comes from; * is any.", "*")

PATTERN: Final[Record[ResourcePattern]] = record(ResourcePattern, field(*_TYPE), field(*_NAME), field(*_PATTERN_TYPE))


def _binding(resource_type: ResourceType, name: str, pattern_type: PatternType, **entry: Any) -> AclBinding:
    return AclBinding(ResourcePattern(resource_type, name, pattern_type), AccessControlEntry(**entry))


#: The seven fields of a binding.
BINDING: Final[Record[AclBinding]] = record(
    _binding,
    field(*_TYPE, attr="pattern.resource_type"),
    field(*_NAME, attr="pattern.name"),
    field(*_PATTERN_TYPE, attr="pattern.pattern_type"),
    field(*_PRINCIPAL, attr="entry.principal"),
    field(*_HOST, attr="entry.host"),
    field("operation", OPERATION, "Kafka's operation.", "READ", attr="entry.operation"),
    field("permissionType", PERMISSION, "Whether it grants or denies.", "ALLOW", attr="entry.permission_type"),
)


def _version(written: str) -> tuple[int, int]:
    major, minor = written.split(".")
    return int(major), int(minor)


_MOMENT_PATTERN: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$"
#: A day, or an instant in UTC.
MOMENT: Final = converted(text(_MOMENT_PATTERN), read_moment, moment_text)
EXPIRY: Final = converted(text(_MOMENT_PATTERN), Expiry.of, str)
#: A release of Kafka as ``major.minor``.
KAFKA_VERSION: Final = converted(text(r"^[0-9]{1,4}\.[0-9]{1,4}$"), _version, lambda version: "{}.{}".format(*version))


def _code(name: str, example: int) -> Any:
    words = "Kafka's wire code; null where the client lost it."
    return field(name, nullable(integer(None)), words, example, default=None)


def opaque_codec(*, closed: bool) -> Record[OpaqueBinding]:
    """Entries that the client cannot name; codes are Kafka's wire codes."""
    return record(
        OpaqueBinding,
        _code("resourceType", 99),
        _code("patternType", 3),
        field("name", TEXT, "The name.", "orders"),
        field(*_PRINCIPAL),
        field(*_HOST),
        _code("operation", 99),
        _code("permissionType", 3),
        field("perhaps", BOOLEAN, "Whether it is not known if it was there.", False, default=False, omit=True),
        closed=closed,
    )


def _origin(place: str) -> Origin:
    file, _, rest = place.rpartition(":")
    file, _, line = file.rpartition(":")
    if not file or not line.isdecimal() or not rest.isdecimal():
        raise SchemaError(f"{place!r} is not file:line:column")
    return Origin(file, int(line), int(rest))


#: A place in the manifests.
ORIGIN: Final[Codec[Origin]] = converted(ANY_TEXT, _origin, str)


# The sides of a change in JSON: ``before`` and ``after``, one of them null where nothing is there.

T = TypeVar("T")
_BEFORE: Final = "What is expected to be there before; null where it is created."
_AFTER: Final = "What is there afterwards; null where it is deleted."
_NOTHING: Final = constant(None)


def created(side: Codec[T]) -> Record[Create[T]]:
    """A resource that is created."""
    return record(Create, derived("before", _NOTHING, _BEFORE, get=lambda _: None), field("after", side, _AFTER))


def deleted(side: Codec[T]) -> Record[Delete[T]]:
    """A resource that is deleted."""
    return record(Delete, field("before", side, _BEFORE), derived("after", _NOTHING, _AFTER, get=lambda _: None))


def updated(
    side: Codec[T], difference: Callable[[T, T], str | None] = lambda _before, _after: None
) -> Record[Update[T]]:
    """A resource that changes; ``difference`` says why two sides cannot be of one resource."""

    def build(before: T, after: T) -> Update[T]:
        if (why := difference(before, after)) is not None:
            raise ValueError(why)
        return Update(before, after)

    return record(build, field("before", side, _BEFORE), field("after", side, _AFTER))


def _impossible_side(value: Any) -> tuple[str, str, str]:
    """Name, what would have to change, and its value."""
    if value.__class__ is not dict:
        raise unexpected("an object", value)
    others = [key for key in value if key != "name"]
    if len(others) != 1 or "name" not in value:
        raise SchemaError("expected the name and one other field")
    return TEXT.read(value["name"]), others[0], TEXT.read(value[others[0]])


_SIDE: Final[Codec[tuple[str, str, str]]] = Codec(
    _impossible_side, lambda side: {"name": side[0], side[1]: side[2]}, {"type": "object"}
)


def _impossible(before: tuple[str, str, str], after: tuple[str, str, str]) -> Impossible:
    if before[:2] != after[:2]:
        raise ValueError("before and after are not about the same")
    return Impossible(before[1], before[0], before[2], after[2], "")


#: A declared state that Kafka cannot reach; its reason is kept with the difference that stays.
IMPOSSIBLE: Final[Record[Impossible]] = record(
    _impossible,
    field("before", _SIDE, _BEFORE, get=lambda change: (change.name, change.what, change.before)),
    field("after", _SIDE, _AFTER, get=lambda change: (change.name, change.what, change.after)),
)


# Scopes and their selectors in JSON, in the words of manifests.


def _names(any_name: bool, prefixes: tuple[str, ...], literal: tuple[str, ...]) -> NameSelector:
    if any_name is bool(prefixes or literal):
        raise ValueError("expected any, or prefix and literal")
    return NameSelector(literal, prefixes, any_name)


NAMES: Final[Record[NameSelector]] = record(
    _names,
    field("any", BOOLEAN, "Every name there is or could be.", True, attr="any_name", default=False, omit=True),
    field("prefix", TEXTS, "Every name that begins with one of these.", attr="prefixes", default=(), omit=True),
    field("literal", TEXTS, "Exactly these names.", default=(), omit=True),
    closed=True,
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
