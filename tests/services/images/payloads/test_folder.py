"""Folders that become payloads, and those that cannot."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.payload_folders import KERNEL, driver_folder, maca_folder, put
from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.folder import read_folder
from tangram.wire.operator.payloads import PayloadKind

OTHER = "6.8.0-31-generic"


def problem(folder: Path, kind: PayloadKind = PayloadKind.DRIVER, modules: tuple[str, ...] = ()) -> str:
    with pytest.raises(ImagesError) as raised:
        read_folder(folder, kind, modules)
    return str(raised.value)


def test_kernels_and_modules_are_those_of_the_folders(tmp_path: Path) -> None:
    found = read_folder(driver_folder(tmp_path, (OTHER, KERNEL)), PayloadKind.DRIVER)
    assert (found.kernels, found.modules) == ((KERNEL, OTHER), ("metax",))
    assert [one.path for one in found.files] == [
        f"modules/{KERNEL}/metax.ko",
        f"modules/{OTHER}/metax.ko",
        "mxdriver/bin/mx-smi",
    ]
    assert found.links == {"mxdriver/smi": "bin/mx-smi"}
    assert found.files[-1].mode == 0o755


def test_mxmaca_has_neither(tmp_path: Path) -> None:
    found = read_folder(maca_folder(tmp_path), PayloadKind.MACA)
    assert (found.kernels, found.modules) == ((), ())
    assert found.links == {"maca/lib/libmcruntime.so": "libmcruntime.so.1"}


def test_several_modules_are_loaded_in_the_order_that_was_told(tmp_path: Path) -> None:
    folder = driver_folder(tmp_path)
    put(folder / "modules" / KERNEL / "mxcore.ko", "x")
    assert "--module metax --module mxcore" in problem(folder)
    assert read_folder(folder, PayloadKind.DRIVER, ("mxcore", "metax")).modules == ("mxcore", "metax")
    for wrong in (("metax",), ("metax", "mxcore", "other"), ("metax", "metax")):
        assert "holds metax, mxcore: name each once" in problem(folder, modules=wrong)


def device(folder: Path) -> None:
    os.mkfifo(folder / "mxdriver" / "pipe")


def chain(folder: Path) -> None:
    """Each link stays inside; together they lead out."""
    (folder / "mxdriver" / "a").mkdir()
    (folder / "mxdriver" / "a" / "up").symlink_to("..")
    (folder / "mxdriver" / "out").symlink_to("a/up/../..")


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "another file": (lambda one: put(one / "README", "x"), "'README', which is no part"),
    "another kind": (lambda one: (one / "maca").mkdir(), "'maca', which is no part"),
    "linked": (lambda one: (one / "firmware").symlink_to("/lib"), "no folder: put the folder itself"),
    "absolute": (lambda one: (one / "mxdriver" / "l").symlink_to("/etc/passwd"), "an absolute path"),
    "to another part": (lambda one: (one / "mxdriver" / "l").symlink_to("../modules"), "leads out of"),
    "a chain": (chain, "leads out of"),
    "a pipe": (device, "a device, a pipe or a socket"),
    "too high": (lambda one: put(one / "modules" / "x.ko", "x"), "is no module of a kernel"),
    "too deep": (lambda one: put(one / "modules" / KERNEL / "a" / "x.ko", "x"), "is no module"),
    "compressed": (lambda one: put(one / "modules" / KERNEL / "x.ko.xz", "x"), "compressed: unpack it"),
    "other modules": (lambda one: put(one / "modules" / OTHER / "other.ko", "x"), "--module metax"),
    "a name": (lambda one: put(one / "mxdriver" / os.fsdecode(b"gr\xfcn"), "x"), "no name in UTF-8"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_a_node_could_not_install_is_refused(tmp_path: Path, what: str) -> None:
    change, sentence = BROKEN[what]
    folder = driver_folder(tmp_path)
    change(folder)
    assert sentence in problem(folder)


def test_each_kernel_needs_every_module(tmp_path: Path) -> None:
    folder = driver_folder(tmp_path, (KERNEL, OTHER))
    put(folder / "modules" / OTHER / "mxcore.ko", "x")
    assert f"modules/{KERNEL} has no mxcore.ko" in problem(folder, modules=("mxcore", "metax"))


def test_an_empty_folder_and_one_without_modules_are_refused(tmp_path: Path) -> None:
    (tmp_path / "modules" / KERNEL).mkdir(parents=True)
    assert "is empty" in problem(tmp_path)
    put(tmp_path / "mxdriver" / "x", "x")
    assert "a driver needs at least one module" in problem(tmp_path)
    assert "No such file" in problem(tmp_path / "gone")
    assert "Not a directory" in problem(tmp_path / "mxdriver" / "x")


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = driver_folder(tmp_path)
    closed = folder / "mxdriver" / "bin" / "mx-smi"
    usual = os.access

    def asked(path: str, mode: int) -> bool:
        """Root may read everything, so the kernel's answer is given here."""
        return path != str(closed) and usual(path, mode)

    monkeypatch.setattr(os, "access", asked)
    assert "mx-smi cannot be read" in problem(folder)
