"""SCRAM users, by kafka-python's messages. The password is salted here, and never sent."""

import base64
import binascii
import hashlib
import secrets
from collections.abc import Sequence
from typing import Any, Final

from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.kinds.interface import Kind
from reconciler.adapters.kafka.kinds.listed import MessageKind
from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.model import Change, resource_of
from reconciler.model.kinds.scram_user import (
    DISABLED_ITERATIONS,
    SCRAM_CODES,
    SCRAM_HASHES,
    PasswordSource,
    ScramUser,
    salted,
)
from reconciler.model.listing import parts
from reconciler.ports import NOT_VALIDATED, Answer, AnswerStatus

_NAMES: Final = {code: name for name, code in SCRAM_CODES.items()}
_SALT_BYTES: Final = 32
_DONE: Final = Answer(AnswerStatus.DONE)


def _user(entry: Any) -> ScramUser:
    name, credentials = entry
    # Of a newer Kafka: kept under its code, and never changed.
    return ScramUser(name, {_NAMES.get(code, f"mechanism {code}"): iterations for code, iterations in credentials})


def _alteration(change: Change, settings: ClientSettings) -> tuple[str, int, tuple[int, bytes, bytes] | None]:
    """The name, the mechanism, and its iterations, salt and salted password; nothing of one that goes.

    Raises ``ValueError``, without the value, for a secret that cannot be used.
    """
    user: ScramUser = resource_of(change)
    ((mechanism, iterations),) = user.values.items()
    code = SCRAM_CODES[mechanism]
    if change.after is None:
        return user.name, code, None
    return user.name, code, (iterations, *_credential(user, mechanism, iterations, settings))


def _credential(user: ScramUser, mechanism: str, iterations: int, settings: ClientSettings) -> tuple[bytes, bytes]:
    """A salt and the salted password; of a disabled credential random ones, which nobody keeps."""
    if iterations == DISABLED_ITERATIONS:
        return secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(hashlib.new(SCRAM_HASHES[mechanism]).digest_size)
    source = user.sources.get(mechanism, PasswordSource())
    missing = [reference for reference in source.references if reference not in settings.followed]
    if missing or not source.references:
        raise ValueError(f"nobody has read {missing[0]}" if missing else f"{mechanism} has no password")
    if source.password:
        salt = secrets.token_bytes(_SALT_BYTES)
        return salt, salted(mechanism, settings.followed[source.password], salt, iterations)
    return _bytes(source.salt, settings), _bytes(source.salted_password, settings)


def _bytes(reference: str, settings: ClientSettings) -> bytes:
    try:
        found = base64.b64decode(settings.followed[reference], validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{reference} is not base64") from None
    if not found:
        raise ValueError(f"{reference} is empty")
    return found


class _ScramUsers(MessageKind):
    def send(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """As others; a user whose secret cannot be used is not sent at all."""
        if only_validate:
            return [NOT_VALIDATED] * len(changes)
        unusable = {n: found for n, one in enumerate(changes) if (found := _unusable(one, connection.settings))}
        due = [change for n, change in enumerate(changes) if n not in unusable]
        told = iter(super().send(connection, due) if due else ())
        return [unusable[n] if n in unusable else next(told) for n in range(len(changes))]

    def requested(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """As others; a mechanism that is gone already is deleted."""
        told = super().requested(connection, changes, only_validate=only_validate)
        return [
            _DONE if answer.code == "RESOURCE_NOT_FOUND" and part.after is None else answer
            for part, answer in zip(changes, told, strict=True)
        ]


def _unusable(change: Change, settings: ClientSettings) -> Answer | None:
    try:
        for part in parts(change):
            _alteration(part, settings)
    except ValueError as error:
        return Answer(AnswerStatus.FAILED, "UNUSABLE_SECRET", str(error))
    return None


KIND: Final[Kind] = _ScramUsers(
    ScramUser,
    "scram_user",
    _user,
    str,
    _alteration,
    "DESCRIBE on the cluster",
    lambda handshake: handshake.may_alter_acls,
    lambda handshake: handshake.may_list_acls,  # DESCRIBE on the cluster, as for ACLs
)
