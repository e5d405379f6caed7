"""Java's stores, as its own keytool writes them: JKS, PKCS12 and PKCS12 of old."""

import datetime
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from reconciler.kafka.errors import SettingsError
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.kafka.stores import JavaStore, StoreError, read_java_store
from reconciler.parts.local.sandbox.launch import find_java

FORMS = {
    "jks": ["-storetype", "JKS"],
    "pkcs12": ["-storetype", "PKCS12"],
    "old pkcs12": ["-storetype", "PKCS12", "-J-Dkeystore.pkcs12.legacy"],
}
#: One compiler and one thread of the collector: half the processor time of a program that runs for half a second.
JAVA = ["-J-Dfile.encoding=UTF-8", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-XX:-UsePerfData"]
PASSWORD = "geheim-1"
Keytool = Callable[..., bytes]
_QUICK = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")


@pytest.fixture(scope="module")
def keytool() -> Keytool:
    def run(*words: str | Path) -> bytes:
        program = find_java().executable.with_name("keytool")
        return subprocess.run([program, *words, *JAVA, *_QUICK], check=True, capture_output=True).stdout

    return run


def pair(keytool: Keytool, store: Path, alias: str, form: list[str], *more: str) -> None:
    words = ["-genkeypair", "-alias", alias, "-dname", f"CN={alias}", "-keyalg", "EC", "-keystore", store]
    password = () if "-storepass" in more else ("-storepass:file", password_file(store.parent))
    keytool(*words, *password, *form, *more)


def password_file(directory: Path) -> Path:
    file = directory / "password"
    file.write_text(PASSWORD, encoding="utf-8")
    return file


def subjects(text: str) -> list[str]:
    return [one.subject.rfc4514_string() for one in x509.load_pem_x509_certificates(text.encode())] if text else []


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The certificates of two others."""
    directory = tmp_path_factory.mktemp("others")
    found = []
    for alias in ("one", "two"):
        key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name.from_rfc4514_string(f"CN={alias}")
        named = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        now = datetime.datetime.now(datetime.UTC)
        dated = named.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=90))
        certificate = directory / f"{alias}.pem"
        certificate.write_bytes(dated.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
        found.append(certificate)
    return found


@pytest.fixture(scope="module", params=FORMS)
def stores(
    request: pytest.FixtureRequest,
    keytool: Keytool,
    trusted: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """``key.store`` with one key, ``trust.store`` with the certificates of two others, in the form's directory."""
    directory, form = tmp_path_factory.mktemp("stores"), FORMS[request.param]
    pair(keytool, directory / "key.store", "client", form)
    for certificate in trusted:
        words = ["-storepass:file", password_file(directory), "-alias", certificate.stem, "-file", certificate]
        keytool("-importcert", "-noprompt", "-keystore", directory / "trust.store", *words, *form)
    return directory


def read(stores: Path, name: str, password: str | None = PASSWORD) -> JavaStore:
    return read_java_store((stores / f"{name}.store").read_bytes(), password)


def test_the_certificates_that_java_trusts(stores: Path) -> None:
    found = read(stores, "trust")
    assert sorted(subjects(found.certificates)) == ["CN=one", "CN=two"]
    assert (found.chain, found.key) == ("", "")


def test_the_key_and_its_certificate_belong_together(stores: Path) -> None:
    found = read(stores, "key")
    [certificate] = x509.load_pem_x509_certificates(found.chain.encode())
    key = load_pem_private_key(found.key.encode(), None)
    assert key.public_key() == certificate.public_key()
    assert found.certificates == ""


def test_a_wrong_password_is_said_and_not_shown(stores: Path) -> None:
    for name in ("key", "trust"):
        with pytest.raises(StoreError, match="password is wrong") as refused:
            read(stores, name, "falsch-17")
        assert "falsch-17" not in str(refused.value)


def test_a_store_that_is_cut_off_anywhere_is_refused(stores: Path) -> None:
    raw = (stores / "key.store").read_bytes()
    for end in range(4, len(raw), 7):
        for password in (None, PASSWORD):
            with pytest.raises(StoreError):
                read_java_store(raw[:end], password)


def test_jks_needs_no_password_to_trust(keytool: Keytool, tmp_path: Path, stores: Path) -> None:
    raw = (stores / "trust.store").read_bytes()
    if raw.startswith(b"\xfe\xed"):
        assert sorted(subjects(read_java_store(raw, None).certificates)) == ["CN=one", "CN=two"]


def test_a_key_of_jks_has_a_password_of_its_own(keytool: Keytool, tmp_path: Path) -> None:
    store = tmp_path / "own.jks"
    pair(keytool, store, "client", FORMS["jks"], "-keypass", "another-1")
    raw = store.read_bytes()
    assert read_java_store(raw, PASSWORD, "another-1").key
    with pytest.raises(StoreError, match="password of its private key is wrong"):
        read_java_store(raw, PASSWORD)


def test_a_password_of_jks_has_any_letters(keytool: Keytool, tmp_path: Path) -> None:
    store = tmp_path / "umlaut.jks"
    pair(keytool, store, "client", FORMS["jks"], "-storepass", "schlüssel-1", "-keypass", "schlüssel-1")
    assert read_java_store(store.read_bytes(), "schlüssel-1").key


def test_of_two_keys_none_is_chosen(keytool: Keytool, tmp_path: Path) -> None:
    store = tmp_path / "two.jks"
    for alias in ("one", "two"):
        pair(keytool, store, alias, FORMS["jks"])
    with pytest.raises(StoreError, match="several private keys"):
        read_java_store(store.read_bytes(), PASSWORD)


@pytest.mark.parametrize("declared", [None, "JKS", "PKCS12", "jks"])
def test_the_settings_are_pem_whatever_type_is_declared(stores: Path, declared: str | None) -> None:
    """Java reads either form under either name too (``keystore.type.compat``)."""
    client = {"security.protocol": "SSL"}
    for what in ("key", "trust"):
        client[f"ssl.{what}store.location"] = str(stores / f"{what}.store")
        client[f"ssl.{what}store.password"] = f"${{dir:{stores}:password}}"
        if declared is not None:
            client[f"ssl.{what}store.type"] = declared
    made = client_settings("b:9092", client, SecretSource(secrets_dirs=(stores,)))
    assert sorted(subjects(made.config["ssl.ca.pem"])) == ["CN=one", "CN=two"]
    assert subjects(made.config["ssl.certificate.pem"]) == ["CN=client"]
    assert made.config["ssl.key.pem"] in made.secrets
    assert not [name for name in made.config if "store" in name]


@pytest.mark.parametrize(("what", "other"), [("key", "trust"), ("trust", "key")])
def test_a_key_store_and_a_trust_store_are_told_apart(stores: Path, what: str, other: str) -> None:
    client = {
        "security.protocol": "SSL",
        f"ssl.{what}store.location": str(stores / f"{other}.store"),
        f"ssl.{what}store.password": f"${{dir:{stores}:password}}",
    }
    with pytest.raises(SettingsError) as refused:
        client_settings("b:9092", client, SecretSource(secrets_dirs=(stores,)))
    [problem] = refused.value.problems
    assert problem.advice == f"Is it the {other} store?"
