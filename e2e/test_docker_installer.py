"""The installer of metax-docker on a Debian that has just been installed: no Python, no network, nothing but its file.

Docker itself is a stand-in here, which says how it was called; `e2e/test_metax_docker.py` has the real one.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.bare_root_kit import BareRoot, bare_root
from e2e.image_kit import EMULATORS, copy_sources, make
from e2e.registry_kit import Said
from shipping.docker.building import (
    docker_package_name,
    installer_name,
    write_docker_package,
    write_installer,
)
from shipping.image.downloads import one_program
from shipping.image.platforms import PLATFORMS, of_this_machine
from shipping.image.progress import Progress
from shipping.image.project import ROOT
from shipping.image.recipe import PYTHON

OLDER = "0.0.9"
MOMENT = 1_700_000_000
NOBODY = 65534
DOCKER = """#!/bin/sh
case " $* " in
*" version "*) printf '24.0.7\\n24.0.7\\n' ;;
*" info "*) echo '{}' ;;
*" ps "*) ;;
*" --waiting "*) touch /srv/waits; while [ -e /srv/waits ]; do sleep 0.05; done; exit 42 ;;
*) for word in "$@"; do echo "[$word]"; done; exit 7 ;;
esac
"""
SIMULATED = "--driver=simulated:/srv/cards.yaml --device-root=/dev"


@dataclass(frozen=True, slots=True)
class Files:
    """What people have: the archive of the manual unpacked, and the file of an older version."""

    version: str
    folder: Path
    older: Path

    def installer(self, architecture: str = "") -> Path:
        return self.folder / installer_name(self.version, architecture or of_this_machine().name)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Generator[Files]:
    with pytest.MonkeyPatch.context() as patch:
        made = make(copy_sources(tmp_path_factory.mktemp("sources"), patch), tmp_path_factory.mktemp("dist"))
        package = made.folder / docker_package_name(made.version)
        write_docker_package(made.archive, made.version, MOMENT, package)
        folder = tmp_path_factory.mktemp("work")
        (folder / "metax-docker").mkdir()
        # The manual's own words.
        command = ["tar", "-C", "metax-docker", "-xvzf", str(package)]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603 - tar
        older = folder / installer_name(OLDER, of_this_machine().name)
        write_installer(made.archive, of_this_machine(), OLDER, MOMENT, older)
        yield Files(made.version, folder / "metax-docker", older)
        shutil.rmtree(folder)


@pytest.fixture
def host(tmp_path: Path, files: Files) -> Generator[BareRoot]:
    root = bare_root(tmp_path / "root")
    for path in (files.installer(), files.older):
        shutil.copy(path, root.folder / "srv")
    shutil.copy(ROOT / "examples/cards/c500-8-two-groups.yaml", root.folder / "srv/cards.yaml")
    (root.folder / "usr/bin/docker").write_text(DOCKER)
    (root.folder / "usr/bin/docker").chmod(0o755)
    yield root
    shutil.rmtree(root.folder)


async def well(host: BareRoot, command: str) -> str:
    said = await host.runs(command)
    assert (said.status, said.errors) == (0, ""), said
    return said.output


async def dry(host: BareRoot, words: str) -> str:
    """The docker command for a container of simulated cards; on standard error is what is not known without docker."""
    said = await host.runs(f"metax-docker --dry-run {SIMULATED} run --maca=none {words}")
    assert said.status == 0, said
    return said.output


def is_refusal(said: Said, words: str) -> bool:
    return (said.status, said.output, said.errors.count("\n")) == (1, "", 1) and words in said.errors


@pytest.mark.smoke
async def test_on_a_host_without_python_it_installs_runs_and_leaves_nothing(
    host: BareRoot, files: Files
) -> None:
    before = host.listing()
    assert not [path for path in before if "bin/python" in path], "there is no Python on this host"
    run = f"/srv/{files.installer().name}"
    assert "there is room for it" in await well(host, f"{run} --check")
    assert host.listing() == before

    assert f"metax-docker {files.version} is installed: /usr/bin/metax-docker\n" == await well(host, run)
    assert f"metax-docker {files.version}: docker, with MetaX" in await well(host, "metax-docker --help")

    printed = await dry(host, "--rm --gpus=all app:1.0 /bin/bash")
    assert printed.startswith("docker run ")
    assert printed.rstrip().endswith("--rm app:1.0 /bin/bash")
    assert printed.count("/dev/dri/renderD") >= 8
    assert "/dev/mxcd" in printed
    two = await dry(host, "--gpus=2 app:1.0")
    assert two.count("/dev/dri/renderD") < printed.count("/dev/dri/renderD")

    passed = await host.runs("metax-docker images --filter 'a b' ''")
    assert (passed.status, passed.output) == (7, "[images]\n[--filter]\n[a b]\n[]\n")
    bare = await host.runs("exec env -i PATH=/usr/bin PYTHONHOME=/x PYTHONPATH=/y metax-docker images")
    assert (bare.status, bare.output, bare.errors) == (7, "[images]\n", "")
    assert "is installed, and whole" in await well(host, f"{run} --check")

    assert "is removed" in await well(host, f"{run} --uninstall")
    assert host.listing() == before


async def test_an_upgrade_replaces_the_older_version_and_what_runs_goes_on(
    host: BareRoot, files: Files
) -> None:
    before = host.listing()
    await well(host, f"/srv/{files.older.name}")
    waiting = await host.begins("metax-docker run --waiting app:1.0")
    while not (host.folder / "srv/waits").exists():
        await asyncio.sleep(0.05)

    run = f"/srv/{files.installer().name}"
    assert is_refusal(await host.runs(run), f"metax-docker {OLDER} is installed: write --upgrade")
    said = await well(host, f"{run} --upgrade")
    assert f"metax-docker {files.version} is installed in place of {OLDER}" in said
    assert [path.name for path in (host.folder / "opt").iterdir()] == [f"metax-docker-{files.version}"]
    assert files.version in await well(host, "metax-docker --help")
    assert waiting.returncode is None, "a container that was started by the older one"
    (host.folder / "srv/waits").unlink()
    await waiting.communicate()
    assert waiting.returncode == 42

    await well(host, f"{run} --uninstall")
    assert host.listing() == before


async def test_an_upgrade_that_is_killed_leaves_one_that_works_and_is_repeated(
    host: BareRoot, files: Files
) -> None:
    await well(host, f"/srv/{files.older.name}")
    run = f"/srv/{files.installer().name} --upgrade"
    for delay in (0.3, 0.8, 1.3, 1.8):
        process = await host.begins(run)
        await asyncio.sleep(delay)
        if process.returncode is None:
            process.kill()  # the whole machine, as when its power is cut: all its processes end with the first
        await process.communicate()
        assert "docker, with MetaX" in await well(host, "metax-docker --help")
    await well(host, run)
    assert files.version in await well(host, "metax-docker --help")
    assert [path.name for path in (host.folder / "opt").iterdir()] == [f"metax-docker-{files.version}"]
    assert not list((host.folder / "usr/bin").glob(".metax-docker*"))


async def test_what_keeps_it_from_installing_is_a_sentence_and_changes_nothing(
    host: BareRoot, files: Files
) -> None:
    run = f"/srv/{files.installer().name}"
    (other,) = (platform for platform in PLATFORMS if platform != of_this_machine())
    strange = files.installer(other.name)
    shutil.copy(strange, host.folder / "srv")
    content = bytearray(files.installer().read_bytes())
    (host.folder / "srv/cut.run").write_bytes(content[:-4096])
    content[-4096] ^= 1
    (host.folder / "srv/changed.run").write_bytes(content)
    for name in ("cut", "changed"):
        (host.folder / f"srv/{name}.run").chmod(0o755)
    before = host.listing()

    assert is_refusal(await host.runs(run, user=NOBODY), "run it with sudo, or with --prefix DIR")
    assert is_refusal(await host.runs(f"/srv/{strange.name}"), f"is for {other.name} ({other.machine})")
    assert is_refusal(await host.runs("/srv/cut.run"), "it was not copied whole; copy it again")
    assert is_refusal(await host.runs("/srv/changed.run"), "it is damaged; copy it again")
    small = "mount -t tmpfs -o size=20m tmpfs opt"
    assert is_refusal(await host.runs(run, first=small), "MB in /opt, which has 20 MB: make room")
    # A disk that fills while it is written: df speaks of another time.
    lying = "mount -t tmpfs -o size=20m tmpfs opt && mount --bind /bin/false usr/bin/df"
    assert is_refusal(await host.runs(run, first=lying), "see whether the disk is full; nothing was changed")
    closed = "mount -t tmpfs -o ro tmpfs opt"
    assert is_refusal(await host.runs(run, first=closed), "see whether the disk may be written")
    noexec = "mount -t tmpfs -o noexec tmpfs opt"
    assert is_refusal(await host.runs(run, first=noexec), "may be mounted noexec; nothing was changed")
    assert host.listing() == before

    (host.folder / "usr/bin/metax-docker").write_text("the vendor's own\n")
    assert is_refusal(await host.runs(run), "/usr/bin/metax-docker is there and not of this installer")
    assert (host.folder / "usr/bin/metax-docker").read_text() == "the vendor's own\n"


async def test_somebody_without_rights_installs_it_for_themselves(host: BareRoot, files: Files) -> None:
    home = host.folder / "srv/me"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    said = await host.runs(f"/srv/{files.installer().name} --prefix /srv/me/.local", user=NOBODY)
    assert said.status == 0, said
    said = await host.runs("/srv/me/.local/bin/metax-docker images", user=NOBODY)
    assert (said.status, said.output) == (7, "[images]\n")


def test_what_is_installed_is_enough_on_the_other_platform(files: Files, tmp_path: Path) -> None:
    (other,) = (platform for platform in PLATFORMS if platform != of_this_machine())
    emulator = one_program("qemu-user-static", EMULATORS[other.name], of_this_machine(), Progress(sys.stdout))
    content = files.installer(other.name).read_bytes()
    at = int(content.partition(b"\npayload_at=")[2].partition(b"\n")[0])
    packed = tmp_path / "payload.tar.gz"
    packed.write_bytes(content[at:])
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run(["/bin/tar", "-xzf", packed, "-C", home], check=True)  # noqa: S603 - tar
    libraries = home / "usr/lib" / other.triplet
    answer = subprocess.run(  # noqa: S603 - the emulator with files of ours
        [
            *(emulator, libraries / other.loader.rpartition("/")[2], "--inhibit-cache"),
            *("--library-path", libraries, home / f"usr/bin/python{PYTHON}"),
            *("-I", "-B", "-X", "utf8", home / "usr/local/bin/metax-docker", "--help"),
        ],
        check=False,
        capture_output=True,
        text=True,
        env={},
    )
    assert answer.returncode == 0, answer.stderr
    assert "docker, with MetaX" in answer.stdout
