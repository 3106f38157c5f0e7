"""What comes from the distribution: installed where that is allowed, named in one sentence where not."""

import os
import struct
from pathlib import Path

import pytest

from testbed import debian
from testbed.debian import Need, is_static, provide
from testbed.errors import BedError


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds all programs there are."""
    monkeypatch.setattr(debian, "SYSTEM_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def add(machine: Path, name: str, script: str = "") -> None:
    program = machine / name
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)


def program_of(machine: Path, name: str, package: str) -> Need:
    return Need(f"`{name}`", (package,), (machine / name).exists)


def refusal(*needs: Need) -> str:
    said: list[str] = []
    with pytest.raises(BedError) as caught:
        provide(needs, say=said.append)
    return str(caught.value)


def test_nothing_is_said_or_done_where_nothing_is_missing(machine: Path) -> None:
    add(machine, "ip")
    said: list[str] = []
    provide([program_of(machine, "ip", "iproute2")], say=said.append)
    assert said == []


def test_root_on_debian_installs_what_is_missing_and_says_so(machine: Path) -> None:
    add(machine, "apt-get", f'echo "$@" >> {machine}/asked; : > {machine}/ip; : > {machine}/mount')
    said: list[str] = []
    needs = [program_of(machine, "ip", "iproute2"), program_of(machine, "mount", "mount")]
    provide(needs, say=said.append)
    assert said == ["The test bed needs `ip` and `mount`: installing iproute2 and mount with apt-get."]
    asked = (machine / "asked").read_text("utf-8").split()
    assert asked[0] == "install"
    assert asked[-4:] == ["--yes", "--no-install-recommends", "iproute2", "mount"]


def test_lists_of_packages_are_fetched_only_if_installing_fails_without(machine: Path) -> None:
    add(
        machine,
        "apt-get",
        f'echo "$1" >> {machine}/asked\n'
        f"[ $1 = update ] && : > {machine}/lists && exit 0\n"
        f"[ -e {machine}/lists ] && : > {machine}/ip",
    )
    provide([program_of(machine, "ip", "iproute2")], say=lambda _: None)
    assert (machine / "asked").read_text("utf-8").split() == ["install", "update", "install"]


def test_whoever_is_not_root_gets_one_sentence_with_the_command(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(machine, "apt-get", f": > {machine}/asked")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    needs = [program_of(machine, "ip", "iproute2"), program_of(machine, "gcc", "gcc")]
    assert refusal(*needs) == (
        "The test bed needs `ip` and `gcc`: run `apt-get install iproute2 gcc` as root, then this again."
    )
    assert not (machine / "asked").exists()


def test_other_systems_get_the_names(machine: Path) -> None:
    assert refusal(program_of(machine, "ip", "iproute2")) == (
        "The test bed needs `ip`: install it with your system's packages (on Debian, `apt-get install iproute2`)."
    )


def test_a_failed_installation_shows_what_apt_get_said(machine: Path) -> None:
    add(machine, "apt-get", "echo E: no network; exit 100")
    assert refusal(program_of(machine, "ip", "iproute2")).endswith("it said:\nE: no network")


def test_an_installation_that_brings_nothing_is_not_believed(machine: Path) -> None:
    add(machine, "apt-get")
    assert "`ip` cannot be found" in refusal(program_of(machine, "ip", "iproute2"))


def test_a_machine_without_anything_is_told_everything_at_once(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    add(machine, "apt-get")
    sentence = refusal(*debian.TO_RUN, *debian.TO_COMPILE_C)
    assert (
        "`apt-get install util-linux mount iproute2 nftables gcc libc6-dev pkg-config libseccomp-dev`"
        in sentence
    )


def test_a_program_that_names_a_loader_is_not_static(tmp_path: Path) -> None:
    def elf(kind: int) -> Path:
        header = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<QQIHHH", 64, 0, 0, 64, 56, 1)
        path = tmp_path / f"program-{kind}"
        path.write_bytes(header.ljust(64, b"\0") + struct.pack("<I", kind).ljust(56, b"\0"))
        return path

    assert is_static(elf(1))
    assert not is_static(elf(3))


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01" + b"\xff" * 58])
def test_what_is_no_program_is_not_static_either(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd"
    path.write_bytes(content)
    assert not is_static(path)
    assert not is_static(tmp_path / "missing")
