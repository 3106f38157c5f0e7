"""The image that people install: a real containerd takes it, it runs without rights, and it is the same every time."""

import json
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from e2e.image_kit import (
    EMULATORS,
    IMPORT_EVERYTHING,
    LOAD_EVERY_LIBRARY,
    Made,
    as_image,
    copy_sources,
    layer_digests,
    locked_container,
    make,
    needing,
    unpack,
)
from shipping.image.building import BUDGET, sbom_name
from shipping.image.cachefolder import cache_folder
from shipping.image.downloads import one_program
from shipping.image.platforms import PLATFORMS, of_this_machine, platform_named
from shipping.image.programs import PLACE_IN_IMAGE as PROGRAMS
from shipping.image.progress import Progress
from shipping.image.recipe import VENDOR_LIBRARIES_NEED
from testbed.api import path_of
from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.manifests import is_over, pod


@pytest.fixture(scope="module")
def patch() -> Generator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as ready:
        yield ready


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch) -> Made:
    sources = copy_sources(tmp_path_factory.mktemp("sources"), patch)
    return make(sources, tmp_path_factory.mktemp("dist"))


@pytest.mark.parametrize("kind", ["all platforms", "one platform"])
async def test_the_image_runs_as_a_pod_without_any_rights(
    cluster: Cluster, unique: Callable[[str], str], made: Made, kind: str
) -> None:
    archive = made.archive if kind == "all platforms" else made.archive_of(of_this_machine())
    await cluster.load_image(as_image(made, archive))
    cards = REPOSITORY / "examples" / "cards" / "c500-8-two-groups.yaml"
    name, image = unique("image"), made.record.image
    await cluster.api.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"cards.yaml": cards.read_text("utf-8")},
        }
    )
    devices = locked_container(
        "devices", image, arguments=["devices", "--driver", "simulated:/cards/cards.yaml"]
    )
    devices["volumeMounts"] = [{"name": "cards", "mountPath": "/cards"}]
    await cluster.api.create(
        pod(
            name,
            locked_container("version", image, arguments=["--version"]),
            devices,
            locked_container("modules", image, command=["python3", "-c", IMPORT_EVERYTHING]),
            volumes=[{"name": "cards", "configMap": {"name": name}}],
        )
    )
    ended = await cluster.until_pod(name, is_over, within=120)
    logs = {one: await cluster.pod_log(name, one) for one in ("version", "devices", "modules")}
    assert ended["status"]["phase"] == "Succeeded", logs
    assert logs["version"].strip() == made.version
    assert "C500" in logs["devices"]
    assert "as 65532" in logs["modules"]
    for module in ("numpy", "grpc", "cryptography", "aiohttp", "msgspec", "pymtml", "yaml"):
        assert f" {module}" in logs["modules"]
    await cluster.api.delete(path_of("ConfigMap", name))


async def test_a_vendors_library_that_a_node_mounts_finds_the_libraries_it_needs(
    cluster: Cluster, unique: Callable[[str], str], made: Made, tmp_path: Path
) -> None:
    """One stub for each library that the vendors' libraries name, and one that names a library of its own making."""
    await cluster.load_image(as_image(made, made.archive))
    name, unknown = unique("vendor"), "libtangram-absent.so.1"
    stubs = {needed: needing(needed, tmp_path) for needed in (*VENDOR_LIBRARIES_NEED, unknown)}
    await cluster.api.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "binaryData": {path.name: b64encode(path.read_bytes()).decode() for path in stubs.values()},
        }
    )
    loading = locked_container(
        "loading", made.record.image, command=["python3", "-c", LOAD_EVERY_LIBRARY, "/opt/vendor/lib"]
    )
    loading["volumeMounts"] = [{"name": "vendor", "mountPath": "/opt/vendor/lib"}]
    await cluster.api.create(pod(name, loading, volumes=[{"name": "vendor", "configMap": {"name": name}}]))
    ended = await cluster.until_pod(name, is_over, within=120)
    said = (await cluster.pod_log(name, "loading")).splitlines()
    assert ended["status"]["phase"] == "Succeeded", said
    refused = [line for line in said if not line.endswith(": loaded")]
    assert len(said) == len(stubs)
    assert [unknown in line for line in refused] == [True], said
    await cluster.api.delete(path_of("ConfigMap", name))


