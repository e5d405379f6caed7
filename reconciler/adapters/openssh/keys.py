"""Keys of OpenSSH: what a public key accepts as its signature, and how a private key signs.

Ed25519, ECDSA on the NIST curves and RSA. Of RSA only signatures with SHA-2, by keys of at least 2,048 bits.
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import Final, TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

from reconciler.adapters.openssh.wire import Reader, WireError, mpint, string

PrivateKey: TypeAlias = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_PublicKey: TypeAlias = ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey
_Hash: TypeAlias = hashes.HashAlgorithm

_MOST_SECURE_RSA: Final = b"rsa-sha2-512"
_RSA_HASHES: Final[Mapping[bytes, _Hash]] = {b"rsa-sha2-512": hashes.SHA512(), b"rsa-sha2-256": hashes.SHA256()}
_SMALLEST_RSA: Final = 2048
_ED25519: Final = b"ssh-ed25519"
_RSA: Final = b"ssh-rsa"
_CURVES: Final[Mapping[bytes, _Hash]] = {
    b"ecdsa-sha2-nistp256": hashes.SHA256(),
    b"ecdsa-sha2-nistp384": hashes.SHA384(),
    b"ecdsa-sha2-nistp521": hashes.SHA512(),
}
#: Types of keys whose signatures can be checked.
KEY_TYPES: Final = (_ED25519, _RSA, *_CURVES)


class KeyFileError(Exception):
    """The text is no private key that can sign; ``str()`` says why, and holds nothing of it."""


def fingerprint(blob: bytes) -> str:
    """``SHA256:…``, as ``ssh-keygen -l`` prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def key_type(blob: bytes) -> str:
    """The type that a public key says it has; raises :class:`WireError`."""
    return Reader(blob).string().decode("ascii", "backslashreplace")


def private_key(text: bytes) -> PrivateKey:
    """The key in a file as ``ssh-keygen`` writes it without a passphrase; raises :class:`KeyFileError`."""
    try:
        return _signing(serialization.load_ssh_private_key(text, None))
    except TypeError as error:  # how cryptography says that it is encrypted
        raise KeyFileError("it is encrypted") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        if b"OPENSSH PRIVATE KEY" not in text and b"PRIVATE KEY-----" in text:
            raise KeyFileError("it is not in OpenSSH's format: convert it with ssh-keygen -p -f KEY") from error
        raise KeyFileError("it is not a private key of OpenSSH, or of a kind that cannot sign here") from error


def _signing(key: object) -> PrivateKey:
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < _SMALLEST_RSA:
        raise KeyFileError(f"it is an RSA key of {key.key_size} bits: at least {_SMALLEST_RSA:,} are needed")
    if isinstance(key, PrivateKey):
        return key
    raise KeyFileError("its kind cannot sign here: take an Ed25519, ECDSA or RSA key")


def public_blob(key: PrivateKey) -> bytes:
    """The public half as the protocol writes it."""
    form = serialization.PublicFormat.OpenSSH
    return base64.b64decode(key.public_key().public_bytes(serialization.Encoding.OpenSSH, form).split(b" ")[1])


def signed(key: PrivateKey, message: bytes) -> bytes:
    """The signature of ``message`` as the protocol writes it."""
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return string(_ED25519) + string(key.sign(message))
    if isinstance(key, rsa.RSAPrivateKey):
        found = key.sign(message, padding.PKCS1v15(), _RSA_HASHES[_MOST_SECURE_RSA])
        return string(_MOST_SECURE_RSA) + string(found)
    kind = Reader(public_blob(key)).string()
    first, second = utils.decode_dss_signature(key.sign(message, ec.ECDSA(_CURVES[kind])))
    return string(kind) + string(mpint(first) + mpint(second))


def is_signed(blob: bytes, message: bytes, signature: bytes) -> bool:
    """Whether ``signature`` is that of the public key ``blob`` over ``message``.

    Raises :class:`WireError` where one of them is malformed or of a kind that cannot be checked.
    """
    kind, key = _public(blob)
    reader = Reader(signature)
    algorithm, value = reader.string(), reader.string()
    reader.end()
    try:
        if isinstance(key, ed25519.Ed25519PublicKey) and algorithm == kind:
            key.verify(value, message)
        elif isinstance(key, rsa.RSAPublicKey) and algorithm in _RSA_HASHES:
            key.verify(value, message, padding.PKCS1v15(), _RSA_HASHES[algorithm])
        elif isinstance(key, ec.EllipticCurvePublicKey) and algorithm == kind:
            key.verify(_der(value), message, ec.ECDSA(_CURVES[kind]))
        else:
            raise WireError("its algorithm does not belong to its key")
    except InvalidSignature:
        return False
    return True


def _public(blob: bytes) -> tuple[bytes, _PublicKey]:
    kind = Reader(blob).string()
    if kind not in KEY_TYPES:
        raise WireError(f"keys of type {key_type(blob)} cannot be checked here")
    try:
        key = serialization.load_ssh_public_key(kind + b" " + base64.b64encode(blob))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise WireError("its key is malformed") from error
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < _SMALLEST_RSA:
        raise WireError(f"its RSA key has {key.key_size} bits: at least {_SMALLEST_RSA:,} are needed")
    if not isinstance(key, _PublicKey):
        raise WireError(f"keys of type {key_type(blob)} cannot be checked here")
    return kind, key


def _der(value: bytes) -> bytes:
    reader = Reader(value)
    first, second = reader.mpint(), reader.mpint()
    reader.end()
    return utils.encode_dss_signature(first, second)
