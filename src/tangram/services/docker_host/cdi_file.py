"""All MetaX cards of the host as one CDI spec, for engines that read such files: `--device metax-tech.com/gpu=0`.

A card goes by its number and by its uuid, and `all` is every card. Each name brings the device nodes and the host's
MXMACA; no variables, because a CDI variable replaces the image's. The file is written beside its place and renamed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tangram.model.cards import Vendor
from tangram.model.devices import Device
from tangram.services.docker_host.additions import nodes_of
from tangram.services.docker_host.choosing import Chosen
from tangram.services.docker_host.engines import DOCKER, Engine, Version, unreachable
from tangram.services.docker_host.errors import HostError
from tangram.services.docker_host.maca import Folder
from tangram.units.na import known
from tangram.wire import jsontext, loose
from tangram.wire.cdi import CdiDevice, CdiDeviceNode, CdiMount, CdiSpec, spec_text
from tangram.wire.cdi_grants import MOUNT_OPTIONS
from tangram.wire.errors import WireError

KIND: Final = "metax-tech.com/gpu"
FILE: Final = "metax-tech.com-gpu.json"
USUAL_FOLDER: Final = "/etc/cdi"
ALL: Final = "all"


def host_spec(devices: Sequence[Device], folders: Sequence[Folder], on_host: Mapping[str, str]) -> str:
    """The file's content. Raises `HostError` for a host without MetaX cards."""
    cards = [
        device
        for device in devices
        if device.vendor is Vendor.METAX and known(device.virtual_functions, 0) == 0
    ]
    if not cards:
        raise HostError(
            "this host has no MetaX card to write a CDI file for; Moore Threads cards come with the vendor's "
            "container toolkit."
        )
    mounts = tuple(
        CdiMount(host_path=each.host, container_path=each.path, options=MOUNT_OPTIONS) for each in folders
    )
    named = {**{name: [card] for card in cards for name in (str(card.index), card.uuid)}, ALL: cards}
    try:
        return spec_text(
            CdiSpec(
                kind=KIND,
                version="0.5.0",
                devices=tuple(
                    CdiDevice(name=name, device_nodes=_nodes(some, on_host), mounts=mounts)
                    for name, some in named.items()
                ),
            )
        )
    except WireError as error:
        raise HostError(f"{error.sentence.rstrip('.')}.") from None


def check_speaks_cdi(engine: Engine, version: Version) -> None:
    """Raises `HostError` for a Docker that would not read the file."""
    if engine.name != DOCKER:
        return
    answer = engine.ask("info", "--format", "{{json .}}")
    try:
        told = loose.members(jsontext.parse(answer.out, "docker info"))
    except WireError:
        raise unreachable(engine, answer) from None
    if loose.elements(told.get("CDISpecDirs")):
        return
    major = version.server.partition(".")[0]
    if major.isdecimal() and int(major) >= 25:
        raise HostError(
            f"Docker {version.server} does not read CDI files as it is set up: write "
            '{"features": {"cdi": true}} into /etc/docker/daemon.json, restart Docker, then run this again.'
        )
    raise HostError(
        f"Docker {version.server} does not read CDI files: that came with Docker 25; until then, metax-docker run "
        "--gpus needs no such file."
    )


def write_spec(folder: Path, text: str) -> Path:
    """Put the file in place, complete or not at all. Raises `HostError`."""
    place = folder / FILE
    written = folder / f".{FILE}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written.write_text(text, encoding="utf-8")
        written.chmod(0o644)
        written.replace(place)
    except OSError as error:
        raise HostError(
            f"{place} cannot be written ({error.strerror}): run this as root, or name another folder with --dir."
        ) from None
    return place


def remove_spec(folder: Path) -> bool:
    """Take the file away; False where there was none. Raises `HostError`."""
    try:
        (folder / FILE).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise HostError(f"{folder / FILE} cannot be removed ({error.strerror}): run this as root.") from None
    return True


def _nodes(cards: Sequence[Device], on_host: Mapping[str, str]) -> tuple[CdiDeviceNode, ...]:
    paths = nodes_of(Chosen(vendor=Vendor.METAX, devices=tuple(cards)))
    return tuple(
        CdiDeviceNode(
            path=path, host_path="" if on_host.get(path, path) == path else on_host[path], permissions="rw"
        )
        for path in paths
    )
