"""The installer of metax-docker: its script in several shells, what it leaves, and what it refuses.

The image here is tiny, and the Python in it is a shell script that says how it was called: what is tested is the way
to it. `e2e/test_docker_installer.py` installs the real one on a system without Python.
"""

import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from builders.recorded_docker import MAIN, RecordedDocker
from builders.system_programs import SHELLS, applets, shell_command
from shipping.bundle.errors import BundleError
from shipping.docker.building import (
    docker_package_name,
    installer_name,
    write_docker_package,
    write_installer,
)
from shipping.docker.payload import NOT_NEEDED
from shipping.image.archives import write_index_archive
from shipping.image.layers import write_layer
from shipping.image.oci import PlatformImage, describe, index_of
from shipping.image.platforms import PLATFORMS, Platform, of_this_machine
from shipping.image.recipe import MODULES, PYTHON
from shipping.image.tree import Entry, File, Folder, Link

OLD, NEW = "1.2.3", "1.3.0"
MOMENT = 1_700_000_000
CREATED = "2026-01-01T00:00:00Z"
SAY = """#!/bin/sh
# Called as: loader --inhibit-cache --library-path FOLDER python -I -B [-X utf8] WHAT WORDS...
[ "$7" != -c ] || exit BROKEN
for word in "$@"; do echo "[$word]"; done
echo "preload ${LD_PRELOAD-none}"
exit 7
"""


def layers_of(one: Platform, *, program: bool, broken: bool) -> list[dict[str, Entry]]:
    libraries = f"usr/lib/{one.triplet}"
    loader = SAY.replace("BROKEN", "1" if broken else "0")
    system: dict[str, Entry] = {
        f"usr/bin/python{PYTHON}": File(b"python", executable=True),
        f"usr/lib/python{PYTHON}": Folder(),
        f"usr/lib/python{PYTHON}/os.py": File(b"os"),
        f"usr/lib/python{PYTHON}/sitecustomize.py": Link("/etc/python/sitecustomize.py"),
        libraries: Folder(),
        f"{libraries}/{one.loader.rpartition('/')[2]}": File(loader.encode(), executable=True),
        f"{libraries}/libz.so": Link("libz.so.1"),
        f"{libraries}/libz.so.1": File(b"library"),
        "usr/share/doc": Folder(),
        "usr/share/doc/copyright": File(b"terms"),
        "usr/share/common-licenses": Folder(),
        "usr/share/zoneinfo/UTC": File(b"not needed"),
    }
    names = (*NOT_NEEDED, "msgspec")
    packages: dict[str, Entry] = {f"{MODULES}/{name}": Folder() for name in names}
    packages |= {f"{MODULES}/{name}/__init__.py": File(name.encode()) for name in names}
    own: dict[str, Entry] = {
        "usr/local/bin": Folder(),
        "usr/local/bin/tangram": File(b"tangram", executable=True),
        f"{MODULES}/tangram": Folder(),
        f"{MODULES}/tangram/__init__.py": File(b"ours"),
    }
    if program:
        own["usr/local/bin/metax-docker"] = File(b"metax-docker", executable=True)
    return [system, packages, own]


def small_archive(folder: Path, *, program: bool = True, broken: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    images: list[PlatformImage] = []
    for one in PLATFORMS:
        layers = [
            (f"layer {number}", write_layer(tree, folder / f"{one.name}-{number}"))
            for number, tree in enumerate(layers_of(one, program=program, broken=broken))
        ]
        images.append(describe(one, layers, {}, CREATED))
    path = folder / "oci.tar"
    write_index_archive(path, "tangram.dev/cloud/tangram:1", index_of(images, {}), images)
    return path


def installer(folder: Path, version: str, *, broken: bool = False, platform: Platform | None = None) -> Path:
    platform = platform or of_this_machine()
    archive = small_archive(folder / f"image-{version}-{broken}", broken=broken)
    path = folder / installer_name(version, platform.name)
    write_installer(archive, platform, version, MOMENT, path)
    return path


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installer(tmp_path_factory.mktemp("old"), OLD)


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installer(tmp_path_factory.mktemp("new"), NEW)


def ran(
    file: Path, *words: str | Path, by: tuple[str, ...] = (), user: int | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*by, file, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environment},
        timeout=60,
        user=user,
    )


def refused(file: Path, *words: str | Path, path: str = "/usr/local/bin:/usr/bin:/bin") -> str:
    answer = ran(file, *words, PATH=path)
    assert (answer.returncode, answer.stdout) == (1, ""), answer
    assert answer.stderr.count("\n") == 1
    return answer.stderr


