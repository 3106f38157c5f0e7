"""The scheduler's configuration files, followed while it runs.

A cluster's administrator edits a ConfigMap; the kubelet swaps the folder behind the file some time later. Only what was
read whole and understood ever takes effect: after a slip the scheduler goes on with what it had, says in its log what
is wrong, and counts it. It stays ready, because a typing error must not stop a cluster's pods. Only at the start, when
there is nothing to go on with, is a file that cannot be used a reason not to run.
"""

from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tangram.daemon.errors import SettingError
from tangram.daemon.yaml_text import UnreadableYaml, parse_document
from tangram.engine.place import Defaults
from tangram.wire.errors import WireError
from tangram.wire.hami_device_config import HamiDeviceConfig, read_hami_device_config
from tangram.wire.scheduler_config import SchedulerConfig, read_scheduler_config

LOOK_EVERY_S: Final = 2.0
_LARGEST: Final = 1 << 20

Reload = Literal["taken", "refused"]

_log = logging.getLogger(__name__)


class InForce(NamedTuple):
    """Both files together; without a file, what holds where nobody said anything."""

    scheduler: SchedulerConfig = SchedulerConfig()
    devices: HamiDeviceConfig = HamiDeviceConfig()

    @property
    def defaults(self) -> Defaults:
        """What placement assumes for pods that do not say. Our own file goes before HAMi's."""
        zone_aware = self.scheduler.zone_aware
        return Defaults(
            node_policy=self.scheduler.node_policy,
            card_order=self.scheduler.card_order,
            zone_aware=self.devices.zone_aware if zone_aware is None else zone_aware,
        )


class _Stamp(NamedTuple):
    """What tells one state of a file from the next, through all links: a ConfigMap's swap changes device or inode."""

    device: int
    inode: int
    changed_ns: int
    size: int


class _File:
    """One file, and which state of it was read last."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self.what = what
        self.trouble = ""
        """What is wrong with it as it is now."""
        self._read: _Stamp | None = None
        self._glimpsed: _Stamp | None = None

    def read(self) -> object:
        """The parsed file. Raises `SettingError` with a sentence."""
        try:
            self._read = self._glimpsed = self._stamp()
            if self._read is None:
                raise SettingError(f"{self.what} {self.path} is no plain file; name one.")
            with self.path.open("rb") as file:
                content = file.read(_LARGEST + 1)
            if len(content) > _LARGEST:
                raise SettingError(
                    f"{self.what} {self.path} has more than 1 MiB; a configuration is far smaller."
                )
            return parse_document(content.decode("utf-8"))
        except OSError as error:
            self._read = self._glimpsed = None
            raise SettingError(
                f"{self.what} {self.path} cannot be read ({error.strerror}); name a file that exists."
            ) from None
        except (UnicodeDecodeError, UnreadableYaml) as error:
            raise SettingError(f"{self.what} {self.path} is no YAML: {error}; correct it.") from None

    def changed(self) -> bool:
        """Whether it is another file than the one that was read, and was the same at the last two looks.

        Half a file may be a good one too, so whoever writes in place is given the time between two looks.
        """
        try:
            stamp = self._stamp()
        except OSError:
            stamp = None
        settled, self._glimpsed = stamp == self._glimpsed, stamp
        return settled and stamp != self._read

    def _stamp(self) -> _Stamp | None:
        """None for what is no plain file: reading a pipe might never end."""
        found = self.path.stat()
        if not stat.S_ISREG(found.st_mode):
            return None
        return _Stamp(found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)


class Configuration:
    """`load` once, then `run` until cancelled; `in_force` is what counts now."""

    def __init__(
        self,
        scheduler: Path | None = None,
        devices: Path | None = None,
        *,
        changed: Callable[[InForce], None] = lambda _now: None,
        counted: Callable[[Reload], None] = lambda _how: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.in_force = InForce()
        self._scheduler = None if scheduler is None else _File(scheduler, "the scheduler configuration")
        self._devices = None if devices is None else _File(devices, "HAMi's device configuration")
        self._changed = changed
        self._counted = counted
        self._sleep = sleep

    @property
    def troubles(self) -> tuple[str, ...]:
        """What is wrong with the files as they are now, one sentence each."""
        return tuple(file.trouble for file in self._files() if file.trouble)

    def load(self) -> InForce:
        """Read everything for the first time. Raises `SettingError`."""
        for file in self._files():
            self.in_force = self._with(file)
        return self.in_force

    async def run(self) -> None:
        while True:
            await self._sleep(LOOK_EVERY_S)
            self.refresh()

    def refresh(self) -> bool:
        """Look at the files, and put into force what is new and good. Returns whether anything changed."""
        before = self.in_force
        for file in self._files():
            if file.changed():
                self._take(file)
        if self.in_force == before:
            return False
        self._changed(self.in_force)
        return True

    def _take(self, file: _File) -> None:
        try:
            self.in_force = self._with(file)
        except SettingError as error:
            file.trouble = str(error)
            _log.error("%s What was in force stays in force.", file.trouble, extra={"file": str(file.path)})
            self._counted("refused")
            return
        file.trouble = ""
        _log.info("%s was read again", file.what, extra={"file": str(file.path)})
        self._counted("taken")

    def _files(self) -> list[_File]:
        return [file for file in (self._scheduler, self._devices) if file is not None]

    def _with(self, file: _File) -> InForce:
        """What would be in force with the file as it is now. Raises `SettingError`."""
        document = file.read()
        try:
            if file is self._devices:
                return self.in_force._replace(devices=read_hami_device_config(document))
            return self.in_force._replace(scheduler=read_scheduler_config(document))
        except WireError as error:
            raise SettingError(f"{file.what} {file.path} is refused: {error.sentence}.") from None
