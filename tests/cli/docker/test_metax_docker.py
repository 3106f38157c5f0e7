"""`metax-docker` as a program: what reaches docker, what is printed, and how it ends."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from builders.docker_lines import lines
from builders.recorded_docker import MAIN, RecordedDocker
from tangram.cli.docker import entry, starting
from tangram.services.docker_host.option_table import RUN

EIGHT = {"cards": [{"server": "c500-8-two-groups"}]}


@pytest.fixture
def docker(tmp_path: Path) -> RecordedDocker:
    made = RecordedDocker(tmp_path)
    made.cards(EIGHT)
    return made


class Became(Exception):  # noqa: N818 - nothing went wrong
    """Raised in place of becoming another program."""


def dry(docker: RecordedDocker, *words: str) -> str:
    done = docker.run("--dry-run", *words)
    assert done.returncode == 0, done.stderr
    # A machine with cards of its own has nodes of these names, and groups that own them.
    said = re.sub(r" --group-add \d+", "", done.stdout.decode() + done.stderr.decode())
    return re.sub(r"(dev.tangram.cards=)\S+", r"\1UUIDS", said)


def refusal(docker: RecordedDocker, *words: str) -> str:
    done = docker.run(*words)
    assert done.returncode == entry.REFUSED
    assert not done.stdout
    said = done.stderr.decode()
    assert said.startswith("metax-docker: ")
    assert said.count("\n") == 1
    return said


def test_m105_docker_gets_every_word_as_it_was_written(
    docker: RecordedDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole program but for the cards and its last step."""
    became: list[list[str]] = []

    def become(_program: str, argv: list[str], _environment: dict[str, str]) -> None:
        became.append(argv)
        raise Became

    def nothing(*_: object) -> tuple[str, ...]:
        return ()

    def leave(_number: int, _handler: object) -> None:
        """Signals of the test's own process stay."""

    monkeypatch.setattr(os, "execve", become)
    monkeypatch.setattr(signal, "signal", leave)
    for name, value in docker.everything.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(starting, "added", nothing)
    for line in lines(500, 5):
        with pytest.raises(Became):
            entry.main(line.written)
        assert became.pop() == ["docker", *line.wanted]


def test_m105_words_that_are_no_text_come_through(docker: RecordedDocker) -> None:
    word = os.fsdecode(b"--label=\xff\xfe\n ")
    assert docker.run("run", word, "img").returncode == 0
    assert docker.calls == [["run", word, "img"]]


