"""Pushing: what arrives, and what is sent again after a failure."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.image_archives import index_archive, platform_archive
from builders.pushes import PIECE, UPLOAD, Notes, blobs_of, pushed, refusal
from builders.registries import PASSWORD, USER, Fault, RegistryDouble, basic, running
from tangram.services.images.errors import ImagesError
from tangram.services.images.logins import Login
from tangram.services.images.patience import LONGEST_PAUSE_S, TRIES
from tangram.services.images.pushing import Door


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return index_archive(tmp_path)


@pytest.mark.parametrize("auth", ["none", "basic", "bearer"])
async def test_all_platforms_arrive_under_the_version_and_each_under_its_own(
    archive: Path, auth: str
) -> None:
    async with running(RegistryDouble(auth)) as registry:
        made = await pushed(archive, registry)
    assert registry.blobs == blobs_of(archive)
    assert sorted(registry.manifests) == ["1.2.3", "1.2.3-amd64", "1.2.3-arm64"]
    index = json.loads(registry.manifests["1.2.3"])
    for entry in index["manifests"]:
        own = registry.manifests[f"1.2.3-{entry['platform']['architecture']}"]
        assert entry["digest"] == f"sha256:{hashlib.sha256(own).hexdigest()}"
    assert [one.name for one in made] == [
        f"{registry.domain}/cloud/tangram:1.2.3-amd64",
        f"{registry.domain}/cloud/tangram:1.2.3-arm64",
        f"{registry.domain}/cloud/tangram:1.2.3",
    ]
    assert made[-1].platforms == ("linux/amd64", "linux/arm64")
    assert not any(one.was_there for one in made)


async def test_the_version_is_named_last_so_that_what_can_be_pulled_is_whole(archive: Path) -> None:
    async with running(RegistryDouble()) as registry:
        await pushed(archive, registry)
    writes = [one for one in registry.requests if one.startswith(("PUT", "PATCH"))]
    assert writes[-1] == "PUT /v2/cloud/tangram/manifests/1.2.3"
    assert all("/blobs/" in one for one in writes[:-3])


async def test_a_second_push_sends_nothing(archive: Path) -> None:
    async with running(RegistryDouble()) as registry:
        await pushed(archive, registry)
        registry.requests.clear()
        notes = Notes()
        made = await pushed(archive, registry, notes=notes)
    assert {one.partition(" ")[0] for one in registry.requests} == {"GET", "HEAD"}
    assert all(one.was_there for one in made)
    assert notes.sent == []
    assert len(notes.there) == 5, "two configurations, a layer that both share, and one each"


async def test_an_archive_of_one_platform_is_pushed_too(tmp_path: Path) -> None:
    archive = platform_archive(tmp_path)
    async with running(RegistryDouble()) as registry:
        made = await pushed(archive, registry)
    assert [one.name.rpartition(":")[2] for one in made] == ["1.2.3-amd64", "1.2.3"]
    assert registry.manifests["1.2.3"] == registry.manifests["1.2.3-amd64"]


async def test_a_version_that_stood_for_something_else_is_replaced_and_that_is_said(archive: Path) -> None:
    async with running(RegistryDouble()) as registry:
        registry.manifests["1.2.3"] = b"another"
        notes = Notes()
        await pushed(archive, registry, notes=notes)
    (sentence,) = notes.said
    assert sentence.startswith(f"{registry.domain}/cloud/tangram:1.2.3 was sha256:")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault("PATCH", UPLOAD, skip=1), id="a piece is lost"),
        pytest.param(Fault("PATCH", UPLOAD, skip=1, takes=300), id="a piece arrives in part"),
        pytest.param(
            Fault("PATCH", UPLOAD, skip=2, status=500, times=3), id="pieces are refused for a while"
        ),
        pytest.param(
            Fault("PUT", UPLOAD, status=503, times=2), id="the end of a blob is refused for a while"
        ),
        pytest.param(Fault("PUT", UPLOAD, times=2), id="the end of a blob is lost"),
        pytest.param(Fault("POST", "blobs/uploads/", times=3), id="an upload does not begin"),
        pytest.param(Fault("HEAD", "blobs/sha256", status=502, times=4), id="the first question fails"),
        pytest.param(Fault("PUT", "manifests/1.2.3-arm64", status=500, times=4), id="a manifest fails"),
        pytest.param(
            Fault("HEAD", "manifests/1.2.3", status=429, headers={"Retry-After": "7"}), id="too many"
        ),
    ],
)
async def test_what_fails_for_a_while_is_tried_again_and_nothing_is_lost(archive: Path, fault: Fault) -> None:
    notes = Notes()
    async with running(RegistryDouble(faults=[fault])) as registry:
        await pushed(archive, registry, notes=notes)
    assert fault.times == 0
    assert registry.blobs == blobs_of(archive)
    assert "1.2.3" in registry.manifests
    assert notes.pauses or not fault.status, "aiohttp itself repeats what a kept connection lost"
    if fault.headers:
        assert notes.pauses == [7.0]


async def test_after_a_lost_connection_only_the_rest_is_sent(tmp_path: Path) -> None:
    archive = index_archive(tmp_path, 10 * PIECE)
    async with running(RegistryDouble(faults=[Fault("PATCH", UPLOAD, skip=6, takes=400)])) as registry:
        await pushed(archive, registry)
    assert sum(len(one) for one in registry.blobs.values()) > 20 * PIECE
    begun = [one for one in registry.requests if one.startswith("POST")]
    assert len(begun) == len(registry.blobs), "no upload was begun twice"


async def test_a_registry_that_forgot_an_upload_gets_it_from_the_beginning(tmp_path: Path) -> None:
    archive = index_archive(tmp_path, 5 * PIECE)
    lost = [Fault("PATCH", UPLOAD, skip=4), Fault("GET", UPLOAD, status=404)]
    async with running(RegistryDouble(faults=lost)) as registry:
        await pushed(archive, registry)
    assert registry.blobs == blobs_of(archive)


async def test_a_line_that_fails_often_gets_on_as_long_as_pieces_arrive(tmp_path: Path) -> None:
    archive = platform_archive(tmp_path, 20 * PIECE)
    flaky = Fault("PATCH", UPLOAD, every=2, times=3 * TRIES)
    async with running(RegistryDouble(faults=[flaky])) as registry:
        await pushed(archive, registry)
    assert flaky.times == 0
    assert registry.blobs == blobs_of(archive)


async def test_a_registry_that_stays_broken_is_given_up_on_with_growing_pauses(archive: Path) -> None:
    notes = Notes()
    broken = Fault("POST", "blobs/uploads/", status=500, times=1000)
    async with running(RegistryDouble(faults=[broken])) as registry:
        sentence = await refusal(archive, registry, notes=notes)
    assert "cannot answer (status 500)" in sentence
    assert "whether its disk is full" in sentence
    assert set(notes.pauses) <= {1.0, 2.0, 4.0, 8.0}
    assert max(notes.pauses) <= LONGEST_PAUSE_S
    assert registry.manifests == {}


async def test_a_push_that_was_cut_off_goes_on_where_it_was(archive: Path) -> None:
    dead = Fault("PUT", "manifests/", status=403)
    async with running(RegistryDouble(faults=[dead])) as registry:
        await refusal(archive, registry)
        notes = Notes()
        await pushed(archive, registry, notes=notes)
    assert notes.sent == []
    assert len(registry.manifests) == 3


async def test_a_token_that_ends_during_the_push_is_fetched_anew(archive: Path) -> None:
    async with running(RegistryDouble("bearer", tokens_last=6)) as registry:
        await pushed(archive, registry)
    assert registry.scopes.count("repository:cloud/tangram:pull,push") > 2
    assert len(registry.manifests) == 3


async def test_an_identity_token_is_exchanged_at_the_token_server(archive: Path) -> None:
    door = Door(login=Login("<token>", PASSWORD, "a helper", is_token=True), plain_http=True)
    async with running(RegistryDouble("bearer")) as registry:
        await pushed(archive, registry, door=door)
    assert registry.scopes == ["repository:cloud/tangram:pull,push"]
    assert "POST /token" in registry.requests
    assert not any(one.startswith("Basic") for one in registry.shown)


async def test_where_a_proxy_refuses_large_requests_the_pieces_become_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tangram.services.images.sending.SMALL_PIECE", 250)
    archive = index_archive(tmp_path, 5 * PIECE)
    async with running(RegistryDouble(largest=900)) as registry:
        await pushed(archive, registry)
    assert registry.blobs == blobs_of(archive)


async def test_a_registry_without_pieces_gets_each_blob_in_one_request(tmp_path: Path) -> None:
    archive = index_archive(tmp_path, 5 * PIECE)
    async with running(RegistryDouble(pieces=False)) as registry:
        await pushed(archive, registry)
    assert registry.blobs == blobs_of(archive)


async def test_an_upload_that_leads_to_another_host_is_not_shown_the_login(archive: Path) -> None:
    """Such an upload fails here, but the password must not be in it."""
    async with running(RegistryDouble("none")) as other:
        away = {
            "Location": f"http://localhost:{other.domain.partition(':')[2]}/v2/elsewhere/x/blobs/uploads/1"
        }
        fault = Fault("POST", "blobs/uploads/", status=202, headers=away, times=1000)
        async with running(RegistryDouble("basic", faults=[fault])) as registry:
            await refusal(archive, registry)
    assert other.requests
    assert set(other.shown) == {""}
    assert basic(USER, PASSWORD) in registry.shown


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return index_archive(tmp_path_factory.mktemp("images"), 4 * PIECE)


@given(data=st.data())
async def test_whatever_fails_in_between_what_arrives_is_what_was_sent(
    data: st.DataObject, larger: Path
) -> None:
    faults = data.draw(
        st.lists(
            st.builds(
                Fault,
                method=st.sampled_from(["POST", "PATCH", "PUT", "HEAD", "GET"]),
                path=st.just(UPLOAD) | st.just("blobs/"),
                status=st.sampled_from([0, 0, 500, 503, 429, 408]),
                skip=st.integers(0, 6),
                times=st.integers(1, 2),
            ),
            max_size=4,
        )
    )
    async with running(RegistryDouble(faults=faults)) as registry:
        try:
            await pushed(larger, registry)
        except ImagesError:
            assert "1.2.3" not in registry.manifests
        else:
            assert registry.blobs == blobs_of(larger)
