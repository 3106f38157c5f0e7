"""The self-extracting file and the packages: their script in several shells, and their bytes.

The images here are tiny, and the Python in them is a shell script that says how it was called: what is tested is the
way to it. `e2e/test_bundle.py` runs the real one.
"""

import hashlib
import io
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

from builders.system_programs import SHELLS, applets, shell_command
from shipping.bundle.__main__ import main
from shipping.bundle.errors import BundleError
from shipping.bundle.package import contents, package_name, write_package
from shipping.bundle.runfile import run_file_name, write_run_file
from shipping.bundle.unpacking import NOT_NEEDED, running_on
from shipping.image.archives import write_index_archive
from shipping.image.layers import write_layer
from shipping.image.oci import PlatformImage, describe, index_of
from shipping.image.platforms import PLATFORMS, Platform, of_this_machine
from shipping.image.recipe import MODULES, PYTHON
from shipping.image.tree import Entry, File, Folder, Link
from tangram.services.images.archive import opened

VERSION = "1.2.3"
CREATED = "2026-01-01T00:00:00Z"
SAY = """#!/bin/sh
# Called as: loader --inhibit-cache --library-path FOLDER python -I -B -X utf8 tangram WORDS...
echo "libraries ${3##*/usr/}"
echo "python ${4##*/usr/}"
shift 8
echo "words $(cd "${1%/usr/local/bin/tangram}" && find . -type f | sort | tr '\\n' ' ')"
shift
echo "command $*"
echo "openssl $OPENSSL_CONF"
echo "preload [$LD_PRELOAD]"
if [ "$2" = push ]; then cat; fi
if [ "$3 $4" = "--archive $0" ]; then echo "is itself"; fi
case "$*" in *--hang*) echo hanging; while :; do sleep 0.05; done ;; *--end*) exit 7 ;; esac
"""


def layers_of(one: Platform) -> list[dict[str, Entry]]:
    libraries = f"usr/lib/{one.triplet}"
    system: dict[str, Entry] = {
        f"usr/bin/python{PYTHON}": File(b"python", executable=True),
        f"usr/lib/python{PYTHON}": Folder(),
        f"usr/lib/python{PYTHON}/os.py": File(b"os"),
        f"usr/lib/python{PYTHON}/sitecustomize.py": Link("/etc/python/sitecustomize.py"),
        libraries: Folder(),
        f"{libraries}/{one.loader.rpartition('/')[2]}": File(SAY.encode(), executable=True),
        "etc/ssl": Folder(),
        "etc/ssl/bundle": File(b"certificates"),
        "usr/share/zoneinfo/UTC": File(b"not needed"),
    }
    packages: dict[str, Entry] = {f"{MODULES}/{name}": Folder() for name in (*NOT_NEEDED, "aiohttp")}
    packages |= {f"{MODULES}/{name}/__init__.py": File(name.encode()) for name in (*NOT_NEEDED, "aiohttp")}
    own: dict[str, Entry] = {
        "usr/local/bin": Folder(),
        "usr/local/bin/tangram": File(b"tangram", executable=True),
        f"{MODULES}/tangram": Folder(),
        f"{MODULES}/tangram/__init__.py": File(b"ours"),
        "usr/share/doc/tangram/sbom.spdx.json": File(b"not needed"),
    }
    return [system, packages, own]


def small_archive(folder: Path, without: str = "") -> Path:
    images: list[PlatformImage] = []
    for one in PLATFORMS:
        layers = [
            (
                f"layer {number}",
                write_layer(_without(tree, without), folder / f"{one.name}-{number}"),
            )
            for number, tree in enumerate(layers_of(one))
        ]
        images.append(describe(one, layers, {}, CREATED))
    path = folder / "oci.tar"
    write_index_archive(path, f"tangram.dev/cloud/tangram:{VERSION}", index_of(images, {}), images)
    return path


def _without(tree: dict[str, Entry], path: str) -> dict[str, Entry]:
    return {name: entry for name, entry in tree.items() if not path or path not in name}


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    path = folder / run_file_name(VERSION)
    write_run_file(small_archive(folder), VERSION, path)
    return path


