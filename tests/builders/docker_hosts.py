"""A host with cards and an engine that answers what a test tells it to; nothing runs."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from builders.simulated import make_driver
from tangram.drivers.protocol import Driver
from tangram.drivers.snapshot import Reader, Snapshot
from tangram.services.docker_host.engines import Answer
from tangram.services.docker_host.option_table import Kinds
from tangram.services.docker_host.reading import read_command, read_start
from tangram.services.docker_host.starting import Host, added_words

IMAGE = "user-application:1.0"
GROUPS: Mapping[str, object] = {"server": "c500-8-two-groups"}


def read_all(driver: Driver) -> Snapshot:
    return Reader(lambda _: driver).read(links=True)


def snapshot_of(*cards: Mapping[str, object], **keys: object) -> Snapshot:
    """What the driver of such a host says at one moment."""
    return read_all(make_driver(*cards, clock=None, **keys))


class _Copying(io.BytesIO):
    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.stdout = self

    def kill(self) -> None:
        pass


@dataclass
class ScriptedEngine:
    """`images` are the folders of each image that is here; `pullable` those of images that a pull brings."""

    name: str = "docker"
    client: str = "24.0.7"
    server: str = "24.0.7"
    images: dict[str, tuple[str, ...]] = field(default_factory=lambda: {IMAGE: ()})
    image_env: list[str] = field(default_factory=list[str])
    pullable: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    containers: list[Mapping[str, object]] = field(default_factory=list[Mapping[str, object]])
    info: Mapping[str, object] = field(default_factory=dict[str, object])
    context_host: str = ""
    trouble: str = ""
    asked: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def ask(self, *words: str) -> Answer:
        self.asked.append(words)
        if self.trouble:
            return Answer(1, "", self.trouble)
        if words[:2] == ("image", "inspect"):
            if words[2] not in self.images:
                return Answer(1, "[]", f"Error: No such image: {words[2]}")
            about = {
                "Id": f"sha256:{words[2]}",
                "Os": "linux",
                "Architecture": "amd64",
                "Config": {"Env": self.image_env},
            }
            return Answer(0, json.dumps([about]), "")
        said = {
            "version": f"{self.client}\n{self.server}\n",
            "info": json.dumps(self.info),
            "ps": "".join(f"{number}\n" for number, _ in enumerate(self.containers)),
            "container": json.dumps(self.containers),
            "context": f"{self.context_host}\n",
            "create": f"{words[-2]}\n",
            "rm": "",
        }
        return Answer(0, said[words[0]], "")

    def stream(self, *words: str) -> subprocess.Popen[bytes]:
        self.asked.append(words)
        image, _, folder = words[1].rpartition(":")
        content = io.BytesIO()
        name = folder.rpartition("/")[2]
        if folder in self.images[image] or f"{folder}/" in self.images[image]:
            with tarfile.open(fileobj=content, mode="w|") as archive:
                entry = tarfile.TarInfo(f"{name}/")
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
                if folder in self.images[image]:
                    archive.addfile(tarfile.TarInfo(f"{name}/lib"))
        return cast("subprocess.Popen[bytes]", _Copying(content.getvalue()))

    def show(self, *words: str) -> int:
        self.asked.append(words)
        if words[-1] not in self.pullable:
            return 1
        self.images[words[-1]] = self.pullable[words[-1]]
        return 0


@dataclass
class DockerHost:
    """A host in a folder of the test."""

    root: Path
    snapshot: Snapshot = field(default_factory=lambda: snapshot_of(GROUPS))
    engine: ScriptedEngine = field(default_factory=ScriptedEngine)
    environment: dict[str, str] = field(default_factory=dict[str, str])
    groups: tuple[int, ...] = ()
    rootless: bool = False
    dry_run: bool = False
    said: list[str] = field(default_factory=list[str])
    labels: list[str] = field(default_factory=list[str])

    def install(self, *versions: str, driver: bool = True) -> None:
        """MXMACA of these versions, the last in use."""
        for version in versions:
            (self.root / "opt" / f"maca-{version}" / "lib").mkdir(parents=True)
        if versions:
            (self.root / "opt" / "maca").symlink_to(f"maca-{versions[-1]}")
        if driver:
            (self.root / "opt" / "mxdriver-3").mkdir(parents=True)
            (self.root / "opt" / "mxdriver").symlink_to("mxdriver-3")

    def added(self, *words: str) -> list[str]:
        """What a command gets but for its label, with the host's folder written as HOST."""
        command = read_command(words)
        start = read_start(command.rest, lambda: Kinds({}, {}))
        host = Host(
            engine=self.engine,
            look=lambda: self.snapshot,
            say=self.said.append,
            environment=self.environment,
            before=command.before,
            root=self.root,
            cache=self.root / "cache",
            claims=self.root / "claims",
            groups=lambda _: self.groups,
            rootless=self.rootless,
            dry_run=self.dry_run,
        )
        given = [word.replace(str(self.root), "HOST") for word in added_words(start, host)]
        labels = [at for at, word in enumerate(given) if word == "--label"]
        self.labels = [given[at + 1] for at in labels]
        return [word for at, word in enumerate(given) if not {at, at - 1} & set(labels)]
