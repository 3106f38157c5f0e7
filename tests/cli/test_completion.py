"""Shells and kubectl finish the words of `tangram`, and kubectl runs it as a plugin."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders.commands import run
from tangram.cli.completion import answer_to_kubectl

PROGRAMS = Path(sys.executable).parent
PRESS_TAB = """
source "$SCRIPT"
press() {
  COMP_WORDS=(tangram "$@"); COMP_CWORD=$#; COMPREPLY=(); _tangram
  printf '%s|' "${COMPREPLY[@]}"; printf '\\n'
}
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    answer = run("completion", "bash")
    assert (answer.status, answer.err) == (0, "")
    path = tmp_path_factory.mktemp("completion") / "tangram.bash"
    path.write_text(answer.out)
    return path


def pressed(script: Path, *lines: str) -> list[list[str]]:
    """What bash offers at the end of each line; the last word is the one to finish."""
    presses = "\n".join(f"press {line}" for line in lines)
    environment = {**os.environ, "SCRIPT": str(script), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
    answer = subprocess.run(
        ["bash", "-c", f"{PRESS_TAB}\n{presses}"],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert answer.stderr == ""
    return [[word for word in line.split("|") if word] for line in answer.stdout.splitlines()]


def test_bash_finishes_subcommands_and_options(script: Path) -> None:
    commands, one, options, nested = pressed(script, "''", "stat", "status --n", "simulate-cards ''")
    assert {"sandbox", "status", "explain", "top", "completion"} <= set(commands)
    assert one == ["status"]
    assert options == ["--namespace", "--node"]
    assert nested == ["serve", "ctl"]


def test_bash_asks_back_for_what_a_script_cannot_know(script: Path) -> None:
    assert pressed(script, "status -o ''") == [["table", "json", "yaml"]]


def test_bash_falls_back_to_files(script: Path) -> None:
    """`complete -p` tells how a word is finished when the function finds nothing."""
    shell = ["bash", "-c", f"source '{script}'; complete -p tangram"]
    answer = subprocess.run(shell, capture_output=True, check=True, text=True, timeout=60)
    assert answer.stdout.strip() == "complete -o default -F _tangram tangram"


@pytest.mark.parametrize(
    ("shell", "begins"),
    [pytest.param("zsh", "#compdef tangram", id="zsh"), pytest.param("fish", "# Fish", id="fish")],
)
def test_other_shells_get_a_script_of_theirs(shell: str, begins: str) -> None:
    answer = run("completion", shell)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(begins)
    assert "status" in answer.out
    assert "--namespace" in answer.out


def test_a_shell_nobody_knows_is_refused_with_those_there_are() -> None:
    answer = run("completion", "csh")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "tangram: SHELL is 'csh': it is bash, zsh or fish; write one of these.\n"


# --- kubectl's protocol ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "offered", "directive"),
    [
        pytest.param(["stat"], ["status"], ":4", id="subcommand"),
        pytest.param(["status", "--n"], ["--namespace", "--node"], ":4", id="option"),
        pytest.param(["status", "-o", ""], ["table", "json", "yaml"], ":4", id="value"),
        pytest.param(["explain", "-f", ""], [], ":0", id="file"),
        pytest.param(["no-such-command", "x"], [], ":0", id="nonsense"),
    ],
)
def test_kubectl_is_answered_in_its_own_protocol(
    words: list[str], offered: list[str], directive: str
) -> None:
    *lines, last = answer_to_kubectl(words).splitlines()
    assert [line.split("\t")[0] for line in lines] == offered
    assert last == directive


def test_a_cluster_that_does_not_answer_offers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    assert answer_to_kubectl(["cordon", ""]) == ":0\n"
    assert answer_to_kubectl(["explain", "--cluster", "file.yaml", ""]) == ":0\n"
