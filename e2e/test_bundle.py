"""The offline bundle: unpacked as the manual says, its tool pushes to a real registry and loads on a real node."""

import asyncio
import base64
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from builders.saved_images import SINCE, SINCE_FILE, saved_archive
from e2e.image_kit import EMULATORS, copy_sources, locked_container
from e2e.registry_kit import Registry, Said, running_registry, said_by
from shipping.bundle.building import Bundle, bundle
from shipping.bundle.unpacking import running_on
from shipping.image.building import Record, archive_name, read_record
from shipping.image.downloads import one_program
from shipping.image.platforms import PLATFORMS, of_this_machine
from shipping.image.progress import Progress
from shipping.image.project import read_project
from shipping.image.recipe import PYTHON
from tangram.services.images.archive import opened
from testbed.binaries import find_binaries
from testbed.cluster import Cluster
from testbed.containerd_settings import CONTAINERD_SOCKET
from testbed.manifests import is_over, pod

NOBODY = 65534
PROJECT = "cloud"
INDEX = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A bundle in the folder `k8s`, as a person has it after following the manual."""

    files: Bundle
    record: Record
    version: str
    sources: Path
    k8s: Path

    @property
    def tool(self) -> Path:
        return self.k8s / self.files.run_file.name


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody without rights, with a home of their own and whatever logins are kept there."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), "PATH": "/usr/bin:/bin"}

    def log_in(self, registry: Registry) -> None:
        """What `docker login` leaves."""
        word = base64.b64encode(f"{registry.user}:{registry.word}".encode()).decode()
        (self.home / ".docker").mkdir(exist_ok=True)
        kept = {"auths": {registry.address: {"auth": word}}}
        (self.home / ".docker" / "config.json").write_text(json.dumps(kept), "utf-8")

    async def runs(self, program: Path, *words: str | Path, given: str = "") -> Said:
        process = await self.begins(program, *words)
        output, errors = await process.communicate(given.encode())
        assert process.returncode is not None
        return Said(process.returncode, output.decode(), errors.decode())

    async def begins(self, program: Path, *words: str | Path) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            program,
            *words,
            env=self.environment,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            cwd=self.home,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )


@pytest.fixture(scope="module")
def open_folder() -> Generator[Path]:
    """One that everybody may read: those of pytest belong to whoever runs the tests."""
    with tempfile.TemporaryDirectory(prefix="tangram-bundle-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, open_folder: Path) -> Generator[Unpacked]:
    with pytest.MonkeyPatch.context() as patch:
        sources = copy_sources(tmp_path_factory.mktemp("sources"), patch)
        output = tmp_path_factory.mktemp("dist")
        files = bundle(output, Progress(sys.stdout), root=sources)
        version = read_project(sources).version
        record = read_record(output, version)
        assert record is not None
        k8s = open_folder / "k8s"
        k8s.mkdir()
        command = ["tar", "-C", "k8s", "-xvzf", str(files.package)]
        subprocess.run(command, cwd=open_folder, check=True, capture_output=True)  # noqa: S603 - tar
        yield Unpacked(files, record, version, sources, k8s)


@pytest.fixture
def person(open_folder: Path) -> Generator[Person]:
    home = Path(tempfile.mkdtemp(prefix="home-", dir=open_folder))
    (home / "tmp").mkdir()
    home.chmod(0o755)
    os.chown(home / "tmp", NOBODY, NOBODY)
    yield Person(home)
    assert list((home / "tmp").iterdir()) == [], "the tool has left something"


@pytest_asyncio.fixture
async def registry(open_folder: Path) -> AsyncIterator[Registry]:
    folder = Path(tempfile.mkdtemp(prefix="registry-", dir=open_folder))
    folder.chmod(0o755)
    async with running_registry(folder) as running:
        running.authority.chmod(0o644)
        for above in running.authority.relative_to(folder).parents:
            (folder / above).chmod(0o755)
        yield running


async def digest_of(registry: Registry, repository: str, tag: str) -> str:
    """What the registry says a name stands for; empty if it has none."""
    trust = ssl.create_default_context(cafile=str(registry.authority))
    headers = {
        "Accept": f"{INDEX}, application/vnd.oci.image.manifest.v1+json",
        "Authorization": aiohttp.encode_basic_auth(registry.user, registry.word),
    }
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.head(f"https://{registry.address}/v2/{repository}/manifests/{tag}", ssl=trust) as answer,
    ):
        return answer.headers.get("Docker-Content-Digest", "") if answer.status == 200 else ""


@pytest.mark.smoke
async def test_the_manuals_way_leads_to_images_that_containerd_pulls_with_the_same_digest(
    cluster: Cluster, unique: Callable[[str], str], made: Unpacked, registry: Registry, person: Person
) -> None:
    person.log_in(registry)
    place = f"{registry.address}/{PROJECT}"
    pushed = await person.runs(made.tool, "push", place, "--ca", registry.authority)
    assert pushed.status == 0, pushed
    assert f"{place}/tangram:{made.version} " in pushed.output

    digest = f"sha256:{made.record.digest}"
    assert await digest_of(registry, f"{PROJECT}/tangram", made.version) == digest
    for name, manifest in made.record.manifests.items():
        own = await digest_of(registry, f"{PROJECT}/tangram", f"{made.version}-{name}")
        assert own == f"sha256:{manifest}"

    (node,) = cluster.nodes
    image = f"{place}/tangram:{made.version}"
    socket = cluster.box.folder.of_room(node.name).run / "containerd" / "containerd.sock"
    ctr = (cluster.programs.path("ctr"), "--address", socket, "--namespace", "k8s.io", "images")
    login = ("--tlscacert", registry.authority, "--user", f"{registry.user}:{registry.word}")
    pulled = await said_by(*ctr, "pull", "--local", *login, image, environment={})
    assert pulled.status == 0, pulled
    listed = await said_by(*ctr, "list", f"name=={image}", environment={})
    assert digest in listed.output

    name = unique("pulled")
    await cluster.api.create(pod(name, locked_container("version", image, arguments=["--version"])))
    ended = await cluster.until_pod(name, is_over, within=120)
    assert ended["status"]["phase"] == "Succeeded"
    assert (await cluster.pod_log(name, "version")).strip() == made.version


async def test_the_charts_of_the_bundle_go_to_the_same_place(
    made: Unpacked, registry: Registry, tmp_path: Path
) -> None:
    helm = find_binaries().path("helm")
    settings = {"HOME": str(tmp_path), "SSL_CERT_FILE": str(registry.authority), "KUBECONFIG": "/dev/null"}
    login = ("--username", registry.user, "--password", registry.word)
    told = await said_by(helm, "registry", "login", registry.address, *login, environment=settings)
    assert told.status == 0, told
    for chart in ("tangram", "metax-gpu-extensions"):
        package = made.k8s / f"{chart}-{made.version}.tgz"
        told = await said_by(
            helm, "push", package, f"oci://{registry.address}/{PROJECT}", environment=settings
        )
        assert told.status == 0, told
        assert await digest_of(registry, f"{PROJECT}/{chart}", made.version)
        # What helm has kept is a login for the tool, too.
    pushed = await said_by(
        made.tool, "push", f"{registry.address}/{PROJECT}", environment={**settings, "TMPDIR": str(tmp_path)}
    )
    assert pushed.status == 0, pushed


async def test_a_push_that_was_killed_leaves_no_name_and_the_next_one_sends_the_rest(
    made: Unpacked, registry: Registry, person: Person
) -> None:
    person.log_in(registry)
    words = ("push", f"{registry.address}/{PROJECT}", "--ca", registry.authority)
    killed = await person.begins(made.tool, *words)
    assert killed.stderr is not None
    async with asyncio.timeout(60):
        assert b" pushed (" in await killed.stderr.readline()
        killed.send_signal(signal.SIGTERM)
        await killed.communicate()
    assert killed.returncode == 143
    assert await digest_of(registry, f"{PROJECT}/tangram", made.version) == ""
    assert list((person.home / "tmp").iterdir()) == []

    again = await person.runs(made.tool, *words)
    assert again.status == 0, again
    assert again.errors.count(" is there already (") >= 1
    assert again.errors.count(" pushed (") >= 1
    digest = f"sha256:{made.record.digest}"
    assert await digest_of(registry, f"{PROJECT}/tangram", made.version) == digest
    third = await person.runs(made.tool, *words)
    assert " pushed" not in third.everything


async def test_whoever_may_not_push_hears_why_in_a_sentence(
    made: Unpacked, registry: Registry, person: Person
) -> None:
    place = f"{registry.address}/{PROJECT}"
    known = ("--ca", registry.authority)
    cases: list[tuple[Sequence[str | Path], str, str]] = [
        ((), "", "of an authority this machine does not know"),
        (known, "", f"docker login {registry.address}"),
        ((*known, "--user", registry.user, "--password-stdin"), "guess\n", "does not accept 'pusher'"),
        (("--plain-http",), "", "leave out --plain-http"),
    ]
    for options, given, words in cases:
        told = await person.runs(made.tool, "push", place, *options, given=given)
        assert (told.status, told.output) == (1, ""), told
        assert words in told.errors
        assert told.errors.count("\n") == 1
    right = ("--user", registry.user, "--password-stdin")
    told = await person.runs(made.tool, "push", place, *known, *right, given=registry.word)
    assert told.status == 0, told


async def test_on_a_node_the_images_are_loaded_where_the_kubelet_finds_them(
    cluster: Cluster, unique: Callable[[str], str], made: Unpacked
) -> None:
    (node,) = cluster.nodes
    program = unique("load")
    path = f"{cluster.programs.path('ctr').parent}:/usr/bin:/bin"
    await cluster.box.start(program, [made.tool, "load"], room=node.name, env={"PATH": path})
    status = await cluster.box.wait(program)
    told = cluster.box.log(program)
    assert status == 0, told
    assert f"containerd at {CONTAINERD_SOCKET}" in told
    assert made.record.manifests[of_this_machine().name][:12] in told

    name = unique("loaded")
    await cluster.api.create(
        pod(name, locked_container("version", made.record.image, arguments=["--version"]))
    )
    ended = await cluster.until_pod(name, is_over, within=120)
    assert ended["status"]["phase"] == "Succeeded"
    assert (await cluster.pod_log(name, "version")).strip() == made.version


async def test_mxmaca_is_loaded_on_a_node_under_both_of_its_names(
    cluster: Cluster, unique: Callable[[str], str], made: Unpacked, tmp_path: Path
) -> None:
    """MetaX's file as it is: what the kubelet is asked for are names with a registry."""
    (node,) = cluster.nodes
    path = saved_archive(tmp_path / SINCE_FILE, architecture=of_this_machine().name)
    program = unique("maca")
    ctr = cluster.programs.path("ctr")
    await cluster.box.start(
        program,
        [made.tool, "load", "--archive", path],
        room=node.name,
        env={"PATH": f"{ctr.parent}:/usr/bin:/bin"},
    )
    status = await cluster.box.wait(program)
    assert status == 0, cluster.box.log(program)
    with opened(path) as archive:
        digest = archive.images[0].top.digest
    socket = cluster.box.folder.of_room(node.name).run / "containerd" / "containerd.sock"
    listing = (ctr, "--address", socket, "--namespace", "k8s.io", "images", "list")
    for name in (f"docker.io/library/{SINCE}", f"tangram.dev/cloud/{SINCE}"):
        listed = await said_by(*listing, f"name=={name}", environment={})
        assert digest in listed.output


