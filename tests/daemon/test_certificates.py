"""Certificates that others accept, and pairs that are refused before anybody is shown them."""

import datetime as dt
import ipaddress
import os

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509 import verification

from tangram.daemon.certificates import (
    CertificateError,
    Pair,
    bundle,
    certificates_in,
    check_pair,
    issue,
    names_in,
    server_context,
    service_names,
    vouches_for,
)

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
LIFE = dt.timedelta(days=90)
NAMES = (*service_names("scheduler", "gpu"), "10.0.0.7")


def made(now: dt.datetime = NOW) -> tuple[bytes, Pair]:
    new = issue(NAMES, "test", now=now, life=LIFE)
    return new.authority, new.pair


def accepts(trusted: bytes, shown: bytes, subject: verification.Subject, at: dt.datetime) -> bool:
    """A verifier that knows nothing of ours."""
    store = verification.Store(certificates_in(trusted))
    verifier = verification.PolicyBuilder().store(store).time(at).build_server_verifier(subject)
    leaf, *rest = certificates_in(shown)
    try:
        verifier.verify(leaf, rest)
    except verification.VerificationError:
        return False
    return True


@pytest.mark.parametrize(
    "subject",
    [
        x509.DNSName("scheduler.gpu.svc"),
        x509.DNSName("scheduler.gpu.svc.cluster.local"),
        x509.DNSName("scheduler.gpu"),
        x509.IPAddress(ipaddress.ip_address("10.0.0.7")),
    ],
    ids=str,
)
def test_what_is_issued_is_accepted_by_whoever_trusts_the_authority(subject: verification.Subject) -> None:
    authority, pair = made()
    stranger, _other = made()
    assert accepts(authority, pair.certificate, subject, NOW)
    assert accepts(authority + stranger, pair.certificate, subject, NOW), "also among others"
    assert not accepts(stranger, pair.certificate, subject, NOW)
    assert not accepts(authority, pair.certificate, x509.DNSName("elsewhere.gpu.svc"), NOW)


def test_it_is_valid_for_clocks_that_are_behind_and_until_its_end() -> None:
    authority, pair = made()
    subject = x509.DNSName(NAMES[0])
    assert accepts(authority, pair.certificate, subject, NOW - dt.timedelta(minutes=59))
    assert accepts(authority, pair.certificate, subject, NOW + LIFE - dt.timedelta(seconds=1))
    assert not accepts(authority, pair.certificate, subject, NOW + LIFE + dt.timedelta(seconds=1))


def test_the_names_of_a_certificate_are_those_it_was_asked_for() -> None:
    assert names_in(certificates_in(made()[1].certificate)[0]) == set(NAMES)


def test_only_its_own_authority_vouches_for_a_certificate() -> None:
    (authority,), (stranger,) = certificates_in(made()[0]), certificates_in(made()[0])
    mine, pair = made()
    (leaf,) = certificates_in(pair.certificate)
    assert vouches_for(certificates_in(mine)[0], leaf)
    assert not vouches_for(authority, leaf)
    assert not vouches_for(stranger, leaf)


def test_a_pair_never_shows_its_key() -> None:
    assert "PRIVATE" not in repr(made()[1])


def rsa_key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"x"),
    )


FINE, OTHER = made()[1], made()[1]


@pytest.mark.parametrize(
    ("pair", "at", "reason"),
    [
        pytest.param(Pair(b"", FINE.key), NOW, "holds no PEM certificate", id="nothing"),
        pytest.param(
            Pair(FINE.certificate[:200], FINE.key), NOW, "holds no PEM certificate", id="half written"
        ),
        pytest.param(Pair(FINE.key, FINE.key), NOW, "holds no PEM certificate", id="the key twice"),
        pytest.param(Pair(FINE.certificate, b"no key"), NOW, "the key cannot be read", id="no key"),
        pytest.param(Pair(FINE.certificate, rsa_key()), NOW, "the key cannot be read", id="a locked key"),
        pytest.param(Pair(FINE.certificate, OTHER.key), NOW, "not that of the certificate", id="another key"),
        pytest.param(FINE, NOW + LIFE, "expired at 2030-04-01 00:00 UTC", id="expired"),
        pytest.param(FINE, NOW - LIFE, "begins at 2029-12-31 23:00 UTC only", id="too early"),
        pytest.param(Pair(os.urandom(100), os.urandom(100)), NOW, "holds no PEM", id="noise"),
    ],
)
def test_a_pair_that_cannot_be_served_with_is_refused_and_why(
    pair: Pair, at: dt.datetime, reason: str
) -> None:
    with pytest.raises(CertificateError, match=reason):
        check_pair(pair, at)


def test_a_bundle_holds_each_certificate_once() -> None:
    first, second = certificates_in(made()[0])[0], certificates_in(made()[0])[0]
    assert certificates_in(bundle([first, second, first])) == [first, second]
    assert bundle([]) == b""


def test_an_authority_for_clients_that_is_none_is_refused() -> None:
    with pytest.raises(CertificateError, match="TLS does not take it"):
        server_context(FINE, b"nonsense")


def test_no_file_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counts what is open, not files
    for _ in range(20):
        server_context(FINE)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - the same
