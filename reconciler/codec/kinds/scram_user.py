"""SCRAM users in JSON: iterations, and references to passwords. There is no field for a password."""

from typing import Final

from reconciler.codec.containers import mapping
from reconciler.codec.kinds.interface import Kind
from reconciler.codec.objects import field, record
from reconciler.codec.scalars import COUNT, converted
from reconciler.codec.values import NAME
from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds.scram_user import PasswordSource, ScramUser
from reconciler.model.secret_settings import is_reference


def _reference(text: str) -> str:
    # Its text is not repeated: it may be the secret.
    if not is_reference(text):
        raise ValueError("is not a reference to a secret")
    return text


_REFERENCE: Final = converted(NAME, _reference, str)
_SOURCE: Final = record(
    PasswordSource,
    field("password", _REFERENCE, "The password.", "${env:KAFKA_USER_ORDERS}", default="", omit=True),
    field("salt", _REFERENCE, "The salt, in base64.", "${dir:/run/secrets:salt}", default="", omit=True),
    field(
        "saltedPassword",
        _REFERENCE,
        "The salted password, in base64.",
        "${dir:/run/secrets:salted}",
        default="",
        omit=True,
    ),
)
KIND: Final = Kind(
    ScramUser,
    record(
        ScramUser,
        field("name", NAME, "The user's name.", "svc-orders"),
        field("values", mapping(COUNT), "The iterations by mechanism.", {"SCRAM-SHA-512": 8193}),
        field(
            "sources",
            mapping(_SOURCE),
            "Where the passwords come from, by mechanism; absent: nobody says.",
            {"SCRAM-SHA-512": {"password": "${env:KAFKA_USER_ORDERS}"}},
            default=FrozenMap(),
            omit=True,
        ),
    ),
)
