"""Payload archives: what is in them, that they are the same every time, and what is said of those that are damaged."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from builders.image_archives import index_archive
from builders.payload_folders import KERNEL, built, driver_folder, layer_members, maca_folder, put
from tangram.services.images.archive import opened
from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.building import build
from tangram.services.images.payloads.describing import Wish
from tangram.services.images.payloads.documents import documents_of, write_archive
from tangram.services.images.payloads.folder import read_folder
from tangram.services.images.payloads.inspecting import Inspected, inspect
from tangram.services.images.payloads.layer import Layer, add_text, entry
from tangram.services.images.payloads.signing import make_key, read_private_key, read_public_key
from tangram.wire.operator.payloads import Payload, PayloadFile, PayloadKind, payload_text

WISH = Wish(
    kind=PayloadKind.DRIVER, version="2.32.0", architecture="arm64", name="tangram.dev/cloud/d:2.32.0"
)


def inspected(path: Path, key: Path | None = None) -> Inspected:
    with opened(path) as archive:
        (found,) = inspect(archive, key=None if key is None else read_public_key(key))
    return found


def test_an_archive_holds_exactly_what_it_lists(tmp_path: Path) -> None:
    made = built(driver_folder(tmp_path), tmp_path / "x.tar")
    members = layer_members(tmp_path / "x.tar")
    files = {name.removeprefix("payload/") for name, one in members.items() if one.isfile()}
    assert files == {*made.payload.files, "payload.json"}
    assert {one.mode for name, one in members.items() if name.endswith("mx-smi")} == {0o755}
    assert all((one.uid, one.gid, one.mtime) == (0, 0, 0) for one in members.values())
    found = inspected(tmp_path / "x.tar")
    assert (found.kind, found.version, found.kernels, found.modules) == (
        "driver",
        "2.32.0",
        (KERNEL,),
        ("metax",),
    )
    assert (found.image, found.platform, found.digest) == (made.image, "linux/amd64", made.digest)
    assert (found.files, found.links, found.download) == (2, 1, made.size)
    assert (found.signed, found.signed_by_key) == (False, None)


def test_the_platform_is_the_one_asked_for(tmp_path: Path) -> None:
    build(read_folder(driver_folder(tmp_path), PayloadKind.DRIVER), WISH, tmp_path / "x.tar")
    assert inspected(tmp_path / "x.tar").platform == "linux/arm64"
    with tarfile.open(tmp_path / "x.tar") as tar:
        listed = tar.extractfile("manifest.json")
        assert listed is not None
        (for_docker,) = json.loads(listed.read())
        config = tar.extractfile(for_docker["Config"])
        assert config is not None
        assert json.loads(config.read())["architecture"] == "arm64"
    assert for_docker["RepoTags"] == [WISH.name]


@given(contents=st.dictionaries(st.sampled_from("abcdefgh"), st.binary(max_size=50), min_size=1))
def test_the_same_folder_is_the_same_archive(
    tmp_path_factory: pytest.TempPathFactory, contents: dict[str, bytes]
) -> None:
    made: list[bytes] = []
    for order in (sorted(contents), sorted(contents, reverse=True)):
        root = tmp_path_factory.mktemp("payload")
        for name in order:
            put(root / "sdk" / "maca" / name, "")
            (root / "sdk" / "maca" / name).write_bytes(contents[name])
        built(root / "sdk", root / "x.tar", PayloadKind.MACA)
        inspected(root / "x.tar")
        made.append((root / "x.tar").read_bytes())
    assert made[0] == made[1]


def test_a_signature_is_of_the_exact_list(tmp_path: Path) -> None:
    public, other = make_key(tmp_path / "key"), make_key(tmp_path / "other")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    found = read_folder(driver_folder(tmp_path), PayloadKind.DRIVER)
    build(found, WISH, tmp_path / "x.tar", key=read_private_key(tmp_path / "key"))
    assert inspected(tmp_path / "x.tar", public).signed_by_key is True
    assert inspected(tmp_path / "x.tar", other).signed_by_key is False
    assert inspected(tmp_path / "x.tar").signed
    build(found, WISH, tmp_path / "plain.tar")
    assert inspected(tmp_path / "plain.tar", public).signed_by_key is False


def test_keys_that_are_none_are_refused(tmp_path: Path) -> None:
    public = make_key(tmp_path / "key")
    with pytest.raises(ImagesError, match="there already"):
        make_key(tmp_path / "key")
    with pytest.raises(ImagesError, match="cannot be written"):
        make_key(tmp_path / "gone" / "key")
    with pytest.raises(ImagesError, match="no private key in PEM"):
        read_private_key(public)
    with pytest.raises(ImagesError, match="no public key in PEM"):
        read_public_key(tmp_path / "key")
    with pytest.raises(ImagesError, match="No such file"):
        read_private_key(tmp_path / "none")


def test_keys_of_another_kind_or_with_a_password_are_refused(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    private, public, locked = (tmp_path / name for name in ("private", "public", "locked"))
    secret = forms.BestAvailableEncryption(b"secret")
    private.write_bytes(
        key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    )
    locked.write_bytes(key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, secret))
    public.write_bytes(
        key.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(ImagesError, match="signed with Ed25519"):
        read_private_key(private)
    with pytest.raises(ImagesError, match="signed with Ed25519"):
        read_public_key(public)
    with pytest.raises(ImagesError, match="encrypted with a password"):
        read_private_key(locked)


def test_what_the_format_does_not_allow_is_said_before_anything_is_written(tmp_path: Path) -> None:
    folder = driver_folder(tmp_path)
    (folder / "modules" / KERNEL / "metax.ko").rename(folder / "modules" / KERNEL / "Meta X.ko")
    with pytest.raises(ImagesError, match="name of a kernel module"):
        built(folder, tmp_path / "x.tar")
    assert not list(tmp_path.glob("*x.tar*"))


def test_a_failure_leaves_neither_a_file_nor_a_part_of_one(tmp_path: Path) -> None:
    folder = driver_folder(tmp_path)
    found = read_folder(folder, PayloadKind.DRIVER)
    (folder / "mxdriver" / "bin" / "mx-smi").write_text("longer than it was")
    with pytest.raises(ImagesError, match="changed while it was read"):
        build(found, WISH, tmp_path / "x.tar")
    (folder / "mxdriver" / "bin" / "mx-smi").write_text("short")
    with pytest.raises(ImagesError, match="changed while it was read"):
        build(found, WISH, tmp_path / "x.tar")
    (folder / "mxdriver" / "bin" / "mx-smi").unlink()
    with pytest.raises(ImagesError, match="No such file"):
        build(found, WISH, tmp_path / "x.tar")
    with pytest.raises(ImagesError, match="cannot be written"):
        build(found, WISH, tmp_path / "gone" / "x.tar")
    assert not list(tmp_path.glob("*x.tar*"))


def test_a_long_build_tells_how_far_it_is(tmp_path: Path) -> None:
    found = read_folder(maca_folder(tmp_path), PayloadKind.MACA)
    counted: list[int] = []
    wish = msgspec.structs.replace(WISH, kind=PayloadKind.MACA)
    build(found, wish, tmp_path / "x.tar", on_bytes=counted.append)
    assert sum(counted) == found.size


# -- damaged ones -----------------------------------------------------------------------------------------------------


SUM = hashlib.sha256(b"x").hexdigest()
PAYLOAD = Payload(
    format=1,
    kind=PayloadKind.MACA,
    version="1",
    architecture="amd64",
    files={"maca/x": PayloadFile(SUM, 1)},
    links={"maca/l": "x"},
)


def with_layer(path: Path, members: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    """An archive that is whole as an archive, with this in its layer."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as outer,
        tarfile.TarFile(fileobj=outer, mode="w") as tar,
    ):
        for name, content in members.items():
            add_text(tar, name, content)
        for name, target in (links or {}).items():
            link = entry(name, tarfile.SYMTYPE, 0o777)
            link.linkname = target
            tar.addfile(link)
    return with_blob(path, packed.getvalue())


