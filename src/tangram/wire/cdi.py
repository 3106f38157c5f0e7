"""Container Device Interface specs: the file that tells a container runtime what a device name stands for.

A runtime that dislikes a spec says so in its own log and then only reports the device as unknown. So everything it
would dislike is refused here, with a sentence. Two rules are not in the text and bind whoever writes the file. The
temporary file lies in the same directory, under a name that is no spec's, and is renamed: runtimes watch for that and
miss a file that is moved in from elsewhere. And a device name never gets a second meaning: they keep what they read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from tangram.wire import jsontext
from tangram.wire.errors import WireError, shown

CDI_VERSION: Final = "0.6.0"
"""The oldest that allows all that is written here: runtimes refuse versions newer than themselves."""

# Two characters at least: containerd 2.3 dies of a spec whose vendor or class has one, and again at every start.
_KIND_PART = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]")
_DEVICE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?")
_ENV_NAME = re.compile(r"[^=\0]+")
_ANNOTATION_KEY = re.compile(
    r"[a-z0-9](?:[a-z0-9.-]{0,200}[a-z0-9])?/[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
)
_PERMISSIONS = re.compile(r"r?w?m?")
_LONGEST_FILE_NAME = 255


class CdiDeviceNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A device file. Type and numbers may be left out: the runtime then takes them from the file on the host."""

    path: str
    host_path: str = ""
    """Where it is on the host, if elsewhere."""
    type: Literal["", "b", "c", "u", "p"] = ""
    major: int = 0
    minor: int = 0
    permissions: str = ""


class CdiMount(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    host_path: str
    container_path: str
    options: tuple[str, ...] = ()
    """As for mount(8), such as ro, nosuid, nodev, bind."""


class CdiDevice(msgspec.Struct, frozen=True, kw_only=True):
    """What one name adds to a container."""

    name: str
    env: Mapping[str, str] = {}
    device_nodes: tuple[CdiDeviceNode, ...] = ()
    mounts: tuple[CdiMount, ...] = ()
    annotations: Mapping[str, str] = {}
    """Remarks of the writer; runtimes pass over them."""


class CdiSpec(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    """vendor/class"""
    devices: tuple[CdiDevice, ...]
    version: Literal["0.5.0", "0.6.0"] = CDI_VERSION
    """0.5.0, which knows no annotations, for engines that are older: podman 4.3 refuses what is newer."""


def qualified_name(kind: str, device: str) -> str:
    """The name by which a container asks for the device: `vendor/class=device`. Raises `WireError`."""
    _split_kind(kind)
    _check_device_name(device)
    return f"{kind}={device}"


def spec_file_name(kind: str, owner: str) -> str:
    """The name of a spec file that lives as long as its owner, such as a container. Raises `WireError`."""
    vendor, device_class = _split_kind(kind)
    name = f"{vendor}-{device_class}_{owner.replace('/', '_')}.json"
    if not owner or "\0" in owner or not _fits(name):
        raise WireError(
            "cdi-file-name",
            f"{shown(owner)} cannot be part of a file's name: it must be there, in UTF-8, and short enough for "
            f"{_LONGEST_FILE_NAME} bytes in all",
        )
    return name


def spec_text(spec: CdiSpec) -> str:
    """The file's content. Raises `WireError` for what a runtime would refuse."""
    _split_kind(spec.kind)
    names = [device.name for device in spec.devices]
    if not names or len(set(names)) != len(names):
        raise WireError(
            "cdi-devices",
            f"a CDI spec of {spec.kind} lists {shown(','.join(names))}: it needs devices, each once",
        )
    return jsontext.pretty(
        {
            "cdiVersion": spec.version,
            "kind": spec.kind,
            "devices": [_device(device) for device in spec.devices],
        },
        "a CDI spec",
    )


def _device(device: CdiDevice) -> dict[str, object]:
    edits = _edits(device)
    remarks: dict[str, object] = {"annotations": dict(device.annotations)} if device.annotations else {}
    return {"name": device.name, **remarks, "containerEdits": edits}


def _edits(device: CdiDevice) -> dict[str, object]:
    _check_device_name(device.name)
    for key in device.annotations:
        if not _ANNOTATION_KEY.fullmatch(key):
            raise WireError(
                "cdi-annotation",
                f"CDI device {device.name} has the annotation {shown(key)}: a key is written domain/name",
            )
    for name, value in device.env.items():
        if not _ENV_NAME.fullmatch(name) or "\0" in value:
            raise WireError("cdi-env", f"CDI device {device.name} sets {shown(name)}, which is no variable")
    for node in device.device_nodes:
        _check_node(device.name, node)
    for mount in device.mounts:
        for path in (mount.host_path, mount.container_path):
            _check_path(device.name, path)
    edits: dict[str, object] = {
        "env": [f"{name}={value}" for name, value in device.env.items()],
        "deviceNodes": device.device_nodes,
        "mounts": device.mounts,
    }
    given = {name: edit for name, edit in edits.items() if edit}
    if not given:
        raise WireError(
            "cdi-empty",
            f"CDI device {device.name} adds nothing to a container: a runtime refuses such a spec whole",
        )
    return given


def _check_node(device: str, node: CdiDeviceNode) -> None:
    _check_path(device, node.path)
    if node.host_path:
        _check_path(device, node.host_path)
    if not _PERMISSIONS.fullmatch(node.permissions):
        raise WireError(
            "cdi-permissions",
            f"CDI device {device} gives {node.path} the permissions {shown(node.permissions)}: "
            "they are letters of rwm, in this order",
        )


def _check_path(device: str, path: str) -> None:
    if not path.startswith("/") or "\0" in path:
        raise WireError("cdi-path", f"CDI device {device} names {shown(path)}, which is no absolute path")


def _check_device_name(name: str) -> None:
    if not _DEVICE_NAME.fullmatch(name):
        raise WireError(
            "cdi-name",
            f"{shown(name)} is no CDI device's name: it begins and ends with a letter or digit, "
            "with letters, digits and _-.: between",
        )


def _split_kind(kind: str) -> tuple[str, str]:
    vendor, _, device_class = kind.partition("/")
    if not (_KIND_PART.fullmatch(vendor) and _KIND_PART.fullmatch(device_class)):
        raise WireError(
            "cdi-kind",
            f"{shown(kind)} is no CDI kind: it is vendor/class, each of two characters or more, beginning with a "
            "letter, ending with a letter or digit, with letters, digits and _-. between",
        )
    return vendor, device_class


def _fits(name: str) -> bool:
    try:
        return len(name.encode()) <= _LONGEST_FILE_NAME
    except UnicodeEncodeError:
        return False
