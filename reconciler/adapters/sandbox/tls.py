"""Certificates for a sandbox: a CA of its own, the brokers' key, one client's key.

``tls/`` in the sandbox's directory then holds ``ca.pem`` (for clients that read PEM), ``truststore.p12`` (the same
CA, for the others), ``broker.p12``, and ``client.p12`` with the key and certificate of ``CN=reconciler``.
"""

import datetime
import ipaddress
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, pkcs12

from reconciler.adapters.sandbox.layout import CA_NAME, CLIENT_NAME, KEYSTORE_NAME, TRUSTSTORE_NAME
from reconciler.dataclass import dataclass

CLIENT_USER = "reconciler"

_VALIDITY: Final = datetime.timedelta(days=3650)
_NAMES: Final = x509.SubjectAlternativeName(
    [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
)


@dataclass(frozen=True, slots=True)
class _Issuer:
    """The sandbox's CA."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


def make_certificates(directory: Path, password: str) -> None:
    """Fills ``directory`` with the files; ``password`` opens each of the stores, of which each has one key."""
    directory.mkdir(mode=0o700)
    encryption = BestAvailableEncryption(password.encode("ascii"))
    ca = _authority()
    _write(directory / CA_NAME, ca.certificate.public_bytes(Encoding.PEM))
    # Java trusts a certificate in a PKCS #12 file only if the entry says so, by an attribute of Oracle's.
    trusted = [pkcs12.PKCS12Certificate(ca.certificate, b"ca")]
    _write(directory / TRUSTSTORE_NAME, pkcs12.serialize_java_truststore(trusted, encryption))
    for name, common_name, names in ((KEYSTORE_NAME, "localhost", _NAMES), (CLIENT_NAME, CLIENT_USER, None)):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(common_name, key, ca, names)
        chain = [ca.certificate]
        store = pkcs12.serialize_key_and_certificates(name.encode(), key, certificate, chain, encryption)
        _write(directory / name, store)


def _authority() -> _Issuer:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject("reconciler sandbox CA")
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    unsigned = _builder(subject, subject, key).add_extension(constraints, critical=True)
    return _Issuer(key, unsigned.add_extension(usage, critical=True).sign(key, hashes.SHA256()))


def _signed(
    common_name: str, key: ec.EllipticCurvePrivateKey, ca: _Issuer, names: x509.SubjectAlternativeName | None
) -> x509.Certificate:
    unsigned = _builder(_subject(common_name), ca.certificate.subject, key)
    if names is not None:
        unsigned = unsigned.add_extension(names, critical=False)
    return unsigned.sign(ca.key, hashes.SHA256())


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    unsigned = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    dated = unsigned.not_valid_before(now - datetime.timedelta(minutes=5)).not_valid_after(now + _VALIDITY)
    return dated.serial_number(x509.random_serial_number()).add_extension(
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
    )


def _subject(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])


def _write(file: Path, content: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(content)
