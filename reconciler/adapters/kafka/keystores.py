"""Java's key stores and trust stores as librdkafka's certificate settings."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from reconciler.adapters.kafka.java_stores import JKS_MAGIC, StoreError, read_java_store
from reconciler.adapters.kafka.setting_problem import SettingProblem

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
    problems = list(_told_twice(settings))
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


def _told_twice(settings: Mapping[str, str]) -> Iterator[SettingProblem]:
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
