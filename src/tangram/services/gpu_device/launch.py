"""From everything that was read on the command line to the running agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from tangram.daemon.endpoints import Address
from tangram.daemon.launching import run_daemon
from tangram.daemon.log_options import LogOptions
from tangram.daemon.running import Supervisor
from tangram.drivers.opening import open_driver
from tangram.drivers.ways import Conditions
from tangram.kube.api import Api
from tangram.kube.connection import find_connection
from tangram.services.gpu_device.agent import Agent
from tangram.services.gpu_device.device_object import MANAGER
from tangram.services.gpu_device.hardware import LIMIT_S, Hardware
from tangram.services.gpu_device.settings import AgentSettings

COMPONENT: Final = "gpu-device"
SWITCH_S: Final = 0.0005
NICE: Final = -10


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    settings: AgentSettings
    driver: str
    root: Path
    kubeconfig: Path | None
    address: Address | None
    logs: LogOptions


def launch_text(launch: Launch) -> str:
    """Everything in one line, for the process that runs it."""
    return msgspec.json.encode(launch, enc_hook=str).decode()


def read_launch(text: str) -> Launch:
    """What `launch_text` wrote. Raises `msgspec.ValidationError`."""
    return msgspec.json.decode(text, type=Launch, dec_hook=_path)


def run(launch: Launch, environment: Mapping[str, str] = os.environ) -> int:
    """Run the agent until it is told to stop. Its exit status."""
    # Calls of the driver run in threads and would wait this long for each turn while the loop is busy.
    sys.setswitchinterval(SWITCH_S)
    # While many containers start the node is busiest, and each of them waits for us.
    with suppress(PermissionError):
        os.nice(NICE)
    return run_daemon(COMPONENT, launch.logs, lambda supervisor: _serve(supervisor, launch, environment))


async def _serve(supervisor: Supervisor, launch: Launch, environment: Mapping[str, str]) -> int:
    conditions = Conditions(root=launch.root, limit=LIMIT_S / 2, vendors=frozenset(launch.settings.vendors))
    hardware = Hardware(lambda: open_driver(launch.driver, conditions=conditions))
    # Whoever cleans up goes by the names of writers, and MetaX's plugin calls itself gpu-device as well.
    async with Api(find_connection(launch.kubeconfig, environment), agent=MANAGER) as api:
        return await Agent(launch.settings, api, hardware).serve(supervisor, launch.address)


def _path(kind: type, value: object) -> object:
    if kind is Path or issubclass(kind, Path):
        return Path(str(value))
    raise NotImplementedError
