"""The Dockerfiles of `examples/application-images`, built by a Docker engine and run: M98, M99 and M114 of the manual.

The commands are those of the examples' README, and the files are built as they are. The images that they begin with are
stand-ins (`job_images_kit`), so what MXMACA needs of an image is not proven here, but everything else is: the packages
are installed, the project is made against the MXMACA of the builder, nothing of the builder is in the final image, and
the program finds the MXMACA that it is meant to find.
"""

import json
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from e2e.agent_kit import TANGRAM, agent_node
from e2e.docker_kit import DockerRoom, Said, docker_room
from e2e.job_images_kit import EXAMPLES, LIBRARY, make_stand_ins, must, write_files, write_library
from e2e.programs_kit import host_programs
from tangram.wire.runtime_config.docker import with_metax
from tangram.wire.runtime_config.wishes import RUNTIME, Wish
from testbed.cluster import Cluster
from testbed.images.archive import Image
from testbed.manifests import is_over
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("application images")

WHERE = "registry.example.com/team"
"""For the manual's DOMAIN/PROJECT."""
EXTENSIONS, OPERATOR, SAMPLES = "local/extensions:1.0", "local/operator:1.0", "user-application:1.0"
LINKED = {
    "Makefile": """\
$(OUTPUT)/bin/application: src/application.c
\tmkdir -p "$(OUTPUT)/bin"
\t$(CC) -o "$@" $< -L"$(MACA_PATH)/lib" -lmcruntime
""",
    "src/application.c": """\
#include <stdio.h>
const char *maca_version(void);
int main(void) { return puts(maca_version()) < 0; }
""",
}
"""A project that is linked with MXMACA, as real ones are: for the first two Dockerfiles,"""
LINKED_SAMPLE = {
    "src/Makefile": """\
$(OUT)/foo: foo.cpp
\tmkdir -p "$(OUT)"
\t$(CXX) -o "$@" $< -L"$(MACA_PATH)/lib" -lmcruntime
""",
    "src/foo.cpp": """\
#include <cstdio>
extern "C" const char *maca_version(void);
int main() { return std::puts(maca_version()) < 0; }
""",
}
"""and for the one of metax-docker."""
NOT_THERE = "error while loading shared libraries: libmcruntime.so"


@dataclass(frozen=True)
class Built:
    """An engine in which the examples were built by the commands of their README, and projects that need MXMACA."""

    room: DockerRoom
    printed: str

    def run(self, image: str, *options: str, command: tuple[str, ...] = ()) -> Said:
        """By docker itself, as an engine of a cluster would."""
        return self.room.docker("run", "--rm", "--network=none", *options, image, *command)

    def lines(self, image: str, *options: str, command: tuple[str, ...] = ()) -> list[str]:
        done = self.run(image, *options, command=command)
        assert done.status == 0, done
        return done.lines

    @property
    def two_cards(self) -> tuple[str, ...]:
        """What a node's agent gives to a container with two cards."""
        nodes = ("mxcd", "dri/renderD128", "dri/renderD129")
        return tuple(f"--device={self.room.folder}/dev/{node}:/dev/{node}" for node in nodes)


@pytest_asyncio.fixture(scope="module")
async def built(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Built]:
    folder = tmp_path_factory.mktemp("images")
    # Read by the program of runtime metax; on a host the container-runtime agent writes it.
    (folder / "runtime.json").write_text(
        json.dumps(
            {
                "runtime": "runc",
                "folders": ["/opt/maca", "/opt/mxdriver"],
                "log": str(folder / "runtime.log"),
            }
        )
    )
    daemon, _ = with_metax("{}\n", Wish(program=str(host_programs() / "mx-container-runtime")))
    settings = {"MX_CONTAINER_RUNTIME_SETTINGS": str(folder / "runtime.json")}
    async with docker_room(folder, daemon=daemon, environment=settings) as room:
        make_stand_ins(room)
        printed = build_as_the_readme_says(room)
        for name, dockerfile, files in (
            ("extensions", "extensions/Dockerfile", LINKED),
            ("operator", "operator/Dockerfile", LINKED),
            ("samples", "samples/Dockerfile", LINKED_SAMPLE),
        ):
            project = write_files(folder / f"linked-{name}", files)
            file = str(folder / "examples" / dockerfile)
            must(room, "docker", "build", "--network=none", "-f", file, "-t", linked(name), str(project))
        for number in (2, 3):
            write_library(folder / f"host-{number}", f"host-{number}")
            must(room, "cp", str(folder / f"host-{number}" / LIBRARY), f"/opt/maca-{number}/lib/")
        yield Built(room, printed)


