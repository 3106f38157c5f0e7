"""Charts as packages: helm takes ours for its own, and a real registry keeps and gives them byte for byte."""

import base64
import hashlib
import json
import re
import ssl
import tarfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml

from e2e.registry_kit import Registry, Said, running_registry, said_by
from shipping.charts.packing import FOLDER, pack
from testbed.binaries import find_binaries
from testbed.box import REPOSITORY

PROJECT = "cloud"
CHARTS = ("metax-gpu-extensions", "metax-operator", "tangram")
NEEDED = {"metax-operator": ("--set", "driver.payload.version=2.32.0")}
"""Options without which a chart is refused."""
_DIGEST = re.compile(r"Digest: (sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Helm:
    """helm as one person has it: with a home of their own, and an authority they trust."""

    program: Path
    environment: Mapping[str, str]

    async def __call__(self, *words: str | Path) -> str:
        done = await self.tried(*words)
        assert done.status == 0, done
        return done.output

    async def tried(self, *words: str | Path) -> Said:
        return await said_by(self.program, *words, environment=self.environment)

    def trusting(self, authority: Path) -> "Helm":
        return replace(self, environment={**self.environment, "SSL_CERT_FILE": str(authority)})


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    home = tmp_path / "home"
    home.mkdir()
    folders = {f"HELM_{kind}_HOME": str(home / kind) for kind in ("CACHE", "CONFIG", "DATA")}
    return Helm(find_binaries().path("helm"), {**folders, "HOME": str(home), "KUBECONFIG": "/dev/null"})


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return dict(zip(CHARTS, pack(tmp_path_factory.mktemp("dist")), strict=True))


@pytest_asyncio.fixture(scope="module")
async def registry(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Registry]:
    async with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


def contents(package: Path) -> dict[str, bytes]:
    with tarfile.open(package) as archive:
        found = {entry.name: archive.extractfile(entry) for entry in archive.getmembers()}
        return {name: file.read() for name, file in found.items() if file is not None}


def version_of(package: Path, chart: str) -> str:
    return package.stem.removeprefix(f"{chart}-")


async def logged_in(helm: Helm, registry: Registry) -> Helm:
    trusting = helm.trusting(registry.authority)
    await trusting(
        "registry", "login", registry.address, "--username", registry.user, "--password", registry.word
    )
    return trusting


async def answered(registry: Registry, path: str) -> Any:  # noqa: ANN401 - JSON
    """What the registry itself says, asked without helm."""
    word = base64.b64encode(f"{registry.user}:{registry.word}".encode()).decode()
    trust = ssl.create_default_context(cafile=str(registry.authority))
    accepted = "application/vnd.oci.image.manifest.v1+json, application/json"
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Basic {word}", "Accept": accepted}) as session,
        session.get(f"https://{registry.address}/v2/{path}", ssl=trust) as answer,
    ):
        return json.loads(await answer.read())


@pytest.mark.parametrize("chart", CHARTS)
async def test_a_package_holds_what_helm_itself_would_pack(
    helm: Helm, packages: dict[str, Path], chart: str, tmp_path: Path
) -> None:
    await helm("package", REPOSITORY / FOLDER / chart, "--destination", tmp_path)
    theirs, ours = contents(tmp_path / packages[chart].name), contents(packages[chart])

    assert sorted(ours) == sorted(theirs)
    for name, content in ours.items():
        if name.endswith("Chart.yaml"):  # helm writes its own form of these
            assert _without_blanks(yaml.safe_load(content)) == _without_blanks(yaml.safe_load(theirs[name]))
        else:
            assert content == theirs[name], name


def _without_blanks(chart: Any) -> Any:  # noqa: ANN401 - YAML
    for dependency in chart.get("dependencies", []):
        if not dependency.get("repository"):
            dependency.pop("repository", None)
    return chart


