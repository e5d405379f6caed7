"""Values of the model in JSON: bindings, patterns, places, topics' assignments."""

from typing import Any, Final

from reconciler.codec.containers import array, nullable
from reconciler.codec.interface import Codec, SchemaError
from reconciler.codec.objects import Record, field, record
from reconciler.codec.scalars import ANY_TEXT, COUNT, TEXT, by_name, converted, integer, text
from reconciler.model.acl import AccessControlEntry, AclBinding, OpaqueBinding, ResourcePattern
from reconciler.model.enums import AclOperation, AclPermissionType, PatternType, ResourceType
from reconciler.model.expiry import Expiry, moment_text, read_moment
from reconciler.model.origin import Origin

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
