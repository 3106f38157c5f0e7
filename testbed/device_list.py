"""The devices a scripted plugin offers, changeable while the kubelet watches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Final

from tangram.kubelet.sockets import Refusal
from testbed.changes import Changes
from testbed.errors import BedError
from testbed.plugin_records import PluginDevice

LONGEST_DEVICE_ID: Final = 63


class DeviceList:
    """Every change is sent to every open stream, unless another one follows before the stream got to it."""

    def __init__(self, devices: Iterable[PluginDevice]) -> None:
        self._devices = _checked(devices)
        self._edition = 0
        self._closings = 0
        self._open = True
        self._last_words: Refusal | None = None
        self._delivered: tuple[PluginDevice, ...] | None = None
        self._changes = Changes()

    @property
    def now(self) -> tuple[PluginDevice, ...]:
        return self._devices

    def become(self, *devices: PluginDevice) -> None:
        """Offer exactly these."""
        self._devices = _checked(devices)
        self._edition += 1
        self._changes.announce()

    def add(self, *devices: PluginDevice) -> None:
        self.become(*self._devices, *devices)

    def remove(self, *ids: str) -> None:
        self._known(ids)
        self.become(*(device for device in self._devices if device.id not in ids))

    def set_health(self, *ids: str, healthy: bool) -> None:
        self._known(ids)
        self.become(
            *(replace(device, healthy=healthy) if device.id in ids else device for device in self._devices)
        )

    def end_streams(self, refusal: Refusal | None = None) -> None:
        """Close what the kubelet watches: with an error, or as if there were nothing more to say."""
        self._closings += 1
        self._last_words = refusal
        self._changes.announce()

    def open_streams(self) -> None:
        """Let streams begin, as they may from the start."""
        self._open = True

    def shut_streams(self) -> None:
        """Close every stream, and those at once that were asked for and have not begun."""
        self._open = False
        self.end_streams()

    async def wait_until_sent(self, *, within: float = 10.0) -> None:
        """Return once some stream has been given the devices as they are now."""
        if not await self._changes.until(lambda: self._delivered == self._devices, within=within):
            raise BedError(
                f"within {within:g} s nobody was sent the {len(self._devices)} devices: has the plugin registered?"
            )

    async def stream(self, send: Callable[[tuple[PluginDevice, ...]], Awaitable[None]]) -> None:
        """Send the list now and after every change, until the streams are ended or the watcher goes."""
        closings = self._closings
        self._delivered = None
        while self._open and self._closings == closings:
            edition, devices = self._edition, self._devices
            await send(devices)
            self._delivered = devices
            self._changes.announce()
            await self._news_after(edition, closings)
        if self._last_words is not None:
            raise self._last_words

    async def _news_after(self, edition: int, closings: int) -> None:
        await self._changes.until(lambda: (self._edition, self._closings) != (edition, closings))

    def _known(self, ids: Iterable[str]) -> None:
        strangers = set(ids) - {device.id for device in self._devices}
        if strangers:
            raise BedError(f"the plugin offers no device {', '.join(sorted(strangers))}")


def _checked(devices: Iterable[PluginDevice]) -> tuple[PluginDevice, ...]:
    listed = tuple(devices)
    ids = [device.id for device in listed]
    for device_id in ids:
        if not 0 < len(device_id) <= LONGEST_DEVICE_ID:
            raise BedError(f"{device_id!r} is no device id: it has 1 to {LONGEST_DEVICE_ID} characters")
    if len(set(ids)) != len(ids):
        raise BedError(
            f"device ids are listed twice: {', '.join(sorted({i for i in ids if ids.count(i) > 1}))}"
        )
    return listed
