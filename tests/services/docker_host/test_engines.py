"""Which program is the engine, and how it is asked."""

import os
from pathlib import Path

import pytest

from builders.docker_hosts import ScriptedEngine
from tangram.services.docker_host.engines import (
    CommandLine,
    Version,
    check_version,
    engine_name,
    find_program,
    help_options,
    refuse_other_machine,
)
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.person import groups_of


def program(place: Path, text: str = "exit 0") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return place


def test_our_option_counts_more_than_the_variable_and_docker_is_the_rest() -> None:
    assert engine_name("podman", {"METAX_DOCKER_ENGINE": "nerdctl"}) == "podman"
    assert engine_name(None, {"METAX_DOCKER_ENGINE": "nerdctl"}) == "nerdctl"
    assert engine_name(None, {}) == "docker"


@pytest.mark.parametrize(
    ("asked", "variable", "source"), [("crio", "", "--engine"), (None, "lxc", "METAX_DOCKER_ENGINE")]
)
def test_an_engine_that_is_none_is_a_sentence(asked: str | None, variable: str, source: str) -> None:
    with pytest.raises(HostError, match=f"{source} is .*: it is docker, podman or nerdctl"):
        engine_name(asked, {"METAX_DOCKER_ENGINE": variable})


def test_an_engine_that_is_a_link_to_us_is_passed_over(tmp_path: Path) -> None:
    us = program(tmp_path / "ours" / "metax-docker")
    (tmp_path / "ours" / "docker").symlink_to(us)
    # An installed one may be started by a script of that name, which is not what we see of ourselves.
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "docker").symlink_to(program(tmp_path / "prefix" / "metax-docker"))
    real = program(tmp_path / "real" / "docker")
    path = {"PATH": f"{tmp_path}/none:{tmp_path}/ours:{tmp_path}/real"}
    assert find_program("docker", path, str(us)) == str(real)
    with pytest.raises(HostError, match="docker is not installed, or not on PATH"):
        find_program("docker", {"PATH": f"{tmp_path}/ours"}, str(us))


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("unix:///run/docker.sock", True),
        ("fd://", True),
        ("tcp://127.0.0.1:2375", True),
        ("tcp://localhost:2375", True),
        ("tcp://[::1]:2375", True),
        ("tcp://:2375", True),
        (":2375", True),
        ("tcp://10.0.0.1:2376", False),
        ("ssh://user@other", False),
        ("ssh://127.0.0.1", False),
        ("other:2375", False),
        ("tcp://127.0.0.1.example.com:2375", False),
    ],
)
def test_an_engine_on_another_machine_is_told_from_one_here(host: str, here: bool) -> None:  # noqa: FBT001 - a case
    for before, environment, context in (
        (("-H", host), {}, ""),
        ((f"--host={host}",), {"DOCKER_HOST": "ssh://x"}, ""),
        ((), {"DOCKER_HOST": host}, ""),
        ((), {}, host),
        (("--context", "c"), {"DOCKER_HOST": "ssh://x"}, host),
    ):
        engine = ScriptedEngine(context_host=context)
        if here:
            refuse_other_machine(engine, before, environment)
        else:
            with pytest.raises(HostError, match="on another machine"):
                refuse_other_machine(engine, before, environment)


def test_an_engine_is_asked_with_the_options_before_the_command(tmp_path: Path) -> None:
    place = program(tmp_path / "docker", 'echo "$@"; echo trouble >&2; exit 3')
    answer = CommandLine("docker", str(place), ("-H", "x")).ask("ps", "-q")
    assert answer == (3, "-H x ps -q\n", "trouble\n")


def test_an_engine_that_cannot_be_run_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"cannot be run \(No such file or directory\)"):
        CommandLine("docker", str(tmp_path / "none"), ()).ask("ps")


def test_versions_are_read_and_only_dockers_have_a_least(tmp_path: Path) -> None:
    assert check_version(ScriptedEngine(client="19.03.0", server="28.0.1")) == Version("19.03.0", "28.0.1")
    assert check_version(ScriptedEngine(name="podman", client="4.3.1")).client == "4.3.1"
    assert check_version(ScriptedEngine(client="dev", server="")).client == "dev"
    silent = CommandLine("docker", str(program(tmp_path / "docker", "exit 4")), ())
    with pytest.raises(HostError, match="docker ended with status 4 and said nothing"):
        check_version(silent)


def test_the_help_of_the_installed_engine_tells_its_options(tmp_path: Path) -> None:
    place = program(tmp_path / "docker", "echo '      --shiny list   New'")
    assert help_options(CommandLine("docker", str(place), ())).long == {"shiny": True}


def test_the_group_of_a_node_counts_where_not_everybody_may_open_it(tmp_path: Path) -> None:
    closed, open_to_all = tmp_path / "closed", tmp_path / "open"
    for node in (closed, open_to_all):
        node.touch()
    closed.chmod(0o660)
    open_to_all.chmod(0o666)
    group = closed.stat().st_gid
    if os.geteuid() == 0:
        group = 44
        os.chown(closed, -1, group)
    wanted = (group,) if group else ()
    assert groups_of([str(closed), str(open_to_all), str(tmp_path / "none")]) == wanted
