"""Certificates for a sandbox, made with Java's keytool: a CA of its own, the brokers' key, one client's key.

``tls/`` in the sandbox's directory then holds ``ca.pem`` (for clients that read PEM), ``truststore.p12`` (the same
CA, for the others), ``broker.p12``, and ``client.p12`` with the key and certificate of ``CN=reconciler``.
"""

import subprocess
from pathlib import Path

from reconciler.adapters.sandbox.error import SandboxError
from reconciler.adapters.sandbox.java import Java

CA_NAME = "ca.pem"
TRUSTSTORE_NAME = "truststore.p12"
KEYSTORE_NAME = "broker.p12"
CLIENT_NAME = "client.p12"
CLIENT_USER = "reconciler"

_KEY = ("-keyalg", "EC", "-groupname", "secp256r1", "-validity", "3650")
_KEYTOOL_SECONDS = 60


def make_certificates(java: Java, directory: Path, password: str) -> None:
    """Fills ``directory`` with the five files; ``password`` opens each of the stores, of which each has one key."""
    directory.mkdir(mode=0o700)
    secret = directory / "password"
    secret.write_text(password, encoding="ascii")
    secret.chmod(0o600)
    work = directory / "work.p12"
    opened = ("-keystore", str(work), "-storepass:file", str(secret), "-storetype", "PKCS12")
    ca = ("-alias", "ca", "-dname", "CN=reconciler sandbox CA", "-ext", "bc:critical=ca:true")
    _keytool(java, "-genkeypair", *opened, *ca, "-ext", "ku:critical=keyCertSign,cRLSign", *_KEY)
    signed = ("-signer", "ca", *_KEY)
    _keytool(java, "-genkeypair", *opened, *signed, "-alias", "broker", "-dname", "CN=localhost", *_names())
    _keytool(java, "-genkeypair", *opened, *signed, "-alias", "client", "-dname", f"CN={CLIENT_USER}")
    _keytool(java, "-exportcert", *opened, "-alias", "ca", "-rfc", "-file", str(directory / CA_NAME))
    for alias, name in (("broker", KEYSTORE_NAME), ("client", CLIENT_NAME)):
        _copy_key(java, work, secret, alias, directory / name)
    _trust(java, directory / CA_NAME, secret, directory / TRUSTSTORE_NAME)
    work.unlink()


def _names() -> tuple[str, ...]:
    return "-ext", "san=dns:localhost,ip:127.0.0.1"


def _copy_key(java: Java, source: Path, secret: Path, alias: str, target: Path) -> None:
    came_from = ("-srckeystore", str(source), "-srcstorepass:file", str(secret), "-srcalias", alias)
    goes_to = ("-destkeystore", str(target), "-deststorepass:file", str(secret), "-deststoretype", "PKCS12")
    _keytool(java, "-importkeystore", *came_from, *goes_to)


def _trust(java: Java, certificate: Path, secret: Path, target: Path) -> None:
    opened = ("-keystore", str(target), "-storepass:file", str(secret), "-storetype", "PKCS12")
    _keytool(java, "-importcert", "-noprompt", *opened, "-alias", "ca", "-file", str(certificate))


def _keytool(java: Java, *arguments: str) -> None:
    # keytool is a small Java program: most of its time is the start, which these flags shorten.
    flags = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-XX:-UsePerfData")
    command = [str(java.keytool), *arguments, *flags]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_KEYTOOL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{java.keytool} cannot be run: {error}.", "TLS needs a Java with keytool.") from error
    if run.returncode != 0:
        raise SandboxError(f"keytool {arguments[0]} failed: {(run.stdout + run.stderr).strip()[-300:]}")
