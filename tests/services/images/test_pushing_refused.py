"""Pushing: what is said when it cannot be, and whom one does not believe."""

import tarfile
from pathlib import Path

import pytest

from builders.certificates import self_signed, serving
from builders.image_archives import index_archive
from builders.pushes import Notes, pushed, refusal
from builders.registries import Fault, RegistryDouble, running
from tangram.services.images.addresses import Target
from tangram.services.images.archive import opened
from tangram.services.images.errors import ImagesError
from tangram.services.images.logins import Login
from tangram.services.images.pushing import Door, push


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return index_archive(tmp_path)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param(
            Fault(
                "POST", "uploads", status=403, body=b'{"errors":[{"code":"DENIED","message":"not yours"}]}'
            ),
            ["does not let pusher push to cloud", "DENIED: not yours", "docker login"],
            id="no right",
        ),
        pytest.param(
            Fault("POST", "uploads", status=401),
            ["does not let pusher push to cloud", "make that project"],
            id="no right, said as a missing login",
        ),
        pytest.param(
            Fault(
                "POST",
                "uploads",
                status=404,
                body=b'{"errors":[{"code":"NAME_UNKNOWN","message":"no such"}]}',
            ),
            ["make the project cloud there first", "NAME_UNKNOWN"],
            id="no project",
        ),
        pytest.param(Fault("POST", "uploads", status=405), ["read-only"], id="read only"),
        pytest.param(
            Fault("PUT", "uploads/.", status=413, times=99), ["client_max_body_size"], id="limit of a proxy"
        ),
        pytest.param(Fault("POST", "uploads", status=507), ["no room left"], id="full"),
        pytest.param(
            Fault("POST", "uploads", status=307, headers={"Location": "/x"}), ["elsewhere"], id="redirect"
        ),
        pytest.param(
            Fault("POST", "uploads", status=418, body=b"<html>"), ["status 418."], id="something else"
        ),
        pytest.param(
            Fault("PUT", "uploads/.", status=201, headers={"Docker-Content-Digest": "sha256:0"}),
            ["received", "as sha256:0", "proxies"],
            id="another digest arrived",
        ),
        pytest.param(
            Fault("HEAD", "blobs/sha256", status=200, headers={"Content-Length": "7"}),
            ["with 7 bytes instead of"],
            id="damaged storage",
        ),
        pytest.param(
            Fault("POST", "uploads", status=202, headers={"Location": "http://[::"}),
            ["no address"],
            id="no address",
        ),
        pytest.param(
            Fault("PUT", "manifests/1.2.3", status=201), ["answers with nothing"], id="nothing was kept"
        ),
    ],
)
async def test_a_refusal_is_one_sentence_that_says_what_to_do(
    archive: Path, fault: Fault, words: list[str]
) -> None:
    fault.times = max(fault.times, 2)
    async with running(RegistryDouble("basic", faults=[fault])) as registry:
        sentence = await refusal(archive, registry)
    for word in (*words, registry.domain):
        assert word in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize("auth", ["basic", "bearer"])
@pytest.mark.parametrize(
    ("login", "words"),
    [
        pytest.param(
            None, ["asks who you are", "/nonexistent/.docker/config.json", "docker login 127"], id="none"
        ),
        pytest.param(
            Login("me", "no", "--user"), ["does not accept 'me' with this password"], id="of the command"
        ),
        pytest.param(Login("me", "no", "FILE"), ["the login of 'me' from FILE", "log in again"], id="kept"),
    ],
)
async def test_a_login_that_is_missing_or_wrong_says_who_to_log_in_as(
    archive: Path, auth: str, login: Login | None, words: list[str]
) -> None:
    async with running(RegistryDouble(auth)) as registry:
        sentence = await refusal(archive, registry, door=Door(login=login, plain_http=True))
    for word in words:
        assert word in sentence
    assert registry.uploads == {}


