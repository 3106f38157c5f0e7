"""Where things are on the host, and how far this agent may go."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import msgspec

from tangram.units.ids import NodeName
from tangram.wire.operator import names


class EngineKind(StrEnum):
    CONTAINERD = "containerd"
    CRIO = "cri-o"
    DOCKER = "docker"


class CdiMode(StrEnum):
    AUTO = "auto"
    CDI = "cdi"
    ENV = "env"
    """The wrapper, in the vendor's word."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    node: NodeName
    host_root: Path = Path("/")
    engine: EngineKind | None = None
    """None: found out."""
    cdi_mode: CdiMode = CdiMode.AUTO
    program: Path = Path("/usr/lib/tangram/mx-container-runtime")
    """In our own file system."""
    folders: tuple[str, ...] = (names.MACA_LINK, names.DRIVER_LINK)
    may_restart: bool = True
    restart_command: tuple[str, ...] = ()
    """What restarts the container runtime on this host; empty: systemctl, with the usual name of its unit."""
    containerd_config: str = ""
    """On the host; empty: by the running containerd's command line, else the usual place."""
    containerd_program: str = ""
    docker_config: str = "/etc/docker/daemon.json"
    interval: float = 5.0
    """Seconds between two looks at the host."""
