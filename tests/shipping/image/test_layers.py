"""Layers and images as bytes: equal content is an equal digest, and every document names the others rightly."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipping.image.archives import write_index_archive, write_platform_archive
from shipping.image.layers import Layer, write_layer
from shipping.image.oci import PlatformImage, describe, digest_of, index_of, labels_of
from shipping.image.platforms import PLATFORMS
from shipping.image.tree import Entry, File, Folder, Link

TREE: dict[str, Entry] = {
    "usr/bin/tool": File(b"#!/bin/sh\n", executable=True, mtime=7),
    "usr": Folder(),
    "usr/bin": Folder(),
    "tmp": Folder(0o1777),
    "usr/bin/short": Link("tool"),
    f"usr/{'long' * 60}": File(b"x"),
}
NAME = "tangram.dev/cloud/tangram:1.0"


def test_a_layer_holds_the_tree_in_order_and_everything_is_roots(tmp_path: Path) -> None:
    layer = write_layer(TREE, tmp_path / "layer")
    with tarfile.open(layer.path, "r:gz") as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == sorted(TREE)
    assert {(member.uid, member.gid, member.uname) for member in members} == {(0, 0, "")}
    modes = {member.name: member.mode for member in members}
    assert (modes["usr/bin/tool"], modes["tmp"], modes["usr/bin"]) == (0o755, 0o1777, 0o755)
    assert {member.mtime for member in members} == {0, 7}


def test_digests_and_size_are_those_of_the_file(tmp_path: Path) -> None:
    layer = write_layer(TREE, tmp_path / "layer")
    data = layer.path.read_bytes()
    assert layer.digest == hashlib.sha256(data).hexdigest()
    assert layer.diff_id == hashlib.sha256(gzip.decompress(data)).hexdigest()
    assert layer.size == len(data)


@given(names=st.permutations(sorted(TREE)))
def test_the_order_of_collection_does_not_matter(
    names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("layers")
    one = write_layer(TREE, folder / "one")
    other = write_layer({name: TREE[name] for name in names}, folder / "other")
    assert (one.digest, one.diff_id) == (other.digest, other.diff_id)


def images(folder: Path) -> list[PlatformImage]:
    made: list[PlatformImage] = []
    for platform in PLATFORMS:
        shared = write_layer(TREE, folder / "shared")
        own = write_layer({"own": File(platform.name.encode())}, folder / platform.name)
        labels = labels_of("1.0", "abc", "2026-01-01T00:00:00Z")
        made.append(describe(platform, [("base", shared), ("own", own)], labels, "2026-01-01T00:00:00Z"))
    return made


def read(archive: tarfile.TarFile, name: str) -> bytes:
    found = archive.extractfile(name)
    assert found is not None
    return found.read()


def blob(archive: tarfile.TarFile, descriptor: dict[str, Any]) -> bytes:
    data = read(archive, f"blobs/sha256/{descriptor['digest'].removeprefix('sha256:')}")
    assert f"sha256:{hashlib.sha256(data).hexdigest()}" == descriptor["digest"]
    assert len(data) == descriptor["size"]
    return data


def test_from_the_index_every_blob_is_found_with_its_digest_and_size(tmp_path: Path) -> None:
    made = images(tmp_path)
    index = index_of(made, {"a": "b"})
    write_index_archive(tmp_path / "all.tar", NAME, index, made)
    with tarfile.open(tmp_path / "all.tar") as archive:
        assert json.loads(read(archive, "oci-layout")) == {"imageLayoutVersion": "1.0.0"}
        (top,) = json.loads(read(archive, "index.json"))["manifests"]
        assert top["annotations"]["io.containerd.image.name"] == NAME
        assert blob(archive, top) == index
        manifests = json.loads(index)["manifests"]
        assert [one["platform"]["architecture"] for one in manifests] == ["amd64", "arm64"]
        for one in manifests:
            manifest = json.loads(blob(archive, one))
            config = json.loads(blob(archive, manifest["config"]))
            assert config["architecture"] == one["platform"]["architecture"]
            unpacked = [gzip.decompress(blob(archive, layer)) for layer in manifest["layers"]]
            assert config["rootfs"]["diff_ids"] == [
                f"sha256:{hashlib.sha256(data).hexdigest()}" for data in unpacked
            ]
        names = archive.getnames()
        assert len(names) == len(set(names)), "a layer that both platforms share is written once"


def test_the_archive_of_one_platform_is_also_one_for_docker(tmp_path: Path) -> None:
    (image, _) = images(tmp_path)
    write_platform_archive(tmp_path / "one.tar", NAME, image)
    with tarfile.open(tmp_path / "one.tar") as archive:
        (listed,) = json.loads(read(archive, "manifest.json"))
        assert listed["RepoTags"] == [NAME]
        assert read(archive, listed["Config"]) == image.config
        for name, layer in zip(listed["Layers"], image.layers, strict=True):
            assert read(archive, name) == layer.path.read_bytes()
        (top,) = json.loads(read(archive, "index.json"))["manifests"]
        assert blob(archive, top) == image.manifest


def test_the_image_starts_tangram_and_not_as_root(tmp_path: Path) -> None:
    config = json.loads(images(tmp_path)[0].config)["config"]
    assert config["Entrypoint"] == ["/usr/local/bin/tangram"]
    assert config["User"] == "65532:65532"
    assert "PYTHONDONTWRITEBYTECODE=1" in config["Env"]
    assert config["Labels"]["org.opencontainers.image.version"] == "1.0"
    assert config["Labels"]["org.opencontainers.image.revision"] == "abc"
    assert config["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_outside_a_checkout_there_is_no_revision() -> None:
    assert "org.opencontainers.image.revision" not in labels_of("1.0", "", "2026-01-01T00:00:00Z")


def test_two_archives_of_the_same_image_are_the_same_file(tmp_path: Path) -> None:
    made = images(tmp_path)
    index = index_of(made, {})
    for name in ("a", "b"):
        write_index_archive(tmp_path / name, NAME, index, made)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_a_node_downloads_is_layers_and_documents() -> None:
    image = PlatformImage(
        PLATFORMS[0], b"12", b"345", (Layer("d", "i", 10, Path("x")), Layer("d", "i", 20, Path("x")))
    )
    assert image.size == 35


def test_a_document_is_named_by_its_bytes() -> None:
    assert digest_of(b"") == hashlib.sha256(io.BytesIO().read()).hexdigest()
