"""The program that starts containers: docker, podman or nerdctl, asked in its own words.

It is only ever asked by its command line, with the options that the person gave before the command, so that it answers
for the same daemon, context and configuration that will start the container.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.option_table import Kinds, options_in_help
from tangram.wire import loose

DOCKER: Final = "docker"
OURSELVES: Final = "metax-docker"
ENGINES: Final = (DOCKER, "podman", "nerdctl")
OLDEST_DOCKER: Final = (19, 3)

# An address without a scheme is one of TCP, which docker takes too.
_OTHER_HOST = re.compile(r"(ssh|tcp|https?)://|[^/:]*:[0-9]+$")
_THIS_HOST = re.compile(r"((tcp|https?)://)?(localhost|127\.[0-9.]+|\[::1\])?([:/]|$)")
_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)")
_PATIENCE_S: Final = 60.0
_NOT_ALLOWED: Final = "permission denied"


class Answer(NamedTuple):
    status: int
    out: str
    err: str


class Engine(Protocol):
    """What a container's start needs to know from its engine."""

    @property
    def name(self) -> str: ...

    def ask(self, *words: str) -> Answer:
        """The answer of one command, with the person's own options before it."""
        ...

    def stream(self, *words: str) -> subprocess.Popen[bytes]:
        """A command whose output is read as it comes."""
        ...

    def show(self, *words: str) -> int:
        """A command that a person watches, such as a pull; all of it goes to standard error."""
        ...


class CommandLine:
    """An engine behind its program."""

    def __init__(self, name: str, program: str, before: Sequence[str]) -> None:
        self.name = name
        self.program = program
        self.before = tuple(before)

    def ask(self, *words: str) -> Answer:
        try:
            done = subprocess.run(  # noqa: S603 - the engine that the person chose, with words of ours
                [self.program, *self.before, *words],
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PATIENCE_S,
            )
        except subprocess.TimeoutExpired:
            raise HostError(
                f"{self.name} {words[0]} has not answered within {_PATIENCE_S:.0f} seconds: see what the engine does."
            ) from None
        except OSError as error:
            raise HostError(f"{self.program} cannot be run ({error.strerror}).") from None
        return Answer(done.returncode, done.stdout, done.stderr)

    def stream(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - the same
            [self.program, *self.before, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def show(self, *words: str) -> int:
        return subprocess.run([self.program, *self.before, *words], check=False, stdout=2).returncode  # noqa: S603 - the same


def engine_name(asked: str | None, environment: Mapping[str, str]) -> str:
    """The engine's name, from our option or METAX_DOCKER_ENGINE; docker if neither is there."""
    source = "--engine" if asked is not None else "METAX_DOCKER_ENGINE"
    name = asked if asked is not None else environment.get("METAX_DOCKER_ENGINE") or DOCKER
    if name not in ENGINES:
        raise HostError(f"{source} is {name!r:.80}: it is docker, podman or nerdctl; write one of these.")
    return name


def find_program(name: str, environment: Mapping[str, str], ourselves: str) -> str:
    """Where the engine's program is. One that is a link to us is passed over: it would call us for ever."""
    own = Path(ourselves).resolve()
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which(name, path=folder or os.curdir)
        if found is not None and Path(found).resolve() != own and Path(found).resolve().name != OURSELVES:
            return found
    raise HostError(
        f"{name} is not installed, or not on PATH: install it, or choose another engine with --engine "
        f"({', '.join(each for each in ENGINES if each != name)})."
    )


def help_options(engine: Engine) -> Kinds:
    """What the installed engine's `run` takes."""
    return options_in_help(engine.ask("run", "--help").out)


class Version(NamedTuple):
    client: str
    server: str


def check_version(engine: Engine) -> Version:
    """Raises `HostError` for an engine that cannot be reached, or a Docker that is too old."""
    both = "{{.Client.Version}}\n{{.Server.Version}}"
    answer = engine.ask("version", "--format", both if engine.name == DOCKER else "{{.Client.Version}}")
    if answer.status != 0:
        raise unreachable(engine, answer)
    said = [*answer.out.split(), "", ""]
    for side, version in (("client", said[0]), ("engine", said[1])):
        found = _VERSION.match(version)
        if engine.name == DOCKER and found and (int(found[1]), int(found[2])) < OLDEST_DOCKER:
            raise HostError(
                f"the Docker {side} here is {version}: cards need Docker 19.03 or newer; upgrade it."
            )
    return Version(said[0], said[1])


def unreachable(engine: Engine, answer: Answer) -> HostError:
    """The engine's own words, and what helps where they leave it open."""
    words = (
        " ".join(answer.err.split()) or f"{engine.name} ended with status {answer.status} and said nothing"
    )
    if _NOT_ALLOWED in words.lower():
        return HostError(
            f"{words.rstrip('.')}. This user may not talk to the engine: run this as root, or join the group that "
            "owns the engine's socket (docker, usually)."
        )
    return HostError(f"{words.rstrip('.')}.")


def refuse_other_machine(engine: Engine, before: Sequence[str], environment: Mapping[str, str]) -> None:
    """Cards are looked for here, so the engine must be here too. Raises `HostError` for one that is elsewhere."""
    if engine.name != DOCKER:
        return
    hosts = _values(before, ("-H", "--host"))
    contexts = _values(before, ("-c", "--context")) or [environment.get("DOCKER_CONTEXT", "")]
    host = hosts[-1] if hosts else "" if contexts[-1] else environment.get("DOCKER_HOST", "")
    if not host:
        # Without a name it tells the context that is in use.
        words = ("context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
        answer = engine.ask(*words, *(each for each in contexts[-1:] if each))
        host = answer.out.strip() if answer.status == 0 else ""
    if _OTHER_HOST.match(host) and not _THIS_HOST.match(host):
        raise HostError(
            f"the engine is {host:.200}, on another machine, and --gpus is about the cards of this one: call "
            "metax-docker there."
        )


def documents(answer: Answer) -> list[Mapping[str, object]]:
    """The JSON objects that `inspect` lists; those it could not find are left out."""
    try:
        found = loose.elements(json.loads(answer.out or "[]"))
    except ValueError:
        return []
    return [loose.members(each) for each in found if loose.is_object(each)]


def _values(words: Sequence[str], names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word in names and at + 1 < len(words):
            found.append(words[at + 1])
        elif equals and name in names:
            found.append(value)
        elif word[:2] in names and not word.startswith("--") and len(word) > 2:
            found.append(word[2:].removeprefix("="))
    return found
