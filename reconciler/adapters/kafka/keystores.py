"""Java's key stores and trust stores as librdkafka's certificate settings, or the command that converts them."""

import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from reconciler.adapters.kafka.setting_problem import SettingProblem

_JKS_MAGIC: Final = b"\xfe\xed\xfe\xed"
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


def translate_keystores(settings: Mapping[str, str]) -> tuple[dict[str, str], list[SettingProblem]]:
    """``ssl.keystore.*`` and ``ssl.truststore.*`` in librdkafka's names, and what cannot be translated."""
    translated: dict[str, str] = {}
    problems = list(_told_twice(settings))
    for item in (*_key_store(settings), *_trust_store(settings), *_passwords(settings)):
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


def _key_store(settings: Mapping[str, str]) -> Iterator[tuple[str, str] | SettingProblem]:
    if "ssl.keystore.key" in settings:
        yield "ssl.key.pem", settings["ssl.keystore.key"]
    if "ssl.keystore.certificate.chain" in settings:
        yield "ssl.certificate.pem", settings["ssl.keystore.certificate.chain"]
    location = settings.get("ssl.keystore.location")
    if location is None:
        return
    match _store_type(settings.get("ssl.keystore.type"), location):
        case "PEM":
            yield "ssl.certificate.location", location
            yield "ssl.key.location", location
        case "PKCS12":
            yield "ssl.keystore.location", location
            if "ssl.keystore.password" in settings:
                yield "ssl.keystore.password", settings["ssl.keystore.password"]
        case kind:
            yield SettingProblem(
                "ssl.keystore.location", _unreadable("key", kind), f"Convert it: {_to_pkcs12(location)}"
            )


def _trust_store(settings: Mapping[str, str]) -> Iterator[tuple[str, str] | SettingProblem]:
    if "ssl.truststore.certificates" in settings:
        yield "ssl.ca.pem", settings["ssl.truststore.certificates"]
    location = settings.get("ssl.truststore.location")
    if location is None:
        return
    kind = _store_type(settings.get("ssl.truststore.type"), location)
    if kind == "PEM":
        yield "ssl.ca.location", location
    else:
        advice = f"Convert it: {_to_pem(location)}; then set ssl.truststore.type to PEM and name the new file."
        yield SettingProblem("ssl.truststore.location", _unreadable("trust", kind), advice)


def _store_type(declared: str | None, location: str) -> str:
    """The declared type, or what the file is: Java, too, reads PKCS12 where JKS is declared by default."""
    if declared is not None:
        return declared.upper()
    try:
        with Path(location).open("rb") as opened:
            start = opened.read(4)
    except OSError:
        start = b""
    suffix = Path(location).suffix.lower()
    if start == _JKS_MAGIC or (not start and suffix in _JKS_SUFFIXES):
        return "JKS"
    if start[:1] == b"\x30" or (not start and suffix in _PKCS12_SUFFIXES):
        return "PKCS12"
    return "PEM"


def _unreadable(what: str, kind: str) -> str:
    return f"the Kafka client cannot read a {what} store of type {kind}"


def _to_pkcs12(location: str) -> str:
    target = str(Path(location).with_suffix(".p12"))
    return (
        f"keytool -importkeystore -srckeystore {shlex.quote(location)} -destkeystore {shlex.quote(target)} "
        "-deststoretype PKCS12; then set ssl.keystore.type to PKCS12 and name the new file"
    )


def _to_pem(location: str) -> str:
    return (
        f"keytool -list -rfc -keystore {shlex.quote(location)} > {shlex.quote(str(Path(location).with_suffix('.pem')))}"
    )
