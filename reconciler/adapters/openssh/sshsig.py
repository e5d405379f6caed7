"""The format SSHSIG (OpenSSH's PROTOCOL.sshsig): a detached signature with its key, for one purpose, in armor.

The namespace says the purpose, so that a signature made for a mail or a commit is none for a plan.
"""

import base64
import binascii
import hashlib
import re
from typing import Final

from reconciler.adapters.openssh.keys import PrivateKey, is_signed, public_blob, signed
from reconciler.adapters.openssh.wire import Reader, WireError, string

_MAGIC: Final = b"SSHSIG"
_VERSION: Final = 1
_HASHES: Final = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}
_HASH: Final = b"sha512"
_WIDTH: Final = 70
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_ARMOR: Final = re.compile(rf"{_BEGIN}\r?\n([A-Za-z0-9+/=\r\n]+)\r?\n{_END}\r?\n?", re.ASCII)


class SignatureError(Exception):
    """There is no valid signature over these bytes; ``str()`` says why."""


def sign(key: PrivateKey, message: bytes, namespace: str) -> str:
    """The signature of ``message`` as a file holds it."""
    blob = public_blob(key)
    inner = signed(key, _to_sign(message, namespace.encode(), _HASH))
    parts = (blob, namespace.encode(), b"", _HASH, inner)
    whole = _MAGIC + _VERSION.to_bytes(4, "big") + b"".join(map(string, parts))
    text = base64.b64encode(whole).decode()
    lines = (text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH))
    return "\n".join((_BEGIN, *lines, _END, ""))


def verify(text: str, message: bytes, namespace: str) -> bytes:
    """The public key whose signature over ``message`` the file holds; whether it is trusted is another question.

    Raises :class:`SignatureError`.
    """
    try:
        return _verified(_dearmored(text), message, namespace.encode())
    except WireError as error:
        raise SignatureError(f"it is not a signature that can be checked: {error}") from error


def _verified(whole: bytes, message: bytes, namespace: bytes) -> bytes:
    reader = Reader(whole)
    if reader.take(len(_MAGIC)) != _MAGIC or reader.number() != _VERSION:
        raise WireError(f"it is not of version {_VERSION} of OpenSSH's format")
    blob, purpose, reserved, name, signature = (reader.string() for _ in range(5))
    reader.end()
    if purpose != namespace:
        made = purpose.decode("ascii", "backslashreplace")
        raise SignatureError(f"it was made for the namespace {made!r}, not for {namespace.decode()!r}")
    if reserved or name not in _HASHES:
        raise WireError("its digest is neither SHA-256 nor SHA-512, or a reserved field is used")
    if not is_signed(blob, _to_sign(message, namespace, name), signature):
        raise SignatureError("it is not a signature over these bytes")
    return blob


def _to_sign(message: bytes, namespace: bytes, name: bytes) -> bytes:
    return _MAGIC + b"".join(map(string, (namespace, b"", name, _HASHES[name](message).digest())))


def _dearmored(text: str) -> bytes:
    match = _ARMOR.fullmatch(text)
    if match is None:
        raise WireError(f"there is no single block between {_BEGIN} and {_END}")
    try:
        return base64.b64decode("".join(match[1].split()), validate=True)
    except binascii.Error as error:
        raise WireError("its armor is not base64") from error
