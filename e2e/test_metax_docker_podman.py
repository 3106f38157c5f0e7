"""`metax-docker` in front of a real podman, and the CDI file of `setup` as a real engine reads it."""

import json
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.docker_kit import MAIN, PLAIN, WITH_MACA, DockerRoom, Said, podman_room
from tangram.services.docker_host.option_table import BEFORE_COMMAND, RUN, options_in_help

VERSIONS = "cat /opt/maca/version /opt/mxdriver/version; ls -d /dev/mxcd /dev/dri/*"
NODES = {
    0: ["/dev/dri/card1", "/dev/dri/renderD128", "/dev/mxcd"],
    7: ["/dev/dri/card8", "/dev/dri/renderD135", "/dev/mxcd"],
}
CDI = "/run/cdi"


@pytest_asyncio.fixture(scope="module")
async def room(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DockerRoom]:
    async with podman_room(tmp_path_factory.mktemp("podman")) as running:
        yield running


def options(room: DockerRoom) -> list[str]:
    return ["run", "--rm", "--network=none", f"--cgroup-parent=/{room.branch}"]


def seen(said: Said) -> list[str]:
    assert said.status == 0, said
    return said.lines


def test_the_table_of_options_agrees_with_podman(room: DockerRoom) -> None:
    for words, table in (
        (("run", "--help"), RUN),
        (("create", "--help"), RUN),
        (("--help",), BEFORE_COMMAND),
    ):
        listed = options_in_help(room.docker(*words).out)
        assert len(listed.long) > 10
        assert listed.long == {name: table.long.get(name) for name in listed.long}
        assert listed.short == {letter: table.short.get(letter) for letter in listed.short}


def test_cards_and_mxmaca_come_with_podman_too(room: DockerRoom) -> None:
    words = [*options(room), "--gpus=[7]"]
    assert seen(room.metax_docker(*words, PLAIN, "sh", "-c", VERSIONS)) == [
        "host-3",
        "host-driver",
        *NODES[7],
    ]
    assert seen(room.metax_docker(*words, WITH_MACA, "sh", "-c", VERSIONS)) == [
        *("image-maca", "image-mxdriver"),
        *NODES[7],
    ]
    forced = room.metax_docker(*words, "--maca-force", "--maca=2", WITH_MACA, "sh", "-c", VERSIONS)
    assert seen(forced) == ["host-2", "host-driver", *NODES[7]]
    assert room.docker("ps", "--all", "--quiet").lines == []


def test_cards_of_a_running_container_are_not_picked_again(room: DockerRoom) -> None:
    begin = ["run", "-d", "--network=none", f"--cgroup-parent=/{room.branch}", "--maca=none"]
    first = room.metax_docker(*begin, "--name=first", "--gpus=7", PLAIN, "sleep", "1000")
    assert first.status == 0, first
    try:
        said = room.metax_docker(*begin, "--gpus=2", PLAIN, "sleep", "1000")
        assert said.status == 125
        assert "used by container first" in said.err
    finally:
        room.docker("rm", "--force", "--time=0", "first")


def test_setup_lets_the_engine_give_cards_by_itself(room: DockerRoom) -> None:
    written = room.metax_docker("setup", "--dir", CDI)
    assert written.status == 0, written
    assert (
        written.lines[0]
        == f"{CDI}/metax-tech.com-gpu.json is written: 17 device nodes and /opt/maca-3, /opt/mxdriver-3."
    )
    look = ("sh", "-c", VERSIONS)
    try:
        for name in ("0", _uuid(room)):
            said = room.docker(*options(room), f"--device=metax-tech.com/gpu={name}", PLAIN, *look)
            assert seen(said) == ["host-3", "host-driver", *NODES[0]]
        two = [f"--device=metax-tech.com/gpu={each}" for each in (0, 7)]
        both = seen(room.docker(*options(room), *two, PLAIN, *look))
        assert both[2:] == sorted({*NODES[0], *NODES[7]})
        every = seen(room.docker(*options(room), "--device=metax-tech.com/gpu=all", PLAIN, *look))
        assert len(every) == 2 + 17
    finally:
        assert room.metax_docker("setup", "--remove", "--dir", CDI).status == 0
    gone = room.docker(*options(room), "--device=metax-tech.com/gpu=0", PLAIN, "true")
    assert gone.status != 0


def _uuid(room: DockerRoom) -> str:
    said = room.inside(sys.executable, "-c", MAIN, "setup", "--print", "--maca=none")
    return json.loads(said.out)["devices"][1]["name"]
