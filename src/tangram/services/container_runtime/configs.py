"""One engine's configuration on the host: what it is to say, what it says without us, and what its engine thinks of it.

The texts are made in `wire.runtime_config`; here they meet the files beside them and the engine's own program, which
is asked before anything counts. Where that program is not found the parser's word stands alone, and that is said.
"""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from tangram.services.container_runtime.engines import Engine
from tangram.services.container_runtime.host import CHECKED, Host
from tangram.services.container_runtime.programs import Programs, option_of
from tangram.services.container_runtime.settings import EngineKind, Settings
from tangram.services.container_runtime.trouble import Code, Trouble
from tangram.wire.errors import WireError
from tangram.wire.operator import names
from tangram.wire.runtime_config import containerd, containerd_reading, crio, docker, json_members
from tangram.wire.runtime_config.docker import Was
from tangram.wire.runtime_config.toml_statements import Table, parse
from tangram.wire.runtime_config.wishes import Wish

CRIO_FOLDER: Final = "/etc/crio/crio.conf.d"
CRIO_MAIN: Final = "/etc/crio/crio.conf"
_STATES: Final = ("/run/containerd", "/run/docker/containerd/daemon", "/run/k3s/containerd")
_NOISE = re.compile(r"^(time=\S+ )?(level=\w+ )?(msg=)?")

log = logging.getLogger("tangram.container_runtime")


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    content: bytes
    runtime: str
    """The program that really starts containers."""
    was: Was = Was()


class Config(Protocol):
    path: str

    def files(self) -> tuple[str, ...]:
        """All that its engine reads."""
        ...

    def wanted(self, current: bytes | None, wish: Wish, was: Was) -> Desired:
        """The file as it is to be. Raises `WireError` and `Trouble`."""
        ...

    def without(self, current: bytes, was: Was) -> bytes:
        """The file without us. Raises `WireError`."""
        ...

    def check(self, content: bytes | None, wish: Wish | None) -> None:
        """Have the engine read this content; with a wish, see that it will do so. Raises `Trouble`."""
        ...


def config_of(engine: Engine, host: Host, programs: Programs, settings: Settings, path: str = "") -> Config:
    """The configuration of an engine; at a place that is known from before, if it is given. Raises `Trouble`."""
    if engine.kind is EngineKind.DOCKER:
        return DockerConfig(host, programs, path or settings.docker_config)
    if engine.kind is EngineKind.CRIO:
        return CrioConfig(engine, host, programs, path or f"{CRIO_FOLDER}/{crio.FILE}")
    place = path or settings.containerd_config or _place_by_process(programs)
    return ContainerdConfig(engine, host, programs, place, settings.containerd_program)


