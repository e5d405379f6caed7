"""Key stores and trust stores of Java, and their certificates as PEM.

Java's key stores and trust stores, JKS and PKCS12, as PEM texts.

Sources: ``sun.security.provider.JavaKeyStore`` (the format JKS) and ``KeyProtector`` (how it encrypts a private key);
PKCS12 is read by cryptography. JKS needs code of its own: no library for it is kept up (docs/decisions/libraries.md).
"""

import base64
import hashlib
import hmac
import struct
import textwrap
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from reconciler.kafka.errors import SettingProblem

JKS_MAGIC: Final = b"\xfe\xed\xfe\xed"
_KEY, _TRUSTED = 1, 2
#: What ``JavaKeyStore.getPreKeyedHash`` appends to the password.
_WHITENER: Final = b"Mighty Aphrodite"
_PROTECTOR: Final = bytes.fromhex("060a2b060104012a02110101")
_SHA1_BYTES: Final = 20


class StoreError(Exception):
    """A store that cannot be read; the message contains no secret."""


class JavaStore(NamedTuple):
    """``certificates`` are the trusted ones as PEM; ``chain`` and ``key`` those of the store's only private key."""

    certificates: str
    chain: str = ""
    key: str = ""


def read_java_store(raw: bytes, password: str | None, key_password: str | None = None) -> JavaStore:
    """What a store holds. Without a password JKS is read unverified, as Java does; raises :class:`StoreError`.

    ``key_password`` is that of the private key, the store's if it is ``None``.
    """
    if raw.startswith(JKS_MAGIC):
        return _Jks(raw, password).read(password if key_password is None else key_password)
    return _read_pkcs12(raw, password)


def _read_pkcs12(raw: bytes, password: str | None) -> JavaStore:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - for stores alone
    from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415

    try:
        store = pkcs12.load_pkcs12(raw, None if password is None else password.encode())
    except ValueError as error:
        raise StoreError("the password is wrong, or it is no PKCS12 store") from error
    der = serialization.Encoding.DER
    others = "".join(_pem_text(item.certificate.public_bytes(der)) for item in store.additional_certs)
    if store.key is None:
        return JavaStore(others)
    own = "" if store.cert is None else _pem_text(store.cert.certificate.public_bytes(der))
    key = store.key.private_bytes(der, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return JavaStore(others, own + others, _pem_text(key, "PRIVATE KEY"))


class _Jks:
    """Reads the entries of a JKS file in order."""

    def __init__(self, raw: bytes, password: str | None) -> None:
        self._raw = raw
        self._position = len(JKS_MAGIC)
        body = raw[:-_SHA1_BYTES]
        if password is not None:
            digest = hashlib.sha1(password.encode("utf-16-be") + _WHITENER + body, usedforsecurity=False).digest()
            if not hmac.compare_digest(digest, raw[-_SHA1_BYTES:]):
                raise StoreError("the password is wrong, or the store was altered")

    def read(self, key_password: str | None) -> JavaStore:
        version, count = self._number(), self._number()
        if version not in (1, 2):
            raise StoreError(f"there is no version {version} of JKS")
        trusted: list[bytes] = []
        keys: list[tuple[bytes, list[bytes]]] = []
        for _ in range(count):
            tag = self._number()
            self._text()  # the alias
            self._take(8)  # the time of its creation
            if tag == _TRUSTED:
                trusted.append(self._certificate(version))
            elif tag == _KEY:
                protected = self._take(self._number())
                keys.append((protected, [self._certificate(version) for _ in range(self._number())]))
            else:
                raise StoreError("it holds an entry that is neither a certificate nor a private key")
        certificates = "".join(map(_pem_text, trusted))
        if not keys:
            return JavaStore(certificates)
        if len(keys) > 1:
            raise StoreError("it holds several private keys: keep one, or write it as PEM")
        [(protected, chain)] = keys
        if not key_password:
            raise StoreError("its private key needs a password")
        key = _unprotected(protected, key_password)
        return JavaStore(certificates, "".join(map(_pem_text, chain)), _pem_text(key, "PRIVATE KEY"))

    def _certificate(self, version: int) -> bytes:
        if version == 2:
            self._text()  # the type: X.509
        return self._take(self._number())

    def _text(self) -> bytes:
        return self._take(struct.unpack(">H", self._take(2))[0])

    def _number(self) -> int:
        number: int = struct.unpack(">I", self._take(4))[0]
        return number

    def _take(self, count: int) -> bytes:
        end = self._position + count
        if end > len(self._raw) - _SHA1_BYTES:
            raise StoreError("it is cut off, or no JKS store")
        data, self._position = self._raw[self._position : end], end
        return data


def _unprotected(protected: bytes, password: str) -> bytes:
    """A private key (PKCS #8) that ``KeyProtector`` encrypted: salt, key, digest, in an ``EncryptedPrivateKeyInfo``."""
    outer, _ = _element(protected, 0)
    algorithm, end = _element(outer, 0)
    data, _ = _element(outer, end)
    if not algorithm.startswith(_PROTECTOR):
        raise StoreError("its private key is encrypted in a way that only Java knows")
    salt, encrypted, check = data[:_SHA1_BYTES], data[_SHA1_BYTES:-_SHA1_BYTES], data[-_SHA1_BYTES:]
    secret, digest, stream = password.encode("utf-16-be"), salt, b""
    while len(stream) < len(encrypted):
        digest = hashlib.sha1(secret + digest, usedforsecurity=False).digest()
        stream += digest
    key = bytes(item ^ other for item, other in zip(encrypted, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(secret + key, usedforsecurity=False).digest(), check):
        raise StoreError("the password of its private key is wrong")
    return key


def _element(der: bytes, position: int) -> tuple[bytes, int]:
    """The content of the DER element that begins there, and where it ends."""
    try:
        length, start = der[position + 1], position + 2
        if length & 0x80:
            size = length & 0x7F
            length, start = int.from_bytes(der[start : start + size], "big"), start + size
    except IndexError:
        raise StoreError("its private key is cut off") from None
    return der[start : start + length], start + length


def _pem_text(der: bytes, label: str = "CERTIFICATE") -> str:
    lines = textwrap.wrap(base64.b64encode(der).decode("ascii"), 64)
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])


