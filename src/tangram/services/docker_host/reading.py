"""A command line as docker reads it, with our own options taken out and nothing else touched.

The rules are those of pflag, which docker, podman and nerdctl all use: a value stands behind `=` or is the next word,
letters may be joined (`-itv /a:/b`), `--` ends the options, and the first word that is no option is the image, behind
which everything belongs to the container. Whatever has no option of ours is not looked at any further.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.option_table import BEFORE_COMMAND, RUN, Kinds

COMMANDS: Final = frozenset({"run", "create"})
GPUS: Final = "gpus"
MACA: Final = "maca"
FORCE: Final = "maca-force"
TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})

_OURS = re.compile(r"--?(gpus|maca-force|maca)(?:=(.*))?", re.DOTALL)
_OWN_VALUES: Final = ("engine", "driver", "device-root")
_OWN_SWITCHES: Final = ("dry-run",)


class Given(NamedTuple):
    """One option of the engine's own, by its long name or its letter."""

    name: str
    value: str


class Start(NamedTuple):
    """`run` or `create`, taken apart."""

    gpus: str | None = None
    maca: str | None = None
    force: bool = False
    words: tuple[str, ...] = ()
    """Everything behind the command but our own options."""
    image: str | None = None
    given: tuple[Given, ...] = ()
    unknown: str = ""
    """An option that neither we nor the engine know; nothing behind it was read."""

    @property
    def asks_us(self) -> bool:
        return self.gpus is not None or self.maca is not None or self.force

    def values(self, *names: str) -> list[str]:
        """The values of an option, in order, under any of its names."""
        return [value for name, value in self.given if name in names]


class Command(NamedTuple):
    own: dict[str, str]
    """Our options before the command: engine, driver, device-root, dry-run."""
    before: tuple[str, ...]
    """The engine's own options before the command."""
    verb: tuple[str, ...]
    """`run`, `container create`, ...; one word for other commands; empty where there is none."""
    rest: tuple[str, ...]

    @property
    def starts_container(self) -> bool:
        return bool(self.verb) and self.verb[-1] in COMMANDS


def read_command(arguments: Sequence[str]) -> Command:
    """The words before the command and the command. Raises `HostError` for an option of ours without its value."""
    own: dict[str, str] = {}
    before: list[str] = []
    words = list(arguments)
    while words and words[0].startswith("-") and words[0] not in ("-", "--"):
        taken = _own_option(words, own)
        if taken:
            del words[:taken]
            continue
        taken = _length(words, BEFORE_COMMAND)
        if not taken:
            # Docker knows it or refuses it; either way there is no telling where the command is.
            return Command(own, tuple(before), (), tuple(words))
        before += words[:taken]
        del words[:taken]
    return Command(own, tuple(before), *_verb(words))


def _verb(words: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if len(words) > 1 and words[0] == "container" and words[1] in COMMANDS:
        return tuple(words[:2]), tuple(words[2:])
    if not words or words[0].startswith("-"):
        return (), tuple(words)
    return (words[0],), tuple(words[1:])


def may_ask_us(words: Sequence[str]) -> bool:
    """Whether one of the words looks like an option of ours; else nothing needs to be understood."""
    return any(_OURS.fullmatch(word) for word in words)


def read_start(words: Sequence[str], learn: Callable[[], Kinds]) -> Start:
    """What `run` or `create` was given. `learn` tells what the installed engine's help lists, if that is needed."""
    kinds, learnt = RUN, False
    kept: list[str] = []
    given: list[Given] = []
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest[0]
        if word == "--":
            return _started(found, [*kept, *rest], (rest[1:] or [None])[0], given)
        if word == "-" or not word.startswith("-"):
            return _started(found, [*kept, *rest], word, given)
        taken = _ours(rest, found)
        if not taken:
            options: list[Given] = []
            taken = _length(rest, kinds, options)
            if not taken and not learnt:
                more = learn()
                kinds, learnt = Kinds({**more.long, **RUN.long}, {**more.short, **RUN.short}), True
                continue
            if not taken:
                return _started(found, [*kept, *rest], None, given)._replace(unknown=word)
            given += options
            kept += rest[:taken]
        del rest[:taken]
    return _started(found, kept, None, given)


def _started(found: dict[str, str], words: Sequence[str], image: str | None, given: Sequence[Given]) -> Start:
    return Start(
        gpus=found.get(GPUS),
        maca=found.get(MACA),
        force=found.get(FORCE, "false") in TRUE,
        words=tuple(words),
        image=image,
        given=tuple(given),
    )


def _ours(rest: Sequence[str], found: dict[str, str]) -> int:
    """How many words an option of ours takes; 0 when the first word is none."""
    match = _OURS.fullmatch(rest[0])
    if match is None:
        return 0
    name, value = match[1], match[2]
    if name in found:
        raise HostError(f"--{name} stands twice in this command: write it once.")
    if name == FORCE:
        value = "true" if value is None else value
        if value not in TRUE | FALSE:
            raise HostError(
                f"--{FORCE} is {value!r:.80}: it is a switch, true or false; write --{FORCE} alone."
            )
        found[name] = value
        return 1
    taken = 1
    if value is None:
        if len(rest) == 1:
            raise HostError(f"--{name} has no value: {_USAGES[name]}")
        value, taken = rest[1], 2
    found[name] = value
    return taken


_USAGES: Final = {
    GPUS: "write --gpus=all, a number of cards, or cards as in --gpus=[0,1].",
    MACA: "write --maca=VERSION, the folder of an MXMACA on this host, or --maca=none.",
}


def _own_option(words: Sequence[str], own: dict[str, str]) -> int:
    name, equals, value = words[0].removeprefix("--").partition("=")
    if not words[0].startswith("--") or name not in (*_OWN_VALUES, *_OWN_SWITCHES):
        return 0
    if name in _OWN_SWITCHES:
        if equals and value not in TRUE | FALSE:
            raise HostError(f"--{name} is {value!r:.80}: it is a switch; write --{name} alone.")
        if not equals or value in TRUE:
            own[name] = "true"
        return 1
    if equals:
        own[name] = value
        return 1
    if len(words) == 1:
        raise HostError(f"--{name} has no value: write --{name}=VALUE (metax-docker --help tells which).")
    own[name] = words[1]
    return 2


def _length(rest: Sequence[str], kinds: Kinds, found: list[Given] | None = None) -> int:
    """How many words the first option takes, with its value; 0 for one that is not known."""
    options = [] if found is None else found
    word = rest[0]
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        takes = kinds.long.get(name)
        if takes is None:
            return 0
        if equals or not takes:
            options.append(Given(name, value if equals else "true"))
            return 1
        options.append(Given(name, rest[1] if len(rest) > 1 else ""))
        return min(2, len(rest))
    letters = word[1:]
    while letters:
        letter, behind = letters[0], letters[1:]
        takes = kinds.short.get(letter)
        if takes is None:
            return 0
        if len(behind) > 1 and behind[0] == "=":
            options.append(Given(letter, behind[1:]))
            return 1
        if not takes:
            options.append(Given(letter, "true"))
            letters = behind
            continue
        if behind:
            options.append(Given(letter, behind))
            return 1
        options.append(Given(letter, rest[1] if len(rest) > 1 else ""))
        return min(2, len(rest))
    return 1
