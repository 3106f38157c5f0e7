"""Commands of containers become lines, pauses and an exit status; what is not understood is pretended."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.sandbox.nodes.commands import steps_of
from tangram.sandbox.nodes.plans import filled
from tangram.sandbox.nodes.steps import Pause, Pretend, Say, Scene, Step

MOST_STEPS = 8
SCENE = Scene(
    environment={"NAME": "one two", "EMPTY": ""},
    nodes=("/dev/mxcd", "/dev/dri/card0", "/dev/dri/renderD128"),
    hostname="pod-1",
    date=lambda: "today",
)


def done(*argv: str) -> tuple[list[Step], int | None]:
    """The first steps of a command, and how it ended if it did."""
    steps = steps_of(argv, SCENE)
    found: list[Step] = []
    while len(found) < MOST_STEPS:
        try:
            step = next(steps)
        except StopIteration as end:
            return found, end.value
        found.append(step)
    return found, None


def script(text: str) -> tuple[list[Step], int | None]:
    return done("sh", "-c", text)


@pytest.mark.parametrize(
    ("argv", "steps", "status"),
    [
        pytest.param(["sleep", "5"], [Pause(5)], 0, id="sleep"),
        pytest.param(["/bin/sleep", "1m"], [Pause(60)], 0, id="with a path and a unit"),
        pytest.param(["sleep", "infinity"], [Pause(None)], 0, id="for ever"),
        pytest.param(["sleep", "soon"], [Say("sleep: invalid number 'soon'")], 1, id="no number"),
        pytest.param(["sleep"], [Say("sleep: missing operand")], 1, id="no time"),
        pytest.param(["echo", "a", "b"], [Say("a b")], 0, id="echo"),
        pytest.param(["echo", "-n", "a"], [Say("a")], 0, id="echo with an option"),
        pytest.param(["printenv", "NAME"], [Say("one two")], 0, id="a variable"),
        pytest.param(["printenv", "NOBODY"], [], 1, id="no such variable"),
        pytest.param(["env"], [Say("EMPTY="), Say("NAME=one two")], 0, id="all variables"),
        pytest.param(["ls", "/dev/dri"], [Say("card0"), Say("renderD128")], 0, id="device nodes"),
        pytest.param(["ls", "-l", "/dev"], [Say("dri"), Say("mxcd")], 0, id="a folder of them"),
        pytest.param(["ls", "/dev/mxcd"], [Say("/dev/mxcd")], 0, id="one node"),
        pytest.param(["sh", "-c", "ls /dev/mx*"], [Say("/dev/mxcd")], 0, id="by a pattern"),
        pytest.param(
            ["ls", "/dev/mt*"], [Say("ls: /dev/mt*: No such file or directory")], 1, id="a vain pattern"
        ),
        pytest.param(["ls", "/data"], [Say("ls: /data: No such file or directory")], 1, id="nothing there"),
        pytest.param(["tail", "-f", "/dev/null"], [Pause(None)], 0, id="tail -f"),
        pytest.param(["hostname"], [Say("pod-1")], 0, id="hostname"),
        pytest.param(["date"], [Say("today")], 0, id="date"),
        pytest.param(["true"], [], 0, id="true"),
        pytest.param(["false"], [], 1, id="false"),
        pytest.param(["python", "train.py"], [Pretend("python train.py")], 0, id="something else"),
        pytest.param([], [Pretend("the command of its image")], 0, id="no command"),
    ],
)
def test_a_command_becomes_steps(argv: list[str], steps: list[Step], status: int) -> None:
    assert done(*argv) == (steps, status)


@pytest.mark.parametrize(
    ("text", "steps", "status"),
    [
        pytest.param("echo a; sleep 2; exit 3", [Say("a"), Pause(2)], 3, id="one after the other"),
        pytest.param("echo a && false && echo b", [Say("a")], 1, id="and"),
        pytest.param("false || echo b", [Say("b")], 0, id="or"),
        pytest.param("true || echo b", [], 0, id="or that is not needed"),
        pytest.param("echo $NAME '$NAME' \"<$NAME>\"", [Say("one two $NAME <one two>")], 0, id="variables"),
        pytest.param("echo ${NAME}x $NOBODY.", [Say("one twox .")], 0, id="braces and nothing"),
        pytest.param("A=1; export B=2\necho $A$B # said", [Say("12")], 0, id="assignments and remarks"),
        pytest.param('echo "a \\"b\\" \\$c" d\\ e', [Say('a "b" $c d e')], 0, id="protected letters"),
        pytest.param("exec sleep 7", [Pause(7)], 0, id="exec"),
        pytest.param("sh -c 'exit 4' || echo after; exit 2", [Say("after")], 2, id="a shell inside"),
        pytest.param("train --fast && echo done", [Pretend("train --fast"), Say("done")], 0, id="pretended"),
        pytest.param("exit nonsense", [], 2, id="exit with no number"),
        pytest.param("", [], 0, id="nothing"),
        *(
            pytest.param(text, [Pretend(text)], 0, id=text)
            for text in (
                "cat x | grep y",
                "echo x > /file",
                "echo $(date)",
                'echo "`date`"',
                "echo 'open",
                "sleep 5 &",
                "for i in 1 2; do echo $i; done",
                "if true; then echo a; fi",
                "while false; do echo a; done",
                "while true; do echo a",
                "trap 'exit' TERM; sleep 5",
            )
        ),
    ],
)
def test_a_script_becomes_steps(text: str, steps: list[Step], status: int) -> None:
    assert script(text) == (steps, status)


def test_an_endless_loop_goes_on_and_never_without_a_pause() -> None:
    turns, status = script("while true; do echo hi; done")
    assert status is None
    assert turns == [Say("hi"), Pause(1)] * 4
    slow, _ = script("echo go; while true; do date; sleep 30; done")
    assert slow[:5] == [Say("go"), Say("today"), Pause(30), Say("today"), Pause(30)]
    assert script("while true; do echo a; exit 5; done")[1] == 5


@given(st.text(alphabet="abc $'\"\\;&|<>#\n(){}`=0", max_size=40))
def test_no_script_is_too_strange(text: str) -> None:
    taken = list(islice(steps_of(["sh", "-c", text], SCENE), 50))
    assert all(isinstance(step, Say | Pause | Pretend) for step in taken)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        pytest.param("$(NAME)-x", "one two-x", id="known"),
        pytest.param("$(NOBODY)", "$(NOBODY)", id="unknown stays"),
        pytest.param("$$(NAME)", "$(NAME)", id="protected"),
        pytest.param("$(NAME", "$(NAME", id="not closed"),
        pytest.param("$HOME", "$HOME", id="a shell's"),
    ],
)
def test_references_in_commands_are_filled_in_as_kubernetes_does(text: str, made: str) -> None:
    assert filled(text, SCENE.environment) == made
