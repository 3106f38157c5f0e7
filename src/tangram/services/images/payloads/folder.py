"""A folder that is to become a payload: what is in it, judged before anything is written.

Whatever a node could not install is refused here, where a person can still mend it: a link that leads out of the
folder, a device, a kernel without a module. Set-user-id bits are dropped, because a payload's modes end at 0777.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tangram.services.images.errors import ImagesError
from tangram.wire.operator.payloads import PayloadKind

ROOTS: Final = {PayloadKind.DRIVER: ("modules", "mxdriver", "firmware"), PayloadKind.MACA: ("maca",)}
_MODULE: Final = ".ko"
_PACKED: Final = (".ko.xz", ".ko.zst", ".ko.gz")


class FoundFile(msgspec.Struct, frozen=True):
    path: str
    place: Path
    size: int
    mode: int


class Found(msgspec.Struct, frozen=True):
    """What a folder holds, in the order of its paths."""

    files: tuple[FoundFile, ...]
    links: dict[str, str]
    kernels: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(one.size for one in self.files)


def read_folder(folder: Path, kind: PayloadKind, modules: Sequence[str] = ()) -> Found:
    """The folder as a payload of this kind. `modules` is the order in which they are loaded, if there are several."""
    roots = ROOTS[kind]
    expected = " and ".join(f"{root}/" for root in roots)
    for entry in _entries(folder):
        if entry.name not in roots:
            raise ImagesError(
                f"{folder} has {entry.name!r:.120}, which is no part of a payload of the kind {kind}: that has "
                f"{expected} and nothing else."
            )
        if not entry.is_dir(follow_symlinks=False):
            raise ImagesError(f"{entry.path} is no folder: put the folder itself there, not a link to it.")
    files: list[FoundFile] = []
    links: dict[str, str] = {}
    for entry in _walk(folder):
        path = os.path.relpath(entry.path, folder)
        _refuse_odd_name(path)
        if entry.is_symlink():
            links[path] = _target(entry, folder / path.partition("/")[0])
        else:
            files.append(_file(entry, path))
    found = Found(tuple(sorted(files, key=lambda one: one.path)), dict(sorted(links.items())))
    if not files:
        raise ImagesError(f"{folder} is empty: a payload of the kind {kind} has {expected}.")
    return found if kind is PayloadKind.MACA else _driver(folder, found, modules)


def _driver(folder: Path, found: Found, order: Sequence[str]) -> Found:
    held: dict[str, set[str]] = {}
    for one in found.files:
        root, *rest = one.path.split("/")
        if root != "modules":
            continue
        if one.path.endswith(_PACKED):
            raise ImagesError(f"{one.place} is compressed: unpack it, modules are loaded as {_MODULE} files.")
        if len(rest) != 2 or not rest[1].endswith(_MODULE):
            raise ImagesError(
                f"{one.place} is no module of a kernel: modules are modules/KERNEL/NAME{_MODULE}, with KERNEL as "
                f"`uname -r` prints it."
            )
        held.setdefault(rest[0], set()).add(rest[1].removesuffix(_MODULE))
    if not held:
        raise ImagesError(
            f"{folder} has no modules/KERNEL/NAME{_MODULE}: a driver needs at least one module for one kernel."
        )
    every = sorted(set[str]().union(*held.values()))
    if order and (sorted(order) != every):
        raise ImagesError(
            f"--module names {', '.join(order)}, and {folder / 'modules'} holds {', '.join(every)}: name each once."
        )
    if not order and len(every) > 1:
        words = " ".join(f"--module {name}" for name in every)
        raise ImagesError(
            f"{folder / 'modules'} holds {', '.join(every)}: say in which order they are loaded, such as {words}."
        )
    for kernel, names in sorted(held.items()):
        if missing := sorted(set(every) - names):
            raise ImagesError(
                f"{folder / 'modules' / kernel} has no {missing[0]}{_MODULE}, which other kernels have: each kernel "
                f"needs every module."
            )
    return msgspec.structs.replace(found, kernels=tuple(sorted(held)), modules=tuple(order) or tuple(every))


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below that is no folder."""
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))
        else:
            yield entry


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise ImagesError(
            f"{folder} cannot be read ({error.strerror}): name a folder that you may read."
        ) from None


def _file(entry: os.DirEntry[str], path: str) -> FoundFile:
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise ImagesError(
            f"{entry.path} is a device, a pipe or a socket: a payload has files and links only."
        )
    if not os.access(entry.path, os.R_OK):
        raise ImagesError(f"{entry.path} cannot be read: give yourself the right to, or run this as root.")
    return FoundFile(path, Path(entry.path), status.st_size, stat.S_IMODE(status.st_mode) & 0o777)


def _target(entry: os.DirEntry[str], root: Path) -> str:
    target = str(Path(entry.path).readlink())
    _refuse_odd_name(target)
    if target.startswith("/"):
        raise ImagesError(
            f"{entry.path} is a link to {target}, an absolute path: on a node that is another folder; make it relative."
        )
    # Link by link, as the kernel follows it: a chain can lead out although each of its links looks harmless.
    leads = os.path.realpath(entry.path)
    inside = os.path.realpath(root)
    if leads != inside and not leads.startswith(f"{inside}/"):
        raise ImagesError(f"{entry.path} is a link to {target}, which leads out of {root}: remove it.")
    return target


def _refuse_odd_name(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ImagesError(
            f"{path!r:.200} is no name in UTF-8, which payloads are written in: rename it."
        ) from None
