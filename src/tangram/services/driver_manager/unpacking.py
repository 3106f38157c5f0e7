"""What lies in the host's /opt, and how something gets there: complete beside the old, or not at all.

Every folder of ours has in it the description of the payload that it was made from, written last before the folder gets
its name. So a folder with that file is whole and ours, and one without is somebody else's and is never touched. Names
that begin with a dot are work under way; whoever finds some throws them away.

Links are switched by renaming a new one over the old one: at no moment is there none. What the host had under the
link's name, a folder or a link of its own, is moved aside under a name of its own and comes back at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.problems import ProblemError, problem_of_files
from tangram.services.driver_manager.staged import Staged, corrupt, digest_of, source_of
from tangram.wire.errors import WireError
from tangram.wire.operator import names
from tangram.wire.operator.payloads import Payload, PayloadKind, module_path, read_payload

OPT: Final = "/opt"
MARKER: Final = ".tangram-payload.json"
IMAGE_MARKER: Final = ".tangram-image"
"""Beside it in folders of MXMACA: from which image it is. A payload does not say for which product it was built."""
ASIDE: Final = f"{names.DRIVER_LINK}.host"
SPARE: Final = 64 << 20
"""Bytes that stay free on the host's disk, whatever is unpacked."""

PREFIXES: Final[Mapping[PayloadKind, str]] = {PayloadKind.DRIVER: "mxdriver-", PayloadKind.MACA: "maca-"}
LINKS: Final[Mapping[PayloadKind, str]] = {
    PayloadKind.DRIVER: names.DRIVER_LINK,
    PayloadKind.MACA: names.MACA_LINK,
}


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of ours."""

    payload: Payload
    digest: str
    image: str = ""
    """Empty where nothing says so."""

    @property
    def folder(self) -> str:
        return f"{OPT}/{folder_name(self.payload.kind, self.payload.version)}"

    def modules(self, kernel: str) -> tuple[str, ...]:
        """The paths of a driver's modules on the host; empty for a kernel that it was not built for."""
        if kernel not in self.payload.kernels:
            return ()
        return tuple(f"{self.folder}/{module_path(kernel, module)}" for module in self.payload.modules)


class Owner(StrEnum):
    NOBODY = "nobody"
    OURS = "ours"
    HOST = "host"


class LinkState(msgspec.Struct, frozen=True):
    owner: Owner
    version: str = ""
    """Of ours."""


def folder_name(kind: PayloadKind, version: str) -> str:
    """As `mxdriver-2.32.0`."""
    return f"{PREFIXES[kind]}{version}"


def installed_in(disk: Disk, kind: PayloadKind) -> dict[str, Installed]:
    """The folders of ours, by version."""
    prefix = PREFIXES[kind]
    found: dict[str, Installed] = {}
    for name in disk.names_in(OPT):
        if not name.startswith(prefix) or not disk.is_folder(f"{OPT}/{name}"):
            continue
        try:
            text = disk.read(f"{OPT}/{name}/{MARKER}")
            payload = read_payload(text)
        except (OSError, WireError):
            continue
        if payload.kind is kind and name == folder_name(kind, payload.version):
            image = _image_of(disk, f"{OPT}/{name}")
            found[payload.version] = Installed(payload=payload, digest=digest_of(text), image=image)
    return found


def _image_of(disk: Disk, folder: str) -> str:
    try:
        return disk.read(f"{folder}/{IMAGE_MARKER}").decode(errors="replace")
    except OSError:
        return ""


def link_state(disk: Disk, kind: PayloadKind) -> LinkState:
    """Who made what stands under the link's name."""
    link = LINKS[kind]
    if not disk.is_there(link):
        return LinkState(Owner.NOBODY)
    target = disk.link_at(link)
    name = "" if target is None else target.removeprefix(f"{OPT}/")
    for version in installed_in(disk, kind):
        if name == folder_name(kind, version):
            return LinkState(Owner.OURS, version)
    # One of ours whose folder is gone: nobody else writes a link without a folder name before it.
    if target is not None and target.startswith(PREFIXES[kind]) and not disk.is_there(f"{OPT}/{target}"):
        return LinkState(Owner.OURS)
    return LinkState(Owner.HOST)