def linked(name: str) -> str:
    return f"linked/{name}:1.0"


def build_as_the_readme_says(room: DockerRoom) -> str:
    """Run every `docker build` of the README, in the folder that it names."""
    folder = room.folder / "examples"
    shutil.copytree(EXAMPLES, folder)
    text = (EXAMPLES / "README.md").read_text("utf-8")
    commands = re.findall(r"^docker build .+$", text, re.MULTILINE)
    assert len(commands) == 3
    printed: list[str] = []
    for command, place, name in zip(
        commands, (folder, folder, folder / "samples"), (EXTENSIONS, OPERATOR, SAMPLES), strict=True
    ):
        # This engine has no bridge, which is the network of a build that names none.
        typed = command.replace("docker build", "docker build --network=none").replace(
            "DOMAIN/PROJECT", WHERE
        )
        printed.append(must(room, "sh", "-c", f"cd {place} && {typed}"))
        # The manual has one name for both patterns, so the second would take the first one's.
        made = re.findall(r" -t (\S+)", typed)[0]
        must(room, "docker", "tag", made, name)
    return "\n".join(printed)


# ---- the images


@pytest.mark.parametrize("image", [EXTENSIONS, OPERATOR, SAMPLES])
def test_nothing_of_the_builder_is_in_the_final_image_but_what_it_made(built: Built, image: str) -> None:
    script = (
        "for each in gcc cc c++ make autoconf libtoolize patchelf pkg-config; do command -v $each; done; "
        "ls -d /workspace /samples /app/bin/* /applications/* 2>/dev/null; "
        "ls /var/lib/apt/lists"
    )
    program = "/applications/foo" if image == SAMPLES else "/app/bin/application"
    assert built.lines(image, command=("sh", "-c", f"{script}; true")) == [program]


@pytest.mark.parametrize(
    ("image", "packages"),
    [
        pytest.param(OPERATOR, ("libelf1", "libltdl7", "libnuma1"), id="operator"),
        pytest.param(SAMPLES, ("libelf1", "libnuma1"), id="metax-docker"),
    ],
)
def test_a_plain_image_has_no_mxmaca_and_the_libraries_that_it_needs(
    built: Built, image: str, packages: tuple[str, ...]
) -> None:
    query = ("dpkg-query", "--show", "--showformat=${Package} ${Status}\\n", *packages)
    assert built.lines(image, command=query) == [f"{name} install ok installed" for name in packages]
    assert built.lines(image, command=("sh", "-c", "ls -d /opt/maca /opt/mxdriver 2>/dev/null; true")) == []


# ---- M98: the image has MXMACA itself


@pytest.mark.smoke
def test_m98_an_application_for_extensions_finds_the_mxmaca_of_its_image(built: Built) -> None:
    assert built.lines(EXTENSIONS, *built.two_cards) == [
        "MXMACA: /opt/maca",
        "driver's programs: none",
        "control device: /dev/mxcd",
        "render nodes: 2",
    ]
    assert built.lines(linked("extensions"), *built.two_cards) == ["image-2.18.0.3-ubuntu18.04-amd64"]


# ---- M99: the node brings MXMACA


@pytest.mark.smoke
def test_m99_an_application_for_the_operator_finds_the_mxmaca_that_runtime_metax_mounts(built: Built) -> None:
    assert built.lines(OPERATOR, f"--runtime={RUNTIME}", *built.two_cards) == [
        "MXMACA: /opt/maca",
        "driver's programs: /opt/mxdriver",
        "control device: /dev/mxcd",
        "render nodes: 2",
    ]
    assert built.lines(linked("operator"), f"--runtime={RUNTIME}", *built.two_cards) == ["host-3"]
    assert not (built.room.folder / "runtime.log").exists()


@pytest.mark.parametrize(
    "options", [pytest.param((), id="runc"), pytest.param((f"--runtime={RUNTIME}",), id="without-cards")]
)
def test_m99_without_the_runtime_or_without_cards_there_is_no_mxmaca(
    built: Built, options: tuple[str, ...]
) -> None:
    devices = () if options else built.two_cards
    assert built.lines(OPERATOR, *options, *devices)[:2] == ["MXMACA: none", "driver's programs: none"]
    done = built.run(linked("operator"), *options, *devices)
    assert done.status == 127
    assert NOT_THERE in done.err