def ran(
    run_file: Path, *words: str, by: tuple[str, ...] = (), given: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    told = {"PATH": "/usr/local/bin:/usr/bin:/bin", **environment}
    return subprocess.run(
        [*by, run_file, *words],
        input=given,
        capture_output=True,
        check=False,
        text=True,
        env=told,
        timeout=60,
    )


def with_program(folder: Path, name: str, script: str) -> str:
    """A PATH on which this program comes first."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return f"{folder}:/usr/local/bin:/usr/bin:/bin"


@pytest.mark.parametrize("name", SHELLS)
def test_the_tool_runs_from_its_own_python_in_every_shell(run_file: Path, tmp_path: Path, name: str) -> None:
    """Busybox also brings the tar, gzip and the like that are used."""
    path = applets(tmp_path / "bin") if name == "busybox" else "/usr/bin:/bin"
    room = tmp_path / "room to move"
    room.mkdir()
    answer = ran(
        run_file,
        "push",
        "r.example.com/a b",
        "--x",
        by=shell_command(name),
        given="word",
        PATH=path,
        TMPDIR=str(room),
        LD_PRELOAD="",
    )
    lines = {line.partition(" ")[0]: line.partition(" ")[2] for line in answer.stdout.splitlines()}
    here = of_this_machine()
    assert answer.stderr == ""
    assert lines["libraries"] == f"lib/{here.triplet}"
    assert lines["python"] == f"bin/python{PYTHON}"
    assert lines["command"] == f"images push --archive {run_file} r.example.com/a b --x"
    assert lines["openssl"] == "/dev/null"
    assert lines["preload"] == "[]"
    assert answer.stdout.endswith("word"), "standard input is handed on"
    unpacked = set(lines["words"].split())
    assert f"./{MODULES}/tangram/__init__.py" in unpacked
    assert f"./{MODULES}/aiohttp/__init__.py" in unpacked
    assert "./etc/ssl/bundle" in unpacked
    assert not any("zoneinfo" in path or "sbom" in path or "sitecustomize" in path for path in unpacked)
    assert not any(f"/{name}/" in path for path in unpacked for name in NOT_NEEDED)
    assert list(room.iterdir()) == [], "nothing is left"


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("words", [("--archive", "a driver.tar"), ("--archive=a driver.tar",)])
def test_the_tool_is_one_for_other_files_of_images_too(
    run_file: Path, tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    answer = ran(run_file, "push", "r.example.com/a", *words, by=shell_command(name), TMPDIR=str(tmp_path))
    assert f"command images push r.example.com/a {' '.join(words)}\n" in answer.stdout
    assert "is itself" not in answer.stdout


@pytest.mark.parametrize("name", SHELLS)
def test_a_closed_standard_input_is_an_empty_one(run_file: Path, tmp_path: Path, name: str) -> None:
    command = shlex.join(shell_command(name))
    answer = ran(
        Path("/bin/sh"), "-c", f"{command} {run_file} push r.example.com/a <&-", TMPDIR=str(tmp_path)
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "command images push" in answer.stdout


def test_a_stopped_tool_leaves_the_cursor_visible(run_file: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [run_file, "load", "--hang"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    os.close(theirs)
    assert process.stdout is not None
    with process.stdout, open(ours, "rb", buffering=0) as terminal:  # noqa: PTH123 - no path but an open file
        while process.stdout.readline() not in {"hanging\n", ""}:
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert terminal.read(100) == b"\x1b[?25h"


def test_the_exit_status_is_the_tools(run_file: Path, tmp_path: Path) -> None:
    assert ran(run_file, "load", "--end", TMPDIR=str(tmp_path)).returncode == 7
    assert list(tmp_path.iterdir()) == []


def test_help_and_version_need_nothing_unpacked(run_file: Path, tmp_path: Path) -> None:
    answer = ran(run_file, "--help", TMPDIR=str(tmp_path / "gone"))
    assert answer.returncode == 0
    for command in ("push DOMAIN/PROJECT", "load", "list"):
        assert f"{run_file.name} {command}" in answer.stdout
    assert ran(run_file, "--version").stdout == f"{VERSION}\n"


@pytest.mark.parametrize("words", [(), ("pull",), ("--push",)])
def test_what_is_no_command_is_answered_with_the_commands(run_file: Path, words: tuple[str, ...]) -> None:
    answer = ran(run_file, *words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "push, load, list or verify" in answer.stderr


def test_nothing_runs_of_a_file_that_is_cut_off_or_changed(run_file: Path, tmp_path: Path) -> None:
    content = run_file.read_bytes()
    damaged = bytearray(content)
    damaged[-2000] ^= 1
    for name, changed, words in (
        ("cut.run", content[:-1000], "it was not copied whole; copy it again"),
        ("changed.run", bytes(damaged), "it is damaged; copy it again"),
    ):
        path = tmp_path / name
        path.write_bytes(changed)
        path.chmod(0o755)
        answer = ran(path, "list", TMPDIR=str(tmp_path / "gone"))
        assert (answer.returncode, answer.stdout) == (1, "")
        assert words in answer.stderr


def test_piped_into_a_shell_it_says_to_run_it_as_a_file(run_file: Path) -> None:
    with run_file.open("rb") as script:
        answer = subprocess.run(
            ["/bin/sh", "-s", "list"], stdin=script, capture_output=True, check=False, timeout=60
        )
    assert answer.returncode == 1
    assert b"run it as a file" in answer.stderr


def test_a_folder_that_cannot_be_used_is_told_with_what_to_set(run_file: Path, tmp_path: Path) -> None:
    gone = ran(run_file, "list", TMPDIR=str(tmp_path / "gone"))
    assert "set TMPDIR to one that can be written" in gone.stderr
    room = tmp_path / "room"
    room.mkdir()
    figures = "printf 'Filesystem 1024-blocks Used Available Capacity Mounted\\nx 9 9 3 1%% /\\n'"
    full = ran(run_file, "list", TMPDIR=str(room), PATH=with_program(tmp_path / "full", "df", figures))
    assert re.search(r"needs \d+ MB in .*room, which has 0 MB: set TMPDIR", full.stderr)
    # A probe that may not be run stands for a folder mounted noexec.
    noexec = ran(
        run_file,
        "list",
        TMPDIR=str(room),
        PATH=with_program(tmp_path / "noexec", "chmod", 'exec /bin/chmod 600 "$2"'),
    )
    assert "mounted noexec: set TMPDIR" in noexec.stderr
    broken = ran(
        run_file,
        "list",
        TMPDIR=str(room),
        PATH=with_program(tmp_path / "tar", "tar", "cat >/dev/null; exit 2"),
    )
    assert "could not unpack" in broken.stderr
    between = ran(run_file, "list", TMPDIR=f"{room}:{room}")
    assert "set TMPDIR to another" in between.stderr
    for answer in (gone, full, noexec, broken, between):
        assert (answer.returncode, answer.stdout) == (1, "")
    assert list(room.iterdir()) == []


def test_a_machine_of_another_kind_is_told_which_ones_there_are(run_file: Path, tmp_path: Path) -> None:
    answer = ran(run_file, "list", PATH=with_program(tmp_path, "uname", "echo riscv64"))
    assert answer.returncode == 1
    assert "architecture riscv64: the images are for x86_64 and aarch64" in answer.stderr


@pytest.mark.parametrize("alias", ["arm64", "aarch64"])
def test_each_architecture_has_its_own_loader(run_file: Path, tmp_path: Path, alias: str) -> None:
    answer = ran(run_file, "list", PATH=with_program(tmp_path, "uname", f"echo {alias}"))
    assert "libraries lib/aarch64-linux-gnu" in answer.stdout


def test_a_missing_program_is_named(run_file: Path, tmp_path: Path) -> None:
    for name in ("tar", "gzip", "grep", "tail", "head", "wc", "mktemp", "df"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    answer = ran(run_file, "list", by=("/bin/sh",), PATH=str(tmp_path))
    assert answer.returncode == 1
    assert "lacks the program sha256sum" in answer.stderr


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
    ids=["TERM", "INT", "HUP"],
)
def test_a_signal_ends_the_tool_and_leaves_nothing(
    run_file: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    # Whoever was started to outlive its terminal does not hear of its end, and nor would what it starts.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        process = subprocess.Popen(
            [run_file, "load", "--hang"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
    finally:
        signal.signal(number, before)
    assert process.stdout is not None
    with process.stdout:
        while process.stdout.readline() not in {"hanging\n", ""}:
            pass
        (folder,) = tmp_path.iterdir()
        process.send_signal(number)
        assert process.wait(30) == status
    assert not folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_equal_images_give_an_equal_file(run_file: Path, tmp_path: Path) -> None:
    again = tmp_path / run_file.name
    write_run_file(small_archive(tmp_path), VERSION, again)
    assert again.read_bytes() == run_file.read_bytes()
    assert again.stat().st_mode & 0o777 == 0o755


def test_the_images_are_in_the_file_as_they_are_in_the_archive(run_file: Path, tmp_path: Path) -> None:
    archive = small_archive(tmp_path)
    assert run_file.read_bytes().endswith(archive.read_bytes())
    with opened(run_file) as inside, opened(archive) as alone:
        assert inside.images == alone.images


@pytest.mark.parametrize(
    ("without", "words"),
    [
        pytest.param("/numpy", "take it out of NOT_NEEDED", id="a package that is left out anyway"),
        pytest.param("etc/ssl", "etc/ssl is not in the image", id="certificates"),
    ],
)
def test_an_image_without_what_the_list_names_ends_the_build(
    tmp_path: Path, without: str, words: str
) -> None:
    with opened(small_archive(tmp_path, without)) as archive, pytest.raises(BundleError, match=words):
        running_on(PLATFORMS[0], archive)


def project(folder: Path) -> Path:
    """A folder with what a package takes from the project besides images and charts."""
    crds = folder / "deploy" / "crds"
    crds.mkdir(parents=True)
    (crds / "a.yaml").write_text("kind: CustomResourceDefinition\n", "utf-8")
    return folder


def test_a_package_unpacks_as_the_manual_says_and_its_checksums_hold(run_file: Path, tmp_path: Path) -> None:
    charts = tuple(
        tmp_path / f"{name}-{VERSION}.tgz" for name in ("tangram", "metax-gpu-extensions", "metax-operator")
    )
    for chart in charts:
        chart.write_bytes(chart.name.encode())
    path = tmp_path / package_name(VERSION, base=False)
    assert path.name == "metax-gpu-k8s-package.1.2.3.tar.gz"
    write_package(path, contents(project(tmp_path), VERSION, charts, run_file), 1_700_000_000)
    (tmp_path / "k8s").mkdir()
    subprocess.run(["tar", "-C", "k8s", "-xvzf", path.name], cwd=tmp_path, check=True, capture_output=True)
    held = {str(one.relative_to(tmp_path / "k8s")) for one in (tmp_path / "k8s").rglob("*") if one.is_file()}
    assert held == {
        "metax-k8s-images.1.2.3.run",
        "tangram-1.2.3.tgz",
        "metax-gpu-extensions-1.2.3.tgz",
        "metax-operator-1.2.3.tgz",
        "crds/a.yaml",
        "README.txt",
        "SHA256SUMS",
    }
    checked = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "k8s", check=False, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.count(": OK") == len(held) - 1
    unpacked = tmp_path / "k8s" / run_file.name
    assert os.access(unpacked, os.X_OK)
    readme = (tmp_path / "k8s" / "README.txt").read_text("utf-8")
    assert "./metax-k8s-images.1.2.3.run push DOMAIN/PROJECT" in readme
    assert "@" not in readme


def test_payloads_travel_in_a_folder_of_their_own_and_count_among_the_checksums(tmp_path: Path) -> None:
    payload = tmp_path / "driver-image.tar"
    payload.write_bytes(b"a driver")
    found = contents(project(tmp_path), VERSION, (), None, (payload,))
    assert found["payloads/driver-image.tar"] == payload
    sums = found["SHA256SUMS"]
    assert isinstance(sums, bytes)
    assert f"{hashlib.sha256(b'a driver').hexdigest()}  payloads/driver-image.tar\n".encode() in sums


@pytest.mark.parametrize("words", [("--payload",), ("--payload", "x/a.tar", "--payload", "y/a.tar")])
def test_payloads_that_cannot_be_packed_are_refused_before_anything_is_made(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.tar"
    broken.write_bytes(b"no archive")
    given = (*words, str(broken)) if len(words) == 1 else words
    assert main([*given, "--output", str(tmp_path / "dist")]) == 1
    told = capsys.readouterr().err
    assert "is no whole archive of images" in told or "names a.tar twice" in told
    assert not (tmp_path / "dist").exists()


def test_the_base_package_has_everything_but_images_and_says_so(tmp_path: Path) -> None:
    found = contents(project(tmp_path), VERSION, (), None)
    assert sorted(found) == ["README.txt", "SHA256SUMS", "crds/a.yaml"]
    readme = found["README.txt"]
    assert isinstance(readme, bytes)
    assert b"package without images" in readme
    assert package_name(VERSION, base=True) == "metax-gpu-k8s-package.1.2.3-base.tar.gz"


def test_two_packages_of_the_same_files_are_the_same_bytes(tmp_path: Path) -> None:
    files = contents(project(tmp_path), VERSION, (), None)
    digests: set[str] = set()
    for name in ("a", "b"):
        write_package(tmp_path / name, files, 1_700_000_000)
        digests.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(digests) == 1
    with tarfile.open(fileobj=io.BytesIO((tmp_path / "a").read_bytes())) as archive:
        assert {(one.uid, one.uname, one.mtime) for one in archive.getmembers()} == {(0, "", 1_700_000_000)}