# Java's key stores and trust stores as librdkafka's certificate settings.

_JKS_SUFFIXES: Final = frozenset({".jks", ".keystore", ".truststore", ".ks"})
_PKCS12_SUFFIXES: Final = frozenset({".p12", ".pfx", ".pkcs12"})
_CERTIFICATES: Final = (
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.location",
)
_KEYS: Final = ("ssl.key.location", "ssl.key.pem", "ssl.keystore.key", "ssl.keystore.location")
#: Settings with the same meaning; if several are set, the client silently uses one of them.
_ONE_OF: Final = (
    ("ssl.ca.location", "ssl.truststore.location"),
    ("ssl.ca.pem", "ssl.truststore.certificates"),
    _CERTIFICATES,
    _KEYS,
)
_LARGEST: Final = 16 * 1024 * 1024


def translate_keystores(settings: Mapping[str, str], *, read: bool) -> tuple[dict[str, str], list[SettingProblem]]:
    """``ssl.keystore.*`` and ``ssl.truststore.*`` in librdkafka's names, and what cannot be translated.

    JKS and PKCS12 are read here, because the two client libraries read PEM alike, and Java's stores differently or not
    at all. Without ``read`` no file is opened: their settings are judged, not their content.
    """
    translated: dict[str, str] = {}
    problems = list(_stated_twice(settings))
    for item in (*_key_store(settings, read=read), *_trust_store(settings, read=read), *_passwords(settings)):
        if isinstance(item, SettingProblem):
            problems.append(item)
        else:
            translated[item[0]] = item[1]
    return translated, problems


def superseded_keystores(own: Collection[str]) -> frozenset[str]:
    """The certificate and key settings that settings named ``own`` override, in every form."""
    gone = {key for places in (_CERTIFICATES, _KEYS) if not set(places).isdisjoint(own) for key in places}
    if "ssl.keystore.location" in gone and "ssl.keystore.location" not in own:
        gone |= {"ssl.keystore.password", "ssl.keystore.type"}
    return frozenset(gone)


def _stated_twice(settings: Mapping[str, str]) -> Iterator[SettingProblem]:
    for places in _ONE_OF:
        given = [key for key in places if key in settings]
        if len(given) > 1:
            yield SettingProblem(given[0], f"it is set here and in {' and '.join(given[1:])}", "Keep one of them.")


