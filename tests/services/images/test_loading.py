"""Loading on a machine: which runtime is meant, what it is handed, and what is said when it takes nothing."""

import json
import socket
import tarfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from builders.image_archives import NAME, index_archive
from tangram.services.images.archive import opened
from tangram.services.images.errors import ImagesError
from tangram.services.images.loading import Loaded, load
from tangram.services.images.machine import Machine
from tangram.services.images.runtimes import Kind, Runtime, find_runtime

SOCKET = "/run/containerd/containerd.sock"
K3S = "/run/k3s/containerd/containerd.sock"


class FakeMachine:
    """A root folder with sockets, processes and programs that are shell scripts."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root = root
        self._stack = stack
        self.machine = Machine(root, {"PATH": f"{root}/bin", "RECORD": str(root)}, "amd64")
        (root / "bin").mkdir()

    def program(self, name: str, script: str = "") -> "FakeMachine":
        """Without a script: one that keeps what it is handed, and lists it afterwards."""
        usual = (
            f'echo "$@" >>"$RECORD/{name}.calls"\n'
            f'case "$*" in *import*|load) /bin/cat >"$RECORD/{name}.tar";; '
            f'*list*|*inspect*) [ -e "$RECORD/{name}.tar" ] && echo {NAME};; esac'
        )
        path = self.root / (name.lstrip("/") if "/" in name else f"bin/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script or usual}\n", "utf-8")
        path.chmod(0o755)
        return self

    def socket(self, name: str) -> "FakeMachine":
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        listening = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        # Paths of sockets are short, and those of tests long.
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(path.parent)
            listening.bind(path.name)
        return self

    def kubelet(self, *arguments: str) -> "FakeMachine":
        folder = self.root / "proc" / "77"
        folder.mkdir(parents=True)
        (folder / "comm").write_text("kubelet\n", "utf-8")
        (folder / "cmdline").write_text("\0".join(("/usr/bin/kubelet", *arguments, "")), "utf-8")
        return self

    def chosen(self, wanted: Kind | None = None) -> Runtime:
        return find_runtime(self.machine, wanted)

    def problem(self, wanted: Kind | None = None) -> str:
        with pytest.raises(ImagesError) as raised:
            self.chosen(wanted)
        return str(raised.value)


@pytest.fixture
def fake(tmp_path: Path) -> Generator[FakeMachine]:
    root = tmp_path / "root"
    root.mkdir()
    with ExitStack() as stack:
        yield FakeMachine(root, stack)


def loaded(fake: FakeMachine, folder: Path, runtime: Runtime) -> list[Loaded]:
    with opened(index_archive(folder)) as archive:
        return load(archive, runtime, fake.machine)


def test_the_only_runtime_that_answers_is_taken(fake: FakeMachine) -> None:
    assert fake.program("docker").chosen().kind is Kind.DOCKER


def test_a_program_whose_daemon_is_away_does_not_count(fake: FakeMachine) -> None:
    fake.program("docker", "echo Cannot connect to the Docker daemon >&2; exit 1").program("ctr").socket(
        SOCKET
    )
    assert fake.chosen().kind is Kind.CONTAINERD


def test_two_that_answer_are_not_chosen_between(fake: FakeMachine) -> None:
    fake.program("docker").program("ctr").socket(SOCKET)
    assert "write --runtime containerd or --runtime docker" in fake.problem()
    assert fake.chosen(Kind.DOCKER).kind is Kind.DOCKER


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        pytest.param(
            ("--container-runtime-endpoint=unix:///run/containerd/containerd.sock",), Kind.CONTAINERD, id="="
        ),
        pytest.param(("--container-runtime-endpoint", SOCKET), Kind.CONTAINERD, id="apart"),
        pytest.param(
            ("--container-runtime-endpoint=unix:///var/run/containerd/containerd.sock",),
            Kind.CONTAINERD,
            id="/var/run",
        ),
        pytest.param(
            ("--container-runtime-endpoint=unix:///run/cri-dockerd.sock",), Kind.DOCKER, id="cri-dockerd"
        ),
        pytest.param(
            ("--container-runtime-endpoint=unix:///var/run/crio/crio.sock",), Kind.PODMAN, id="CRI-O"
        ),
        pytest.param(("--v=2", "--config=/var/lib/kubelet/config.yaml"), Kind.CONTAINERD, id="in its file"),
    ],
)
def test_of_several_the_kubelets_is_taken(fake: FakeMachine, arguments: tuple[str, ...], kind: Kind) -> None:
    fake.program("docker").program("podman").program("ctr").socket(SOCKET).kubelet(*arguments)
    config = fake.root / "var/lib/kubelet/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"containerRuntimeEndpoint: unix://{SOCKET}\n", "utf-8")
    assert fake.chosen().kind is kind


def test_a_socket_that_only_the_kubelet_knows_is_used(fake: FakeMachine) -> None:
    own = "/opt/containerd/own.sock"
    fake.program("ctr").socket(own).kubelet(f"--container-runtime-endpoint=unix://{own}")
    assert fake.chosen().client == (str(fake.root / "bin/ctr"), "--address", str(fake.root / own.lstrip("/")))


@pytest.mark.parametrize(
    ("program", "client"),
    [
        pytest.param("k3s", ("bin/k3s", "ctr"), id="k3s"),
        pytest.param(
            "/var/lib/rancher/rke2/bin/ctr",
            ("var/lib/rancher/rke2/bin/ctr", "--address", K3S.lstrip("/")),
            id="RKE2, whose ctr is on no PATH",
        ),
    ],
)
def test_a_cluster_that_brings_its_runtime_is_meant_even_beside_docker(
    fake: FakeMachine, program: str, client: tuple[str, ...]
) -> None:
    fake.program("docker").program(program).socket(K3S)
    chosen = fake.chosen()
    assert chosen.is_clusters
    words = [word if word in {"ctr", "--address"} else str(fake.root / word) for word in client]
    assert chosen.client == tuple(words)


def test_no_runtime_and_no_rights_are_told_apart(fake: FakeMachine) -> None:
    assert "there is no container runtime here" in fake.problem()
    assert "none listens at /run/containerd" in fake.problem(Kind.CONTAINERD)
    assert "no program podman" in fake.problem(Kind.PODMAN)
    fake.socket(SOCKET)
    assert "its client ctr is not on the PATH" in fake.problem(Kind.CONTAINERD)
    fake.program("ctr", "echo 'dial unix: connect: permission denied' >&2; exit 1")
    assert "run this as root" in fake.problem()
    fake.program("ctr", "echo gone >&2; exit 1")
    assert f"no container runtime answers here (containerd at {SOCKET}: gone)" in fake.problem()


@pytest.mark.parametrize("kind", list(Kind))
def test_only_this_machines_part_is_handed_over_under_its_name(
    fake: FakeMachine, tmp_path: Path, kind: Kind
) -> None:
    program = "ctr" if kind is Kind.CONTAINERD else str(kind)
    fake.program(program).socket(SOCKET)
    (one,) = loaded(fake, tmp_path, fake.chosen(kind))
    assert (one.name, one.platform) == (NAME, "linux/amd64")
    calls = (fake.root / f"{program}.calls").read_text("utf-8")
    assert ("--namespace k8s.io images import -" in calls) == (kind is Kind.CONTAINERD)
    with tarfile.open(fake.root / f"{program}.tar") as tar:
        held = {member.name: tar.extractfile(member) for member in tar.getmembers()}
        read = {name: file.read() for name, file in held.items() if file is not None}
    (entry,) = json.loads(read["index.json"])["manifests"]
    assert entry["digest"] == one.digest
    assert entry["annotations"]["io.containerd.image.name"] == NAME
    (listed,) = json.loads(read["manifest.json"])
    assert listed["RepoTags"] == [NAME]
    assert {listed["Config"], *listed["Layers"]} <= set(read)
    assert len(read) == 3 + 4, "three documents, and manifest, configuration and two layers"


def test_what_is_handed_over_is_an_archive_that_reads_as_one(fake: FakeMachine, tmp_path: Path) -> None:
    fake.program("docker")
    loaded(fake, tmp_path, fake.chosen())
    with opened(fake.root / "docker.tar") as archive:
        archive.check_contents()
        assert [str(one.platform) for one in archive.images[0].platforms] == ["linux/amd64"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param(
            "case $1 in load) echo open: Permission denied >&2; exit 1;; esac", "as root", id="no right"
        ),
        pytest.param(
            "case $1 in load) echo write: no space left on device >&2; exit 1;; esac",
            "make room there",
            id="full",
        ),
        pytest.param("case $1 in load) echo bad >&2; exit 7;; esac", "did not take", id="something else"),
        pytest.param("case $1 in load) exit 7;; esac", "(status 7)", id="without a word"),
        pytest.param(
            "case $1 in load) /bin/cat >/dev/null;; image) exit 1;; esac", "does not list it", id="not there"
        ),
    ],
)
def test_a_runtime_that_takes_nothing_is_quoted(
    fake: FakeMachine, tmp_path: Path, script: str, words: str
) -> None:
    fake.program("docker", script)
    with pytest.raises(ImagesError) as raised:
        loaded(fake, tmp_path, fake.chosen())
    assert words in str(raised.value)
    assert "docker" in str(raised.value)


def test_a_machine_that_no_image_is_for_is_told_so(fake: FakeMachine, tmp_path: Path) -> None:
    fake.program("docker")
    fake.machine = Machine(fake.root, fake.machine.environment, "riscv64")
    with pytest.raises(ImagesError, match=r"linux/amd64, linux/arm64, and this machine is linux/riscv64"):
        loaded(fake, tmp_path, fake.chosen())


@pytest.mark.parametrize(
    "script", ["exec sleep 60", "sleep 60; :"], ids=["a program", "a script that starts one"]
)
def test_a_client_that_reads_nothing_and_does_not_end_is_given_up(fake: FakeMachine, script: str) -> None:
    fake.program("docker", f"PATH=/usr/bin:/bin\n{script}")
    ended = fake.machine.feed([str(fake.root / "bin/docker"), "load"], [bytes(1 << 20)], patience=0.3)
    assert (ended.status, ended.said) == (124, "no answer within 0.3 s")
