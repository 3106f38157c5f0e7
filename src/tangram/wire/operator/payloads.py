"""`payload.json`: what a payload image says of the driver or of the MXMACA stack that it carries.

An image is a payload when it has this file in `/payload`. Paths in it are relative to that folder. A file that is not
listed is not installed, and a listed one must have exactly that checksum, so nothing arrives half or altered.

    {"format": 1, "kind": "driver", "version": "2.32.0", "architecture": "amd64",
     "kernels": ["5.15.0-91-generic"], "modules": ["metax"], "requires": ["drm", "ttm"],
     "files": {"modules/5.15.0-91-generic/metax.ko": {"sha256": "...", "size": 1, "mode": 420},
               "mxdriver/bin/mx-smi": {...}}}

A driver's modules are `modules/<kernel>/<module>.ko`, its programs and libraries `mxdriver/`, its firmware
`firmware/`. MXMACA is `maca/`. Links are written in `links`, because checksums are of files.
`payload.sig`, if there is one, is an Ed25519 signature (64 bytes) of the exact bytes of `payload.json`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal

import msgspec

from tangram.wire import jsontext
from tangram.wire.errors import WireError, shown

FILE: Final = "payload.json"
SIGNATURE: Final = "payload.sig"
FOLDER: Final = "/payload"
VERSION: Final = re.compile(r"[0-9][0-9A-Za-z._+-]{0,62}")
_KERNEL: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+~-]{0,127}")
_MODULE: Final = re.compile(r"[a-z][a-z0-9_]{0,55}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MOST_LINKS: Final = 40
_ROOTS: Final = {"driver": ("modules", "mxdriver", "firmware"), "maca": ("maca",)}


class PayloadKind(StrEnum):
    DRIVER = "driver"
    MACA = "maca"


class PayloadFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str
    size: int
    mode: int = 0o644


class Payload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    format: Literal[1]
    kind: PayloadKind
    version: str
    architecture: Literal["amd64", "arm64"]
    kernels: tuple[str, ...] = ()
    """Releases as `uname -r` prints them; of a driver only."""
    modules: tuple[str, ...] = ()
    """In the order in which they are loaded."""
    requires: tuple[str, ...] = ()
    """Modules of the kernel's own that are loaded first."""
    files: Mapping[str, PayloadFile] = {}
    links: Mapping[str, str] = {}
    """Path of the link to what it points to, which stays inside its payload."""


def payload_folder(image: str) -> str:
    """The folder below `names.PAYLOADS` for the content of an image, by its full reference.

    People see which image it is; the rest of the name tells apart two registries with images of the same name.
    """
    readable = re.sub(r"[^0-9A-Za-z._-]+", "-", image.rpartition("/")[2])[:80].strip("-._")
    return f"{readable or 'image'}-{hashlib.sha256(image.encode()).hexdigest()[:10]}"


def module_path(kernel: str, module: str) -> str:
    """Where a driver's module for a kernel is in its payload."""
    return f"modules/{kernel}/{module}.ko"


def payload_text(payload: Payload) -> str:
    """The file. Raises `WireError`."""
    _check(payload)
    return jsontext.pretty(payload, FILE) + "\n"


def read_payload(text: bytes | str) -> Payload:
    """The payload that a file describes. Raises `WireError` with what is wrong with it."""
    try:
        payload = msgspec.json.decode(text, type=Payload)
    except (ValueError, RecursionError) as error:
        raise WireError("payload-unreadable", f"{FILE} cannot be read: {error}") from error
    _check(payload)
    return payload


def _check(payload: Payload) -> None:
    if not VERSION.fullmatch(payload.version):
        raise _refusal("version", payload.version, "a number and what belongs to it, such as 2.32.0")
    for kernel in payload.kernels:
        if not _KERNEL.fullmatch(kernel):
            raise _refusal("kernels", kernel, "a release as uname -r prints it")
    for module in (*payload.modules, *payload.requires):
        if not _MODULE.fullmatch(module):
            raise _refusal("modules", module, "the name of a kernel module, such as metax")
    for path, file in payload.files.items():
        _check_path(payload, path)
        if not _SHA256.fullmatch(file.sha256) or file.size < 0 or not 0 <= file.mode <= 0o777:
            raise _refusal("files", path, "given with its sha256, its size and a mode up to 0777")
    for path, target in payload.links.items():
        _check_path(payload, path)
        if path in payload.files or not _stays_inside(path, target, payload.links):
            raise _refusal("links", f"{path} -> {target}", "a link to something in the same payload")
    _check_folders(payload)
    if payload.kind is PayloadKind.DRIVER:
        _check_driver(payload)


def _check_driver(payload: Payload) -> None:
    if not payload.modules or not payload.kernels:
        raise WireError("payload-empty", f"{FILE} of a driver names no modules or no kernels; it needs both")
    for kernel in payload.kernels:
        for module in payload.modules:
            if module_path(kernel, module) not in payload.files:
                raise WireError(
                    "payload-incomplete", f"{FILE} lists kernel {kernel} but no {module_path(kernel, module)}"
                )


def _check_path(payload: Payload, path: str) -> None:
    parts = path.split("/")
    roots = _ROOTS[payload.kind]
    plain = not {"", "..", "."} & set(parts) and "\0" not in path
    if not plain or len(parts) < 2 or parts[0] not in roots:
        raise _refusal("files", path, f"below {' or '.join(f'{root}/' for root in roots)}, without . and ..")


def _check_folders(payload: Payload) -> None:
    """What lies below a link would be written to wherever that leads."""
    seen: set[str] = set()
    for path in (*payload.files, *payload.links):
        folder = path.rpartition("/")[0]
        while "/" in folder and folder not in seen:
            if folder in payload.links or folder in payload.files:
                raise _refusal("files", path, f"in a folder, and {folder} is a file or a link")
            seen.add(folder)
            folder = folder.rpartition("/")[0]


def _stays_inside(path: str, target: str, links: Mapping[str, str]) -> bool:
    """Followed link by link, as a kernel would: a chain can lead out although each of its links looks harmless."""
    if not target or target.startswith("/") or "\0" in target:
        return False
    root, *place = path.split("/")[:-1]
    left = target.split("/")[::-1]
    followed = 0
    while left:
        part = left.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not place:
                return False
            place.pop()
            continue
        place.append(part)
        further = links.get("/".join((root, *place)))
        if further is None:
            continue
        followed += 1
        if followed > _MOST_LINKS or not further or further.startswith("/"):
            # Without end, or refused where it is itself looked at.
            return followed <= _MOST_LINKS
        place.pop()
        left += further.split("/")[::-1]
    return True


def _refusal(field: str, value: str, legal: str) -> WireError:
    return WireError("payload-invalid", f"{FILE}: {field} has {shown(value)}: it must be {legal}")
