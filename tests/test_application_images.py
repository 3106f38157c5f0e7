"""The Dockerfiles of `examples/application-images` are the manual's three patterns, and their projects can be built.

A file is read as the stages and steps that an engine would go through; what `make` does in the builder is done for
real. A real engine builds and runs them in `e2e/test_application_images.py`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from builders.system_programs import system_program

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "application-images"
PAGE = (ROOT / "docs" / "images-for-jobs.md").read_text("utf-8")
MACA = "cr.metax-tech.com/library/maca-c500:2.18.0.3-ubuntu18.04-amd64"
PLAIN = "ubuntu:18.04"
FOR_BUILDING = {"autoconf", "build-essential", "libtool", "patchelf", "pkg-config"}
OF_MXMACA = {"libelf1", "libltdl7", "libnuma1"}
KINDS = ("extensions", "operator")
SAMPLES_MACA, SAMPLES_PLAIN = "cr.metax-tech.com/library/mxc500-maca:2.24.0.0", "ubuntu:20.04"
both = pytest.mark.parametrize("kind", KINDS)


class Stage(NamedTuple):
    base: str
    name: str
    steps: list[tuple[str, str]]

    def of(self, word: str) -> list[str]:
        return [rest for step, rest in self.steps if step == word]


def stages(kind: str) -> list[Stage]:
    """What `docker build` would make, one after the other, with the file's own values for its arguments."""
    text = (FOLDER / kind / "Dockerfile").read_text("utf-8")
    whole = re.sub(r"\\\n\s*", "", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    arguments: dict[str, str] = {}
    found: list[Stage] = []
    for line in filter(None, map(str.strip, whole.splitlines())):
        word, _, rest = line.partition(" ")
        if word == "ARG":
            name, _, value = rest.partition("=")
            arguments[name] = value
        elif word == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append(Stage(arguments.get(base.strip("${}"), base), name, []))
        else:
            found[-1].steps.append((word, rest))
    return found


def installed(stage: Stage) -> set[str]:
    words = " ".join(stage.of("RUN")).partition("apt-get install")[2].partition("&&")[0].split()
    return {word for word in words if not word.startswith("-")}


@both
def test_the_builder_stands_on_mxmaca_and_makes_the_project_into_app(kind: str) -> None:
    builder, _ = stages(kind)
    assert (builder.base, builder.name) == (MACA, "builder")
    assert installed(builder) == FOR_BUILDING
    assert builder.of("COPY") == [". ."]
    assert builder.of("RUN")[-1] == "make OUTPUT=/app"
    # Not before the project is there.
    words = [word for word, _ in builder.steps]
    assert words.index("COPY") < len(words) - 1 - words[::-1].index("RUN")


@both
def test_the_final_stage_takes_nothing_but_app_from_the_builder(kind: str) -> None:
    _, final = stages(kind)
    assert final.of("COPY") == ["--from=builder /app /app"]
    assert final.of("CMD") == ['["/app/bin/application"]']


def test_for_extensions_the_image_has_mxmaca_itself() -> None:
    _, final = stages("extensions")
    assert final.base == MACA


def test_for_the_operator_the_image_is_plain_and_has_what_mxmaca_needs_at_run_time() -> None:
    _, final = stages("operator")
    assert final.base == PLAIN
    assert installed(final) == OF_MXMACA
    assert "LD_LIBRARY_PATH=/opt/maca/lib:/opt/mxdriver/lib" in " ".join(final.of("ENV"))


def test_the_page_says_the_same() -> None:
    for word in (MACA, PLAIN, *FOR_BUILDING, *OF_MXMACA):
        assert f"`{word}`" in PAGE, word
    for kind in KINDS:
        command = f"docker build -f {kind}/Dockerfile -t DOMAIN/PROJECT/application:1.0 ./Project\n"
        assert command in PAGE
        assert command in (FOLDER / "README.md").read_text("utf-8")


def test_the_sample_is_the_manuals_job() -> None:
    sample = yaml.safe_load((FOLDER / "sample.yaml").read_text("utf-8"))
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    shown = yaml.safe_load(block)
    assert sample["spec"].pop("restartPolicy") == "Never"
    assert shown == sample
    assert sample["spec"]["nodeSelector"] == {
        "metax-tech.com/gpu.vfnum": "0",
        "metax-tech.com/gpu.product": "C500",
    }
    (container,) = sample["spec"]["containers"]
    assert container["resources"] == {"limits": {"metax-tech.com/gpu": 2}}


def test_the_project_is_built_into_the_folder_it_is_told_and_nowhere_else(tmp_path: Path) -> None:
    system_program("c++")
    workspace, app = tmp_path / "workspace", tmp_path / "app"
    shutil.copytree(FOLDER / "Project", workspace)
    before = sorted(workspace.rglob("*"))
    subprocess.run(["make", f"OUTPUT={app}"], cwd=workspace, check=True, capture_output=True)
    assert sorted(workspace.rglob("*")) == before
    said = subprocess.run([app / "bin" / "application"], check=True, capture_output=True, text=True).stdout
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        "MXMACA",
        "driver's programs",
        "control device",
        "render nodes",
    ]


def test_for_metax_docker_the_image_is_plain_and_has_what_mxmaca_needs_at_run_time() -> None:
    builder, final = stages("samples")
    assert (builder.base, builder.name) == (SAMPLES_MACA, "builder")
    assert builder.of("COPY") == ["./src ./src"]
    assert final.base == SAMPLES_PLAIN
    assert installed(final) == {"libnuma1", "libelf1"}
    assert final.of("CMD") == ['["/applications/foo"]']
    readme = (FOLDER / "README.md").read_text("utf-8")
    for text in (PAGE, readme):
        assert "docker build -t user-application:1.0 ." in text
    for word in (SAMPLES_MACA, SAMPLES_PLAIN, "make -C ./src OUT=../dist"):
        assert f"`{word}`" in PAGE, word


def test_what_make_builds_for_metax_docker_is_what_the_final_stage_copies(tmp_path: Path) -> None:
    """The manual's own `OUT=./dist` is seen from src, and its copy finds nothing."""
    system_program("c++")
    builder, final = stages("samples")
    (make,) = builder.of("RUN")
    (copy,) = final.of("COPY")
    source, target = copy.removeprefix("--from=builder ").split()
    for number, command in enumerate((make, make.replace("OUT=../dist", "OUT=./dist"))):
        root = tmp_path / str(number)
        workspace = root / builder.of("WORKDIR")[0].lstrip("/")
        shutil.copytree(FOLDER / "samples" / "src", workspace / "src")
        subprocess.run(command.split(), cwd=workspace, check=True, capture_output=True)
        assert (root / source.lstrip("/")).is_dir() == (command == make)
    shutil.copytree(tmp_path / "0" / source.lstrip("/"), tmp_path / "0" / target.lstrip("/"))
    said = subprocess.run(
        [tmp_path / "0/applications/foo"], check=True, capture_output=True, text=True
    ).stdout
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        "MXMACA",
        "control device",
        "render nodes",
    ]
