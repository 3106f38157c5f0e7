"""What the pods of one kubelet share: the machine they run on, and how the cluster is told of them."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tangram.kube.api import Api
from tangram.kube.objects import Object
from tangram.sandbox.nodes.containers import Containers
from tangram.sandbox.nodes.device_manager import DeviceManager
from tangram.sandbox.nodes.log_book import LogBook


class Record(Protocol):
    """An event on a pod."""

    def __call__(self, pod: Object, reason: str, message: str, *, warning: bool = False) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ward:
    api: Api
    containers: Containers
    logs: LogBook
    devices: DeviceManager
    cdi: Path
    """The folder of CDI files."""
    record: Record
    now: Callable[[], dt.datetime]
    next_ip: Callable[[], str]
    writing: asyncio.Semaphore
    """How many statuses may be on their way at once."""
    host_ip: str = "127.0.0.1"
