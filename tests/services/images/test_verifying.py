"""Verifying: what is missing or different is found, all of it, and nothing is changed."""

from pathlib import Path

import pytest

from builders.image_archives import index_archive
from builders.pushes import LOGIN, pushed
from builders.registries import Fault, RegistryDouble, running
from tangram.services.images.addresses import Target
from tangram.services.images.archive import opened
from tangram.services.images.errors import ImagesError
from tangram.services.images.pushing import Door
from tangram.services.images.verifying import Finding, State, verified, verify_archive, verify_registry


async def no_pause(_: float) -> None: ...


async def looked(archive: Path, registry: RegistryDouble, *, read: bool = False) -> list[Finding]:
    with opened(archive) as images:
        return await verify_registry(
            images,
            Target(registry.domain, "cloud"),
            Door(login=None if registry.auth == "none" else LOGIN, plain_http=True),
            environment={"HOME": "/nonexistent"},
            read=read,
            pause=no_pause,
        )


def states(findings: list[Finding]) -> set[State]:
    return {one.state for one in findings}


def test_a_whole_archive_is_whole_and_a_damaged_one_says_where(tmp_path: Path) -> None:
    path = index_archive(tmp_path)
    with opened(path) as archive:
        assert states(verify_archive(archive)) == {State.WHOLE}
        blob = archive.blobs()[1]
        at = archive.place(blob)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))
    with opened(path) as archive:
        found = verify_archive(archive)
        answer = verified(archive, None, found)
    (bad,) = (one for one in found if not one.well)
    assert (bad.what, bad.state) == (blob.digest, State.DIFFERENT)
    assert bad.found.startswith("sha256:")
    assert not answer.well


@pytest.mark.parametrize("auth", ["none", "basic", "bearer"])
@pytest.mark.parametrize("read", [False, True])
async def test_what_was_pushed_is_there(tmp_path: Path, auth: str, read: bool) -> None:  # noqa: FBT001
    archive = index_archive(tmp_path)
    async with running(RegistryDouble(auth)) as registry:
        await pushed(archive, registry)
        registry.requests.clear()
        found = await looked(archive, registry, read=read)
    assert len(found) == 3 + 5, "three names, and five blobs"
    assert states(found) == ({State.WHOLE} if read else {State.WHOLE, State.THERE})
    assert {one.partition(" ")[0] for one in registry.requests} <= {"GET", "HEAD"}
    assert all("push" not in scope for scope in registry.scopes[-1:])


async def test_all_that_is_missing_or_different_is_named(tmp_path: Path) -> None:
    archive = index_archive(tmp_path)
    async with running(RegistryDouble()) as registry:
        everything = await looked(archive, registry)
        assert states(everything) == {State.MISSING}
        await pushed(archive, registry)
        gone, changed, *_ = registry.blobs
        del registry.blobs[gone]
        registry.blobs[changed] = bytes(len(registry.blobs[changed]))
        registry.manifests["1.2.3"] = b"another"
        found = {one.what: one for one in await looked(archive, registry)}
        assert found[gone].state is State.MISSING
        assert found[changed].state is State.THERE, "its length is right, and nobody has read it"
        named = found[f"{registry.domain}/cloud/tangram:1.2.3"]
        assert named.state is State.DIFFERENT
        read = {one.what: one for one in await looked(archive, registry, read=True)}
        assert read[changed].state is State.DIFFERENT
        assert read[gone].state is State.MISSING
        registry.blobs[changed] = b"short"
        assert {one.what: one for one in await looked(archive, registry)}[changed].found == "5 bytes"


async def test_a_registry_that_does_not_let_read_says_so(tmp_path: Path) -> None:
    archive = index_archive(tmp_path)
    async with running(RegistryDouble()) as registry:
        registry.faults.append(Fault("HEAD", "manifests", status=403, times=9))
        with pytest.raises(ImagesError, match="ask for the right to pull from there"):
            await looked(archive, registry)