class ContainerdConfig:
    def __init__(self, engine: Engine, host: Host, programs: Programs, path: str, program: str = "") -> None:
        self._engine = engine
        self._host = host
        self._programs = programs
        self._program = program or "containerd"
        self.path = path

    def files(self) -> tuple[str, ...]:
        try:
            return (self.path, *self._imports(parse(_text(self._host.read(self.path), self.path), self.path)))
        except (WireError, OSError):
            return (self.path,)

    def wanted(self, current: bytes | None, wish: Wish, was: Was) -> Desired:
        text = _text(current, self.path)
        clean = containerd.without_metax(text, self.path)
        effective = self._asked(clean.encode()) if current is not None else None
        number = self._engine.number
        fresh = 2 if number is not None and number < (2, 0) else containerd.FRESH
        manner = containerd.Manner(what=self.path, fresh=fresh, effective=effective)
        self._check_imports(parse(clean, self.path))
        content = containerd.with_metax(text, wish, manner)
        parsed = parse(clean, self.path)
        version = containerd_reading.version_of(parsed, self.path, fresh)
        handler = containerd_reading.handler_of(parsed, version, effective)
        return Desired(content=content.encode(), runtime=handler.program, was=was)

    def without(self, current: bytes, was: Was) -> bytes:
        del was
        return containerd.without_metax(_text(current, self.path), self.path).encode()

    def check(self, content: bytes | None, wish: Wish | None) -> None:
        if content is None:
            return
        effective = self._asked(content, strictly=True)
        if wish is not None and effective is not None and not containerd_reading.knows(effective, wish):
            raise Trouble(
                Code.CONFIG_OVERRIDDEN,
                f"containerd reads {self.path} and then something else about runtime metax or the default runtime; its "
                f"configuration imports further files; remove what they say of it: {self._imported()}",
            )

    def _asked(self, content: bytes, *, strictly: bool = False) -> Table | None:
        """What containerd makes of a content. Beside the real one, because imports are relative to it."""
        program = self._programs.find(self._program)
        if program is None:
            log.warning(
                "there is no containerd program to ask about its configuration: our own reading stands alone"
            )
            return None
        place = f"{self.path}{CHECKED}"
        self._host.write(place, content, 0o600)
        try:
            ran = self._programs.run(program, "--config", place, "config", "dump")
        finally:
            with suppress(OSError):
                self._host.remove(place)
        if ran.status != 0 and strictly:
            raise _refused("containerd", self.path, ran.said)
        if ran.status != 0:
            raise Trouble(
                "config-invalid",
                f"containerd itself refuses {self.path}: {_words(ran.said)}; correct it there",
            )
        try:
            return parse(ran.out, "what containerd prints")
        except WireError:
            return None

    def _check_imports(self, parsed: Table) -> None:
        for path in self._imports(parsed):
            try:
                other = parse(_text(self._host.read(path), path), path)
            except (WireError, OSError):
                continue
            if containerd_reading.defines_metax(other):
                raise Trouble(
                    "runtime-taken",
                    f"{path}, which containerd imports, has a runtime metax that is not ours; it can be registered "
                    "once; remove it there, or remove what put it there",
                )

    def _imports(self, parsed: Table) -> list[str]:
        folder = self.path.rpartition("/")[0]
        patterns = containerd_reading.imports_of(parsed) or ("/etc/containerd/conf.d/*.toml",)
        absolute = [each if each.startswith("/") else f"{folder}/{each}" for each in patterns]
        return [path for each in absolute for path in self._host.files(each) if path != self.path]

    def _imported(self) -> str:
        return ", ".join(self.files()[1:6]) or "none of them was found"


class CrioConfig:
    def __init__(self, engine: Engine, host: Host, programs: Programs, path: str) -> None:
        self._engine = engine
        self._host = host
        self._programs = programs
        self.path = path

    def files(self) -> tuple[str, ...]:
        return (CRIO_MAIN, self.path, *self._host.files(f"{CRIO_FOLDER}/*.conf"))

    def wanted(self, current: bytes | None, wish: Wish, was: Was) -> Desired:
        others = self._others()
        if current is not None and crio.is_of_others(current.decode("utf-8", "replace"), wish.program):
            raise crio.taken(self.path)
        text = crio.drop_in(others, wish, self._engine.number)
        program = crio.handler_of(others, self._engine.number).program
        return Desired(content=text.encode(), runtime=program, was=was)

    def without(self, current: bytes, was: Was) -> bytes:
        del was
        theirs = crio.is_of_others(current.decode("utf-8", "replace"), names.RUNTIME_PROGRAM)
        return current if theirs else b""

    def check(self, content: bytes | None, wish: Wish | None) -> None:
        del wish
        program = self._programs.find("crio")
        if program is None:
            log.warning(
                "there is no crio program to ask about its configuration: our own reading stands alone"
            )
            return
        folder = f"{names.RUNTIME_JOURNAL}/crio{CHECKED}"
        placed: list[str] = []
        try:
            files = [(path, text.encode()) for path, text in self._others() if path != CRIO_MAIN]
            for path, each in [*files, *([(self.path, content)] if content is not None else [])]:
                place = f"{folder}/{path.rpartition('/')[2]}"
                placed.append(place)
                self._host.write(place, each, 0o600)
            main = ("--config", CRIO_MAIN) if self._host.exists(CRIO_MAIN) else ()
            ran = self._programs.run(program, *main, "--config-dir", folder, "config")
        finally:
            for place in placed:
                with suppress(OSError):
                    self._host.remove(place)
            self._host.remove_empty(folder, folder)
        if ran.status != 0:
            raise _refused("crio", self.path, ran.said)

    def _others(self) -> list[tuple[str, str]]:
        paths = [CRIO_MAIN, *self._host.files(f"{CRIO_FOLDER}/*.conf")]
        contents = [(path, self._host.read(path)) for path in paths if path != self.path]
        return [(path, _text(content, path)) for path, content in contents if content is not None]


