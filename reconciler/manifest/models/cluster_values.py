"""Single values of a Cluster document: the name of a guard or a flavor, a release, what is known of default-allow."""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema

from reconciler.manifest.parts.fields import reading, refuse
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.suggest import did_you_mean, one_of
from reconciler.model import FLAVORS

#: The guards that an acknowledgement can name.
GUARDS = frozenset(
    {
        "broken-binding",
        "replica-move",
        "cluster-alter",
        "data-loss",
        "empty-desired",
        "empty-live",
        "limit",
        "lockout",
        "login-limit",
        "open-by-default",
        "closed-by-default",
        "protected",
        "topic-delete",
        "user-enable",
    }
)


def _default_allow(value: object) -> object:
    if value not in ("true", "false", "unknown"):
        raise refuse(Code.WRONG_VALUE, "true, false or unknown is expected here", "write what server.properties says")
    return value


def _guard(value: object) -> object:
    if not isinstance(value, str):
        raise refuse(Code.WRONG_SHAPE, "the name of a guard is expected here", one_of(GUARDS))
    if value not in GUARDS:
        raise refuse(
            Code.WRONG_VALUE, f"there is no guard {quoted(value)}", did_you_mean(value, GUARDS, one_of(GUARDS))
        )
    return value


def _flavor(value: object) -> object:
    if not isinstance(value, str) or value not in FLAVORS:
        given = (
            f"there is no flavor {quoted(value)}" if isinstance(value, str) else "the name of a flavor is expected here"
        )
        advice = did_you_mean(value, FLAVORS, one_of(FLAVORS)) if isinstance(value, str) else one_of(FLAVORS)
        raise refuse(Code.WRONG_VALUE, given, advice)
    return value


DefaultAllow = Annotated[
    Literal["true", "false", "unknown"],
    BeforeValidator(_default_allow),
    WithJsonSchema({"enum": [True, False, "unknown"]}),
]
FlavorName = Annotated[str, BeforeValidator(_flavor), WithJsonSchema({"type": "string", "enum": list(FLAVORS)})]
GuardName = Annotated[str, BeforeValidator(_guard), WithJsonSchema({"type": "string", "enum": sorted(GUARDS)})]


def _release(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,3})(\.[0-9]{1,3})?", text)
    if found is None:
        raise ValueError(f"{quoted(text)} is not a release of Kafka: write it as 4.4")
    return int(found[1]), int(found[2])


#: A release of Kafka; a patch release counts as its minor release, whose rules it has.
Release = Annotated[
    tuple[int, int],
    BeforeValidator(reading(_release)),
    WithJsonSchema({"type": ["string", "number"], "pattern": r"^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?$"}),
]