def with_blob(path: Path, blob: bytes) -> Path:
    content = path.with_suffix(".layer")
    content.write_bytes(blob)
    digest = hashlib.sha256(blob).hexdigest()
    write_archive(path, WISH, documents_of(WISH, Layer(PAYLOAD, digest, digest), len(blob)), digest, content)
    return path


@pytest.mark.parametrize(
    ("members", "links", "sentence"),
    [
        pytest.param({"etc/x": b"x"}, {}, "so it is no payload", id="another image"),
        pytest.param({"payload/payload.json": b"{"}, {}, "payload.json cannot be read", id="no list"),
        pytest.param(
            {"payload/maca/x": b"y"}, {"payload/maca/l": "x"}, "maca/x is not there as", id="content"
        ),
        pytest.param({}, {"payload/maca/l": "x"}, "maca/x is not there as", id="a file less"),
        pytest.param({"payload/maca/x": b"x"}, {"payload/maca/l": "y"}, "links are not those", id="a link"),
    ],
)
def test_an_archive_that_does_not_hold_what_it_lists_is_refused(
    tmp_path: Path, members: dict[str, bytes], links: dict[str, str], sentence: str
) -> None:
    text = {} if "etc/x" in members else {"payload/payload.json": payload_text(PAYLOAD).encode()}
    path = with_layer(tmp_path / "x.tar", {**text, **members}, links)
    with pytest.raises(ImagesError, match=sentence):
        inspected(path)


def test_a_true_archive_by_another_hand_is_taken(tmp_path: Path) -> None:
    members = {"payload/payload.json": payload_text(PAYLOAD).encode(), "payload/maca/x": b"x"}
    assert inspected(with_layer(tmp_path / "x.tar", members, {"payload/maca/l": "x"})).version == "1"


@pytest.mark.parametrize(
    "blob",
    [b"", b"\x1f\x8b", gzip.compress(b"no archive"), b"hello"],
    ids=["nothing", "cut off", "no archive", "not compressed"],
)
def test_a_layer_that_cannot_be_unpacked_is_said(tmp_path: Path, blob: bytes) -> None:
    with pytest.raises(ImagesError, match=r"cannot be unpacked|is no payload"):
        inspected(with_blob(tmp_path / "x.tar", blob))


def test_an_image_for_several_platforms_is_no_payload(tmp_path: Path) -> None:
    with pytest.raises(ImagesError, match="for several platforms"):
        inspected(index_archive(tmp_path))