def test_m94_another_mxmaca_on_the_node_needs_no_other_image(built: Built) -> None:
    options = (f"--runtime={RUNTIME}", *built.two_cards)
    built.room.inside("ln", "-sfn", "maca-2", "/opt/maca")
    try:
        assert built.lines(linked("operator"), *options) == ["host-2"]
    finally:
        built.room.inside("ln", "-sfn", "maca-3", "/opt/maca")
    assert built.lines(linked("operator"), *options) == ["host-3"]


# ---- M114: metax-docker brings MXMACA


@pytest.mark.smoke
def test_m114_the_command_of_the_readme_starts_the_sample_with_the_hosts_mxmaca(built: Built) -> None:
    text = (EXAMPLES / "README.md").read_text("utf-8")
    (command,) = re.findall(r"^metax-docker (run .+)$", text, re.MULTILINE)
    words = [word for word in command.split() if word != "-it"]  # there is no terminal here
    at = words.index("--rm") + 1
    done = built.room.metax_docker(*words[:at], "--network=none", *words[at:])
    assert (done.status, done.lines) == (
        0,
        ["MXMACA: /opt/maca", "control device: /dev/mxcd", "render nodes: 8"],
    )


@pytest.mark.parametrize(
    ("image", "version"),
    [
        pytest.param(linked("samples"), "host-3", id="metax-docker"),
        pytest.param(linked("operator"), "host-3", id="operator"),
        pytest.param(linked("extensions"), "image-2.18.0.3-ubuntu18.04-amd64", id="extensions"),
    ],
)
def test_m114_a_program_that_is_linked_with_mxmaca_starts_under_metax_docker(
    built: Built, image: str, version: str
) -> None:
    done = built.room.metax_docker("run", "--rm", "--network=none", "--gpus=1", image)
    assert (done.status, done.lines) == (0, [version]), done


# ---- M99 and M100 on a node of Kubernetes


async def test_m99_m100_the_sample_job_runs_on_a_node_that_brings_mxmaca(
    built: Built, tmp_path: Path
) -> None:
    """The image of the Docker engine in containerd, and the pod of the examples by `kubectl create`."""
    archive = tmp_path / "image.tar"
    must(built.room, "docker", "save", "--output", str(archive), OPERATOR, linked("operator"))
    cards = "tangram: cards/v1\ncards: [{product: C500, count: 4}]\n"
    folders = ("--container-folders", "/opt/maca,/opt/mxdriver")
    async with Cluster.open(Options(nodes=1)) as cluster, agent_node(cluster, cards, extra=folders) as node:
        await cluster.load_image(Image(OPERATOR, archive, archive.stat().st_size, ()))
        bring_mxmaca(cluster.room(node.names).opt)
        label = node.program("gpu-label")
        words = (
            "--node-name",
            node.name,
            "--driver",
            node.way,
            "--log-dir",
            "",
            "--log-format",
            "text",
            "--product-names",
            "short",
        )
        reaching = ("--kubeconfig", str(cluster.box.folder.admin_kubeconfig))
        await cluster.box.start(label, [TANGRAM, "gpu-label", *words, *reaching], room=node.names.name)
        try:
            await node.until_allocatable("metax-tech.com/gpu", 4)
            for name, image, printed in (
                ("sample", OPERATOR, "MXMACA: /opt/maca\ndriver's programs: /opt/mxdriver\n"),
                ("linked", linked("operator"), "node-3.0.0\n"),
            ):
                text = (EXAMPLES / "sample.yaml").read_text("utf-8")
                text = text.replace("DOMAIN/PROJECT/application:1.0", image)
                job = tmp_path / f"{name}.yaml"
                job.write_text(text.replace("name: sample", f"name: {name}"), "utf-8")
                done = await cluster.kubectl("create", "-f", str(job))
                assert done.status == 0, done
                over = await cluster.until_pod(name, is_over, within=90, what=f"{name} is over")
                assert over["status"]["phase"] == "Succeeded", await cluster.pod_log(name)
                log = await cluster.pod_log(name)
                assert log.startswith(printed), log
                assert name != "sample" or log.endswith("control device: /dev/mxcd\nrender nodes: 2\n")
        finally:
            await cluster.box.stop(label)


def bring_mxmaca(opt: Path) -> None:
    """MXMACA and the driver's programs on a node, as driver-manager leaves them: folders, and links to them."""
    write_library(opt / "maca-3.0.0" / "lib", "node-3.0.0")
    (opt / "mxdriver-2.32.0").mkdir()
    (opt / "maca").symlink_to("maca-3.0.0")
    (opt / "mxdriver").symlink_to("mxdriver-2.32.0")
