"""Certificates that nobody vouches for, for servers of tests that speak HTTPS."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def self_signed(folder: Path, *, days: int = 1, name: str = "127.0.0.1") -> Path:
    """A certificate that signed itself, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "registry")])
    ends = datetime.now(UTC) + timedelta(days=days)
    made = (
        x509.CertificateBuilder()
        .subject_name(names)
        .issuer_name(names)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(ends - timedelta(days=9))
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(name))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return path


def serving(pair: Path) -> ssl.SSLContext:
    """What a server shows it with."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair)
    return context