class DockerConfig:
    def __init__(self, host: Host, programs: Programs, path: str) -> None:
        self._host = host
        self._programs = programs
        self.path = path

    def files(self) -> tuple[str, ...]:
        return (self.path,)

    def wanted(self, current: bytes | None, wish: Wish, was: Was) -> Desired:
        text = _text(current, self.path)
        # A runtime of that name that is somebody else's is refused before anything is taken out.
        docker.with_metax(text, wish, self.path)
        clean = docker.without_metax(text, was, self.path) if text else text
        content, before = docker.with_metax(clean, wish, self.path)
        if text and json_members.read_object(text, self.path) == json_members.read_object(content, self.path):
            content, before = text, was
        runtime = docker.handler_of(clean, self.path)
        return Desired(content=content.encode(), runtime=runtime, was=before)

    def without(self, current: bytes, was: Was) -> bytes:
        return docker.without_metax(_text(current, self.path), was, self.path, names.RUNTIME_PROGRAM).encode()

    def check(self, content: bytes | None, wish: Wish | None) -> None:
        del wish
        program = self._programs.find("dockerd")
        if content is None or program is None:
            if program is None:
                log.warning(
                    "there is no dockerd to ask about its configuration: our own reading stands alone"
                )
            return
        place = f"{self.path}{CHECKED}"
        self._host.write(place, content, 0o600)
        try:
            ran = self._programs.run(program, "--validate", "--config-file", place)
        finally:
            with suppress(OSError):
                self._host.remove(place)
        if ran.status != 0:
            raise _refused("dockerd", self.path, ran.said)


def containers_of(program: str, host: Host, programs: Programs) -> int:
    """How many containers were started through a program and are still there: they need it until they end."""
    wanted, count = program.encode(), 0
    # CRI-O's containers have a process each that was told the program.
    count += sum(program in each.arguments for each in programs.running("conmon"))
    for namespace in (
        each for state in _STATES for each in host.files(f"{state}/io.containerd.runtime.v2.task/*")
    ):
        for bundle in host.files(f"{namespace}/*"):
            with suppress(OSError):
                if any(
                    wanted in (host.read(f"{bundle}/{name}") or b"") for name in ("runtime", "options.json")
                ):
                    count += 1
    return count


def _place_by_process(programs: Programs) -> str:
    """Where a running containerd was told to find its configuration; the usual place where it was told none."""
    told = {
        place
        for each in programs.running("containerd")
        if (place := option_of(each.arguments, "--config", "-c")) is not None and place.startswith("/")
    }
    if len(told) > 1:
        raise Trouble(
            Code.CONFIG_SEVERAL,
            f"several containerd run on this host, with {' and '.join(sorted(told)[:4])}; only the kubelet's can be "
            "meant; write --containerd-config with that one",
        )
    return told.pop() if told else containerd_reading.WHAT


def _refused(program: str, path: str, said: str) -> Trouble:
    return Trouble(
        Code.VALIDATOR_REFUSED,
        f"{program} refuses {path} as it would become, so it was left as it is: {_words(said)}",
    )


def _words(said: str) -> str:
    return _NOISE.sub("", said).strip() or "it said nothing"


def _text(content: bytes | None, path: str) -> str:
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        line = (content or b"")[: error.start].count(b"\n") + 1
        raise WireError(
            "config-invalid", f"{path} is no UTF-8 in line {line}; a configuration is; correct it there"
        ) from error