def unpack(disk: Disk, staged: Staged) -> None:
    """Install a payload beside whatever is there. Raises `ProblemError`, and then nothing of it is left."""
    kind = staged.payload.kind
    name = folder_name(kind, staged.version)
    final, new = f"{OPT}/{name}", f"{OPT}/.{name}.new"
    if disk.is_there(final) and staged.version not in installed_in(disk, kind):
        raise ProblemError(
            "folder-taken",
            f"{final} is there and not of driver-manager's making: move it away, or use another version",
        )
    try:
        disk.make_folder(OPT)
        disk.remove_tree(new)
        _check_room(disk, staged)
        try:
            _fill(disk, staged, new)
            # Its last version first: a folder cannot be put in the place of another.
            discard(disk, name)
            disk.rename(new, final)
        except Exception:
            disk.remove_tree(new)
            raise
    except OSError as error:
        raise problem_of_files(error, f"{staged.image} cannot be unpacked to {final}") from error


def discard(disk: Disk, name: str) -> None:
    """Take a folder of ours away; nobody sees half of it under its name."""
    gone = f"{OPT}/.{name}.gone"
    disk.remove_tree(gone)
    if disk.is_there(f"{OPT}/{name}"):
        disk.rename(f"{OPT}/{name}", gone)
        disk.remove_tree(gone)


def tidy(disk: Disk, kind: PayloadKind, in_use: Callable[[str], str]) -> None:
    """Throw away what was under way when somebody was killed, but for what a container has mounted."""
    prefix = f".{PREFIXES[kind]}"
    for name in disk.names_in(OPT):
        unfinished, unwanted = name.endswith(".new"), name.endswith(".gone")
        if not name.startswith(prefix) or not (unfinished or unwanted):
            continue
        if unfinished or not in_use(name.removeprefix(".").removesuffix(".gone")):
            disk.remove_tree(f"{OPT}/{name}")
    disk.remove(_next_link(kind))


def point(disk: Disk, kind: PayloadKind, version: str) -> None:
    """Let the link lead to a version of ours. What the host had there is expected to be out of the way."""
    new = _next_link(kind)
    disk.remove(new)
    disk.link(new, folder_name(kind, version))
    disk.rename(new, LINKS[kind])


def unpoint(disk: Disk, kind: PayloadKind) -> None:
    """Remove the link, if it is ours."""
    if link_state(disk, kind).owner is Owner.OURS:
        disk.remove(LINKS[kind])


def put_aside(disk: Disk) -> None:
    """Move the host's own /opt/mxdriver out of the way. Raises `ProblemError` when there is no room for it."""
    if disk.is_there(ASIDE):
        raise ProblemError(
            "aside-taken",
            f"{names.DRIVER_LINK} is the host's and should be moved to {ASIDE}, which is there already: remove one",
        )
    disk.rename(names.DRIVER_LINK, ASIDE)


def put_back(disk: Disk) -> None:
    """What was moved aside, to where it was."""
    if disk.is_there(ASIDE) and not disk.is_there(names.DRIVER_LINK):
        disk.rename(ASIDE, names.DRIVER_LINK)


def _next_link(kind: PayloadKind) -> str:
    return f"{OPT}/.{LINKS[kind].rpartition('/')[2]}.next"


def _check_room(disk: Disk, staged: Staged) -> None:
    free = disk.free(OPT)
    if free < staged.size + SPARE:
        raise ProblemError(
            "disk-full",
            f"{staged.image} needs {_mib(staged.size + SPARE)} MiB in {OPT} and {free >> 20} MiB are free: make room, "
            "it is tried again",
        )


def _mib(size: int) -> int:
    return -(-size // (1 << 20))


def _fill(disk: Disk, staged: Staged, new: str) -> None:
    disk.make_folder(new)
    made = {new}
    for path in sorted((*staged.payload.files, *staged.payload.links)):
        place = f"{new}/{_below(path)}"
        parent = place.rpartition("/")[0]
        if parent not in made:
            disk.make_folder(parent)
            made.add(parent)
        if path in staged.payload.links:
            disk.link(place, staged.payload.links[path])
            continue
        file = staged.payload.files[path]
        with source_of(staged, path).open("rb") as source:
            checksum, size = disk.copy(source, place, file.mode)
        if (checksum, size) != (file.sha256, file.size):
            raise corrupt(staged, path, "has another checksum than its description says")
    if staged.payload.kind is PayloadKind.MACA:
        disk.write(f"{new}/{IMAGE_MARKER}", staged.image.encode())
    disk.write(f"{new}/{MARKER}", staged.text)
    disk.settle()


def _below(path: str) -> str:
    """Programs lie in the folder itself, modules in a folder of it."""
    root, _, rest = path.partition("/")
    return path if root == "modules" else rest
