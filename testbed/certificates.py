"""The certificates of one cluster: everything it needs to speak TLS, made in milliseconds and thrown away with it."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key on disk."""

    certificate: Path
    key: Path


class Authority:
    """One certificate authority that writes what it signs into a folder."""

    def __init__(self, folder: Path, name: str, life: dt.timedelta = LIFETIME) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._life = life
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        builder = _unsigned(self._name, self._name, self._key.public_key(), life).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self._own = builder.sign(self._key, hashes.SHA256())
        self.certificate = folder / f"{name}.crt"
        self.certificate.write_bytes(self._own.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, file: str, common_name: str, *, groups: Sequence[str] = (), addresses: Sequence[str] = ()
    ) -> Pair:
        """A certificate for both directions: a user with groups, a server at addresses (numbers or names), or both."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _unsigned(_named(common_name, groups), self._name, key.public_key(), self._life)
        usage = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        if addresses:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_alternative(one) for one in addresses]), critical=False
            )
        signed = builder.sign(self._key, hashes.SHA256())
        pair = Pair(self._folder / f"{file}.crt", self._folder / f"{file}.key")
        pair.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        write_key(pair.key, key)
        return pair


def signing_pair(folder: Path, name: str) -> Pair:
    """A bare key and its public half, for service-account tokens."""
    key = ec.generate_private_key(ec.SECP256R1())
    pair = Pair(folder / f"{name}.pub", folder / f"{name}.key")
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    pair.certificate.write_bytes(public)
    write_key(pair.key, key)
    return pair


def is_good(certificate: Path, left: dt.timedelta) -> bool:
    """Whether there is a certificate that will be valid for so long."""
    try:
        found = x509.load_pem_x509_certificate(certificate.read_bytes())
    except (OSError, ValueError):
        return False
    return found.not_valid_after_utc > dt.datetime.now(dt.UTC) + left


def write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    """A key only its owner may read."""
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def _named(common_name: str, groups: Sequence[str] = ()) -> x509.Name:
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative(address: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)


def _unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, life: dt.timedelta
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + life)
    )