@pytest.mark.parametrize("chart", CHARTS)
async def test_helm_reads_a_package_as_it_reads_the_folder(
    helm: Helm, packages: dict[str, Path], chart: str
) -> None:
    package, folder = packages[chart], REPOSITORY / FOLDER / chart

    assert yaml.safe_load(await helm("show", "chart", package)) == yaml.safe_load(
        await helm("show", "chart", folder)
    )
    needed = NEEDED.get(chart, ())
    assert "0 chart(s) failed" in await helm("lint", package, *needed)
    rendered = await helm("template", "release", package, "--namespace", "gpu", "--include-crds", *needed)
    assert f"kind: {'ClusterOperator' if needed else 'DaemonSet'}\n" in rendered
    assert rendered == await helm(
        "template", "release", folder, "--namespace", "gpu", "--include-crds", *needed
    )


async def test_charts_go_into_a_registry_and_come_back_byte_for_byte(
    helm: Helm, registry: Registry, packages: dict[str, Path], tmp_path: Path
) -> None:
    person = await logged_in(helm, registry)
    for chart, package in packages.items():
        version = version_of(package, chart)
        place = f"oci://{registry.address}/{PROJECT}"
        pushed = await person.tried("push", package, place)
        assert pushed.status == 0, pushed
        digest = _DIGEST.search(pushed.everything)
        assert digest is not None, pushed

        await person("pull", f"{place}/{chart}", "--version", version, "--destination", tmp_path)
        assert (tmp_path / package.name).read_bytes() == package.read_bytes()
        by_digest = tmp_path / f"{chart}-by-digest"
        by_digest.mkdir()
        await person("pull", f"{place}/{chart}@{digest[1]}", "--destination", by_digest)
        assert [path.read_bytes() for path in by_digest.iterdir()] == [package.read_bytes()]

        manifest = await answered(registry, f"{PROJECT}/{chart}/manifests/{version}")
        (layer,) = manifest["layers"]
        assert layer["digest"] == f"sha256:{hashlib.sha256(package.read_bytes()).hexdigest()}"
        assert (await answered(registry, f"{PROJECT}/{chart}/tags/list"))["tags"] == [version]


async def test_a_chart_in_a_registry_is_shown_and_rendered_like_the_file(
    helm: Helm, registry: Registry, packages: dict[str, Path]
) -> None:
    person = await logged_in(helm, registry)
    for chart, package in packages.items():
        place = f"oci://{registry.address}/{PROJECT}"
        await person("push", package, place)
        assert await person("show", "values", f"{place}/{chart}") == await person("show", "values", package)
        options = (
            "--namespace",
            "gpu",
            "--set",
            f"registry={registry.address}/{PROJECT}",
            *NEEDED.get(chart, ()),
        )
        rendered = await person("template", "release", f"{place}/{chart}", *options)
        assert rendered == await person("template", "release", package, *options)
        assert (
            f"image: {registry.address}/{PROJECT}/tangram:{version_of(package, chart)}"
            in rendered.replace('"', "")
        )


async def test_pushing_a_package_again_changes_nothing(
    helm: Helm, registry: Registry, packages: dict[str, Path]
) -> None:
    person = await logged_in(helm, registry)
    place = f"oci://{registry.address}/again"
    told = [await person.tried("push", packages["tangram"], place) for _ in range(2)]
    digests = {match[1] for said in told if (match := _DIGEST.search(said.everything)) is not None}
    assert len(digests) == 1, told


async def test_nothing_gets_into_a_registry_without_an_account_or_with_an_unknown_authority(
    helm: Helm, registry: Registry, packages: dict[str, Path]
) -> None:
    place = f"oci://{registry.address}/nobody"
    stranger = await helm.trusting(registry.authority).tried("push", packages["tangram"], place)
    assert stranger.status != 0
    assert "401" in stranger.everything or "basic credential" in stranger.everything, stranger
    wrong = await helm.trusting(registry.authority).tried(
        "registry", "login", registry.address, "--username", registry.user, "--password", "guess"
    )
    assert wrong.status != 0
    distrusting = await helm.tried(
        "registry", "login", registry.address, "--username", registry.user, "--password", registry.word
    )
    assert distrusting.status != 0
    assert "certificate signed by unknown authority" in distrusting.everything, distrusting
    known = await answered(registry, "_catalog")
    assert "nobody/tangram" not in known["repositories"]
