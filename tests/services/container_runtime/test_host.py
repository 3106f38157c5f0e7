"""The host's programs and sockets, seen from where its root is a folder."""

import os
import socket
import sys
from pathlib import Path

import pytest

from tangram.services.container_runtime.engines import Engine, find_engine
from tangram.services.container_runtime.host import Host
from tangram.services.container_runtime.programs import HostPrograms, Ran, Running, option_of
from tangram.services.container_runtime.restarting import HostRestarter, usual_command
from tangram.services.container_runtime.settings import EngineKind
from tangram.services.container_runtime.trouble import Trouble

CONTAINERD = Engine(kind=EngineKind.CONTAINERD, version="2.3.7")


class OneProgram:
    def __init__(self, ran: Ran) -> None:
        self.ran = ran
        self.all: list[tuple[str, ...]] = []

    def find(self, name: str) -> str | None:
        return f"/usr/bin/{name}"

    def running(self, name: str) -> tuple[Running, ...]:
        del name
        return ()

    def run(self, *arguments: str) -> Ran:
        self.all.append(arguments)
        return self.ran


def listening(root: Path) -> socket.socket:
    place = root / "run/containerd/containerd.sock"
    place.parent.mkdir(parents=True)
    one = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    # Bound by a short name: paths of sockets end at 108 characters.
    os.chdir(place.parent)
    try:
        one.bind(place.name)
    finally:
        os.chdir(here)
    one.listen()
    return one


def test_a_restart_is_done_when_the_engine_answers(tmp_path: Path) -> None:
    host, program = Host(tmp_path), OneProgram(Ran(status=0))
    with listening(tmp_path):
        HostRestarter(host, program, pause=lambda _: None).restart(CONTAINERD)
    assert program.all == [
        ("systemctl", "restart", "containerd"),
        ("/usr/bin/ctr", "--address", "/run/containerd/containerd.sock", "plugins", "ls"),
    ]


PLUGINS = """TYPE                        ID         PLATFORMS      STATUS
io.containerd.cri.v1        images     -              ok
io.containerd.cri.v1        runtime    linux/amd64    {0}
io.containerd.grpc.v1       cri        -              {0}
io.containerd.snapshotter.v1 btrfs     linux/amd64    error
"""


def test_a_containerd_that_runs_without_what_the_kubelet_needs_was_not_restarted_well(tmp_path: Path) -> None:
    with listening(tmp_path):
        HostRestarter(Host(tmp_path), OneProgram(Ran(status=0, out=PLUGINS.format("ok")))).restart(CONTAINERD)
        with pytest.raises(Trouble, match=r"runs without io\.containerd\.cri\.v1\.runtime") as caught:
            HostRestarter(Host(tmp_path), OneProgram(Ran(status=0, out=PLUGINS.format("error")))).restart(
                CONTAINERD
            )
    assert caught.value.code == "restart-failed"


def test_an_engine_that_stays_silent_is_said(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="did not answer") as caught:
        HostRestarter(Host(tmp_path), OneProgram(Ran(status=0)), ("x",), pause=lambda _: None).restart(
            CONTAINERD
        )
    assert caught.value.code == "engine-silent"


@pytest.mark.parametrize(
    "ran",
    [
        Ran(status=5, said="Unit containerd.service not found."),
        Ran(status=0, said="Running in chroot, ignoring command 'restart'"),
    ],
)
def test_a_restart_that_was_refused_or_passed_over_is_a_failure(tmp_path: Path, ran: Ran) -> None:
    with pytest.raises(Trouble, match="systemctl restart containerd failed") as caught:
        HostRestarter(Host(tmp_path), OneProgram(ran)).restart(CONTAINERD)
    assert ran.said in caught.value.sentence


def test_whether_an_engine_began_after_a_file_was_written_its_socket_tells(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("")
    restarter = HostRestarter(Host(tmp_path), OneProgram(Ran(status=0)))
    assert not restarter.read_since(CONTAINERD, "/config.toml")
    with listening(tmp_path):
        os.utime(file, (1, 1))
        assert restarter.read_since(CONTAINERD, "/config.toml")


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (CONTAINERD, "systemctl restart containerd"),
        (Engine(kind=EngineKind.CRIO, version="1.34.1"), "systemctl reload crio"),
        (Engine(kind=EngineKind.CRIO, version="1.24.0"), "systemctl restart crio"),
        (Engine(kind=EngineKind.DOCKER), "systemctl reload docker"),
    ],
)
def test_each_engine_is_made_to_read_its_file_in_its_own_way(engine: Engine, words: str) -> None:
    assert " ".join(usual_command(engine)) == words


def test_programs_of_this_machine_are_run_and_their_last_words_kept() -> None:
    programs = HostPrograms(Host(Path("/")), limit=30)
    ran = programs.run(
        sys.executable, "-c", "import sys; print('a'); sys.stderr.write('x\\nlast\\n'); sys.exit(3)"
    )
    assert ran == Ran(status=3, out="a\n", said="last")
    assert programs.run("/no/such/program").status == 127
    assert programs.run("there-is-no-such").said == "there is no there-is-no-such on this host"


def test_a_program_that_hangs_is_given_up() -> None:
    programs = HostPrograms(Host(Path("/")), limit=0.2)
    assert programs.run(sys.executable, "-c", "import time; time.sleep(60)").status == 124


def test_running_programs_are_found_with_what_they_were_told() -> None:
    programs = HostPrograms(Host(Path("/")))
    name = Path(os.readlink("/proc/self/exe")).name  # noqa: PTH115 - the kernel's own word
    assert any(each.program.endswith(name) for each in programs.running(name))


def test_options_are_read_from_command_lines_in_both_spellings() -> None:
    assert option_of(["--log-level=info", "--config", "/a"], "--config", "-c") == "/a"
    assert option_of(["-c=/b"], "--config", "-c") == "/b"
    assert option_of(["--config"], "--config") is None


def test_links_without_end_are_an_error_and_no_hang(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/b")
    (tmp_path / "b").symlink_to("/a")
    with pytest.raises(OSError, match="symbolic links"):
        Host(tmp_path).read("/a")


def test_links_and_dots_never_lead_out_of_the_host(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/x").symlink_to("../../../../opt/y")
    assert Host(tmp_path).at("/etc/x") == tmp_path / "opt/y"


def test_without_a_report_the_one_socket_tells_the_engine(tmp_path: Path) -> None:
    with listening(tmp_path):
        assert find_engine(Host(tmp_path), "", None) == Engine(kind=EngineKind.CONTAINERD)
    assert find_engine(Host(tmp_path), "docker://24.0.7", None).number == (24, 0)
