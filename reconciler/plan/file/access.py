"""The access review in JSON: rows, exceptions, callouts, effects of steps; regions as manifests write names."""

from typing import Any, Final

from reconciler.access import NameSet, Region, Witness
from reconciler.access.name_set import ALL_NAMES, ASTERISK_NAMES, literal
from reconciler.codec import (
    ANY_TEXT,
    COUNT,
    TEXT,
    TEXTS,
    Codec,
    Record,
    array,
    by_name,
    by_value,
    constant,
    derived,
    field,
    flat,
    group,
    nullable,
    record,
    single,
    word,
)
from reconciler.codec.values import BINDING, MOMENT, ORIGIN, PERMISSION, RESOURCE_TYPE
from reconciler.model import WILDCARD, AclOperation, FactSource
from reconciler.plan.review.access_change import AccessChange, DeclaredEnd, ExemptPrincipal
from reconciler.plan.review.callouts import Callout
from reconciler.plan.review.effects import Effect, EffectKind


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


_NAMES: Final[Codec[NameSet]] = single(
    _name_set,
    _parts,
    field("any", constant(True), "Every name there is or could be.", True),
    field("longerThan", constant(WILDCARD), "Every longer name that begins so.", WILDCARD),
    field("literal", TEXT, "Exactly this name.", "orders"),
    field("prefix", TEXT, "Every name that begins so.", "orders."),
)
_REGION: Final[Record[Region]] = record(
    Region,
    field("resourceType", RESOURCE_TYPE, "The type of resource.", "TOPIC"),
    field("names", _NAMES, "The names that this is about."),
    field("except", array(_NAMES), "Names that are left out of it.", attr="cuts"),
    derived("description", TEXT, "The names in words.", "topics starting with orders.", get=Region.describe),
)
_WITNESS: Final[Record[Witness]] = record(
    Witness,
    field("principal", TEXT, "The principal.", "User:svc-orders"),
    field("host", TEXT, "The address that it connects from.", "10.0.0.1"),
    field("name", TEXT, "The name of the resource.", "orders", attr="resource_name"),
)
_OPERATIONS: Final = array(by_name(item for item in AclOperation if item > AclOperation.ALL))
_ENDING: Final[Record[DeclaredEnd]] = record(
    DeclaredEnd,
    field("instant", MOMENT, "The first instant at which it is over.", "2027-02-23T00:00:00Z"),
    field("permissionType", PERMISSION, "DENY: one ends.", "DENY", attr="permission"),
)
#: A row of the access review.
CONSEQUENCE: Final[Record[AccessChange]] = record(
    AccessChange,
    field(
        "principal",
        nullable(TEXT),
        "Kafka's text form; null: everybody who has no row or exception of their own.",
        "User:svc-orders",
    ),
    field("hosts", TEXT, "The addresses that this holds for, in words.", "anywhere"),
    flat(_REGION, "region"),
    field("gained", _OPERATIONS, "Operations that are permitted afterwards and were not before."),
    field("lost", _OPERATIONS, "Operations that were permitted before and are not afterwards."),
    field("witness", _WITNESS, "One request for which it is so."),
    group(
        "topics",
        "Topics among the names.",
        field("count", COUNT, "How many there are.", 3, attr="topic_count"),
        field("first", TEXTS, "The first of them by name.", attr="topics"),
    ),
    field("reading", nullable(word("least", "most", "perhaps")), "null: certain, whatever is not known.", "least"),
    field(
        "superUser",
        nullable(by_value(FactSource)),
        "Who states that the principal is a super user, so that no ACL limits it; null: nobody.",
        "manifests",
    ),
    field(
        "since",
        nullable(_ENDING),
        "The end that is declared and before which nothing changes; left out: the plan changes it.",
        default=None,
        omit=True,
    ),
)
#: A principal whose own bindings keep a row about everybody else from it.
EXCEPTION: Final[Record[ExemptPrincipal]] = record(
    ExemptPrincipal, field("principal", TEXT, "The principal.", "User:svc-orders"), flat(_REGION, "region")
)
CALLOUT: Final[Record[Callout]] = record(
    Callout,
    field("rule", TEXT, "Why it stands out.", "wildcard"),
    field("principal", TEXT, "Who gains it.", "User:svc-orders"),
    field("text", ANY_TEXT, "In words.", "gains READ on all topics"),
)
EFFECT: Final[Record[Effect]] = record(
    Effect,
    field("kind", by_value(EffectKind), "What becomes of access.", "grant"),
    field("coveredBy", nullable(BINDING), "The binding that grants or denies the same, or overrides it."),
    field("origin", nullable(ORIGIN), "Where that binding is declared; null where it is not.", "acls.yaml:8:16"),
)