def _passwords(settings: Mapping[str, str]) -> Iterator[SettingProblem]:
    """Passwords of stores that have none; Java refuses them too (``DefaultSslEngineFactory``)."""
    for what in ("key", "trust"):
        key, location = f"ssl.{what}store.password", settings.get(f"ssl.{what}store.location")
        kind = "PEM" if location is None else _store_type(settings.get(f"ssl.{what}store.type"), location)
        if key in settings and kind == "PEM":
            advice = "The key's own password is ssl.key.password." if what == "key" else "Remove it."
            yield SettingProblem(key, f"it has no effect: there is no {what} store, or its type is PEM", advice)


def _key_store(settings: Mapping[str, str], *, read: bool) -> Iterator[tuple[str, str] | SettingProblem]:
    if "ssl.keystore.key" in settings:
        yield "ssl.key.pem", settings["ssl.keystore.key"]
    if "ssl.keystore.certificate.chain" in settings:
        yield "ssl.certificate.pem", settings["ssl.keystore.certificate.chain"]
    location = settings.get("ssl.keystore.location")
    if location is None:
        return
    if _store_type(settings.get("ssl.keystore.type"), location) == "PEM":
        yield "ssl.certificate.location", location
        yield "ssl.key.location", location
        return
    store = _opened("key", settings, read=read)
    if isinstance(store, SettingProblem):
        yield store
    elif store is not None and not store[1]:
        yield SettingProblem("ssl.keystore.location", "it holds no private key", "Is it the trust store?")
    elif store is not None:
        yield "ssl.certificate.pem", store[0]
        yield "ssl.key.pem", store[1]


def _trust_store(settings: Mapping[str, str], *, read: bool) -> Iterator[tuple[str, str] | SettingProblem]:
    if "ssl.truststore.certificates" in settings:
        yield "ssl.ca.pem", settings["ssl.truststore.certificates"]
    location = settings.get("ssl.truststore.location")
    if location is None:
        return
    if _store_type(settings.get("ssl.truststore.type"), location) == "PEM":
        yield "ssl.ca.location", location
        return
    store = _opened("trust", settings, read=read)
    if isinstance(store, SettingProblem):
        yield store
    elif store is not None and not store[0]:
        yield SettingProblem("ssl.truststore.location", "it holds no trusted certificate", "Is it the key store?")
    elif store is not None:
        yield "ssl.ca.pem", store[0]


def _opened(what: str, settings: Mapping[str, str], *, read: bool) -> tuple[str, str] | SettingProblem | None:
    """Certificates and key of a store: the chain of a key store, what a trust store trusts."""
    key = f"ssl.{what}store.location"
    location = settings[key]
    kind = _store_type(settings.get(f"ssl.{what}store.type"), location)
    if kind not in ("JKS", "PKCS12"):
        return SettingProblem(key, f"a {what} store of type {kind} cannot be read", "Use JKS, PKCS12 or PEM.")
    if not read:
        return None
    password = settings.get(f"ssl.{what}store.password")
    try:
        with Path(location).open("rb") as opened:
            store = read_java_store(opened.read(_LARGEST), password, settings.get("ssl.key.password"))
    except OSError as error:
        return SettingProblem(key, f"{location} cannot be read: {error.strerror}")
    except StoreError as error:
        return SettingProblem(key, f"{location} cannot be read: {error}")
    return (store.chain, store.key) if what == "key" else (store.certificates, "")


def _store_type(declared: str | None, location: str) -> str:
    """What the file is, else the declared type: Java, too, reads PKCS12 where JKS is declared, and the other way."""
    named = declared.upper() if declared is not None else None
    try:
        with Path(location).open("rb") as opened:
            start = opened.read(4)
    except OSError:
        start = b""
    suffix = Path(location).suffix.lower()
    if named not in (None, "JKS", "PKCS12"):
        return str(named)
    if start == JKS_MAGIC or (not start and named is None and suffix in _JKS_SUFFIXES):
        return "JKS"
    if start[:1] == b"\x30" or (not start and named is None and suffix in _PKCS12_SUFFIXES):
        return "PKCS12"
    return named or "PEM"
