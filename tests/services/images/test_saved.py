"""What `docker save` wrote, and MetaX's files of MXMACA: read as they are, in both of their naming schemes."""

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from builders.pushes import blobs_of, pushed
from builders.registries import RegistryDouble, running
from builders.saved_images import BEFORE, BEFORE_FILE, SINCE, SINCE_FILE, Form, layer_of, saved_archive
from tangram.services.images import spooling
from tangram.services.images.archive import opened
from tangram.services.images.errors import ImagesError
from tangram.services.images.listing import listing_of
from tangram.services.images.loading import names_in
from tangram.services.images.release_files import image_of_file, is_maca
from tangram.services.images.runtimes import Kind

LARGE = 6 << 20
"""More than what counts as a document."""


def problem(path: Path) -> str:
    with pytest.raises(ImagesError) as raised, opened(path) as archive:
        archive.check_contents()
    return str(raised.value)


@pytest.mark.parametrize("form", ["old", "links", "blobs", "packed"])
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_every_form_is_read_with_the_digests_of_its_layers(tmp_path: Path, form: Form, suffix: str) -> None:
    path = saved_archive(tmp_path / f"image.tar{suffix}", form=form)
    with opened(path) as archive:
        archive.check_contents()
        (image,) = archive.images
        (part,) = image.platforms
        manifest = json.loads(archive.read(image.top))
        config = json.loads(archive.read(part.config))
        contents = [archive.read(layer) for layer in part.layers]
    assert (image.name, str(part.platform)) == (SINCE, "linux/amd64")
    assert [one["digest"] for one in manifest["layers"]] == [one.digest for one in part.layers]
    kind = "+gzip" if form == "packed" else ""
    assert {one.media_type for one in part.layers} == {f"application/vnd.oci.image.layer.v1.tar{kind}"}
    if form != "packed":
        assert [one.digest for one in part.layers] == config["rootfs"]["diff_ids"]
        assert contents[0] == layer_of(1, 3000)
    if form == "links":
        assert contents[2] == contents[0]


def test_the_same_image_has_the_same_digest_however_its_file_is_compressed(tmp_path: Path) -> None:
    digests: set[str] = set()
    for name in ("a.tar", "a.tar.gz", "a.xz"):
        with opened(saved_archive(tmp_path / name)) as archive:
            digests.add(archive.images[0].top.digest)
    assert len(digests) == 1


@pytest.mark.parametrize("form", ["old", "packed"])
def test_a_list_needs_no_room_for_layers(tmp_path: Path, form: Form) -> None:
    path = saved_archive(tmp_path / "image.xz", form=form, size=LARGE)
    with opened(path, layers=False) as archive:
        shown = listing_of(archive)
        kept = os.fstat(archive._file.fileno()).st_blocks * 512  # type: ignore[reportPrivateUsage] - its size is meant
        assert kept < 200_000, "the layers are holes"
    with opened(path) as archive:
        assert listing_of(archive) == shown


@pytest.mark.parametrize(
    ("file", "name"),
    [
        pytest.param(BEFORE_FILE, "maca-c500:2.23.0.4-ubuntu18.04-amd64", id="up to 2.23.0.x"),
        pytest.param(
            "maca-n100-container-2.18.0.3-ubuntu18.04-amd64.xz",
            "maca-n100:2.18.0.3-ubuntu18.04-amd64",
            id="of another product",
        ),
        pytest.param(SINCE_FILE, SINCE, id="from 2.23.0.x on"),
        pytest.param(
            "mxc500-maca-2.24.0.0-kylin-v10-arm64.container.xz",
            "mxc500-maca:2.24.0.0-kylin-v10-arm64",
            id="a system with a hyphen",
        ),
        pytest.param("maca-c500-2.23.0.4.xz", "", id="neither"),
        pytest.param("driver-image.tar", "", id="a payload"),
    ],
)
def test_both_naming_schemes_of_mxmaca_are_known(tmp_path: Path, file: str, name: str) -> None:
    assert image_of_file(file) == name
    if not name:
        return
    assert is_maca(name)
    with opened(saved_archive(tmp_path / file, names=())) as archive:
        assert archive.images[0].name == name, "an image that was saved without a name has the file's"


