"""Debian packages without an installation, and what maintainer scripts would have done."""

import tarfile
from pathlib import Path

import pytest

from builders.packages import certificates, deb_of, fake_program, member, tar_of
from shipping.image.debs import files_of, read_deb
from shipping.image.errors import ImageError
from shipping.image.recipe import wanted
from shipping.image.system import base_tree
from shipping.image.tree import File, Folder, Link


def test_files_links_and_hard_links_are_read_and_folders_follow_from_them() -> None:
    data = tar_of(
        [
            member("./usr/bin/", tarfile.DIRTYPE),
            member("./bin/tool", mode=0o4755),
            member("./usr/bin/other", tarfile.LNKTYPE, target="./bin/tool"),
            member("./usr/bin/short", tarfile.SYMTYPE, target="tool"),
        ]
    )
    assert files_of(data, "x.deb") == {
        "usr/bin/tool": File(b"content", executable=True, mtime=1000),
        "usr/bin/other": File(b"content", executable=False, mtime=1000),
        "usr/bin/short": Link("tool", mtime=1000),
    }


def test_a_device_in_a_package_is_refused() -> None:
    with pytest.raises(ImageError, match=r"x\.deb holds \./dev/null, which is neither"):
        files_of(tar_of([member("./dev/null", tarfile.CHRTYPE)]), "x.deb")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tools"
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_a_package_file_is_read_with_its_description(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "files.tar").write_bytes(tar_of([member("./etc/thing")]))
    control = "Package: thing\\nVersion: 2\\nArchitecture: all\\nDescription: it\\n is: nice\\n"
    fake_program(
        tools,
        "dpkg-deb",
        f'case $1 in --field) printf "{control}";; --fsys-tarfile) cat {tmp_path}/files.tar;; esac',
    )
    (tmp_path / "thing.deb").write_bytes(b"archive")
    deb = read_deb(tmp_path / "thing.deb")
    assert (deb.name, deb.version, deb.architecture, list(deb.files)) == ("thing", "2", "all", ["etc/thing"])


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        pytest.param("echo torn >&2; exit 2", "no whole Debian package; delete it.*\ntorn", id="torn"),
        pytest.param("echo Version: 1", "does not say its 'Package'", id="nameless"),
    ],
)
def test_a_broken_package_is_named(tools: Path, tmp_path: Path, script: str, sentence: str) -> None:
    fake_program(tools, "dpkg-deb", script)
    with pytest.raises(ImageError, match=sentence):
        read_deb(tmp_path / "thing.deb")


def test_without_dpkg_deb_the_package_that_brings_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageError, match=r"needs `dpkg-deb`, which this machine lacks.*package dpkg"):
        read_deb(tmp_path / "thing.deb")


@pytest.mark.parametrize(
    ("name", "goes_in"),
    [
        ("usr/lib/python3.11/ssl.py", True),
        ("usr/share/doc/libc6/copyright", True),
        ("usr/share/doc/libgcc-s1", True),
        ("usr/share/common-licenses/GPL-2", True),
        ("usr/share/doc/libc6/changelog.Debian.gz", False),
        ("usr/share/man/man1/x.1.gz", False),
        ("usr/lib/python3.11/lib-dynload/nis.cpython-311-x86_64-linux-gnu.so", False),
        ("var/lib/dpkg/info/x", False),
    ],
)
def test_licences_are_kept_and_documentation_is_not(name: str, goes_in: bool) -> None:  # noqa: FBT001 - a table
    assert wanted(name) is goes_in


def test_the_base_has_accounts_certificates_and_old_folder_names() -> None:
    tree = base_tree(
        [certificates(), deb_of("libc6", {"usr/lib64/ld.so": File(b""), "usr/bin/x": File(b"")})]
    )
    passwd = tree["etc/passwd"]
    assert isinstance(passwd, File)
    assert b"\ntangram:x:65532:65532:" in passwd.content
    assert tree["etc/ssl/certs/ca-certificates.crt"] == File(b"-- a --\n-- b --\n")
    assert tree["lib64"] == Link("usr/lib64")
    assert tree["bin"] == Link("usr/bin")
    assert "sbin" not in tree
    assert tree["tmp"] == Folder(0o1777)
    assert not [name for name in tree if name.startswith("usr/share/ca-certificates")]


def test_scanners_find_the_packages() -> None:
    status = base_tree([certificates()])["var/lib/dpkg/status.d/ca-certificates"]
    assert isinstance(status, File)
    assert status.content.startswith(
        b"Package: ca-certificates\nStatus: install ok installed\nVersion: 1.0-1\n"
    )


def test_an_image_without_certificates_is_refused() -> None:
    with pytest.raises(ImageError, match="No package brings certificates"):
        base_tree([deb_of("libc6")])