def test_the_image_of_the_other_platform_starts_under_an_emulator(made: Made, tmp_path: Path) -> None:
    here = of_this_machine()
    (other,) = (platform for platform in PLATFORMS if platform != here)
    emulator = one_program("qemu-user-static", EMULATORS[other.name], here, Progress(sys.stdout))
    unpack(made.archive_of(other), tmp_path)
    python = [emulator, "-L", tmp_path, tmp_path / "usr/bin/python3.11", "-P"]
    version = _output([*python, tmp_path / "usr/local/bin/tangram", "--version"])
    modules = _output([*python, "-c", f"import platform\n{IMPORT_EVERYTHING}\nprint(platform.machine())"])
    assert version.strip() == made.version
    assert "numpy" in modules
    assert modules.splitlines()[-1] == other.machine
    programs = tmp_path / PROGRAMS
    assert _output([emulator, programs / "mx-payload", "version"]).strip() == f"mx-payload {made.version}"
    said = _output([emulator, programs / "mx-container-runtime", "--mx-version"])
    assert said.strip() == f"mx-container-runtime {made.version}"


def test_a_build_from_the_same_inputs_is_the_same_image(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is made again but the downloads, in another folder."""
    cache = tmp_path / "cache"
    for name in ("debian", "wheels"):
        shutil.copytree(cache_folder() / name, cache / name)
    monkeypatch.setenv("TANGRAM_IMAGE_CACHE", str(cache))
    monkeypatch.setenv("PYTHONHASHSEED", "12345")
    again = make(made.sources, tmp_path / "dist")
    assert again.record == made.record


def test_a_change_of_ours_changes_only_the_last_layer(made: Made, tmp_path: Path) -> None:
    changed = tmp_path / "sources"
    shutil.copytree(made.sources, changed)
    with (changed / "src" / "tangram" / "__init__.py").open("a") as module:
        module.write("\n# changed\n")
    later = make(changed, tmp_path / "dist")
    for platform in PLATFORMS:
        before, after = layer_digests(made.archive_of(platform)), layer_digests(later.archive_of(platform))
        assert before[:-1] == after[:-1]
        assert before[-1] != after[-1]


def test_a_second_build_writes_nothing(made: Made) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.folder.iterdir()}
    make(made.sources, made.folder)
    assert {path: path.stat().st_mtime_ns for path in made.folder.iterdir()} == before


def test_what_a_node_downloads_is_within_the_budget(made: Made) -> None:
    assert set(made.record.compressed_bytes) == {platform.name for platform in PLATFORMS}
    assert max(made.record.compressed_bytes.values()) <= BUDGET


@pytest.mark.parametrize("name", ["amd64", "arm64"])
def test_the_list_of_contents_is_also_in_the_image_and_names_what_is_there(
    made: Made, tmp_path: Path, name: str
) -> None:
    platform = platform_named(name)
    beside = (made.folder / sbom_name(made.version, platform)).read_bytes()
    unpack(made.archive_of(platform), tmp_path)
    assert (tmp_path / "usr/share/doc/tangram/sbom.spdx.json").read_bytes() == beside
    listed = {(one["name"], one["versionInfo"]) for one in json.loads(beside)["packages"]}
    installed = {
        tuple(path.name.removesuffix(".dist-info").rsplit("-", 1))
        for path in (tmp_path / "usr/local/lib/python3.11/dist-packages").glob("*.dist-info")
    }
    assert {(one.lower().replace("_", "-"), version) for one, version in installed} <= listed
    for path in (tmp_path / "var/lib/dpkg/status.d").iterdir():
        assert path.name in {one for one, _ in listed}
        assert (tmp_path / "usr/share/doc" / path.name / "copyright").is_file()


def _output(command: list[str | Path]) -> str:
    answer = subprocess.run(  # noqa: S603 - an emulator and an image we made
        [str(word) for word in command], check=False, capture_output=True, text=True, timeout=240
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout
