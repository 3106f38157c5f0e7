"""The commands that a container without a process can do, each as a few steps.

What they print is what people know from busybox, as far as there is anything to print.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from typing import Final

from tangram.sandbox.nodes.steps import Exit, Pause, Say, Scene, Steps

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def assigns(word: str) -> bool:
    """Whether a word of a script sets a variable."""
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier() and name.isascii()


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
    words = [word for word in arguments if not word.startswith("-")] or ["/"]
    for path in (found for word in words for found in _spelled_out(word, scene)):
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


def _spelled_out(word: str, scene: Scene) -> list[str]:
    """The device nodes that a pattern means; as a shell does it, a pattern without any stays what it is."""
    if not any(letter in word for letter in "*?["):
        return [word]
    depth = word.count("/")
    return sorted(
        node for node in scene.nodes if node.count("/") == depth and fnmatch.fnmatchcase(node, word)
    ) or [word]


def _exit(arguments: Sequence[str], _scene: Scene, _environment: dict[str, str]) -> Steps:
    yield from ()
    word = arguments[0] if arguments else "0"
    raise Exit(int(word) % 256 if word.isascii() and word.isdigit() and len(word) < 10 else 2)


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
        if assigns(word):
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


SMALL: Final[dict[str, Callable[[Sequence[str], Scene, dict[str, str]], Steps]]] = {
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
