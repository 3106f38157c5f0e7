"""What a container's command would do, as far as a container without a process can: say something, wait, and end.

A command becomes steps: a line for the log, a pause, a remark that something is only pretended. Whoever runs the
container does the steps in time; here nothing waits and nothing is written. Understood are `sleep`, `echo`,
`env`, `printenv`, `ls`, `date`, `hostname`, `exit`, `true`, `false`, `tail -f`, `export`, and `sh -c`
with these joined by `;`, `&&`, `||` or inside `while true; do ...; done`. Everything else is pretended.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final

from tangram.sandbox.nodes.shell_words import OPERATORS, NotUnderstood, Word, words_of
from tangram.sandbox.nodes.small_commands import SMALL, assigns
from tangram.sandbox.nodes.steps import Exit, Pause, Pretend, Scene, Steps

_SHELLS: Final = ("sh", "bash", "ash", "dash")
_DEEPEST: Final = 8
_SHORTEST_TURN_S: Final = 0.05
"""A loop that turns faster would only heat the laptop."""


def steps_of(argv: Sequence[str], scene: Scene) -> Steps:
    """The steps of a command with its arguments; of none, it is what the image would start."""
    if not argv:
        yield Pretend("the command of its image")
        return 0
    try:
        return (yield from _command(list(argv), scene, dict(scene.environment), 0))
    except Exit as end:
        return end.status


def _command(argv: list[str], scene: Scene, environment: dict[str, str], depth: int) -> Steps:
    name, arguments = posixpath.basename(argv[0]), argv[1:]
    if name in _SHELLS and len(arguments) > 1 and arguments[0].startswith("-") and "c" in arguments[0]:
        try:
            words = words_of(arguments[1])
            _check_loops(words)
        except NotUnderstood:
            yield Pretend(arguments[1])
            return 0
        if depth > _DEEPEST:
            yield Pretend(arguments[1])
            return 0
        return (yield from _own_shell(words, scene, environment, depth + 1))
    if name == "exec" and arguments:
        raise Exit((yield from _command(arguments, scene, environment, depth)))
    simple = SMALL.get(name)
    if simple is None:
        yield Pretend(" ".join(argv))
        return 0
    return (yield from simple(arguments, scene, environment))


def _own_shell(words: Sequence[Word | str], scene: Scene, environment: dict[str, str], depth: int) -> Steps:
    """A shell inside another: its variables and its end are its own."""
    try:
        return (yield from _script(words, scene, dict(environment), depth))
    except Exit as end:
        return end.status


def _script(words: Sequence[Word | str], scene: Scene, environment: dict[str, str], depth: int) -> Steps:
    status, join, at = 0, ";", 0
    while at < len(words):
        end = at
        if _opens_loop(words, at):
            end = _end_of_loop(words, at)
            statement = words[at:end]
        else:
            while end < len(words) and words[end] not in OPERATORS:
                end += 1
            statement = words[at:end]
        skipped = (join == "&&" and status != 0) or (join == "||" and status == 0)
        if statement and not skipped:
            if _opens_loop(words, at):
                status = yield from _loop(statement, scene, environment, depth)
            else:
                status = yield from _statement(statement, scene, environment, depth)
        operator = words[end] if end < len(words) else ";"
        join = operator if isinstance(operator, str) else ";"
        at = end + 1
    return status


def _statement(words: Sequence[Word | str], scene: Scene, environment: dict[str, str], depth: int) -> Steps:
    argv = [word.text(environment) for word in words if isinstance(word, Word)]
    while argv and assigns(argv[0]):
        name, _, value = argv.pop(0).partition("=")
        environment[name] = value
    if not argv:
        return 0
    return (yield from _command(argv, scene, environment, depth))


def _loop(words: Sequence[Word | str], scene: Scene, environment: dict[str, str], depth: int) -> Steps:
    """`while true; do ...; done` for ever; a turn that waits for nothing takes a second."""
    body = words[_index(words, "do") + 1 : -1]
    while True:
        waited = 0.0
        turn = _script(body, scene, environment, depth)
        try:
            while True:
                step = next(turn)
                waited += 1.0 if isinstance(step, Pretend) else 0.0
                waited += (1.0 if step.seconds is None else step.seconds) if isinstance(step, Pause) else 0.0
                yield step
        except StopIteration:
            pass
        if waited < _SHORTEST_TURN_S:
            yield Pause(1.0)


def _check_loops(words: Sequence[Word | str]) -> None:
    """Only loops without an end are understood, and no other word that steers a script."""
    at = 0
    while at < len(words):
        word = words[at]
        first = at == 0 or words[at - 1] in OPERATORS or _says(words[at - 1], "do")
        if first and isinstance(word, Word):
            if word.plain in ("if", "for", "case", "until", "function", "{", "trap", "set", "wait", "break"):
                raise NotUnderstood(f"{word.plain} is for a real shell")
            if word.plain == "while":
                condition = words[at + 1] if at + 1 < len(words) else ";"
                if not (isinstance(condition, Word) and condition.plain in ("true", ":")):
                    raise NotUnderstood("only while true is understood")
                _end_of_loop(words, at)
        at += 1


def _opens_loop(words: Sequence[Word | str], at: int) -> bool:
    return _says(words[at], "while")


def _end_of_loop(words: Sequence[Word | str], at: int) -> int:
    """The place after the `done` of the loop that begins here."""
    depth = 0
    for place in range(at, len(words)):
        if _says(words[place], "while"):
            depth += 1
        elif _says(words[place], "done"):
            depth -= 1
            if depth == 0:
                return place + 1
    raise NotUnderstood("a loop has no end")


def _index(words: Sequence[Word | str], text: str) -> int:
    for place, word in enumerate(words):
        if _says(word, text):
            return place
    raise NotUnderstood(f"a loop has no {text}")


def _says(word: Word | str, text: str) -> bool:
    return isinstance(word, Word) and word.plain == text
