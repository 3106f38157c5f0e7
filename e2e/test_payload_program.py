"""Payloads on their way from an image to the host: whole or not at all, whatever happens in between."""

import json
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.programs_kit import VERSION, host_programs
from shipping.image.platforms import of_this_machine
from tangram.services.images.payloads.building import build
from tangram.services.images.payloads.describing import Wish
from tangram.services.images.payloads.folder import read_folder
from tangram.services.images.payloads.signing import make_key, read_private_key
from tangram.wire.operator.payloads import PayloadKind, read_payload
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.images import Image, program_image
from testbed.manifests import is_over, is_running, pod

pytestmark = pytest.mark.smoke

KERNEL = "5.15.0-91-generic"
SLUG = "driver-image-2.32.0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "modules" / KERNEL).mkdir(parents=True)
    (made / "modules" / KERNEL / "metax.ko").write_bytes(b"module")
    (made / "mxdriver" / "bin").mkdir(parents=True)
    (made / "mxdriver" / "bin" / "mx-smi").write_bytes(b"program")
    (made / "mxdriver" / "bin" / "mx-smi").chmod(0o755)
    (made / "mxdriver" / "smi").symlink_to("bin/mx-smi")
    return made


def archive_of(
    folder: Path, output: Path, *, name: str = f"tangram.dev/cloud/{SLUG}:1", signed: bool = False
) -> Path:
    """As `tangram images payload build` makes it."""
    wish = Wish(kind=PayloadKind.DRIVER, version="2.32.0", architecture=of_this_machine().name, name=name)
    key = None
    if signed:
        make_key(output.with_name("key"))
        key = read_private_key(output.with_name("key"))
    build(read_folder(folder, PayloadKind.DRIVER), wish, output, key=key)
    return output


