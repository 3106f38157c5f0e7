"""Registries, and what lies between, that answer in odd ways: a push that comes about all the same, or a sentence."""

import json
from pathlib import Path

import pytest

from builders.certificates import self_signed, serving
from builders.image_archives import index_archive
from builders.pushes import LOGIN, Notes, blobs_of, pushed, refusal
from builders.registries import Fault, RegistryDouble, basic, running
from tangram.services.images.pushing import Door

DEEP = b'{"errors":' + b"[" * 100_000


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return index_archive(tmp_path)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault("GET", "^/v2/$", status=429, times=3), id="its greeting is asked too often"),
        pytest.param(Fault("GET", "^/v2/$", status=503, times=3), id="its greeting is not ready"),
        pytest.param(Fault("GET", "^/token$", status=503, times=3), id="its token server is not ready"),
        pytest.param(Fault("GET", "^/token$", status=429, times=3), id="its token server is asked too often"),
    ],
)
async def test_who_is_busy_at_first_is_asked_again(archive: Path, fault: Fault) -> None:
    notes = Notes()
    async with running(RegistryDouble("bearer", faults=[fault])) as registry:
        await pushed(archive, registry, notes=notes)
    assert fault.times == 0
    assert registry.blobs == blobs_of(archive)
    assert notes.pauses == [1.0, 2.0, 4.0]


async def test_an_answer_that_arrives_in_parts_is_read_to_its_end(archive: Path) -> None:
    async with running(RegistryDouble("bearer", trickles=True)) as registry:
        await pushed(archive, registry)
    assert registry.blobs == blobs_of(archive)


async def test_cookies_are_not_kept_and_nothing_compressed_is_asked_for(archive: Path) -> None:
    """A cookie makes some registries ask for what only a browser can give; compression changes lengths."""
    async with running(RegistryDouble("basic")) as registry:
        registry.domain = registry.domain.replace("127.0.0.1", "localhost")  # addresses get no cookies anyway
        await pushed(archive, registry)
    assert len(registry.seen) > 10
    assert not any("Cookie" in headers for headers in registry.seen)
    assert {headers.get("Accept-Encoding") for headers in registry.seen} == {"identity"}


async def test_a_registry_that_spells_its_own_address_differently_is_still_itself(archive: Path) -> None:
    async with running(RegistryDouble("basic")) as registry:
        registry.domain = registry.domain.replace("127.0.0.1", "localhost")
        registry.location = f"http://{registry.domain.upper()}"
        await pushed(archive, registry)
    assert registry.blobs == blobs_of(archive)


async def test_an_upload_that_goes_on_elsewhere_goes_without_the_login(archive: Path) -> None:
    async with running(RegistryDouble()) as store, running(RegistryDouble("basic")) as registry:
        registry.location = f"http://{store.domain}"
        sentence = await refusal(archive, registry)
    assert "no place for" in sentence
    assert basic(LOGIN.user, LOGIN.secret) in registry.shown
    assert set(store.shown) == {""}


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "mailto:somebody",
        "http://a.example.com:99999/x",
        "ftp://a.example.com/x",
    ],
)
async def test_an_upload_is_sent_nowhere_but_to_addresses(archive: Path, location: str) -> None:
    fault = Fault("POST", "uploads", status=202, headers={"Location": location}, times=9)
    async with running(RegistryDouble("basic", faults=[fault])) as registry:
        sentence = await refusal(archive, registry)
    assert f"to '{location}', which is no address of HTTP or HTTPS" in sentence


async def test_an_upload_that_began_encrypted_does_not_go_on_in_clear(archive: Path, tmp_path: Path) -> None:
    pair = self_signed(tmp_path)
    async with running(RegistryDouble("basic"), serving(pair)) as registry:
        registry.location = f"http://{registry.domain}"
        sentence = await refusal(archive, registry, door=Door(login=LOGIN, authority=pair))
    assert "which is not encrypted" in sentence
    assert "X-Forwarded-Proto" in sentence
    assert registry.blobs == {}


@pytest.mark.parametrize(
    "realm",
    ["http://[bad", "https://a.example.com:99999/token", "/token", "file:///token", "https:///token", ""],
)
async def test_a_token_server_that_is_no_address_is_told(archive: Path, realm: str) -> None:
    asked = {"WWW-Authenticate": f'Bearer realm="{realm}",service="x"'}
    fault = Fault("GET", "^/v2/$", status=401, headers=asked, times=9)
    async with running(RegistryDouble("basic", faults=[fault])) as registry:
        sentence = await refusal(archive, registry)
    assert f"sends logins to '{realm}', which is not reached by HTTP" in sentence


@pytest.mark.parametrize(
    "token", ["a\nAuthorization: b", "a\x00b", "é", "a b"], ids=["two lines", "NUL", "no ASCII", "two words"]
)
async def test_what_cannot_be_a_token_is_not_shown(archive: Path, token: str) -> None:
    async with running(RegistryDouble("bearer", token_says=(200, json.dumps({"token": token})))) as registry:
        assert "with no token" in await refusal(archive, registry)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"errors":[{"code":"\xd0\xa1\xff"}]}', id="not UTF-8"),
        pytest.param(DEEP, id="nested without end"),
        pytest.param(b'{"errors":null}', id="null"),
        pytest.param(b'{"errors":["x"]}', id="another shape"),
    ],
)
async def test_words_that_cannot_be_read_are_left_out_of_the_sentence(archive: Path, body: bytes) -> None:
    fault = Fault("POST", "uploads", status=400, body=body, times=9)
    async with running(RegistryDouble("basic", faults=[fault])) as registry:
        assert (await refusal(archive, registry)).endswith("with status 400.")


@pytest.mark.parametrize("token", [b'{"token":"\xff"}', b'{"token":' + b"[" * 100_000], ids=["bytes", "deep"])
async def test_a_token_that_cannot_be_read_is_no_token(archive: Path, token: bytes) -> None:
    fault = Fault("GET", "^/token$", status=200, body=token)
    async with running(RegistryDouble("bearer", faults=[fault])) as registry:
        assert "with no token" in await refusal(archive, registry)


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        pytest.param(f"{'a' * 64}.example.com", "is a name that nobody knows here", id="a label too long"),
        pytest.param("1.2.3.999", "is a name that nobody knows here", id="a number too large"),
    ],
)
async def test_a_name_that_no_machine_can_have_is_told(archive: Path, domain: str, words: str) -> None:
    assert words in await refusal(archive, RegistryDouble(domain=domain))


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_token_server_that_cannot_be_reached_is_told_apart_from_the_registry(
    archive: Path, scheme: str
) -> None:
    asked = {"WWW-Authenticate": f'Bearer realm="{scheme}://127.0.0.1:1/token"'}
    fault = Fault("GET", "^/v2/$", status=401, headers=asked, times=9)
    async with running(RegistryDouble("basic", faults=[fault])) as registry:
        sentence = await refusal(archive, registry)
    assert sentence.startswith(f"127.0.0.1:1, where {registry.domain} leads to, cannot be reached")
