"""The device-info file: a JSON array in a directory that koordlet reads every few seconds.

koordlet publishes every file it finds there, whoever dropped it, and reads all scalars as text. One malformed file
makes the whole read fail, so ours is complete by construction and is to be replaced atomically, never edited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tangram.wire import jsontext, loose
from tangram.wire.errors import Problem, WireError, shown
from tangram.wire.koordinator.device import DevicePlace, read_place

DIRECTORY: Final = "/var/run/koordlet/xpu-device-infos"


class PeerLinks(msgspec.Struct, frozen=True):
    """The cards one card is directly joined to, by one kind of link."""

    peers: tuple[int, ...]
    kind: str
    """Free text; `MetaXLink` and `MTLink` from us."""


class DeviceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One card in the file."""

    vendor: str
    model: str
    uuid: str
    minor: int
    resources: dict[str, str] = {}
    place: DevicePlace | None = None
    links: tuple[PeerLinks, ...] = ()
    must_honor_partition: bool = False
    healthy: bool | None = None
    """None when the file does not say, which koordlet takes for healthy."""
    error_code: str = ""
    error_message: str = ""


def encode_device_infos(infos: Sequence[DeviceInfo]) -> str:
    """The file's text. Raises `WireError` for text that is not UTF-8."""
    return jsontext.pretty([_info_object(info) for info in infos], "the device-info file") + "\n"


def decode_device_infos(written: str) -> tuple[tuple[DeviceInfo, ...], tuple[Problem, ...]]:
    """The cards in a file, and what was wrong with those left out. Raises `WireError` when it is no list."""
    rows = jsontext.parse(written, "the device-info file")
    if not loose.is_list(rows):
        raise WireError(
            "device-info-malformed", f"the device-info file holds {shown(rows)}: it is a list of cards"
        )
    infos: list[DeviceInfo] = []
    problems: list[Problem] = []
    for position, row in enumerate(loose.elements(rows)):
        info = _read_info(loose.members(row))
        if info is None:
            sentence = f"entry {position} of the device-info file has no uuid or no minor; it is left out"
            problems.append(Problem("device-info-entry", sentence))
        else:
            infos.append(info)
    return tuple(infos), tuple(problems)


def _info_object(info: DeviceInfo) -> dict[str, object]:
    written: dict[str, object] = {
        "vendor": info.vendor,
        "model": info.model,
        "uuid": info.uuid,
        "minor": str(info.minor),
        "resources": dict(sorted(info.resources.items())),
    }
    if info.place is not None or info.links or info.must_honor_partition:
        written["topology"] = _place_object(info, info.place or DevicePlace())
    if info.healthy is not None:
        status: dict[str, object] = {"healthy": info.healthy}
        if info.error_code:
            status["errCode"] = info.error_code
        if info.error_message:
            status["errMessage"] = info.error_message
        written["status"] = status
    return written


def _place_object(info: DeviceInfo, place: DevicePlace) -> dict[str, object]:
    written: dict[str, object] = {
        "socketID": str(place.socket),
        "nodeID": str(place.numa),
        "pcieID": place.pcie,
        "busID": place.bus_id,
    }
    if info.links:
        written["p2pLinks"] = [
            {"peerMinor": ",".join(map(str, link.peers)), "type": link.kind} for link in info.links
        ]
    if info.must_honor_partition:
        written["mustHonorPartition"] = True
    return written


def _read_info(row: Mapping[str, object]) -> DeviceInfo | None:
    uuid, minor = loose.text(row.get("uuid")), loose.integer(row.get("minor"))
    if not uuid or minor is None or minor < 0:
        return None
    place, status = row.get("topology"), row.get("status")
    said = loose.members(status)
    return DeviceInfo(
        vendor=loose.text(row.get("vendor")),
        model=loose.text(row.get("model")),
        uuid=uuid,
        minor=minor,
        resources=loose.text_map(row.get("resources")),
        place=read_place(place),
        links=tuple(_read_links(each) for each in loose.elements(loose.members(place).get("p2pLinks"))),
        must_honor_partition=loose.flag(loose.members(place).get("mustHonorPartition")) is True,
        healthy=loose.flag(said.get("healthy")) is True if loose.is_object(status) else None,
        error_code=loose.text(said.get("errCode")),
        error_message=loose.text(said.get("errMessage")),
    )


def _read_links(written: object) -> PeerLinks:
    entry = loose.members(written)
    peers = (loose.integer(peer) for peer in (loose.scalar_text(entry.get("peerMinor")) or "").split(","))
    return PeerLinks(tuple(peer for peer in peers if peer is not None), loose.text(entry.get("type")))
