"""What may be installed: every way in which a payload can be wrong has its code and its sentence."""

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from builders.driver_hosts import KERNEL, stage_driver, stage_maca
from tangram.daemon.errors import SettingError
from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.problems import ProblemError
from tangram.services.driver_manager.signing import checks_with
from tangram.services.driver_manager.staged import Checks, Ground, Staged, find
from tangram.services.driver_manager.unpacking import MARKER, unpack
from tangram.wire.operator.payloads import PayloadKind, payload_folder

PEM = (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def found(
    payloads: Path, image: str, kind: PayloadKind = PayloadKind.DRIVER, *, key: Checks | None = None
) -> Staged:
    return find(payloads, image, kind, Ground(kernel=KERNEL, machine=os.uname().machine, signed_by=key))


def refused(payloads: Path, image: str, kind: PayloadKind = PayloadKind.DRIVER) -> str:
    with pytest.raises(ProblemError) as caught:
        found(payloads, image, kind)
    return f"{caught.value.problem.code}: {caught.value}"


def test_a_good_one_is_found_with_everything_that_it_says(tmp_path: Path) -> None:
    staged = found(tmp_path, stage_driver(tmp_path, "2.32.0"))
    assert staged.version == "2.32.0"
    assert staged.size == sum(file.size for file in staged.payload.files.values())
    assert len(staged.digest) == 64


def test_one_that_is_not_there_says_where_it_would_be(tmp_path: Path) -> None:
    said = refused(tmp_path, "reg/driver-image:1")
    assert said.startswith("payload-absent: the payload reg/driver-image:1 is not on this node yet")
    assert payload_folder("reg/driver-image:1") in said


def test_the_other_kind_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, stage_maca(tmp_path, "2.32.0"))
    assert said.startswith("payload-kind: ")
    assert "is of kind maca, and one of kind driver is needed" in said


def test_firmware_is_the_hosts(tmp_path: Path) -> None:
    image = stage_driver(tmp_path, "2.32.0", links={"firmware/x": "y"})
    assert "payload-firmware" in refused(tmp_path, image)
    assert "install the vendor's firmware package" in refused(tmp_path, image)


def test_a_description_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    image = stage_driver(tmp_path, "2.32.0")
    (tmp_path / payload_folder(image) / "payload.json").write_text("{")
    assert refused(tmp_path, image).startswith("payload-unreadable: ")


@pytest.mark.parametrize("how", ["missing", "shorter", "link", "folder", "way out"])
def test_files_that_are_not_what_they_should_be_are_damage(tmp_path: Path, how: str) -> None:
    payloads = tmp_path / "payloads"
    image = stage_driver(payloads, "2.32.0")
    file = payloads / payload_folder(image) / "mxdriver/bin/mx-smi"
    content = file.read_text()
    file.unlink()
    match how:
        case "shorter":
            file.write_text(content[1:])
        case "link":
            file.symlink_to("/etc/hostname")
        case "folder":
            file.mkdir()
        case "way out":
            outside = tmp_path / "outside"
            outside.mkdir()
            (outside / "mx-smi").write_text(content)
            file.parent.rmdir()
            file.parent.symlink_to(outside)
        case _:
            pass
    assert refused(payloads, image).startswith(
        "payload-corrupt: the payload reg/cloud/driver-image:2.32.0 is damaged: mxdriver/bin"
    )


def test_a_folder_of_somebody_else_under_the_name_is_left_alone(tmp_path: Path) -> None:
    staged = found(tmp_path / "payloads", stage_driver(tmp_path / "payloads", "2.32.0"))
    theirs = tmp_path / "host/opt/mxdriver-2.32.0"
    theirs.mkdir(parents=True)
    with pytest.raises(ProblemError, match="not of driver-manager's making"):
        unpack(Disk(tmp_path / "host"), staged)
    assert list(theirs.iterdir()) == []


def test_what_is_unpacked_has_the_modes_that_were_listed_and_its_description(tmp_path: Path) -> None:
    staged = found(tmp_path / "payloads", stage_driver(tmp_path / "payloads", "2.32.0"))
    (tmp_path / "host").mkdir()
    unpack(Disk(tmp_path / "host"), staged)
    folder = tmp_path / "host/opt/mxdriver-2.32.0"
    assert (folder / "bin/mx-smi").stat().st_mode & 0o777 == 0o755
    assert (folder / MARKER).read_bytes() == staged.text


def test_a_signature_is_checked_with_the_key_that_is_given(tmp_path: Path) -> None:
    private = Ed25519PrivateKey.generate()
    key = tmp_path / "key.pub"
    key.write_bytes(private.public_key().public_bytes(*PEM))
    image = stage_driver(tmp_path, "2.32.0")
    folder = tmp_path / payload_folder(image)
    (folder / "payload.sig").write_bytes(private.sign((folder / "payload.json").read_bytes()))
    assert found(tmp_path, image, key=checks_with(key)).version == "2.32.0"
    (folder / "payload.sig").write_bytes(b"short")
    with pytest.raises(ProblemError, match="by the key that is given"):
        found(tmp_path, image, key=checks_with(key))


def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read"):
        checks_with(tmp_path / "nowhere")
    (tmp_path / "x").write_text("no key")
    with pytest.raises(SettingError, match="no public key in PEM"):
        checks_with(tmp_path / "x")
    (tmp_path / "x").write_bytes(X25519PrivateKey.generate().public_key().public_bytes(*PEM))
    with pytest.raises(SettingError, match="signed with Ed25519"):
        checks_with(tmp_path / "x")
