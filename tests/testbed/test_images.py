"""Images of busybox: the layout other people's tools read, the cache, and what happens when something is missing."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from testbed.busybox import static_busybox
from testbed.cachefolder import cache_folder
from testbed.errors import BedError
from testbed.images import Image, busybox_image, pause_image, program_image, store
from testbed.images.layers import File, Folder, Link, container_path, with_parents, write_layer

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture(name="cache")
def make_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TANGRAM_TESTBED_CACHE", str(folder))
    return folder


def blobs(image: Image) -> dict[str, bytes]:
    with tarfile.open(image.tarball) as archive:
        return {member.name: content(archive, member) for member in archive}


def content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    assert stream is not None
    return stream.read()


def document(files: dict[str, bytes], descriptor: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON of any shape
    text = files[f"blobs/sha256/{descriptor['digest'].removeprefix('sha256:')}"]
    assert len(text) == descriptor["size"]
    return json.loads(text)


def entrypoint(image: Image) -> list[str]:
    files = blobs(image)
    manifest = document(files, json.loads(files["index.json"])["manifests"][0])
    return document(files, manifest["config"])["config"]["Entrypoint"]


@pytest.mark.parametrize("make", [pause_image, busybox_image])
def test_the_layout_names_every_blob_by_its_true_digest_and_size(make: Any) -> None:  # noqa: ANN401 - either function
    image: Image = make()
    files = blobs(image)

    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    for name, text in files.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(text).hexdigest()}"
    (entry,) = json.loads(files["index.json"])["manifests"]
    manifest = document(files, entry)
    config = document(files, manifest["config"])
    digests = [layer["digest"] for layer in manifest["layers"]]
    assert digests == config["rootfs"]["diff_ids"] == list(image.layers)
    for layer in manifest["layers"]:
        assert len(files[f"blobs/sha256/{layer['digest'].removeprefix('sha256:')}"]) == layer["size"]
    assert image.size == image.tarball.stat().st_size


def test_the_index_carries_the_name_that_ctr_imports_under() -> None:
    (entry,) = json.loads(blobs(pause_image())["index.json"])["manifests"]

    assert entry["annotations"] == {
        "io.containerd.image.name": "docker.io/local/pause:1",
        "org.opencontainers.image.ref.name": "1",
    }
    assert entry["platform"]["os"] == "linux"


def test_two_caches_get_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = busybox_image().tarball
    monkeypatch.setenv("TANGRAM_TESTBED_CACHE", str(tmp_path / "other"))
    second = busybox_image().tarball

    assert first != second
    assert first.read_bytes() == second.read_bytes()


def test_pause_and_busybox_share_their_layer() -> None:
    assert pause_image().layers == busybox_image().layers


def test_the_shell_finds_the_commands_that_tests_use_and_a_tmp_for_everyone(tmp_path: Path) -> None:
    layer = tmp_path / "layer.tar"
    layer.write_bytes(
        blobs(busybox_image())[f"blobs/sha256/{busybox_image().layers[0].removeprefix('sha256:')}"]
    )
    wanted = "sh cat ls stat env sleep nc wget ip id mount test echo timeout nslookup ping tail date".split()  # noqa: SIM905 - reads best as a line

    with tarfile.open(layer) as archive:
        members = {member.name: member for member in archive}

    assert {f"usr/bin/{command}" for command in wanted} <= members.keys()
    assert members["tmp"].mode == 0o1777
    assert members["bin"].linkname == "usr/bin"
    assert {member.mtime for member in members.values()} == {0}
    assert {(member.uid, member.gid) for member in members.values()} == {(0, 0)}


def test_processes_that_make_an_image_at_once_all_get_a_whole_one(cache: Path) -> None:
    program = "import testbed.images as i; print(i.busybox_image().tarball)"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for _ in range(4)
    ]
    printed = {process.communicate(timeout=60)[0].strip() for process in processes}

    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    assert printed == {str(busybox_image().tarball)}
    assert len(blobs(busybox_image())) == 5
    assert not list(cache.rglob("*.part"))


def test_a_file_cut_short_by_a_power_cut_is_made_again() -> None:
    tarball = busybox_image().tarball
    whole = tarball.read_bytes()
    os.truncate(tarball, 1000)

    assert busybox_image().tarball.read_bytes() == whole


def test_old_files_go_when_the_cache_has_grown_and_recent_ones_stay(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = busybox_image().tarball
    abandoned = old.with_name("killed-process.part")
    abandoned.touch()
    long_ago = time.time() - 7200
    for path in (old, abandoned):
        os.utime(path, (long_ago, long_ago))
    monkeypatch.setattr(store, "_KEPT_BYTES", 1)

    new = pause_image().tarball

    assert [path.name for path in (cache / "images" / "tarballs").iterdir()] == [new.name]
    assert len(list((cache / "images" / "layers").iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TANGRAM_TESTBED_CACHE", str(tmp_path / "file"))

    with pytest.raises(BedError, match=r"cannot be made \(Not a directory\): set TANGRAM_TESTBED_CACHE"):
        pause_image()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({"TANGRAM_TESTBED_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a", id="own"),
        pytest.param({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/tangram-testbed", id="common"),
        pytest.param({"HOME": "/c"}, "/c/.cache/tangram-testbed", id="home"),
        pytest.param(
            {"TANGRAM_TESTBED_CACHE": "", "HOME": "/c"}, "/c/.cache/tangram-testbed", id="empty-is-unset"
        ),
    ],
)
def test_the_cache_is_where_the_nearest_setting_says(
    settings: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TANGRAM_TESTBED_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    assert cache_folder() == Path(expected)


@pytest.mark.parametrize("name", ["TANGRAM_TESTBED_CACHE", "XDG_CACHE_HOME"])
def test_a_cache_that_depends_on_the_current_folder_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TANGRAM_TESTBED_CACHE")
    monkeypatch.setenv(name, "some/folder")

    with pytest.raises(BedError, match=f"{name} is 'some/folder', .* give an absolute path"):
        cache_folder()


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("/opt/x", "opt/x"),
        ("/bin/x", "usr/bin/x"),
        ("/usr/sbin/x", "usr/bin/x"),
        ("/lib/x86_64-linux-gnu/libc.so.6", "usr/lib/x86_64-linux-gnu/libc.so.6"),
        ("/lib64/ld.so", "usr/lib64/ld.so"),
        ("/libexec/x", "libexec/x"),
        ("/var/run/x", "run/x"),
    ],
)
def test_a_path_through_a_linked_folder_leads_to_the_real_one(given: str, key: str) -> None:
    assert container_path(given) == key


@pytest.mark.parametrize("given", ["etc/x", "/etc/../x", "/", "", "/bin"])
def test_a_path_that_would_break_an_image_is_refused(given: str) -> None:
    with pytest.raises(BedError, match="cannot be placed in an image"):
        container_path(given)


def test_a_layer_brings_the_folders_above_its_files_but_not_those_below_it(tmp_path: Path) -> None:
    tree = with_parents({"tmp/a/b": File(b"x"), "tmp/c": Link("a")}, present={"tmp": Folder(0o1777)})

    with (tmp_path / "layer.tar").open("wb") as stream:
        write_layer(tree, stream)
    with tarfile.open(tmp_path / "layer.tar") as archive:
        assert archive.getnames() == ["tmp/a", "tmp/a/b", "tmp/c"]


def test_the_sandbox_ends_at_once_when_told_to() -> None:
    """As the first process of a PID namespace where that is allowed: there a signal without a handler is dropped."""
    own_namespace = ["unshare", "--pid", "--fork", "--kill-child"] if os.geteuid() == 0 else []
    process = subprocess.Popen(
        [*own_namespace, static_busybox(), "sh", *entrypoint(pause_image())[1:]], start_new_session=True
    )
    try:
        # Two generations below unshare, one below the shell: the sleeper is there only once the trap is set.
        shell = wait_for_child(process.pid) if own_namespace else process.pid
        wait_for_child(shell)
        os.kill(shell, signal.SIGTERM)
        process.wait(timeout=10)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)
    assert process.returncode in {143, -signal.SIGTERM}


def wait_for_child(pid: int) -> int:
    deadline = time.monotonic() + 20
    children: list[str] = []
    while not children:
        assert time.monotonic() < deadline, f"process {pid} started nothing"
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return int(children[0])


def test_an_image_of_a_program_holds_it_alone_and_runs_it() -> None:
    image = program_image("registry.example.com/busybox:v1", static_busybox())
    files = blobs(image)
    manifest = document(files, json.loads(files["index.json"])["manifests"][0])
    (layer,) = manifest["layers"]
    with tarfile.open(
        fileobj=io.BytesIO(files[f"blobs/sha256/{layer['digest'].removeprefix('sha256:')}"])
    ) as tar:
        names = [(member.name, oct(member.mode)) for member in tar if member.isfile()]
    assert names == [("usr/local/bin/busybox", "0o755")]
    assert entrypoint(image) == ["/usr/local/bin/busybox"]
    assert image.name == "registry.example.com/busybox:v1"


def test_no_image_is_made_of_a_program_that_needs_libraries() -> None:
    with pytest.raises(BedError, match="needs libraries"):
        program_image("registry.example.com/python:v1", Path(sys.executable).resolve())
