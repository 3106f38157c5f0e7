"""A host with a container runtime: its files below a folder, its programs and its restarts made up."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

from tangram.services.container_runtime.engines import Engine
from tangram.services.container_runtime.host import Host
from tangram.services.container_runtime.keeping import Facts, Keeper
from tangram.services.container_runtime.programs import Ran, Running
from tangram.services.container_runtime.settings import Settings
from tangram.services.container_runtime.trouble import Trouble
from tangram.units.ids import NodeName

CONTAINERD = "/etc/containerd/config.toml"
V3 = 'plugins."io.containerd.cri.v1.runtime".containerd'
COMMENTED = f"""# by hand, do not reformat
version = 3
  [{V3}]
    default_runtime_name   = 'runc'  # the usual
[{V3}.runtimes.runc.options]
SystemdCgroup = true\r
"""
FACTS = Facts(kubelet="v1.34.1", runtime="containerd://2.3.7")


class FakePrograms:
    """containerd prints the file it is shown; everything else does nothing and is content."""

    def __init__(self, host: Host, *there: str) -> None:
        self._host = host
        self.there = set(there)
        self.ran: list[tuple[str, ...]] = []
        self.refuses: Callable[[tuple[str, ...], str], str] = lambda _words, _text: ""
        self.processes: tuple[Running, ...] = ()
        self.prints: Callable[[str], str] = lambda text: text

    def find(self, name: str) -> str | None:
        base = name.rpartition("/")[2]
        return f"/usr/bin/{base}" if base in self.there else None

    def running(self, name: str) -> tuple[Running, ...]:
        return tuple(each for each in self.processes if each.program.endswith(name))

    def run(self, *arguments: str) -> Ran:
        self.ran.append(arguments)
        files = [word for word in arguments if word.startswith("/etc/")]
        text = (self._host.read(files[-1]) or b"").decode() if files else ""
        said = self.refuses(arguments, text)
        return Ran(status=1, said=said) if said else Ran(status=0, out=self.prints(text))


class FakeRestarter:
    """Remembers what the engine has read, as a real one would have it in memory."""

    def __init__(self, host: Host, path: str) -> None:
        self._host = host
        self._path = path
        self.restarts = 0
        self.in_force: bytes | None = host.read(path)
        self.fails: Callable[[bytes | None], str] = lambda _content: ""
        self.by_hand = False
        self.gone: str = ""
        """An engine that is not there any more."""

    def restart(self, engine: Engine) -> None:
        self.restarts += 1
        if engine.kind == self.gone:
            raise Trouble("restart-failed", f"{engine.kind} is not active")
        content = self._host.read(self._path)
        why = self.fails(content)
        if why:
            raise Trouble("restart-failed", why)
        self.in_force = content

    def read_since(self, engine: Engine, path: str) -> bool:
        del engine, path
        return self.by_hand


class RuntimeHost:
    """Everything together; `keeper` is a new process each time."""

    def __init__(
        self, folder: Path, config: str | None = COMMENTED, path: str = CONTAINERD, **settings: object
    ) -> None:
        self.folder = folder
        self.root = folder / "host"
        self.root.mkdir()
        self.host = Host(self.root)
        self.path = path
        if config is not None:
            self.write(config)
        program = folder / "mx-container-runtime"
        program.write_bytes(b"\x7fELF our program")
        self.settings = Settings(node=NodeName("gpu-1"), host_root=self.root, program=program, **settings)  # pyright: ignore[reportArgumentType] - whatever a test sets
        self.programs = FakePrograms(self.host, "containerd")
        self.restarter = FakeRestarter(self.host, path)
        self.before = self.files()
        self.now = 1000.0

    @property
    def keeper(self) -> Keeper:
        return Keeper(self.settings, self.host, self.programs, self.restarter, clock=lambda: self.now)

    def write(self, text: str, path: str = "") -> None:
        place = self.root / (path or self.path).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())

    def text(self, path: str = "") -> str:
        return (self.root / (path or self.path).lstrip("/")).read_bytes().decode()

    def config(self) -> dict[str, object]:
        """What containerd's file says of runtimes."""
        parsed = tomllib.loads(self.text())
        return parsed["plugins"]["io.containerd.cri.v1.runtime"]["containerd"]

    def files(self) -> dict[str, bytes]:
        return {
            str(each.relative_to(self.root)): each.read_bytes()
            for each in sorted(self.root.rglob("*"))
            if each.is_file()
        }
