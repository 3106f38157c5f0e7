"""Archives: what is read out of them, and what is said of those that are not whole."""

import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.image_archives import NAME, index_archive, platform_archive, small_images
from shipping.image.oci import digest_of
from tangram.services.images.archive import NAME as ANNOTATION
from tangram.services.images.archive import opened
from tangram.services.images.errors import ImagesError
from tangram.services.images.listing import listing_of


def problem(path: Path) -> str:
    with pytest.raises(ImagesError) as raised, opened(path) as archive:
        archive.check_contents()
    return str(raised.value)


def sized(size: int) -> bytes:
    """An archive whose only member claims this length."""
    header = bytearray(tarfile.TarInfo("index.json").tobuf(tarfile.GNU_FORMAT))
    header[124:136] = (
        b"\xff" + (256**11 + size).to_bytes(11, "big") if size < 0 else b"\x80" + size.to_bytes(11, "big")
    )
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


def long_name() -> bytes:
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 2
    return header.tobuf(tarfile.GNU_FORMAT) + b"a".ljust(512, b"\0")


LONG_NAMES = long_name() * 3000


def rewritten(path: Path, changes: dict[str, bytes | None]) -> Path:
    """The archive with other members, or without some."""
    with tarfile.open(path) as source:
        members = {one.name: source.extractfile(one) for one in source.getmembers()}
        contents = {name: file.read() for name, file in members.items() if file is not None}
    for name, content in changes.items():
        if content is None:
            del contents[name]
        else:
            contents[name] = content
    with tarfile.open(path, "w") as target:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    return path


def test_an_archive_says_what_it_holds(tmp_path: Path) -> None:
    images = small_images(tmp_path)
    with opened(index_archive(tmp_path)) as archive:
        (image,) = archive.images
        archive.check_contents()
        held = listing_of(archive)
    assert (image.name, image.repository, image.tag) == (NAME, "tangram", "1.2.3")
    assert [one.size for one in image.platforms] == [one.size for one in images]
    (listed,) = held.images
    assert (listed.name, listed.version) == ("tangram.dev/cloud/tangram", "1.2.3")
    assert [one.platform for one in listed.platforms] == ["linux/amd64", "linux/arm64"]
    assert [one.digest for one in listed.platforms] == [f"sha256:{digest_of(one.manifest)}" for one in images]


def test_an_archive_of_one_platform_is_read_too(tmp_path: Path) -> None:
    with opened(platform_archive(tmp_path)) as archive:
        (image,) = archive.images
    assert image.top.digest == image.platforms[0].manifest.digest


def test_an_archive_behind_a_script_is_read_where_the_script_says(tmp_path: Path) -> None:
    plain = index_archive(tmp_path)
    script = b"#!/bin/sh\npayload_at=4096\nexit 0\n"
    joined = tmp_path / "images.run"
    joined.write_bytes(script + b"#" * (4096 - len(script)) + plain.read_bytes())
    with opened(joined) as archive, opened(plain) as alone:
        archive.check_contents()
        assert archive.images == alone.images
        for blob in archive.images[0].blobs():
            assert archive.read(blob) == alone.read(blob)
            assert archive.read(blob, 2, 5) == alone.read(blob)[2:7]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "as a tar archive", id="empty"),
        pytest.param(b"hello", "as a tar archive", id="text"),
        pytest.param(b"\x1f\x8b\x08\x00" + bytes(600), "as a tar archive", id="gzip"),
        pytest.param(bytes(10240), "neither index.json nor", id="a tar archive of nothing"),
        pytest.param(sized(-512), "is no whole archive", id="a length below zero that leads back"),
        pytest.param(sized(-1), "is no whole archive", id="a length below zero"),
        pytest.param(sized(1 << 40), "is no whole archive", id="a length beyond the end"),
        pytest.param(LONG_NAMES, "as a tar archive", id="names of names of names"),
        pytest.param(
            b"#!/bin/sh\npayload_at=9999999\n", "neither index.json nor", id="a script with nothing behind it"
        ),
    ],
)
def test_a_file_that_is_no_archive_is_told_apart(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(content)
    assert words in problem(path)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        pytest.param(b"{", "index.json cannot be read", id="no JSON"),
        pytest.param(b'{"manifests":[]}', "holds no image", id="no image"),
        pytest.param(b'{"manifests":"\xff"}', "index.json cannot be read", id="no UTF-8"),
        pytest.param(b'{"manifests":' + b"[" * 9999, "index.json cannot be read", id="nested without end"),
        *(
            pytest.param(
                json.dumps(
                    {
                        "manifests": [
                            {"mediaType": "x", "digest": "x", "size": 1, "annotations": {ANNOTATION: name}}
                        ]
                    }
                ).encode(),
                "no name and version",
                id=name,
            )
            for name in ("a/..:1", "-v/x:1", "a/x:1 2", "x:1", "a/x:", "a/x?y:1", "a/x:1/../2")
        ),
        pytest.param(
            b'{"manifests":[{"mediaType":"x","digest":"sha256:0","size":1}]}',
            "no name and version",
            id="no name",
        ),
        pytest.param(
            b'{"manifests":[{"mediaType":"x","digest":"sha256:0","size":1,'
            b'"annotations":{"io.containerd.image.name":"a/b:1"}}]}',
            "no image manifest",
            id="something else",
        ),
        pytest.param(
            b'{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"../../x","size":1,'
            b'"annotations":{"io.containerd.image.name":"a/b:1"}}]}',
            "is no SHA-256 digest",
            id="a path",
        ),
    ],
)
def test_an_index_that_leads_nowhere_is_refused(index: bytes, words: str, tmp_path: Path) -> None:
    assert words in problem(rewritten(index_archive(tmp_path), {"index.json": index}))


def test_a_layer_that_is_missing_is_found_without_reading_the_others(tmp_path: Path) -> None:
    layer = small_images(tmp_path)[0].layers[1]
    path = rewritten(index_archive(tmp_path), {f"blobs/sha256/{layer.digest}": None})
    sentence = problem(path)
    assert f"sha256:{layer.digest}"[:20] in sentence
    assert "is not in it" in sentence


def test_a_manifest_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    image = small_images(tmp_path)[0]
    changed = json.dumps({**json.loads(image.manifest), "layers": []}).encode()
    changed += b" " * (len(image.manifest) - len(changed))
    path = rewritten(index_archive(tmp_path), {f"blobs/sha256/{digest_of(image.manifest)}": changed})
    assert "has the digest" in problem(path)


@given(data=st.data())
def test_an_archive_that_was_cut_off_anywhere_is_never_taken_for_whole(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("archives")
    whole = index_archive(folder).read_bytes()
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        last = tar.getmembers()[-1]
    path = folder / "cut.tar"
    path.write_bytes(whole[: data.draw(st.integers(0, last.offset_data + last.size - 1))])
    assert "is no whole archive" in problem(path)


def test_a_file_that_is_not_there_is_named_with_what_it_could_be(tmp_path: Path) -> None:
    with (
        pytest.raises(ImagesError, match=r"No such file .* tangram-VERSION-oci\.tar"),
        opened(tmp_path / "x"),
    ):
        pass
    with pytest.raises(ImagesError, match="Is a directory"), opened(tmp_path):
        pass
