"""The payloads that lie on this node: whether one is there, whole, meant for this machine and signed by whom it should.

A payload is judged before anything of the host is touched. Its description has the checksum of every file; the files
are held to it while they are copied (`unpacking`), so that what is installed is what was checked, and gigabytes are
read once. Here their presence and size are looked at, which costs nothing.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tangram.services.driver_manager.problems import ProblemError
from tangram.wire.errors import WireError
from tangram.wire.operator.payloads import (
    FILE,
    SIGNATURE,
    Payload,
    PayloadKind,
    payload_folder,
    read_payload,
)

ARCHITECTURES: Final[Mapping[str, str]] = {"x86_64": "amd64", "aarch64": "arm64"}
"""By what the kernel calls the machine."""
RESERVED: Final = ("mxdriver/modules", "mxdriver/firmware")
"""Names that the driver's folder has for other things than its programs."""

Checks = Callable[[bytes, bytes], bool]
"""Whether a signature (second) is one of these bytes (first)."""


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What a payload must fit."""

    kernel: str
    machine: str
    signed_by: Checks | None = None


class Staged(msgspec.Struct, frozen=True, kw_only=True):
    """A payload that may be installed here."""

    image: str
    folder: Path
    payload: Payload
    text: bytes
    """Its description, byte for byte."""

    @property
    def digest(self) -> str:
        return digest_of(self.text)

    @property
    def version(self) -> str:
        return self.payload.version

    @property
    def size(self) -> int:
        return sum(file.size for file in self.payload.files.values())


def digest_of(text: bytes) -> str:
    """What tells one payload from another."""
    return hashlib.sha256(text).hexdigest()


def find(payloads: Path, image: str, kind: PayloadKind, ground: Ground) -> Staged:
    """The payload of an image. Raises `ProblemError` with what is the matter."""
    folder = payloads / payload_folder(image)
    text = _description(folder, image)
    if ground.signed_by is not None:
        _check_signature(folder, text, image, ground.signed_by)
    try:
        payload = read_payload(text)
    except WireError as error:
        raise ProblemError(error.code, f"the payload {image}: {error.sentence}; build it anew") from error
    staged = Staged(image=image, folder=folder, payload=payload, text=text)
    _check_fit(staged, kind, ground)
    _check_files(staged)
    return staged


def corrupt(staged: Staged, path: str, what: str) -> ProblemError:
    """A file that is not what the description says."""
    return ProblemError(
        "payload-corrupt",
        f"the payload {staged.image} is damaged: {path} {what}; push the image again under another tag",
    )


def source_of(staged: Staged, path: str) -> Path:
    """The file of a payload. Raises `ProblemError` for one that is no plain file inside it."""
    place = staged.folder / path
    try:
        plain = stat.S_ISREG(place.lstat().st_mode)
        inside = place.resolve().is_relative_to(staged.folder.resolve())
    except OSError as error:
        raise corrupt(staged, path, f"cannot be read ({error.strerror})") from error
    if not plain or not inside:
        raise corrupt(staged, path, "is no plain file")
    return place


def _description(folder: Path, image: str) -> bytes:
    try:
        return (folder / FILE).read_bytes()
    except FileNotFoundError:
        why = (
            f"the payload {image} is not on this node yet: its pod copies it to {folder.name} in the node's folder of "
            "payloads; if this stays, look whether the image can be pulled (kubectl describe pod, of metax-payloads) "
            "and has /payload/payload.json"
        )
        raise ProblemError("payload-absent", why) from None
    except OSError as error:
        raise ProblemError(
            "payload-unreadable", f"the payload {image} cannot be read at {folder}: {error.strerror}"
        ) from error


def _check_signature(folder: Path, text: bytes, image: str, signed_by: Checks) -> None:
    try:
        signature = (folder / SIGNATURE).read_bytes()
    except OSError:
        raise ProblemError(
            "signature-missing",
            f"the payload {image} is not signed, and a public key is given (--public-key): sign its {FILE} "
            f"(Ed25519, 64 bytes in {SIGNATURE}), or give no key",
        ) from None
    if not signed_by(text, signature):
        raise ProblemError(
            "signature-bad",
            f"the signature of the payload {image} is not one of its {FILE} by the key that is given: sign it with "
            "that key, or give the key that it was signed with",
        )


def _check_fit(staged: Staged, kind: PayloadKind, ground: Ground) -> None:
    payload, image = staged.payload, staged.image
    if payload.kind is not kind:
        raise ProblemError(
            "payload-kind",
            f"the payload {image} is of kind {payload.kind}, and one of kind {kind} is needed: name the right image",
        )
    machine = ARCHITECTURES.get(ground.machine, ground.machine)
    if payload.architecture != machine:
        raise ProblemError(
            "wrong-architecture",
            f"the payload {image} is for {payload.architecture}, and this machine is {machine}: use an image for it",
        )
    if kind is not PayloadKind.DRIVER:
        return
    if ground.kernel not in payload.kernels:
        raise ProblemError(
            "wrong-kernel",
            f"the payload {image} has modules for {', '.join(payload.kernels)}, and this node runs {ground.kernel}: "
            "use a payload that was built for it",
        )
    for path in (*payload.files, *payload.links):
        if path.startswith("firmware/") or any(
            path == name or path.startswith(f"{name}/") for name in RESERVED
        ):
            raise ProblemError(
                "payload-firmware",
                f"the payload {image} brings {path}: firmware is the host's, in /lib/firmware/metax, and not "
                "installed by driver-manager; install the vendor's firmware package and build the payload without it",
            )


def _check_files(staged: Staged) -> None:
    """One look at each: there are tens of thousands, and they are looked at for as long as the node lives."""
    folders: set[str] = set()
    for path, file in staged.payload.files.items():
        _check_folder(staged, path.rpartition("/")[0], folders)
        found = _status(staged, path)
        if not stat.S_ISREG(found.st_mode):
            raise corrupt(staged, path, "is no plain file")
        if found.st_size != file.size:
            raise corrupt(staged, path, f"has {found.st_size} bytes and should have {file.size}")


def _check_folder(staged: Staged, path: str, known: set[str]) -> None:
    if not path or path in known:
        return
    _check_folder(staged, path.rpartition("/")[0], known)
    if not stat.S_ISDIR(_status(staged, path).st_mode):
        raise corrupt(staged, path, "is no folder")
    known.add(path)


def _status(staged: Staged, path: str) -> os.stat_result:
    try:
        return os.lstat(f"{staged.folder}/{path}")
    except OSError as error:
        raise corrupt(staged, path, f"cannot be read ({error.strerror})") from error
