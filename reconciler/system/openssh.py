"""OpenSSH's formats: wire, keys, signatures, allowed signers.

The file of allowed signers (``ssh-keygen``'s ALLOWED SIGNERS): which key is whose, for which purpose, and when.

Stricter than ``ssh-keygen``, which asks about one person at a time: here people are counted, so whatever leaves open
who somebody is makes the file unusable. Patterns in the place of principals, certificate authorities, unknown options,
a key of two people, people who look alike and invisible characters are refused. Never wider: a line ends only at a line
feed, as it does for ``ssh-keygen``.
"""

import base64
import binascii
import datetime
import hashlib
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

from reconciler.dataclass import dataclass
from reconciler.model.characters import is_visible, look_alikes, named
from reconciler.model.scope import name_glob

# Strings of the SSH protocol (RFC 4251, section 5): four bytes of length, then so many bytes.

_LENGTH: Final = struct.Struct(">I")


class WireError(ValueError):
    """The bytes are not what the protocol says."""


def string(value: bytes) -> bytes:
    """``value`` as a string of the protocol."""
    return _LENGTH.pack(len(value)) + value


def mpint(value: int) -> bytes:
    """A positive number as the protocol writes it: no more bytes than it needs, the highest bit free."""
    return string(value.to_bytes(value.bit_length() // 8 + 1, "big") if value else b"")


class Reader:
    """Takes one value after another; raises :class:`WireError` where there is none."""

    def __init__(self, data: bytes) -> None:
        """From the beginning of ``data``."""
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        """So many bytes."""
        if size > len(self._data) - self._at:
            raise WireError("it ends too early")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self) -> int:
        """An unsigned number of four bytes."""
        value: int = _LENGTH.unpack(self.take(4))[0]
        return value

    def string(self) -> bytes:
        """A string."""
        return self.take(self.number())

    def mpint(self) -> int:
        """A positive number, written in the one way that the protocol allows."""
        data = self.string()
        value = int.from_bytes(data, "big")
        if string(data) != mpint(value):
            raise WireError("a number in it is negative or not written in the shortest form")
        return value

    def end(self) -> None:
        """There must be no more: what nobody reads could differ between two equal signatures."""
        if self._at != len(self._data):
            raise WireError("there is more than belongs to it")


# Keys of OpenSSH: what a public key accepts as its signature, and how a private key signs.
#
# Ed25519, ECDSA on the NIST curves and RSA. Of RSA only signatures with SHA-2, by keys of at least 2,048 bits.

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
        signature = key.sign(message, padding.PKCS1v15(), _RSA_HASHES[_MOST_SECURE_RSA])
        return string(_MOST_SECURE_RSA) + string(signature)
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


# The format SSHSIG (OpenSSH's PROTOCOL.sshsig): a detached signature with its key, for one purpose, in armor.
#
# The namespace says the purpose, so that a signature made for a mail or a commit is none for a plan.

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
        signed_for = purpose.decode("ascii", "backslashreplace")
        raise SignatureError(f"it was made for the namespace {signed_for!r}, not for {namespace.decode()!r}")
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


_LINE: Final = re.compile(r'(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+))[ \t]+(?P<rest>\S.*)')
_OPTION: Final = re.compile(r'([A-Za-z-]+)(?:="([^"]*)")?(,|[ \t]+|$)')
_TIME: Final = re.compile(r"(\d{8})(\d{4}(?:\d{2})?)?(Z?)", re.ASCII)
_KEY: Final = re.compile(r"(\S+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t].*)?")


class SignersError(Exception):
    """The file does not say clearly who may sign; ``str()`` says where and why."""


@dataclass(frozen=True, slots=True)
class AllowedSigner:
    """One line: a key, whose it is, and what it may sign when. ``None``: without limit."""

    principals: tuple[str, ...]
    blob: bytes
    namespaces: tuple[str, ...] | None
    valid_after: datetime.datetime | None
    valid_before: datetime.datetime | None

    def allows(self, namespace: str, at: datetime.datetime) -> bool:
        """Whether it may sign for that purpose at that time; of a time without an offset, it is local."""
        if self.namespaces is not None and not any(name_glob(glob)(namespace) for glob in self.namespaces):
            return False
        early = self.valid_after is not None and at < self.valid_after
        return not early and (self.valid_before is None or at < self.valid_before)


@dataclass(frozen=True, slots=True)
class AllowedSigners:
    """A file: its lines, and for each principal, as :func:`same`, all principals of the same person."""

    lines: tuple[AllowedSigner, ...]
    people: dict[str, frozenset[str]]

    def who(self, principal: str) -> frozenset[str] | None:
        """The person who is called that; ``None``: nobody."""
        return self.people.get(same(principal))

    def signer(self, blob: bytes, namespace: str, at: datetime.datetime) -> frozenset[str] | None:
        """The person whose key may sign for that purpose at that time; ``None``: nobody."""
        lines = (line for line in self.lines if line.blob == blob and line.allows(namespace, at))
        return next((self.people[same(line.principals[0])] for line in lines), None)

    def knows(self, blob: bytes) -> bool:
        """Whether the key is anybody's, for whatever purpose and time."""
        return any(line.blob == blob for line in self.lines)


def same(principal: str) -> str:
    """What two spellings of one person have in common: case tells nobody apart."""
    return principal.casefold()


def parse_allowed_signers(text: str) -> AllowedSigners:
    """The signers of a file; raises :class:`SignersError`."""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if (stripped := _shown(line)) and not stripped.startswith("#"):
                lines.append(_signer(stripped))
        except (ValueError, WireError) as error:
            raise SignersError(f"line {number}: {error}") from error
    people = _people(lines)
    _tell_apart(people)
    for signer in lines:
        owners = {people[same(other.principals[0])] for other in lines if other.blob == signer.blob}
        if len(owners) > 1:
            names = ", ".join(sorted(min(owner) for owner in owners))
            raise SignersError(f"one key is the key of several people: {names}")
    return AllowedSigners(tuple(lines), people)


def _shown(line: str) -> str:
    """The line without what surrounds it. A reviewer has to see all of it, also a key's comment, and as one line."""
    text = line.removesuffix("\r").replace("\t", " ")
    if not is_visible(text):
        hidden = next(character for character in text if not is_visible(character))
        raise ValueError(f"it has an invisible or separating character: {named(hidden)}")
    return line.strip(" \t\r")


def _tell_apart(people: dict[str, frozenset[str]]) -> None:
    for alike in look_alikes(people):
        if len({people[name] for name in alike}) > 1:
            names = ", ".join(map(ascii, alike))
            raise SignersError(f"people whose names look alike: {names}. List the names of one person in one line")


def _signer(line: str) -> AllowedSigner:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError("it is not: principals, options, type of key, key")
    principals = tuple((match["quoted"] if match["quoted"] is not None else match["plain"]).split(","))
    for principal in principals:
        # OpenSSH matches patterns here. An approval has to name one person, so that two people cannot be one.
        if not principal or not is_visible(principal) or set(principal) & set("*?! "):
            raise ValueError(f"{principal!r} is not the name of one person: patterns are not supported")
    options, rest = _options(match["rest"])
    key = _KEY.fullmatch(rest)
    if key is None:
        raise ValueError("there is no type of key and key in base64")
    try:
        blob = base64.b64decode(key[2], validate=True)
    except binascii.Error as error:
        raise ValueError("the key is not base64") from error
    if key_type(blob) != key[1]:
        raise ValueError(f"the key is of type {key_type(blob)}, not {key[1]}")
    namespaces = options.get("namespaces")
    return AllowedSigner(
        principals,
        blob,
        None if namespaces is None else _namespaces(namespaces),
        _time(options.get("valid-after")),
        _time(options.get("valid-before")),
    )


def _options(text: str) -> tuple[dict[str, str], str]:
    """Options by name, and what follows them: they begin where no type of key stands."""
    first = re.split(r"[\s,=]", text, maxsplit=1)[0].lower()
    options: dict[str, str] = {}
    if first not in ("namespaces", "valid-after", "valid-before", "cert-authority"):
        return options, text
    more = True
    while more:
        match = _OPTION.match(text)
        if match is None:
            raise ValueError('options are name="value", with commas between them')
        name, value = match[1].lower(), match[2]
        if name == "cert-authority":
            raise ValueError("cert-authority is not supported: list the key of each person")
        if name not in ("namespaces", "valid-after", "valid-before") or value is None or name in options:
            raise ValueError(f"the option {name!r} is unknown, has no value or stands there twice")
        options[name], more, text = value, match[3] == ",", text[match.end() :]
    return options, text


def _namespaces(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if not all(names) or any(item.startswith("!") for item in names):
        raise ValueError("namespaces are names with commas between them, without negation")
    return names


def _time(text: str | None) -> datetime.datetime | None:
    """``YYYYMMDD[HHMM[SS]][Z]``; without ``Z`` in local time, as ``ssh-keygen`` has it."""
    if text is None:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time: write YYYYMMDDHHMMSSZ")
    clock = (match[2] or "").ljust(6, "0")
    moment = datetime.datetime.strptime(match[1] + clock, "%Y%m%d%H%M%S")
    return moment.replace(tzinfo=datetime.UTC) if match[3] else moment.astimezone()


def _people(lines: Iterable[AllowedSigner]) -> dict[str, frozenset[str]]:
    """Lines that share a principal are of one person."""
    people: dict[str, frozenset[str]] = {}
    for line in lines:
        names = frozenset(map(same, line.principals))
        whole = names.union(*_people_with(names, people))
        people.update(dict.fromkeys(whole, whole))
    return people


def _people_with(names: Iterable[str], people: dict[str, frozenset[str]]) -> Iterator[frozenset[str]]:
    return (people[name] for name in names if name in people)