@pytest.mark.parametrize(
    ("says", "words"),
    [
        pytest.param((200, "{}"), "with no token", id="nothing"),
        pytest.param((200, "<html>"), "with no token", id="a page"),
        pytest.param((500, ""), "cannot answer (status 500) for a login", id="broken"),
    ],
)
async def test_a_token_server_that_gives_no_token_is_named(
    archive: Path, says: tuple[int, str], words: str
) -> None:
    async with running(RegistryDouble("bearer", token_says=says)) as registry:
        assert words in await refusal(archive, registry)


@pytest.mark.parametrize(
    ("status", "words"),
    [(404, "not as a registry"), (301, "not as a registry"), (403, "does not let"), (502, "cannot answer")],
)
async def test_something_that_is_no_registry_is_told_apart(archive: Path, status: int, words: str) -> None:
    fault = Fault("GET", "^/v2/$", status=status, times=1000)
    async with running(RegistryDouble(faults=[fault])) as registry:
        assert words in await refusal(archive, registry)


async def test_a_domain_where_nobody_listens_or_that_nobody_knows_is_not_waited_for(archive: Path) -> None:
    notes = Notes()
    async with running(RegistryDouble()) as registry:
        domain = registry.domain
    assert "cannot be reached (Connection refused)" in await refusal(
        archive, RegistryDouble(domain=domain), notes=notes
    )
    unknown = RegistryDouble(domain="registry.invalid")
    assert "registry.invalid is a name that nobody knows" in await refusal(archive, unknown, notes=notes)
    assert notes.pauses == []


async def test_a_certificate_of_ones_own_is_believed_once_it_is_named(archive: Path, tmp_path: Path) -> None:
    pair = self_signed(tmp_path)
    async with running(RegistryDouble(), serving(pair)) as registry:
        sentence = await refusal(archive, registry, door=Door())
        assert "is one it signed itself" in sentence
        assert "--ca FILE" in sentence
        await pushed(archive, registry, door=Door(authority=pair))
    assert len(registry.manifests) == 3


@pytest.mark.parametrize(
    ("days", "name", "words"),
    [
        pytest.param(-1, "127.0.0.1", "has expired", id="expired"),
        pytest.param(1, "127.0.0.2", "for another name", id="another name"),
    ],
)
async def test_a_certificate_that_cannot_be_right_is_refused_even_if_named(
    archive: Path, tmp_path: Path, days: int, name: str, words: str
) -> None:
    pair = self_signed(tmp_path, days=days, name=name)
    async with running(RegistryDouble(), serving(pair)) as registry:
        assert words in await refusal(archive, registry, door=Door(authority=pair))
    assert registry.requests == []


async def test_https_to_a_registry_without_it_is_told_apart_from_a_bad_certificate(archive: Path) -> None:
    async with running(RegistryDouble()) as registry:
        assert "--plain-http" in await refusal(archive, registry, door=Door())


def test_a_damaged_archive_is_found_before_anything_is_sent(archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    with tarfile.open(archive) as tar:
        member = max(tar.getmembers(), key=lambda one: one.size)
    content[member.offset_data + 100] ^= 1
    archive.write_bytes(content)
    with opened(archive) as images, pytest.raises(ImagesError, match="has the digest") as raised:
        images.check_contents()
    assert "copy or download it again" in str(raised.value)


async def test_a_proxy_that_lets_nothing_through_is_named_without_its_password(archive: Path) -> None:
    notes = Notes()
    with opened(archive) as images, pytest.raises(ImagesError) as raised:
        await push(
            images,
            Target("registry.example.com", "cloud"),
            Door(plain_http=True),
            notes,
            environment={"HOME": "/nonexistent", "HTTP_PROXY": "http://me:word@127.0.0.1:1"},
            pause=notes.pause,
        )
    assert "the proxy 127.0.0.1:1, which the environment names for registry.example.com" in str(raised.value)
    assert "word" not in str(raised.value)
