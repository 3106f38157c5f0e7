"""Whether everything in an image finds its libraries, without starting it."""

import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.packages import AMD64, ARM64, elf_file
from shipping.image.elf import problems, read_elf
from shipping.image.errors import ImageError
from shipping.image.platforms import platform_named
from shipping.image.tree import Entry, File, Link

AMD = platform_named("amd64")
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def test_names_and_folders_are_read() -> None:
    elf = read_elf(elf_file("libc.so.6", "libm.so.6", runpath="$ORIGIN/../libs:/opt", loader="/lib64/ld.so"))
    assert elf is not None
    assert elf.machine == AMD64
    assert elf.needed == ("libc.so.6", "libm.so.6")
    assert elf.folders == ("$ORIGIN/../libs", "/opt")
    assert elf.loader == "/lib64/ld.so"


def test_a_real_program_is_read() -> None:
    elf = read_elf(Path(sys.executable).resolve().read_bytes())
    assert elf is not None
    assert elf.loader.startswith("/lib")
    assert "libc.so.6" in elf.needed


def test_other_files_are_no_programs() -> None:
    assert read_elf(b"#!/bin/sh\n") is None


@given(cut=st.integers(min_value=6, max_value=240), change=st.binary(max_size=8), at=st.integers(16, 200))
def test_a_broken_file_is_an_error_and_never_a_traceback(cut: int, change: bytes, at: int) -> None:
    data = elf_file("libc.so.6")
    for broken in (data[:cut], data[:at] + change + data[at + len(change) :]):
        with suppress(ImageError):
            read_elf(broken)


def test_an_image_whose_files_find_everything_has_no_problems() -> None:
    tree: dict[str, Entry] = {
        "lib": Link("usr/lib"),
        "lib64": Link("usr/lib64"),
        "usr/lib64/ld.so": Link("/lib/x86_64-linux-gnu/ld.so"),
        f"{LIBRARIES}/ld.so": File(elf_file()),
        f"{LIBRARIES}/libc.so.6": File(elf_file("ld.so")),
        "usr/bin/program": File(elf_file("libc.so.6", loader="/lib64/ld.so")),
        "opt/pkg/mod.so": File(elf_file("libown.so", "libc.so.6", runpath="$ORIGIN/../pkg.libs")),
        "opt/pkg.libs/libown.so": File(elf_file()),
        "opt/link": Link("pkg"),
    }
    assert problems(tree, AMD) == []


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        pytest.param(File(elf_file("libgone.so")), "needs libgone.so, which is not there", id="library"),
        pytest.param(File(elf_file(loader="/lib64/ld.so")), "is started by /lib64/ld.so", id="loader"),
        pytest.param(File(elf_file(machine=ARM64)), "is made for another machine than amd64", id="machine"),
        pytest.param(Link("/gone"), "leads to /gone, which is not there", id="link"),
        pytest.param(File(elf_file("libc.so.6")[:80]), "holds a broken table", id="broken"),
    ],
)
def test_what_would_fail_to_load_is_named(entry: Entry, problem: str) -> None:
    (found,) = problems({"usr/bin/x": entry}, AMD)
    assert found.startswith(f"/usr/bin/x {problem}")