def unpacked(archive: Path, into: Path) -> Path:
    """The file system of the image, as a container of it has it."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    with subprocess.Popen(["tar", "-xOf", str(archive), "manifest.json"], stdout=subprocess.PIPE) as tar:  # noqa: S603, S607
        assert tar.stdout is not None
        (listed,) = json.loads(tar.stdout.read())
    for layer in listed["Layers"]:
        script = 'tar -xOf "$1" "$2" | tar -xz -C "$3"'
        subprocess.run(["sh", "-c", script, "sh", str(archive), layer, str(into)], check=True)  # noqa: S603, S607
    return into


def stage(
    image: Path, to: Path, *, kind: str = "driver", name: str = "driver-image:2.32.0"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - the program under test
        command(image, to, kind=kind, name=name), check=False, capture_output=True, text=True, timeout=120
    )


def command(image: Path, to: Path, *, kind: str = "driver", name: str = "driver-image:2.32.0") -> list[str]:
    words = [
        "stage",
        "--image",
        name,
        "--kind",
        kind,
        "--to",
        str(to),
        "--folder",
        SLUG,
        "--from",
        str(image),
    ]
    return [str(host_programs() / "mx-payload"), *words]


def whole(to: Path) -> bool:
    """Whether the payload is there, and every byte of it is right."""
    words = [str(host_programs() / "mx-payload"), "verify", str(to / SLUG)]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0  # noqa: S603


def others(to: Path) -> list[str]:
    return sorted(one.name for one in to.iterdir() if one.name not in {SLUG, f".lock-{SLUG}"})


@contextmanager
def small_disk(place: Path, *options: str) -> Generator[Path]:
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(place)]
    subprocess.run(words, check=True)  # noqa: S603
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)  # noqa: S603, S607


def test_what_was_built_arrives_as_it_was(folder: Path, tmp_path: Path) -> None:
    image, to = (
        unpacked(archive_of(folder, tmp_path / "x.tar", signed=True), tmp_path / "image"),
        tmp_path / "to",
    )
    answer = stage(image, to)
    assert (answer.returncode, answer.stdout) == (0, "")
    assert "was brought: 2 files" in answer.stderr
    payload = read_payload((to / SLUG / "payload.json").read_bytes())
    assert (payload.version, payload.kernels, payload.modules) == ("2.32.0", (KERNEL,), ("metax",))
    assert len((to / SLUG / "payload.sig").read_bytes()) == 64
    assert (to / SLUG / "mxdriver" / "smi").read_bytes() == b"program"
    assert (to / SLUG / "mxdriver" / "bin" / "mx-smi").stat().st_mode & 0o777 == 0o755
    assert (whole(to), others(to)) == (True, [])
    before = (to / SLUG).stat().st_ino
    assert "is there already" in stage(image, to).stderr
    assert (to / SLUG).stat().st_ino == before


def test_an_image_of_mxmaca_as_the_vendor_ships_it_becomes_a_payload(tmp_path: Path) -> None:
    image, to = tmp_path / "image", tmp_path / "to"
    (image / "opt" / "maca-2.23.0.4" / "lib").mkdir(parents=True)
    (image / "opt" / "maca-2.23.0.4" / "lib" / "libx.so.1").write_bytes(b"x")
    (image / "opt" / "maca-2.23.0.4" / "lib" / "libx.so").symlink_to("/opt/maca/lib/libx.so.1")
    (image / "opt" / "maca").symlink_to("/opt/maca-2.23.0.4")
    answer = stage(
        image, to, kind="maca", name="cr.metax-tech.com/library/maca-c500:2.23.0.4-ubuntu18.04-amd64"
    )
    assert answer.returncode == 0, answer.stderr
    payload = read_payload((to / SLUG / "payload.json").read_bytes())
    assert (payload.kind, payload.version) == (PayloadKind.MACA, "2.23.0.4")
    assert payload.links == {"maca/lib/libx.so": "../lib/libx.so.1"}
    assert (to / SLUG / "maca" / "lib" / "libx.so").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        pytest.param("echo changed > mxdriver/bin/mx-smi", "the image is damaged", id="corrupt"),
        pytest.param("rm mxdriver/bin/mx-smi", "cannot be read", id="missing"),
        pytest.param("echo '{' > payload.json", "payload.json cannot be read", id="no list"),
        pytest.param("rm payload.json", "is no payload", id="no payload"),
    ],
)
def test_a_damaged_image_leaves_what_was_there(
    folder: Path, tmp_path: Path, break_it: str, sentence: str
) -> None:
    image, to = unpacked(archive_of(folder, tmp_path / "x.tar"), tmp_path / "image"), tmp_path / "to"
    stage(image, to)
    (folder / "mxdriver" / "bin" / "mx-smi").write_bytes(b"newer program")
    unpacked(archive_of(folder, tmp_path / "y.tar"), image)
    subprocess.run(["sh", "-c", break_it], cwd=image / "payload", check=True)  # noqa: S603, S607
    answer = stage(image, to)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert sentence in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert (to / SLUG / "mxdriver" / "bin" / "mx-smi").read_bytes() == b"program"
    assert (whole(to), others(to)) == (True, [])


@pytest.mark.parametrize("limit", ["size=256k", "nr_inodes=8"])
def test_a_full_disk_is_said_and_nothing_is_left_on_it(folder: Path, tmp_path: Path, limit: str) -> None:
    for number in range(6):
        (folder / "mxdriver" / f"file-{number}").write_bytes(random.Random(number).randbytes(100_000))  # noqa: S311
    image = unpacked(archive_of(folder, tmp_path / "x.tar"), tmp_path / "image")
    with small_disk(tmp_path / "disk", limit) as to:
        answer = stage(image, to)
        assert answer.returncode == 1
        assert "make room there" in answer.stderr
        assert (others(to), (to / SLUG).exists()) == ([], False)


def test_a_run_that_is_killed_leaves_the_old_one_and_the_next_one_succeeds(
    folder: Path, tmp_path: Path
) -> None:
    chance = random.Random(11)  # noqa: S311 - the same moments every time
    image, to = unpacked(archive_of(folder, tmp_path / "x.tar"), tmp_path / "image"), tmp_path / "to"
    stage(image, to)
    for number in range(40):
        (folder / "mxdriver" / f"large-{number}").write_bytes(bytes([number]) * 3_000_000)
    unpacked(archive_of(folder, tmp_path / "y.tar"), image)
    seen_half = 0
    for _ in range(8):
        with subprocess.Popen(command(image, to), stderr=subprocess.DEVNULL) as running:  # noqa: S603
            while running.poll() is None and not others(to):
                time.sleep(0.001)
            time.sleep(chance.random() * 0.1)
            running.send_signal(signal.SIGKILL)
        seen_half += bool(others(to))
        assert whole(to)
    assert seen_half
    answer = stage(image, to)
    assert answer.returncode == 0, answer.stderr
    assert (whole(to), others(to)) == (True, [])
    assert (to / SLUG / "mxdriver" / "large-39").stat().st_size == 3_000_000


def test_a_run_that_is_asked_to_end_tidies_up(folder: Path, tmp_path: Path) -> None:
    with (folder / "mxdriver" / "large").open("wb") as large:
        large.truncate(400_000_000)
    to = tmp_path / "to"
    image = unpacked(archive_of(folder, tmp_path / "x.tar"), tmp_path / "image")
    with subprocess.Popen(command(image, to), stderr=subprocess.PIPE, text=True) as running:  # noqa: S603
        while not (to.exists() and others(to)):
            time.sleep(0.001)
        running.terminate()
        _, said = running.communicate(timeout=30)
    assert running.returncode == 1
    assert "told to end" in said
    assert (others(to), (to / SLUG).exists()) == ([], False)


def test_bad_command_lines_end_with_2_and_a_sentence(tmp_path: Path) -> None:
    program = str(host_programs() / "mx-payload")
    for words in (
        [],
        ["stages"],
        ["stage"],
        ["stage", "--image", "i", "--kind", "other", "--to", "/x", "--folder", "x"],
        ["stage", "--image", "i", "--kind", "maca", "--to", "x", "--folder", "x"],
        ["stage", "--image", "i", "--kind", "maca", "--to", "/x", "--folder", "../x"],
        ["stage", "--image", "i", "--kind", "maca", "--to", "/x", "--folder", "x", "more"],
        ["stage", "--no-such"],
        ["install-tool"],
        ["verify"],
    ):
        answer = subprocess.run([program, *words], check=False, capture_output=True, text=True)  # noqa: S603
        assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1), words
    version = subprocess.run([program, "version"], check=True, capture_output=True, text=True)  # noqa: S603
    assert version.stdout == f"mx-payload {VERSION}\n"
    subprocess.run([program, "install-tool", "--to", str(tmp_path / "bin" / "tool")], check=True)  # noqa: S603
    assert (tmp_path / "bin" / "tool").read_bytes() == Path(program).read_bytes()


async def test_an_image_with_nothing_but_a_payload_stages_it_on_a_real_node(
    cluster: Cluster, unique: Callable[[str], str], folder: Path, tmp_path: Path
) -> None:
    """As the operator does it: an init container brings the program, the payload's own image runs it."""
    name, there = unique("payload"), "/var/lib/metax/payloads"
    image = f"tangram.dev/cloud/{name}:2.32.0"
    archive = archive_of(folder, tmp_path / "x.tar", name=image)
    tool = program_image("docker.io/local/mx-payload:1", host_programs() / "mx-payload")
    payload = Image(name=image, tarball=archive, size=archive.stat().st_size, layers=())
    await cluster.load_image(payload, tool)
    tools = {"name": "tools", "mountPath": "/tools"}
    host = {"name": "payloads", "mountPath": there}
    stages = {
        "name": "stage",
        "image": image,
        "imagePullPolicy": "Never",
        "command": ["/tools/mx-payload", "stage", "--image", image, "--kind", "driver", "--to", there],
        "args": ["--folder", name, "--stay"],
        "volumeMounts": [tools, host],
    }
    brings = {
        "name": "tool",
        "image": tool.name,
        "imagePullPolicy": "Never",
        "args": ["install-tool", "--to", "/tools/mx-payload"],
        "volumeMounts": [tools],
    }
    volumes: list[Object] = [
        {"name": "tools", "emptyDir": {}},
        {"name": "payloads", "hostPath": {"path": there, "type": "DirectoryOrCreate"}},
    ]
    await cluster.api.create(pod(name, stages, inits=[brings], volumes=volumes))
    await cluster.until_pod(name, is_running)
    looks = f"{name}-look"
    verify = {
        **stages,
        "name": "look",
        "command": ["/tools/mx-payload", "verify", f"{there}/{name}"],
        "args": [],
    }
    await cluster.api.create(pod(looks, verify, inits=[brings], volumes=volumes))
    ended = await cluster.until_pod(looks, is_over, within=60)
    assert ended["status"]["phase"] == "Succeeded", await cluster.pod_log(looks, "look")
    assert f"driver 2.32.0 for {of_this_machine().name}: 2 files" in await cluster.pod_log(looks, "look")

    broken = f"{name}-broken"
    wrong = {
        **stages,
        "args": ["--folder", broken],
        "command": [*stages["command"][:5], "maca", "--to", there],
    }
    await cluster.api.create(pod(broken, wrong, inits=[brings], volumes=volumes))
    ended = await cluster.until_pod(broken, is_over, within=60)
    (status,) = ended["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 1
    assert "is a payload of the kind driver" in status["state"]["terminated"]["message"]