async def test_without_a_runtime_or_without_rights_loading_says_so(made: Unpacked, person: Person) -> None:
    told = await person.runs(made.tool, "load", "--runtime", "containerd")
    assert told.status == 1
    assert "containerd" in told.errors
    assert told.errors.count("\n") == 1


def test_what_is_unpacked_is_enough_on_the_other_platform(made: Unpacked, tmp_path: Path) -> None:
    here = of_this_machine()
    (other,) = (platform for platform in PLATFORMS if platform != here)
    emulator = one_program("qemu-user-static", EMULATORS[other.name], here, Progress(sys.stdout))
    archive = made.files.run_file.parent / archive_name(made.version)
    with opened(archive) as images:
        running = running_on(other, images)
    content = archive.read_bytes()
    for part in running.parts:
        layer = BytesIO(content[part.offset : part.offset + part.size])
        with tarfile.open(fileobj=layer, mode="r:gz") as tar:
            wanted = [
                one
                for one in tar
                if any(one.name == path or one.name.startswith(f"{path}/") for path in part.paths)
            ]
            # Our own archive: an image has absolute links, which the careful filter refuses.
            tar.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
            tar.extractall(tmp_path, wanted)  # noqa: S202
    answer = subprocess.run(  # noqa: S603 - the emulator with files of ours
        [
            *(emulator, tmp_path / running.loader, "--inhibit-cache"),
            *("--library-path", tmp_path / running.libraries, tmp_path / f"usr/bin/python{PYTHON}"),
            *("-I", "-B", "-X", "utf8", tmp_path / "usr/local/bin/tangram"),
            *("images", "list", "--archive", made.tool, "-o", "json"),
        ],
        check=False,
        capture_output=True,
        text=True,
        env={},
    )
    assert answer.returncode == 0, answer.stderr
    (image,) = json.loads(answer.stdout)["images"]
    assert image["digest"] == f"sha256:{made.record.digest}"


def test_a_bundle_of_the_same_sources_is_the_same_bytes(made: Unpacked, tmp_path: Path) -> None:
    again = bundle(tmp_path, Progress(sys.stdout), root=made.sources)
    for one, other in (
        (again.run_file, made.files.run_file),
        (again.package, made.files.package),
        (again.base, made.files.base),
        (again.docker, made.files.docker),
    ):
        assert one.name == other.name
        assert one.read_bytes() == other.read_bytes()
    shutil.rmtree(tmp_path)