def installed(file: Path, prefix: Path, *words: str) -> str:
    answer = ran(file, *words, "--prefix", prefix)
    assert (answer.returncode, answer.stderr) == (0, ""), answer
    return answer.stdout


def everything(folder: Path) -> dict[str, str]:
    """All that is there, with what links lead to and what files hold."""
    return {
        str(one.relative_to(folder)): str(one.readlink())
        if one.is_symlink()
        else (hashlib.sha256(one.read_bytes()).hexdigest() if one.is_file() else "folder")
        for one in sorted(folder.rglob("*"))
    }


def with_program(folder: Path, name: str, script: str) -> str:
    """A PATH on which this program comes first."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return f"{folder}:/usr/local/bin:/usr/bin:/bin"


@pytest.mark.parametrize("name", SHELLS)
def test_the_command_runs_from_its_own_python_and_gets_every_word_in_every_shell(
    old: Path, tmp_path: Path, name: str
) -> None:
    """Busybox also brings the tar, gzip and the like that are used."""
    path = applets(tmp_path / "bin") if name == "busybox" else "/usr/bin:/bin"
    prefix = tmp_path / "a place"
    answer = ran(old, "--prefix", prefix, by=shell_command(name), PATH=path)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert f"metax-docker {OLD} is installed: {prefix}/bin/metax-docker" in answer.stdout

    command = prefix / "bin" / "metax-docker"
    said = ran(command, "run", "--gpus=[0,1]", "a b", "", "$HOME", "'\"", "*", LD_PRELOAD="")
    home, here = prefix / "lib" / f"metax-docker-{OLD}", of_this_machine()
    assert said.returncode == 7, "its exit status is the command's"
    assert said.stdout.splitlines() == [
        "[--library-path]",
        f"[{home}/usr/lib/{here.triplet}]",
        f"[{home}/usr/bin/python{PYTHON}]",
        *("[-I]", "[-B]", "[-X]", "[utf8]"),
        f"[{home}/usr/local/bin/metax-docker]",
        *("[run]", "[--gpus=[0,1]]", "[a b]", "[]", "[$HOME]", "['\"]", "[*]"),
        "preload none",
    ]


def test_what_is_installed_is_the_images_with_its_licences_and_without_what_is_not_needed(
    old: Path, tmp_path: Path
) -> None:
    installed(old, tmp_path)
    home = tmp_path / "lib" / f"metax-docker-{OLD}"
    held = set(everything(home))
    assert f"{MODULES}/tangram/__init__.py" in held
    assert f"{MODULES}/msgspec/__init__.py" in held
    assert "usr/share/doc/copyright" in held
    assert not any("zoneinfo" in path or "sitecustomize" in path for path in held)
    assert not any(f"/{name}/" in path for path in held for name in NOT_NEEDED)
    assert (home / f"usr/lib/{of_this_machine().triplet}/libz.so").read_bytes() == b"library"
    assert {one.stat().st_mode & 0o755 for one in home.rglob("*") if one.is_dir()} == {0o755}
    assert home.stat().st_mode & 0o777 == 0o755
    assert {one.name for one in (tmp_path / "lib").iterdir()} == {home.name}
    assert {one.name for one in (tmp_path / "bin").iterdir()} == {"metax-docker"}


def test_installed_again_nothing_changes_and_what_was_damaged_is_mended(old: Path, tmp_path: Path) -> None:
    installed(old, tmp_path)
    before = everything(tmp_path)
    assert "is installed already, and whole" in installed(old, tmp_path)
    module = tmp_path / "lib" / f"metax-docker-{OLD}" / MODULES / "tangram/__init__.py"
    module.write_text("changed", "utf-8")
    assert "is not what was installed" in refused(old, "--check", "--prefix", tmp_path)
    assert "was damaged and is installed again" in installed(old, tmp_path)
    assert everything(tmp_path) == before


def test_another_version_is_replaced_when_that_is_asked_for_and_only_then(
    old: Path, new: Path, tmp_path: Path
) -> None:
    installed(old, tmp_path)
    told = refused(new, "--prefix", tmp_path)
    assert f"metax-docker {OLD} is installed: write --upgrade to put {NEW} in its place" in told
    assert f"metax-docker {NEW} is installed in place of {OLD}" in installed(new, tmp_path, "--upgrade")
    assert [one.name for one in (tmp_path / "lib").iterdir()] == [f"metax-docker-{NEW}"]
    assert f"metax-docker-{NEW}/" in str((tmp_path / "bin/metax-docker").readlink())
    assert f"in place of {NEW}" in installed(old, tmp_path, "--upgrade"), "the way back is the same"


def test_an_upgrade_on_an_empty_machine_installs(new: Path, tmp_path: Path) -> None:
    assert f"metax-docker {NEW} is installed: " in installed(new, tmp_path, "--upgrade")


def test_an_upgrade_that_fails_leaves_the_old_version_at_work(old: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    installed(old, place)
    before = everything(place)
    broken = installer(tmp_path, NEW, broken=True)
    assert "does not start from" in refused(broken, "--upgrade", "--prefix", place)
    full = with_program(tmp_path / "full", "tar", "cat >/dev/null; exit 2")
    whole = installer(tmp_path, "2.0.0")
    assert "see whether the disk is full; nothing was changed" in refused(
        whole, "--upgrade", "--prefix", place, path=full
    )
    assert everything(place) == before
    assert ran(place / "bin/metax-docker", "ps").returncode == 7


def test_what_a_killed_installation_left_is_removed_by_the_next_one(old: Path, tmp_path: Path) -> None:
    (tmp_path / "lib/.metax-docker.aBc123/usr").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/.metax-docker.link").symlink_to("nowhere")
    installed(old, tmp_path)
    assert [one.name for one in (tmp_path / "lib").iterdir()] == [f"metax-docker-{OLD}"]
    assert [one.name for one in (tmp_path / "bin").iterdir()] == ["metax-docker"]


def test_uninstalled_nothing_is_left_but_what_was_there_before(old: Path, tmp_path: Path) -> None:
    for name in ("bin/other", "lib/metax-docker-notes/read.me"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("somebody's", "utf-8")
    before = everything(tmp_path)
    installed(old, tmp_path)
    assert "is removed" in installed(old, tmp_path, "--uninstall")
    assert everything(tmp_path) == before
    assert "there is nothing to remove" in installed(old, tmp_path, "--uninstall")


def test_two_at_once_do_not_get_into_each_others_way(old: Path, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    with (tmp_path / "lib/.metax-docker.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for words in ((), ("--uninstall",)):
            told = refused(old, *words, "--prefix", tmp_path)
            assert "another file of metax-docker works in" in told
    installed(old, tmp_path)
    assert [one.name for one in (tmp_path / "lib").iterdir()] == [f"metax-docker-{OLD}"]


@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
def test_a_command_of_somebody_else_is_left_alone(old: Path, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "bin/metax-docker"
    place.parent.mkdir()
    if kind == "file":
        place.write_text("the vendor's", "utf-8")
    else:
        place.symlink_to("/bin/sh" if kind == "link" else "/opt/vendor/metax-docker")
    before = everything(tmp_path)
    for words in ((), ("--upgrade",), ("--check",)):
        answer = ran(old, *words, "--prefix", tmp_path)
        assert answer.returncode == 1
        assert f"{place} is there and not of this installer: remove it first" in answer.stderr
    assert "nothing to remove" in installed(old, tmp_path, "--uninstall")
    assert everything(tmp_path) == before


def test_a_folder_of_somebody_else_is_left_alone(old: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "lib" / f"metax-docker-{OLD}"
    theirs.mkdir(parents=True)
    assert "is there and not of this installer: move it away" in refused(old, "--prefix", tmp_path)


def test_checking_says_what_is_there_and_changes_nothing(old: Path, tmp_path: Path) -> None:
    assert "is not installed in" in installed(old, tmp_path, "--check")
    assert everything(tmp_path) == {}
    installed(old, tmp_path)
    assert f"metax-docker {OLD} is installed, and whole" in installed(old, tmp_path, "--check")


def test_nothing_runs_of_a_file_that_is_cut_off_or_changed(old: Path, tmp_path: Path) -> None:
    content = old.read_bytes()
    damaged = bytearray(content)
    damaged[-200] ^= 1
    for name, changed, words in (
        ("cut.run", content[:-100], "it was not copied whole; copy it again"),
        ("changed.run", bytes(damaged), "it is damaged; copy it again"),
    ):
        path = tmp_path / name
        path.write_bytes(changed)
        path.chmod(0o755)
        for task in ((), ("--check",)):
            assert words in refused(path, *task, "--prefix", tmp_path / "place")
    assert not (tmp_path / "place").exists()


def test_what_keeps_it_from_installing_is_told_in_a_sentence(old: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    other = refused(old, "--prefix", place, path=with_program(tmp_path / "other", "uname", "echo riscv64"))
    assert "and this machine is riscv64: take the file for it" in other
    figures = "printf 'Filesystem 1024-blocks Used Available Capacity Mounted\\nx 9 9 3 1%% /\\n'"
    full = refused(old, "--prefix", place, path=with_program(tmp_path / "full", "df", figures))
    assert re.search(r"needs \d+ MB in .*, which has 0 MB: make room", full)
    (tmp_path / "taken").write_text("", "utf-8")
    closed = refused(old, "--prefix", tmp_path / "taken")
    assert "see whether the disk may be written" in closed
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    (lacking / "tar").symlink_to(shutil.which("tar") or "")
    answer = ran(old, "--prefix", place, by=(shutil.which("sh") or "",), PATH=str(lacking))
    assert "lacks the program gzip" in answer.stderr
    assert not place.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--install",),
        ("here",),
        ("--prefix",),
        ("--prefix", "relative"),
        ("--prefix", "/"),
        ("--prefix=",),
        ("--prefix", "/a'b"),
        ("--prefix", "/a:b"),
        ("--upgrade", "--uninstall"),
    ],
    ids=" ".join,
)
def test_a_command_line_that_cannot_be_read_is_told_apart(old: Path, words: tuple[str, ...]) -> None:
    answer = ran(old, *words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "--help" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_help_names_every_option(old: Path) -> None:
    answer = ran(old, "--help")
    for word in ("--upgrade", "--uninstall", "--check", "--prefix DIR", f"/opt/metax-docker-{OLD}"):
        assert word in answer.stdout
    assert ran(old, "--version").stdout == f"{OLD}\n"
    assert "@" not in answer.stdout


def test_an_image_without_the_command_ends_the_build(tmp_path: Path) -> None:
    archive = small_archive(tmp_path / "image", program=False)
    with pytest.raises(BundleError, match="must name metax-docker's entry point"):
        write_installer(archive, PLATFORMS[0], OLD, MOMENT, tmp_path / "x.run")
    assert not (tmp_path / "x.run").exists()


def test_the_archive_unpacks_as_the_manual_says_and_its_checksums_hold(tmp_path: Path) -> None:
    archive = small_archive(tmp_path / "image")
    package = tmp_path / docker_package_name("0.8.0")
    write_docker_package(archive, "0.8.0", MOMENT, package)
    assert package.name == "metax-docker_0.8.0.tar"
    (tmp_path / "metax-docker").mkdir()
    command = ["tar", "-C", "metax-docker", "-xvzf", package.name]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    folder = tmp_path / "metax-docker"
    assert {one.name for one in folder.iterdir()} == {
        *(f"metax-docker_0.8.0.{name}.run" for name in ("amd64", "arm64", "x86_64", "aarch64")),
        "README.txt",
        "SHA256SUMS",
    }
    checked = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, check=False, capture_output=True)
    assert checked.returncode == 0, checked.stderr
    for one in PLATFORMS:
        other = folder / f"metax-docker_0.8.0.{one.machine}.run"
        assert other.read_bytes() == (folder / f"metax-docker_0.8.0.{one.name}.run").read_bytes()
    machine = of_this_machine().machine
    answer = ran(folder / f"metax-docker_0.8.0.{machine}.run", "--prefix", tmp_path / "place")
    assert answer.returncode == 0, answer.stderr
    assert "@" not in (folder / "README.txt").read_text("utf-8")

    again = tmp_path / "again.tar"
    write_docker_package(small_archive(tmp_path / "once-more"), "0.8.0", MOMENT, again)
    assert again.read_bytes() == package.read_bytes()
    with tarfile.open(package, "r:gz") as tar:
        assert {(one.uid, one.uname, one.mtime) for one in tar.getmembers()} == {(0, "", MOMENT)}


def test_the_command_runs_without_the_packages_that_are_left_out(tmp_path: Path) -> None:
    docker = RecordedDocker(tmp_path)
    docker.cards({"cards": [{"server": "c500-8-two-groups"}]})
    code = f"import sys; sys.modules.update(dict.fromkeys({NOT_NEEDED!r})); {MAIN}"
    for words in (
        ("run", "--gpus=2", "--maca=none", "app:1"),
        ("run", "--gpus=all", "--maca=none", "app:1"),
        ("setup", "--print", "--maca=none"),
        ("--help",),
    ):
        answer = subprocess.run(
            [sys.executable, "-c", code, "--dry-run", *words],
            env=docker.everything,
            capture_output=True,
            check=False,
            text=True,
        )
        assert answer.returncode == 0, answer.stderr
