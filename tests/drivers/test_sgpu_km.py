"""The kernel module's files: read as they are, all but two never written, never trusted to stay."""

import errno
import os
from pathlib import Path

import pytest

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.sgpu_km import (
    KERNEL_TIERS,
    CardKnobs,
    KernelSlice,
    SgpuKm,
    Usage,
    parse_bound_cards,
    parse_number,
    parse_usage,
)
from tangram.units.memory import GIB, MIB, Bytes
from tangram.units.na import NA


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "sgpu_km"
    folder = root / "2/0123456789ab"
    folder.mkdir(parents=True)
    files = {
        "version": "1.3.0\n",
        "cores": "0,2\n",
        "2/max_inst": "16\n",
        "2/policy": "1\n",
        "2/time_slice": "5\n",
        "2/overcommit_ratio": "110\n",
        "2/0123456789ab/id": "35\n",
        "2/0123456789ab/memsize": f"{16 * GIB}\n",
        "2/0123456789ab/weight": "8\n",
        "2/0123456789ab/meminfo": f"Free: {15 * GIB}\nPID: 4711 Mem: {GIB}\n",
    }
    for name, text in files.items():
        (root / name).write_text(text)
    return root


def test_the_whole_tree_is_read(root: Path) -> None:
    module = SgpuKm(root)
    assert module.present
    assert module.version() == "1.3.0"
    assert module.bound_cards() == (0, 2)
    assert module.knobs(2) == CardKnobs(most_slices=16, policy=1, time_slice_ms=5, overcommit_percent=110)
    (only,) = module.slices(2)
    assert only == KernelSlice(
        container="0123456789ab",
        minor=35,
        memory=Bytes(16 * GIB),
        weight=8,
        usage=Usage(Bytes(15 * GIB), ((4711, Bytes(GIB)),)),
    )
    assert only.number == 3, "the low four bits"


def test_without_the_module_no_card_is_bound(tmp_path: Path) -> None:
    module = SgpuKm(tmp_path / "nothing")
    assert (module.present, module.version(), module.bound_cards()) == (False, NA, ())
    assert (module.knobs(0), module.slices(0)) == (CardKnobs(), ())


def test_a_module_that_does_not_say_which_cards_is_not_a_module_without_cards(root: Path) -> None:
    (root / "cores").unlink()
    assert SgpuKm(root).bound_cards() is NA


def test_the_cards_to_slice_are_written_as_one_line(root: Path) -> None:
    module = SgpuKm(root)
    for cards, line in (((0, 2, 5), "0,2,5\n"), ((3,), "3\n"), ((), "\n")):
        module.bind(cards)
        assert (root / "cores").read_text() == line
        assert module.bound_cards() == cards


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.EBUSY, Kind.BUSY),
        (errno.EINVAL, Kind.INVALID),
        (errno.EACCES, Kind.NOT_PERMITTED),
        (errno.EROFS, Kind.NOT_PERMITTED),
        (errno.EIO, Kind.FAILED),
    ],
)
def test_a_module_that_refuses_the_cards_says_why(
    root: Path, code: int, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _data: bytes) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(DriverError, match="does not take the cards 0,7") as caught:
        SgpuKm(root).bind((0, 7))
    monkeypatch.undo()
    assert (caught.value.kind, caught.value.vendor_code) == (kind, code)


def test_no_file_is_made_where_the_module_has_none(tmp_path: Path) -> None:
    with pytest.raises(DriverError) as caught:
        SgpuKm(tmp_path).bind((0,))
    assert caught.value.kind is Kind.NOT_SUPPORTED
    assert list(tmp_path.iterdir()) == []


def test_files_that_vanish_while_they_are_read_are_slices_that_ended(root: Path) -> None:
    """Each file in turn is the last one that can still be read before the whole slice is gone."""
    for name in ("id", "memsize", "weight", "meminfo"):
        folder = root / "2/0123456789ab"
        saved = {path.name: path.read_text() for path in folder.iterdir()}

        def vanish(path: str, name: str = name, folder: Path = folder) -> None:
            if path.endswith(f"/{name}"):
                for file in folder.iterdir():
                    file.unlink()
                folder.rmdir()

        assert SgpuKm(root, vanish).slices(2) == ()
        folder.mkdir()
        for file, text in saved.items():
            (folder / file).write_text(text)
    assert len(SgpuKm(root).slices(2)) == 1


def test_the_cards_own_settings_are_not_taken_for_slices(root: Path) -> None:
    (root / "2/.hidden").mkdir()
    (root / "2/stray").write_text("")
    assert [each.container for each in SgpuKm(root).slices(2)] == ["0123456789ab"]


def test_what_is_read_next_is_always_said_before(root: Path) -> None:
    said: list[str] = []
    SgpuKm(root, said.append).slices(2)
    assert [path.rpartition("/")[2] for path in said] == ["2", "id", "memsize", "weight", "meminfo"]


def test_a_file_without_end_is_read_only_so_far(root: Path) -> None:
    (root / "2/0123456789ab/meminfo").unlink()
    (root / "2/0123456789ab/meminfo").symlink_to("/dev/zero")
    (only,) = SgpuKm(root).slices(2)
    assert only.usage == Usage()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("0,2,3\n", (0, 2, 3)),
        ("", ()),
        ("\n", ()),
        ("3", (3,)),
        ("2, 0 2", (0, 2)),
        ("a", NA),
        ("-1", NA),
        ("0,99999999", NA),
        ("0;1", NA),
    ],
)
def test_the_list_of_bound_cards(text: str, meant: object) -> None:
    assert parse_bound_cards(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"), [("16\n", 16), (" 7 ", 7), ("", NA), ("x", NA), ("-1", NA), ("9" * 40, NA)]
)
def test_a_file_with_one_number(text: str, meant: object) -> None:
    assert parse_number(text) == meant


def test_lines_of_a_newer_module_are_passed_over() -> None:
    text = "Total: 5\nFree: 3\nPID: 1 Mem: 2\nPID: x Mem: 2\nPID: 7 Mem: 9 Name: x\n"
    assert parse_usage(text) == Usage(Bytes(3), ((1, Bytes(2)),))


def test_the_kernels_tiers() -> None:
    tiers = [512, 1024, 2048, 4096, 8192, 16384, 32768, 49152, 65536, 81920]
    assert [tier // MIB for tier in KERNEL_TIERS] == tiers


def test_a_policy_is_written_to_its_card_alone(root: Path) -> None:
    module = SgpuKm(root)
    module.set_policy(2, 2)
    assert (root / "2/policy").read_text() == "2\n", "the module takes two bytes at most"
    assert module.knobs(2).policy == 2
    with pytest.raises(DriverError) as caught:
        module.set_policy(3, 2)
    assert caught.value.kind is Kind.NOT_SUPPORTED
    assert not (root / "3").exists()
