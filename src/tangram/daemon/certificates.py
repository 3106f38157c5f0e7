"""Certificates a daemon serves with: made here, or read from somebody else and checked before they are used.

An authority signs exactly one certificate and its key is thrown away at once: what is never kept cannot be stolen, and
whoever reads the serving key can play our service but sign nothing new. Renewal makes both anew.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import ssl
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BACKDATED: Final = dt.timedelta(hours=1)
"""Clocks of other machines are behind ours at times, and a certificate from the future is refused."""
_PEM = serialization.Encoding.PEM
_PUBLIC = (_PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class CertificateError(ValueError):
    """What was given is no usable certificate and key. Its text is one clause saying why."""


class Pair(msgspec.Struct, frozen=True):
    """A certificate with what leads to its authority, and its key, both PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "Pair(…)"


class Issued(msgspec.Struct, frozen=True):
    """A pair and the one authority that vouches for it."""

    authority: bytes
    pair: Pair


def issue(
    names: Sequence[str], label: str, *, now: dt.datetime, life: dt.timedelta, for_client: bool = False
) -> Issued:
    """A new authority, and a certificate of it for a server of these names (or addresses), or for a client."""
    signing, serving = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    serial, span = x509.random_serial_number(), (now - BACKDATED, now + life)
    # Each has a name of its own, so that several may stand in one bundle and none is taken for another.
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{label} {serial:x}"[:64])])
    authority = (
        _unsigned(issuer, issuer, signing.public_key(), serial, span)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(signing.public_key()), critical=False)
        .sign(signing, hashes.SHA256())
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    purpose = ExtendedKeyUsageOID.CLIENT_AUTH if for_client else ExtendedKeyUsageOID.SERVER_AUTH
    certificate = (
        _unsigned(subject, issuer, serving.public_key(), x509.random_serial_number(), span)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False
        )
        .sign(signing, hashes.SHA256())
    )
    key = serving.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Issued(authority.public_bytes(_PEM), Pair(certificate.public_bytes(_PEM), key))


def service_names(name: str, namespace: str) -> tuple[str, ...]:
    """What a Service is called by others; the API server uses the first."""
    full = f"{name}.{namespace}.svc"
    return full, f"{name}.{namespace}", name, f"{full}.cluster.local"


def check_pair(pair: Pair, now: dt.datetime) -> x509.Certificate:
    """The leaf of a pair that belongs together and is valid now. Raises `CertificateError`."""
    chain = certificates_in(pair.certificate)
    if not chain:
        raise CertificateError("the certificate's file holds no PEM certificate")
    leaf = chain[0]
    try:
        key = serialization.load_pem_private_key(pair.key, password=None)
        same = leaf.public_key().public_bytes(*_PUBLIC) == key.public_key().public_bytes(*_PUBLIC)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CertificateError(f"the key cannot be read ({error!s:.100})") from None
    if not same:
        raise CertificateError("the key is not that of the certificate")
    if leaf.not_valid_after_utc <= now:
        raise CertificateError(f"the certificate expired at {leaf.not_valid_after_utc:%Y-%m-%d %H:%M} UTC")
    if leaf.not_valid_before_utc > now:
        raise CertificateError(
            f"the certificate begins at {leaf.not_valid_before_utc:%Y-%m-%d %H:%M} UTC only"
        )
    return leaf


def certificates_in(pem: bytes) -> list[x509.Certificate]:
    """All certificates of a PEM text; none when it has none, or something that is none. Never raises."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        return []


def bundle(certificates: Iterable[x509.Certificate]) -> bytes:
    """These certificates as one PEM text, each once."""
    return b"".join(dict.fromkeys(one.public_bytes(_PEM) for one in certificates))


def vouches_for(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    """Whether the one has signed the other."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def names_in(certificate: x509.Certificate) -> frozenset[str]:
    """The names and addresses a certificate is for."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return frozenset()
    return frozenset(names.get_values_for_type(x509.DNSName)) | {
        str(address) for address in names.get_values_for_type(x509.IPAddress)
    }


def server_context(pair: Pair, client_authority: bytes = b"") -> ssl.SSLContext:
    """TLS 1.2 or newer with this pair; asks clients for a certificate of the authority, if there is one, and lets
    them in without. Raises `CertificateError`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if client_authority:
            context.load_verify_locations(cadata=client_authority.decode("ascii"))
            context.verify_mode = ssl.CERT_OPTIONAL
        # Python reads a pair from files only. This one is memory, which nobody else can open.
        descriptor = os.memfd_create("pair")
        with os.fdopen(descriptor, "wb") as memory:
            memory.write(pair.certificate + b"\n" + pair.key)
            memory.flush()
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    except (ssl.SSLError, UnicodeDecodeError, OSError) as error:
        raise CertificateError(f"TLS does not take it ({error!s:.100})") from None
    return context


def _unsigned(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    serial: int,
    span: tuple[dt.datetime, dt.datetime],
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(serial)
        .not_valid_before(span[0])
        .not_valid_after(span[1])
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
