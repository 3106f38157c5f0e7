"""What a container was really given, as its runtime would find it: the Allocate answers and the CDI files they name.

It reads the files that the real agent wrote and nothing else, so that what a container's log tells is the truth of the
grant and not what somebody meant it to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tangram.model.grants import Grant
from tangram.wire import jsontext, loose
from tangram.wire.cdi_grants import read_grant
from tangram.wire.errors import WireError
from tangram.wire.kubelet.deviceplugin import ContainerAllocateResponse

CDI_ANNOTATION: Final = "cdi.k8s.io/"


class Unresolved(Exception):  # noqa: N818 - says what is the case
    """CDI names that mean nothing; the sentence is the runtime's."""


class Gifts(msgspec.Struct, frozen=True, kw_only=True):
    environment: dict[str, str] = {}
    nodes: tuple[str, ...] = ()
    """Device nodes, by their paths in the container."""
    grants: tuple[Grant, ...] = ()
    """The records that our agent left in its files."""


def gifts_of(answers: Iterable[ContainerAllocateResponse], folder: Path) -> Gifts:
    """Everything that these answers bring. Raises `Unresolved`."""
    environment: dict[str, str] = {}
    nodes: dict[str, None] = {}
    grants: list[Grant] = []
    names: dict[str, None] = {}
    for answer in answers:
        environment |= dict(answer.envs)
        nodes |= dict.fromkeys(device.container_path for device in answer.devices)
        names |= dict.fromkeys(device.name for device in answer.cdi_devices)
        for key, value in answer.annotations.items():
            if key.startswith(CDI_ANNOTATION):
                names |= dict.fromkeys(name.strip() for name in value.split(",") if name.strip())
    known = _devices_in(folder) if names else {}
    missing = [name for name in names if name not in known]
    if missing:
        raise Unresolved(f"CDI device injection failed: unresolvable CDI devices {', '.join(missing)}")
    for name in names:
        content, device = known[name]
        edits = loose.members(device.get("containerEdits"))
        for each in loose.elements(edits.get("env")):
            variable, _, value = loose.text(each).partition("=")
            environment[variable] = value
        for each in loose.elements(edits.get("deviceNodes")):
            nodes[loose.text(loose.members(each).get("path"))] = None
        try:
            grants.append(read_grant(content))
        except WireError:
            # Somebody else's file: its devices count, and it has no record of ours.
            continue
    return Gifts(environment=environment, nodes=tuple(nodes), grants=tuple(grants))


def _devices_in(folder: Path) -> dict[str, tuple[str, Mapping[str, object]]]:
    """Every CDI device that the files of the folder define, by its full name; one that two define is nobody's."""
    found: dict[str, tuple[str, Mapping[str, object]]] = {}
    twice: set[str] = set()
    paths: Sequence[Path] = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in paths:
        if path.suffix != ".json":
            continue
        try:
            content = path.read_text("utf-8")
            spec = loose.members(jsontext.parse(content, "a CDI spec"))
        except (OSError, UnicodeDecodeError, WireError):
            continue
        for device in map(loose.members, loose.elements(spec.get("devices"))):
            name = f"{loose.text(spec.get('kind'))}={loose.text(device.get('name'))}"
            if name in found:
                twice.add(name)
            found[name] = (content, device)
    return {name: each for name, each in found.items() if name not in twice}
