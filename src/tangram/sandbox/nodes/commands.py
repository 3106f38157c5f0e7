"""What a container's command would do, as far as a container without a process can: say something, wait, and end.

A command becomes steps: a line for the log, a pause, a remark that something is only pretended. Whoever runs the
container does the steps in time; here nothing waits and nothing is written. Understood are `sleep`, `echo`,
`env`, `printenv`, `ls`, `date`, `hostname`, `exit`, `true`, `false`, `tail -f`, `export`, and `sh -c`
with these joined by `;`, `&&`, `||` or inside `while true; do ...; done`. Everything else is pretended.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Final

import msgspec

from tangram.sandbox.nodes.shell_words import OPERATORS, NotUnderstood, Word, words_of

_SHELLS: Final = ("sh", "bash", "ash", "dash")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DEEPEST: Final = 8
_SHORTEST_TURN_S: Final = 0.05
"""A loop that turns faster would only heat the laptop."""


class Say(msgspec.Struct, frozen=True):
    """A line on standard output."""

    text: str


class Pause(msgspec.Struct, frozen=True):
    """Nothing for so long; None is for ever."""

    seconds: float | None


class Pretend(msgspec.Struct, frozen=True):
    """A command that only a real machine could run."""

    command: str


Step = Say | Pause | Pretend
Steps = Generator[Step, None, int]
"""Ends with an exit status."""


class _Exit(Exception):  # noqa: N818 - no error: the word exit
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What a command can see."""

    environment: Mapping[str, str] = {}
    nodes: tuple[str, ...] = ()
    """Device nodes in the container."""
    hostname: str = ""
    date: Callable[[], str] = str


def steps_of(argv: Sequence[str], scene: Scene) -> Steps:
    """The steps of a command with its arguments; of none, it is what the image would start."""
    if not argv:
        yield Pretend("the command of its image")
        return 0
    try:
        return (yield from _command(list(argv), scene, dict(scene.environment), 0))
    except _Exit as end:
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
        raise _Exit((yield from _command(arguments, scene, environment, depth)))
    simple = _SIMPLE.get(name)
    if simple is None:
        yield Pretend(" ".join(argv))
        return 0
    return (yield from simple(arguments, scene, environment))


def _own_shell(words: Sequence[Word | str], scene: Scene, environment: dict[str, str], depth: int) -> Steps:
    """A shell inside another: its variables and its end are its own."""
    try:
        return (yield from _script(words, scene, dict(environment), depth))
    except _Exit as end:
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
    while argv and _assigns(argv[0]):
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


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier() and name.isascii()


# ---- the commands


def _sleep(arguments: Sequence[str], _scene: Scene, _environment: dict[str, str]) -> Steps:
    total = 0.0
    for word in arguments:
        seconds = _seconds(word)
        if word in ("infinity", "inf"):
            yield Pause(None)
            return 0
        if seconds is None:
            yield Say(f"sleep: invalid number '{word}'")
            return 1
        total += seconds
    if not arguments:
        yield Say("sleep: missing operand")
        return 1
    yield Pause(total)
    return 0


def _seconds(word: str) -> float | None:
    unit = _UNITS.get(word[-1:], None)
    number = word[:-1] if unit is not None else word
    digits = number.replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()) or len(number) > 12:
        return None
    return float(number) * (unit or 1)


def _echo(arguments: Sequence[str], _scene: Scene, _environment: dict[str, str]) -> Steps:
    words = list(arguments)
    while words and words[0] in ("-n", "-e", "-E", "-ne", "-en"):
        words.pop(0)
    for line in " ".join(words).split("\n"):
        yield Say(line)
    return 0


def _env(arguments: Sequence[str], _scene: Scene, environment: dict[str, str]) -> Steps:
    if arguments:
        status = 0
        for name in arguments:
            if name in environment:
                yield Say(environment[name])
            else:
                status = 1
        return status
    for name, value in sorted(environment.items()):
        yield Say(f"{name}={value}")
    return 0


def _ls(arguments: Sequence[str], scene: Scene, _environment: dict[str, str]) -> Steps:
    status = 0
    paths = [word for word in arguments if not word.startswith("-")] or ["/"]
    for path in paths:
        inside = sorted(
            {
                rest.split("/")[0]
                for node in scene.nodes
                if (rest := node.removeprefix(path.rstrip("/") + "/")) != node
            }
        )
        if path in scene.nodes:
            yield Say(path)
        elif inside or path in ("/", "/dev"):
            for name in inside:
                yield Say(name)
        else:
            yield Say(f"ls: {path}: No such file or directory")
            status = 1
    return status


def _exit(arguments: Sequence[str], _scene: Scene, _environment: dict[str, str]) -> Steps:
    yield from ()
    word = arguments[0] if arguments else "0"
    raise _Exit(int(word) % 256 if word.isascii() and word.isdigit() and len(word) < 10 else 2)


def _succeed(_arguments: Sequence[str], _scene: Scene, _environment: dict[str, str]) -> Steps:
    yield from ()
    return 0


def _fail(_arguments: Sequence[str], _scene: Scene, _environment: dict[str, str]) -> Steps:
    yield from ()
    return 1


def _tail(arguments: Sequence[str], _scene: Scene, _environment: dict[str, str]) -> Steps:
    if any(word in ("-f", "-F") for word in arguments):
        yield Pause(None)
    return 0


def _export(arguments: Sequence[str], _scene: Scene, environment: dict[str, str]) -> Steps:
    yield from ()
    for word in arguments:
        if _assigns(word):
            name, _, value = word.partition("=")
            environment[name] = value
    return 0


def _date(_arguments: Sequence[str], scene: Scene, _environment: dict[str, str]) -> Steps:
    yield Say(scene.date())
    return 0


def _hostname(_arguments: Sequence[str], scene: Scene, _environment: dict[str, str]) -> Steps:
    yield Say(scene.hostname)
    return 0


def _pause(_arguments: Sequence[str], _scene: Scene, _environment: dict[str, str]) -> Steps:
    yield Pause(None)
    return 0


_SIMPLE: Final = {
    "sleep": _sleep,
    "echo": _echo,
    "env": _env,
    "printenv": _env,
    "ls": _ls,
    "exit": _exit,
    "true": _succeed,
    ":": _succeed,
    "false": _fail,
    "tail": _tail,
    "export": _export,
    "date": _date,
    "hostname": _hostname,
    "pause": _pause,
}
