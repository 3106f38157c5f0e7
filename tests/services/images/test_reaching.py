"""The small parts around a connection: challenges, proxies, whose certificates are believed."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from tangram.services.images.addresses import Target
from tangram.services.images.challenges import Challenge, read_challenges
from tangram.services.images.errors import ImagesError
from tangram.services.images.proxies import proxy_for, shown
from tangram.services.images.trust import trust_for

NOBODY = 65534
PROXY = {"HTTPS_PROXY": "http://me:word@proxy.example.com:3128"}


@pytest.mark.parametrize(
    ("header", "challenges"),
    [
        ('Basic realm="a b"', [Challenge("basic", {"realm": "a b"})]),
        (
            'Bearer realm="https://a/token",service="r, of us",scope="repository:a:pull,push"',
            [
                Challenge(
                    "bearer",
                    {"realm": "https://a/token", "service": "r, of us", "scope": "repository:a:pull,push"},
                )
            ],
        ),
        ("Negotiate, BASIC realm=x", [Challenge("negotiate", {}), Challenge("basic", {"realm": "x"})]),
        (r'Basic realm="say \"x\""', [Challenge("basic", {"realm": 'say "x"'})]),
        ("", []),
        ("=,=", []),
    ],
)
def test_challenges_are_read(header: str, challenges: list[Challenge]) -> None:
    assert read_challenges([header]) == challenges


@given(st.lists(st.text(max_size=80), max_size=3))
def test_whatever_a_server_sends_as_a_challenge_is_read_to_its_end(headers: list[str]) -> None:
    for challenge in read_challenges(headers):
        assert challenge.scheme == challenge.scheme.lower()


@pytest.mark.parametrize(
    ("environment", "reached"),
    [
        ({}, False),
        (PROXY, True),
        ({"https_proxy": PROXY["HTTPS_PROXY"]}, True),
        ({"HTTP_PROXY": PROXY["HTTPS_PROXY"]}, False),
        ({**PROXY, "NO_PROXY": "example.com"}, False),
        ({**PROXY, "no_proxy": "other.org, .example.com"}, False),
        ({**PROXY, "NO_PROXY": "ample.com"}, True),
        ({**PROXY, "NO_PROXY": "r.example.com:443"}, False),
        ({**PROXY, "NO_PROXY": "r.example.com:5000"}, True),
        ({**PROXY, "NO_PROXY": "*"}, False),
        ({**PROXY, "NO_PROXY": "10.0.0.0/8,"}, True),
        ({"HTTPS_PROXY": PROXY["HTTPS_PROXY"].removeprefix("http://")}, True),
    ],
)
def test_the_proxy_of_the_environment_is_taken_unless_it_is_spared(
    environment: dict[str, str], *, reached: bool
) -> None:
    found = proxy_for(URL("https://r.example.com/v2/"), environment)
    assert found == (PROXY["HTTPS_PROXY"] if reached else None)


@pytest.mark.parametrize("host", ["10.1.2.3", "localhost:5000", "127.0.0.1:5000", "[::1]:5000"])
def test_networks_are_spared_and_this_machine_always(host: str) -> None:
    assert proxy_for(URL(f"https://{host}/v2/"), {**PROXY, "NO_PROXY": "10.0.0.0/8"}) is None


@pytest.mark.parametrize(
    "told", ["socks5://me:word@p:1080", "http://me:word@[p", "http://me:word@p:99999", "ftp://p"]
)
def test_a_proxy_that_cannot_be_used_is_not_passed_over_and_its_password_not_told(told: str) -> None:
    with pytest.raises(ImagesError, match=r"HTTPS_PROXY is .*write http://HOST:PORT") as raised:
        proxy_for(URL("https://r.example.com/v2/"), {"HTTPS_PROXY": told})
    assert "word" not in str(raised.value)


def test_a_proxy_is_shown_without_its_password() -> None:
    assert shown(PROXY["HTTPS_PROXY"]) == "proxy.example.com:3128"
    assert shown(None) == ""


def test_what_is_no_certificate_is_named_with_the_option_or_the_file(tmp_path: Path) -> None:
    target = Target("r.example.com:5000", "x")
    wrong = tmp_path / "authority.pem"
    wrong.write_text("hello", "utf-8")
    with pytest.raises(ImagesError, match=r"--ca names .*authority\.pem, which holds no certificate"):
        trust_for(target, wrong, {}, tmp_path)
    with pytest.raises(ImagesError, match=r"--ca names .*gone\.pem, which cannot be read"):
        trust_for(target, tmp_path / "gone.pem", {}, tmp_path)
    kept = tmp_path / "etc/docker/certs.d/r.example.com:5000/ca.crt"
    kept.parent.mkdir(parents=True)
    kept.write_text("hello", "utf-8")
    with pytest.raises(ImagesError, match=r"ca\.crt, which docker trusts for r\.example\.com:5000, holds no"):
        trust_for(target, None, {}, tmp_path)


@contextmanager
def without_rights() -> Generator[None]:
    """As a user whom closed folders stay closed to."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(me)


@pytest.mark.parametrize("closed", ["etc/docker", "etc/docker/certs.d/r.example.com/ca.crt"])
def test_what_docker_trusts_is_passed_over_where_only_root_may_read_it(closed: str, tmp_path: Path) -> None:
    kept = tmp_path / "etc/docker/certs.d/r.example.com/ca.crt"
    kept.parent.mkdir(parents=True)
    kept.write_text("hello", "utf-8")
    (tmp_path / closed).chmod(0)
    with without_rights():
        trust_for(Target("r.example.com", "x"), None, {}, tmp_path)
    (tmp_path / closed).chmod(0o700)
