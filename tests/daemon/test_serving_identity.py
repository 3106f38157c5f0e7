"""A certificate that is replaced while it is served, and one that is not taken."""

import datetime as dt
import logging
from pathlib import Path

import pytest

from tangram.daemon.certificates import CertificateError, Pair, issue
from tangram.daemon.errors import SettingError
from tangram.daemon.serving_identity import PairFiles, ServingIdentity, read_client_authority

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
LIFE = dt.timedelta(days=1)


def pair(now: dt.datetime = NOW) -> Pair:
    return issue(("a.b.svc",), "test", now=now, life=LIFE).pair


def files(folder: Path, shown: Pair) -> tuple[Path, Path]:
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(shown.certificate)
    key.write_bytes(shown.key)
    return certificate, key


def test_each_new_pair_is_a_new_context_and_the_same_pair_is_not() -> None:
    identity = ServingIdentity(lambda: NOW)
    first, second = pair(), pair()
    identity.show(first)
    context = identity.context()
    identity.show(first)
    assert identity.context() is context
    identity.show(second)
    assert identity.context() is not context
    assert identity.shown == second


def test_a_pair_that_does_not_hold_leaves_the_old_one_in_place() -> None:
    identity = ServingIdentity(lambda: NOW)
    first = pair()
    identity.show(first)
    context = identity.context()
    with pytest.raises(CertificateError):
        identity.show(Pair(first.certificate, pair().key))
    assert (identity.shown, identity.context()) == (first, context)


def test_readiness_follows_the_certificate() -> None:
    clock = [NOW]
    identity = ServingIdentity(lambda: clock[0])
    assert identity.unready() == ["there is no certificate to serve with yet"]
    identity.show(pair())
    assert identity.unready() == []
    clock[0] = NOW + LIFE
    assert identity.unready() == ["the certificate expired at 2030-01-02 00:00 UTC and there is no newer one"]


def test_files_are_taken_when_they_change_and_a_half_written_pair_is_said_once_and_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    identity = ServingIdentity(lambda: NOW)
    first, second = pair(), pair()
    certificate, key = files(tmp_path, first)
    following = PairFiles(identity, certificate, key)
    following.begin()
    assert identity.shown == first

    certificate.write_bytes(second.certificate)
    for _ in range(3):
        following.look()
    assert identity.shown == first
    (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told == (
        f"the certificate in {certificate} is not taken, the old one stays: the key is not that of the certificate"
    )

    key.write_bytes(second.key)
    following.look()
    assert identity.shown == second

    certificate.unlink()
    following.look()
    assert identity.shown == second
    assert "cannot be read (No such file or directory)" in caplog.text


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        pytest.param(Pair(b"", b""), "the certificate's file holds no PEM certificate", id="empty"),
        pytest.param(pair(NOW - 2 * LIFE), "the certificate expired at 2029-12-31 00:00 UTC", id="expired"),
    ],
)
def test_a_pair_that_does_not_hold_at_the_start_is_a_sentence(
    shown: Pair, reason: str, tmp_path: Path
) -> None:
    certificate, key = files(tmp_path, shown)
    with pytest.raises(SettingError) as refused:
        PairFiles(ServingIdentity(lambda: NOW), certificate, key).begin()
    assert str(refused.value) == (
        f"the certificate in '{certificate}' with the key in '{key}' cannot be served with: {reason}; "
        "name two PEM files that belong together."
    )


def test_a_client_authority_is_read_or_refused_with_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    with pytest.raises(SettingError, match=r"--client-ca is '.*ca.crt', which cannot be used \(No such file"):
        read_client_authority(file)
    file.write_bytes(b"hello")
    with pytest.raises(SettingError, match="it holds no PEM certificate"):
        read_client_authority(file)
    authority = issue(("x",), "test", now=NOW, life=LIFE).authority
    file.write_bytes(authority)
    assert read_client_authority(file) == authority
