"""`metax-docker` in front of a real Docker engine, seen from inside containers: the rows M105 to M113 of the manual."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Generator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio

from e2e.docker_kit import PLAIN, WITH_MACA, DockerRoom, docker_room
from shipping.image.downloads import one_program
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from tangram.services.docker_host.option_table import BEFORE_COMMAND, RUN, options_in_help

FIRST_GROUP = range(4)
SECOND_GROUP = range(4, 8)
VERSIONS = ("sh", "-c", "cat /opt/maca/version /opt/mxdriver/version 2>&1")


@pytest_asyncio.fixture(scope="module")
async def room(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DockerRoom]:
    async with docker_room(tmp_path_factory.mktemp("docker")) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_left(room: DockerRoom) -> None:
    """Every test begins without containers, and with idle cards."""
    left = room.docker("ps", "--all", "--quiet").lines
    if left:
        room.docker("rm", "--force", *left)


def nodes(*cards: int) -> list[str]:
    pairs = (
        [f"/dev/dri/card{card + 1}" for card in cards],
        [f"/dev/dri/renderD{128 + card}" for card in cards],
    )
    return [*sorted(pairs[0]), *sorted(pairs[1]), "/dev/mxcd"]


def run(
    room: DockerRoom, *options: str, image: str = PLAIN, command: tuple[str, ...] = VERSIONS
) -> list[str]:
    said = room.metax_docker("run", "--rm", "--network=none", *options, image, *command)
    assert said.status == 0, said
    return said.lines


def background(room: DockerRoom, *options: str) -> str:
    said = room.metax_docker("run", "-d", "--network=none", *options, "--maca=none", PLAIN, "sleep", "1000")
    assert said.status == 0, said
    return said.out.strip()


def cards_of(room: DockerRoom, container: str) -> set[int]:
    listed = room.docker("exec", container, "ls", "/dev/dri").lines
    return {int(name.removeprefix("renderD")) - 128 for name in listed if name.startswith("renderD")}


def refusal(room: DockerRoom, *words: str) -> str:
    said = room.metax_docker(*words)
    assert (said.status, said.out) == (125, ""), said
    return said.err


# ---- M105: everything is docker's


def test_the_table_of_options_agrees_with_the_engine(room: DockerRoom) -> None:
    for words, table in (
        (("run", "--help"), RUN),
        (("create", "--help"), RUN),
        (("--help",), BEFORE_COMMAND),
    ):
        listed = options_in_help(room.docker(*words).out)
        assert len(listed.long) > 10
        ours = {"gpus"} if words[0] != "--help" else set[str]()
        assert {name: takes for name, takes in listed.long.items() if name not in ours} == {
            name: table.long.get(name) for name in listed.long if name not in ours
        }
        assert listed.short == {letter: table.short.get(letter) for letter in listed.short}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("version", "--format", "{{.Server.Version}}"), id="version"),
        pytest.param(("image", "inspect", "--format", "{{.Id}}", PLAIN), id="inspect"),
        pytest.param(("run", "--rm", "--network", "none", PLAIN, "echo", "--gpus=all"), id="run"),
        pytest.param(("ps", "--no-such"), id="wrong-option"),
        pytest.param(("no-such-command",), id="wrong-command"),
        pytest.param(("run", "--rm", "--network=none", PLAIN, "sh", "-c", "exit 37"), id="exit-status"),
    ],
)
def test_m105_docker_answers_as_without_us(room: DockerRoom, words: tuple[str, ...]) -> None:
    assert room.metax_docker(*words) == room.docker(*words)


def test_m105_an_option_that_docker_does_not_know_is_refused_in_dockers_words(room: DockerRoom) -> None:
    said = room.metax_docker("run", "--gpus=1", "--shiny", PLAIN)
    assert said.status == 125
    assert "unknown flag: --shiny" in said.err


def test_m105_input_and_exit_status_are_the_containers(room: DockerRoom) -> None:
    words = (
        "run",
        "--rm",
        "-i",
        "--network=none",
        "--gpus=[0]",
        "--maca=none",
        PLAIN,
        "sh",
        "-c",
        "cat; exit 9",
    )
    said = room.metax_docker(*words, stdin=b"through\n")
    assert (said.status, said.out) == (9, "through\n")


async def test_m105_a_signal_reaches_the_container_and_nothing_stands_between(room: DockerRoom) -> None:
    script = "trap 'echo told; exit 5' TERM; echo ready; while :; do sleep 0.1; done"
    words = room.command(
        "run", "--rm", "--network=none", "--gpus=[0]", "--maca=none", PLAIN, "sh", "-c", script
    )
    process = await asyncio.create_subprocess_exec(
        *words, env=room.everything, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    # nsenter waits for what it started in another process namespace; that is docker itself by now.
    child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()[0])
    assert Path(f"/proc/{child}/exe").resolve().name == "docker"
    assert not Path(f"/proc/{child}/task/{child}/children").read_text("ascii").split()
    os.kill(child, signal.SIGTERM)
    assert await process.stdout.readline() == b"told\n"
    assert await process.wait() == 5


def test_m105_a_terminal_is_a_terminal_in_the_container(room: DockerRoom) -> None:
    controller, terminal = pty.openpty()
    words = room.command("run", "--rm", "-it", "--network=none", "--gpus=1", "--maca=none", PLAIN, "tty")
    streams = {"stdin": terminal, "stdout": terminal, "stderr": terminal}
    done = subprocess.Popen(words, env=room.everything, **streams)  # noqa: S603 - our own words
    os.close(terminal)
    said = b""
    with suppress(OSError):  # the last reader of a terminal is told so
        while part := os.read(controller, 4096):
            said += part
    os.close(controller)
    assert done.wait() == 0, said
    assert said.strip() == b"/dev/pts/0"


# ---- M106 to M109: which cards


@pytest.mark.smoke
def test_m106_all_cards(room: DockerRoom) -> None:
    assert room.given("--gpus=all") == nodes(*range(8))
    assert room.given() == []


def test_m107_so_many_cards_of_one_group(room: DockerRoom) -> None:
    assert room.given("--gpus=4") == nodes(*SECOND_GROUP)
    assert room.given("--gpus", "1") == nodes(7)


def test_m108_cards_by_number_uuid_and_bus_address(room: DockerRoom) -> None:
    assert room.given("--gpus=[0,5]") == nodes(0, 5)
    assert room.given("-gpus", "[3]") == nodes(3)
    cards = _cards(room)
    assert room.given(f"--gpus=[{cards[2]['uuid']},{cards[4]['bdf']}]") == nodes(2, 4)


def test_m109_cards_by_serial_number(room: DockerRoom) -> None:
    cards = _cards(room)
    assert room.given(f"--gpus=[{cards[1]['serial']},{cards[6]['serial']}]") == nodes(1, 6)


def test_the_nodes_can_be_opened(room: DockerRoom) -> None:
    script = "echo x > /dev/dri/renderD128 && echo open; [ -e /dev/dri/renderD129 ] || echo closed"
    said = run(room, "--gpus=[0]", "--workdir=/mnt", command=("sh", "-c", f"({script}) 2>/dev/null"))
    assert said == ["open", "closed"]


def test_a_person_without_root_in_the_container_is_in_the_group_of_the_nodes(room: DockerRoom) -> None:
    node = room.folder / "dev" / "dri" / "renderD130"
    os.chown(node, 0, 44)
    node.chmod(0o660)
    try:
        assert run(room, "--gpus=[2]", "-u", "1000:1000", command=("id", "-G")) == ["1000 44"]
        assert run(
            room, "--gpus=[2]", "-u", "1000", command=("sh", "-c", "echo > /dev/dri/renderD130 && echo open")
        ) == ["open"]
    finally:
        os.chown(node, 0, 0)
        node.chmod(0o666)


def test_a_slice_is_seen_by_its_variable_and_its_cards_render_node(room: DockerRoom) -> None:
    room.control("set", "sliced", "3", "on")
    code = (
        "from pathlib import Path; from tangram.drivers.simulated.client import connected; "
        f"driver = connected(Path('{room.folder}/cards.sock')); card = driver.devices()[3]; "
        "made = driver.create_slice(card.uuid, memory=8 << 30, cores=25, name='notebook'); "
        "print(made.uuid, made.id, card.bdf)"
    )
    uuid, number, bdf = room.inside(sys.executable, "-c", code).out.split()
    try:
        look = ("sh", "-c", "ls /dev/mxcd /dev/dri/*; echo $METAX_SGPUS")
        assert run(room, f"--gpus=[sgpu:{uuid}]", command=look) == [
            *("/dev/dri/renderD131", "/dev/mxcd"),
            f"sgpu={bdf}#{number};compute=25;vram=8192;alias=notebook",
        ]
        said = refusal(room, "run", "--gpus=8", PLAIN)
        assert "card 3 is used by slice notebook" in said
        assert f"it has sgpu:{uuid} (card 3)" in refusal(room, "run", "--gpus=[sgpu:nobody]", PLAIN)
    finally:
        room.inside(
            sys.executable, "-c", f"{code.partition('made =')[0]}driver.remove_slice(card.uuid, {number})"
        )
        room.control("set", "sliced", "3", "off")


# ---- idle


def test_cards_of_a_running_container_are_not_picked_again(room: DockerRoom) -> None:
    first, second = background(room, "--gpus=4", "--name=first"), background(room, "--gpus=4")
    assert cards_of(room, first) == set(SECOND_GROUP)
    assert cards_of(room, second) == set(FIRST_GROUP)
    said = refusal(room, "run", "--rm", "--gpus=1", PLAIN)
    assert "asks for 1 card, and 0 of 8 are idle" in said
    assert "card 4 is used by container first" in said
    room.docker("rm", "--force", first)
    assert room.given("--gpus=2", "--maca=none") == nodes(6, 7)


def test_cards_with_processes_are_not_picked_and_shared_when_named(room: DockerRoom) -> None:
    room.control("use", "GPU-7")
    try:
        assert room.given("--gpus=4") == nodes(*FIRST_GROUP)
        said = room.metax_docker("run", "--rm", "--network=none", "--gpus=[7]", PLAIN, "true")
        assert said.status == 0
        assert re.fullmatch(
            r"metax-docker: card 7 is used by .*\(pid \d+\); the container shares it\.\n", said.err
        )
    finally:
        room.control("release", "GPU-7")


async def test_starts_at_the_same_moment_pick_different_cards(room: DockerRoom) -> None:
    found = await asyncio.gather(*(asyncio.to_thread(background, room, "--gpus=2") for _ in range(4)))
    cards = [cards_of(room, container) for container in found]
    assert all(len(each) == 2 for each in cards)
    assert set().union(*cards) == set(range(8))


def test_create_gives_cards_too(room: DockerRoom) -> None:
    words = (
        "container",
        "create",
        "--name=made",
        "--network=none",
        "--gpus=[1]",
        "--maca=none",
        PLAIN,
        "sleep",
        "9",
    )
    assert room.metax_docker(*words).status == 0
    assert room.metax_docker("start", "made").status == 0
    assert cards_of(room, "made") == {1}


# ---- M110 to M113: MXMACA


@pytest.mark.smoke
def test_m110_an_image_without_mxmaca_sees_the_hosts_and_cannot_change_it(room: DockerRoom) -> None:
    assert run(room, "--gpus=1") == ["host-3", "host-driver"]
    script = "touch /opt/maca/mine 2>/dev/null || echo read-only; echo $MACA_PATH $LD_LIBRARY_PATH"
    assert run(room, "--gpus=1", command=("sh", "-c", script)) == [
        "read-only",
        "/opt/maca /opt/maca/lib:/opt/mxdriver/lib",
    ]


@pytest.mark.smoke
def test_m111_an_images_own_is_left_alone(room: DockerRoom) -> None:
    assert run(room, "--gpus=1", image=WITH_MACA) == ["image-maca", "image-mxdriver"]
    assert room.docker("ps", "--all", "--quiet").lines == []


@pytest.mark.parametrize("option", ["--maca-force", "-maca-force"])
def test_m112_force_mounts_the_hosts_over_it(room: DockerRoom, option: str) -> None:
    assert run(room, "--gpus=1", option, image=WITH_MACA) == ["host-3", "host-driver"]


@pytest.mark.parametrize("option", ["--maca=2", "-maca=/opt/maca-2"])
def test_m113_another_mxmaca_of_the_host(room: DockerRoom, option: str) -> None:
    assert run(room, "--gpus=1", option) == ["host-2", "host-driver"]
    assert run(room, "--gpus=1", option, "--maca-force", image=WITH_MACA) == ["host-2", "host-driver"]


def test_what_a_person_mounts_there_stays(room: DockerRoom) -> None:
    assert run(room, "--gpus=1", "-v", "/opt/maca-2:/opt/maca:ro", "-e", "MACA_PATH=/mine") == [
        "host-2",
        "host-driver",
    ]


def test_a_changed_link_does_not_reach_a_container_that_runs(room: DockerRoom) -> None:
    said = room.metax_docker("run", "-d", "--network=none", "--gpus=1", PLAIN, "sleep", "1000")
    room.inside("ln", "-sfn", "maca-2", "/opt/maca")
    try:
        assert room.docker("exec", said.out.strip(), "cat", "/opt/maca/version").lines == ["host-3"]
        assert run(room, "--gpus=1")[0] == "host-2"
    finally:
        room.inside("ln", "-sfn", "maca-3", "/opt/maca")


@pytest.fixture
def registry(room: DockerRoom) -> Generator[str]:
    """A registry in the room, with one image that has MXMACA."""
    program = one_program(
        "docker-registry", "usr/bin/docker-registry", of_this_machine(), Progress(sys.stdout)
    )
    config = room.folder / "registry.yaml"
    storage = {"filesystem": {"rootdirectory": str(room.folder / "data" / "registry")}}
    config.write_text(json.dumps({"version": 0.1, "storage": storage, "http": {"addr": "127.0.0.1:5000"}}))
    words = [*room.entering, str(program), "serve", str(config)]
    with (room.folder / "registry.log").open("wb") as log:
        serving = subprocess.Popen(words, env=room.everything, stdout=log, stderr=log)  # noqa: S603 - our own words
    try:
        name = "127.0.0.1:5000/team/with-maca:1"
        assert room.docker("tag", WITH_MACA, name).status == 0
        for _ in range(100):
            pushed = room.docker("push", name)
            if pushed.status == 0:
                break
            time.sleep(0.1)
        assert pushed.status == 0, pushed
        room.docker("rmi", name)
        yield name
    finally:
        child = Path(f"/proc/{serving.pid}/task/{serving.pid}/children").read_text("ascii").split()
        os.kill(int(child[0]), signal.SIGTERM)
        serving.wait()


def test_m111_an_image_that_is_not_here_is_fetched_and_then_looked_into(
    room: DockerRoom, registry: str
) -> None:
    words = ("run", "--rm", "--network=none", "--gpus=1")
    said = room.metax_docker(*words, "--pull=never", registry, *VERSIONS)
    assert said.status == 125
    assert "No such image" in said.err
    assert "Unable to find image" not in room.metax_docker("--dry-run", *words, registry).err
    said = room.metax_docker(*words, registry, *VERSIONS)
    assert (said.status, said.lines) == (0, ["image-maca", "image-mxdriver"])
    assert "Pulling from team/with-maca" in said.err


# ---- dry runs and sentences


def test_a_dry_run_prints_the_command_that_docker_takes(room: DockerRoom) -> None:
    said = room.metax_docker("--dry-run", "run", "--rm", "--network=none", "--gpus=[0]", PLAIN, *VERSIONS)
    assert said.status == 0
    assert room.docker("ps", "--all", "--quiet").lines == []
    again = room.inside("sh", "-c", said.out)
    assert (again.status, again.lines) == (0, ["host-3", "host-driver"])


def test_sentences(room: DockerRoom) -> None:
    assert "this host has no card '8': it has 0 (GPU-" in refusal(room, "run", "--gpus=[8]", PLAIN)
    assert "for NVIDIA's cards call docker" in refusal(room, "run", "--gpus", '"device=0"', PLAIN)
    assert "the versions here are 2, 3" in refusal(room, "run", "--gpus=1", "--maca=9", PLAIN)
    assert "Docker 20.10" in refusal(room, "setup")
    gone = room.metax_docker("-H", f"unix://{room.folder}/none.sock", "run", "--gpus=1", PLAIN)
    assert gone.status == 125
    assert "Cannot connect to the Docker daemon" in gone.err


def test_an_image_that_cannot_be_fetched_ends_as_with_docker(room: DockerRoom) -> None:
    said = refusal(room, "run", "--gpus=1", "registry.invalid/no/image:1")
    assert "could not be fetched; docker said why" in said
    assert "registry.invalid" in said


def test_no_mxmaca_anywhere_is_a_sentence_unless_none_is_wanted(room: DockerRoom) -> None:
    room.inside("mv", "/opt/maca", "/opt/kept")
    try:
        assert "there is no MXMACA for the container" in refusal(room, "run", "--gpus=1", PLAIN)
        assert room.given("--gpus=[0]", "--maca=none") == nodes(0)
        assert run(room, "--gpus=1", image=WITH_MACA) == ["image-maca", "image-mxdriver"]
    finally:
        room.inside("mv", "/opt/kept", "/opt/maca")


def _cards(room: DockerRoom) -> list[dict[str, str]]:
    code = (
        "import json; from pathlib import Path; from tangram.drivers.simulated.client import connected; "
        f"driver = connected(Path('{room.folder}/cards.sock')); "
        "print(json.dumps([{'uuid': d.uuid, 'bdf': d.bdf, 'serial': d.serial} for d in driver.devices()]))"
    )
    return json.loads(room.inside(sys.executable, "-c", code).out)