def test_docker_is_the_same_process_with_its_own_exit_status_and_input(docker: RecordedDocker) -> None:
    docker.act("echo $$; cat; exit 42")
    started = subprocess.Popen(
        [sys.executable, "-c", MAIN, "run", "-i", "img"],
        env=docker.everything,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    out, _ = started.communicate(b"said to it")
    assert out.decode() == f"{started.pid}\nsaid to it"
    assert started.returncode == 42


def test_a_signal_reaches_docker_and_those_that_python_ignores_work_again(docker: RecordedDocker) -> None:
    docker.act(
        'trap "echo told; exit 9" TERM; grep SigIgn /proc/$$/status; echo ready; while :; do sleep 0.05; done'
    )
    words = [sys.executable, "-c", MAIN, "run", "img"]
    with subprocess.Popen(words, env=docker.everything, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        ignored = int(started.stdout.readline().split()[1], 16)
        assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)
        assert started.stdout.readline() == "ready\n"
        started.terminate()
        assert started.stdout.read() == "told\n"
    assert started.returncode == 9


def test_docker_sees_the_environment_that_we_were_given(docker: RecordedDocker) -> None:
    docker.act("env -0")
    said = docker.run("run", "img").stdout.decode().split("\0")
    seen = {entry.partition("=")[0] for entry in said if entry} - {"_", "PWD", "SHLVL", "OLDPWD"}
    assert seen == set(docker.everything)


def test_what_python_added_to_the_environment_is_taken_out(tmp_path: Path) -> None:
    begun = tmp_path / "environ"
    begun.write_bytes(b"A=1\0")
    given = {"A": "1", "LC_CTYPE": "C.UTF-8"}
    assert entry.untouched(given, begun) == {"A": "1"}
    begun.write_bytes(b"A=1\0LC_CTYPE=C.UTF-8\0")
    assert entry.untouched(given, begun) == given
    assert entry.untouched(given, tmp_path / "none") == given


def test_a_passed_through_command_imports_nothing_that_takes_time(docker: RecordedDocker) -> None:
    code = (
        f"{MAIN.removesuffix('main()')}\nimport os\nos.execve = lambda *_: print(*sys.modules)\nmain(['ps'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=docker.everything, capture_output=True, text=True, check=False
    )
    loaded = set(done.stdout.split())
    assert "tangram.cli.docker.entry" in loaded
    assert not loaded & {"asyncio", "cyclopts", "numpy", "yaml", "rich", "aiohttp", "tangram.drivers.opening"}


def test_dry_runs(docker: RecordedDocker, snapshot: SnapshotAssertion) -> None:
    words = (
        "run -it --rm --gpus=all --maca=none user-application:1.0 /bin/bash",
        "run --gpus=2 --maca=none img",
        "-H unix:///run/x.sock container create --name 'a b' -gpus '[0,5]' -maca none img --gpus=all",
        "--engine docker run img",
        "ps -a",
    )
    assert (
        "".join(f"$ metax-docker --dry-run {each}\n{dry(docker, *shlex.split(each))}" for each in words)
        == snapshot
    )


def test_nothing_is_started_by_a_dry_run(docker: RecordedDocker) -> None:
    dry(docker, "run", "--gpus=1", "--maca=none", "img")
    assert not any(call[0] in ("run", "pull", "create") for call in docker.calls)


def test_cards_stand_before_a_persons_own_options(docker: RecordedDocker) -> None:
    done = docker.run("run", "-it", "--gpus=[7]", "--maca=none", "img", "sh")
    assert (done.returncode, done.stdout) == (0, b"started\n")
    card = ["--device", "/dev/mxcd", "--device", "/dev/dri/card8", "--device", "/dev/dri/renderD135"]
    given = re.sub(r"--(?:group-add\0\d+|label\0dev[^\0]+)\0", "", "\0".join(docker.calls[-1])).split("\0")
    assert given == ["run", *card, "-it", "img", "sh"]


def test_nodes_of_simulated_cards_are_taken_from_their_folder(docker: RecordedDocker) -> None:
    said = dry(docker, "--device-root=/sim/dev", "run", "--gpus=[0]", "--maca=none", "img")
    assert "--device /sim/dev/mxcd:/dev/mxcd --device /sim/dev/dri/card1:/dev/dri/card1" in said


@pytest.mark.parametrize("engine", ["podman", "nerdctl"])
def test_another_engine_is_called_by_its_name(docker: RecordedDocker, engine: str) -> None:
    docker.act("echo other", engine)
    assert docker.run("--engine", engine, "ps", "-a").stdout == b""
    assert docker.run(f"--engine={engine}", "images").stdout == b"other\n"
    docker.environment["METAX_DOCKER_ENGINE"] = engine
    assert dry(docker, "run", "--gpus=[0]", "--maca=none", "img").startswith(
        f"{engine} run --device /dev/mxcd"
    )


def test_help_teaches_ours_first_and_that_all_else_is_dockers(
    docker: RecordedDocker, snapshot: SnapshotAssertion
) -> None:
    done = docker.run("--help")
    assert done.stdout.decode().partition(": docker, with")[2] == snapshot
    assert not docker.calls
    assert docker.run("setup", "--help").stdout.decode() == snapshot(name="setup")


@pytest.mark.parametrize(
    "words", [("run", "--help"), ("run", "--gpus=1", "--help"), ("create", "-it", "--help")]
)
def test_help_of_run_tells_our_options_and_then_dockers(
    docker: RecordedDocker, words: tuple[str, ...]
) -> None:
    said = docker.run(*words).stdout.decode()
    assert said.startswith("Options of metax-docker for run and create:\n")
    assert said.endswith("started\n")


def test_help_behind_the_image_is_the_containers(docker: RecordedDocker) -> None:
    assert docker.run("run", "img", "--help").stdout == b"started\n"


def test_what_docker_itself_refuses_is_left_to_docker(docker: RecordedDocker) -> None:
    docker.run("run", "--gpus=1", "--no-such", "img")
    docker.run("run", "--gpus=1")
    assert docker.calls[-2:] == [["run", "--no-such", "img"], ["run"]]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(("run", "--gpus=[9]", "img"), "this host has no card '9'", id="wrong-card"),
        pytest.param(("run", "--gpus=device=0", "img"), "for NVIDIA's cards call docker", id="nvidia"),
        pytest.param(("run", "--gpus"), "--gpus has no value", id="no-value"),
        pytest.param(("--engine=lxc", "ps"), "it is docker, podman or nerdctl", id="engine"),
        pytest.param(("--engine=nerdctl", "ps"), "nerdctl is not installed, or not on PATH", id="no-engine"),
        pytest.param(("--driver=x", "run", "--gpus=1", "i"), "a driver is auto", id="driver"),
        pytest.param(("--driver=mxsml:/no/lib.so", "run", "--gpus=1", "i"), "/no/lib.so", id="no-driver"),
        pytest.param(
            ("--device-root=x", "run", "--gpus=1", "i"), "it is an absolute path such as /dev", id="root"
        ),
        pytest.param(
            ("setup", "--dirr=x"), "setup was given '--dirr=x': it takes --print", id="setup-option"
        ),
        pytest.param(("setup", "--dir=x"), "--dir is 'x': it is an absolute path", id="setup-dir"),
        pytest.param(("setup", "--print", "--remove"), "write one of them", id="setup-both"),
        pytest.param(("setup",), "Docker 20.10.24 does not read CDI files", id="setup-old"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_dockers_own_status(
    docker: RecordedDocker, words: tuple[str, ...], sentence: str
) -> None:
    docker.environment["PATH"] = f"{docker.folder}/bin:/usr/bin:/bin"
    assert sentence in refusal(docker, *words)


def test_a_bare_node_without_a_driver_is_a_sentence(docker: RecordedDocker) -> None:
    docker.cards({**EIGHT, "module": "none"})
    said = refusal(docker, "run", "--gpus=1", "img")
    assert "`tangram doctor` says what is missing" in said


def test_two_vendors_are_told_apart_by_the_value(docker: RecordedDocker) -> None:
    docker.cards({"cards": [{"product": "C500", "count": 2}, {"product": "S4000", "count": 2}]})
    assert "write --gpus=metax:1 or --gpus=mthreads:1" in refusal(docker, "run", "--gpus=1", "img")
    docker.answer("info", '{"Runtimes": {"mthreads": {}}}')
    said = dry(docker, "run", "--gpus=mthreads:all", "img")
    assert said == (
        "docker run --runtime mthreads --env MTHREADS_VISIBLE_DEVICES=0,1 --label dev.tangram.cards=UUIDS img\n"
    )


def test_setup_writes_prints_and_removes_the_cdi_file(docker: RecordedDocker, tmp_path: Path) -> None:
    folder = tmp_path / "cdi"
    docker.answer("info", '{"CDISpecDirs": ["/etc/cdi"]}')
    printed = docker.run("setup", "--print", "--maca=none").stdout
    assert b'"metax-tech.com/gpu"' in printed
    assert not folder.exists()
    done = docker.run("setup", "--dir", str(folder), "--maca=none")
    place = folder / "metax-tech.com-gpu.json"
    assert place.read_bytes() == printed
    assert done.stdout.decode() == (
        f"{place} is written: 17 device nodes, without MXMACA.\n"
        "Now `docker run --device metax-tech.com/gpu=0` gives card 0, and metax-tech.com/gpu=all every card.\n"
    )
    assert docker.run("setup", "--remove", "--dir", str(folder)).stdout.decode() == f"{place} is removed.\n"
    assert (
        docker.run("setup", "--remove", "--dir", str(folder)).stdout.decode() == f"{place} was not there.\n"
    )


def test_the_page_of_the_program_names_every_option_of_ours() -> None:
    page = (Path(__file__).parents[3] / "docs" / "metax-docker.md").read_text(encoding="utf-8")
    ours = (
        "gpus",
        "maca",
        "maca-force",
        "engine",
        "dry-run",
        "driver",
        "device-root",
        "print",
        "remove",
        "dir",
    )
    assert [name for name in ours if f"`--{name}" not in page] == []
    assert not {"gpus", "maca", "maca-force"} & RUN.long.keys()