@pytest.mark.parametrize("name", [BEFORE, SINCE])
async def test_mxmaca_is_pushed_under_its_own_name_whatever_was_before_it(tmp_path: Path, name: str) -> None:
    path = saved_archive(tmp_path / "image.xz", names=(name,))
    async with running(RegistryDouble()) as registry:
        made = await pushed(path, registry)
        again = await pushed(path, registry)
    tail = name.rpartition("/")[2]
    assert [one.name for one in made] == [f"{registry.domain}/cloud/{tail}"], "no architecture a second time"
    assert registry.blobs == blobs_of(path)
    (document,) = registry.manifests.values()
    assert made[0].digest == f"sha256:{hashlib.sha256(document).hexdigest()}"
    assert again[0].was_there


@pytest.mark.parametrize(
    ("name", "kind", "names"),
    [
        (SINCE, Kind.DOCKER, (SINCE, f"tangram.dev/cloud/{SINCE}")),
        (SINCE, Kind.CONTAINERD, (f"docker.io/library/{SINCE}", f"tangram.dev/cloud/{SINCE}")),
        (BEFORE, Kind.CONTAINERD, (BEFORE, f"tangram.dev/cloud/{BEFORE.rpartition('/')[2]}")),
        ("me/app:1", Kind.PODMAN, ("docker.io/me/app:1", "tangram.dev/cloud/app:1")),
        ("r.example.com/me/app:1", Kind.DOCKER, ("r.example.com/me/app:1",)),
        ("localhost/app:1", Kind.DOCKER, ("localhost/app:1",)),
    ],
)
def test_a_loaded_image_has_the_name_that_people_use_and_the_one_that_charts_ask_for(
    tmp_path: Path, name: str, kind: Kind, names: tuple[str, ...]
) -> None:
    with opened(saved_archive(tmp_path / "image.tar", names=(name,))) as archive:
        assert names_in(kind, archive.images[0]) == names


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"0": None}, "a layer, 0", id="a layer is missing"),
        pytest.param({"manifest.json": b"{"}, "manifest.json cannot be read", id="no JSON"),
        pytest.param({"manifest.json": b"[]"}, "holds no image", id="nothing"),
        pytest.param(
            {"manifest.json": b'[{"Config":"x","Layers":[]}]'}, "its configuration, x", id="no config"
        ),
    ],
)
def test_an_archive_that_is_not_whole_is_told_apart(
    tmp_path: Path, changes: dict[str, bytes | None], words: str
) -> None:
    for name in ("image.tar", "image.xz"):
        told = problem(saved_archive(tmp_path / name, changes=changes))
        assert words in told
        assert "is no whole archive of images" in told


def test_a_layer_with_other_bytes_is_noticed(tmp_path: Path) -> None:
    with opened(saved_archive(tmp_path / "a.tar")) as archive:
        path = f"0{archive.images[0].platforms[0].layers[0].digest.removeprefix('sha256:')[1:]}/layer.tar"
    changed = bytearray(layer_of(1, 3000))
    changed[700] ^= 1
    told = problem(saved_archive(tmp_path / "b.xz", changes={path: bytes(changed)}))
    assert "has the digest sha256:" in told


def test_an_image_without_a_name_in_a_file_without_one_is_refused(tmp_path: Path) -> None:
    assert "docker save NAME:TAG" in problem(saved_archive(tmp_path / "image.xz", names=()))
    assert "no name and version" in problem(saved_archive(tmp_path / "odd.tar", names=("../x:1",)))


@pytest.mark.parametrize("suffix", [".xz", ".tar.gz"])
def test_a_compressed_file_that_is_cut_off_or_changed_is_told_apart(tmp_path: Path, suffix: str) -> None:
    content = saved_archive(tmp_path / f"image{suffix}").read_bytes()
    damaged = bytearray(content)
    damaged[-6 if suffix == ".tar.gz" else -40] ^= 0xFF  # in a checksum behind the data
    for number, changed in enumerate((content[:-500], content[:20], bytes(damaged))):
        path = tmp_path / f"{number}{suffix}"
        path.write_bytes(changed)
        told = problem(path)
        assert "copy or download it again" in told


def test_a_full_disk_is_told_with_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spooling, "_copy", full)
    told = problem(saved_archive(tmp_path / "image.xz"))
    assert "that disk is full: set TMPDIR to a folder with more room" in told
