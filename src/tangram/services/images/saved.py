"""Images as `docker save` writes them: MXMACA comes like this, and so does what people saved themselves.

Such an archive has a configuration, layers, and `manifest.json`, which names both; what a registry calls an image's
manifest is not in it and is made here. Layers are taken as they are. Most are not compressed, and their digest is then
the one that the configuration states, so the same file has the same digests whoever pushes it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from tangram.services.images.errors import UNREADABLE
from tangram.services.images.spooling import Place

DOCUMENT: Final = "manifest.json"
CONFIG: Final = "application/vnd.oci.image.config.v1+json"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_BLOB: Final = re.compile(r"blobs/sha256/([0-9a-f]{64})")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_TAG: Final = re.compile(
    r"(?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]{1,5})?/)?(?:[a-z0-9][a-z0-9._-]*/)*[a-z0-9][a-z0-9._-]*:\w[\w.-]{0,127}",
    re.ASCII,
)
"""It becomes a part of addresses and of command lines."""


class Saved(msgspec.Struct, frozen=True):
    """One image of such an archive, still in its words."""

    names: tuple[str, ...]
    architecture: str
    os: str
    config: Blob
    layers: tuple[Blob, ...]


class Blob(msgspec.Struct, frozen=True):
    media_type: str
    digest: str
    place: Place


class BrokenError(Exception):
    """What is wrong with an archive, as a part of a sentence."""


class _Entry(
    msgspec.Struct, frozen=True, rename={"config": "Config", "tags": "RepoTags", "layers": "Layers"}
):
    config: str
    layers: list[str]
    tags: list[str] | None = None


class _Root(msgspec.Struct, frozen=True):
    diff_ids: list[str] = []


class _Config(msgspec.Struct, frozen=True):
    architecture: str = ""
    os: str = ""
    rootfs: _Root = _Root()


def read_saved(
    members: Mapping[str, Place], content: Callable[[Place, int], bytes], *, otherwise: str
) -> Iterator[Saved]:
    """The images of an archive. `content` reads the beginning of a place, `otherwise` names an image without a name."""
    try:
        listed = msgspec.json.decode(content(members[DOCUMENT], 4 << 20), type=list[_Entry])
    except UNREADABLE as error:
        raise BrokenError(f"{DOCUMENT} cannot be read ({error})") from None
    if not listed:
        raise BrokenError("it holds no image")
    for entry in listed:
        yield _read(entry, members, content, otherwise)


def _read(
    entry: _Entry, members: Mapping[str, Place], content: Callable[[Place, int], bytes], otherwise: str
) -> Saved:
    place = _place(members, entry.config, "its configuration")
    text = content(place, 4 << 20)
    try:
        config = msgspec.json.decode(text, type=_Config)
    except UNREADABLE as error:
        raise BrokenError(f"{entry.config:.80} cannot be read ({error})") from None
    stated = config.rootfs.diff_ids
    if len(stated) != len(entry.layers) or any(_DIGEST.fullmatch(one) is None for one in stated):
        raise BrokenError(
            f"{DOCUMENT} names {len(entry.layers)} layers, and the image's configuration states {len(stated)}"
        )
    if not config.architecture or not config.os:
        raise BrokenError(f"{entry.config:.80} does not say which machines the image is for")
    names = tuple(entry.tags or ()) or ((otherwise,) if otherwise else ())
    if not names:
        raise BrokenError("its image has no name; save it by its name, as in `docker save NAME:TAG`")
    for name in names:
        if _TAG.fullmatch(name) is None:
            raise BrokenError(f"{name!r:.120} is no name and version of an image")
    layers = tuple(
        _layer(members, path, diff, content) for path, diff in zip(entry.layers, stated, strict=True)
    )
    own = f"sha256:{hashlib.sha256(text).hexdigest()}"
    return Saved(names, config.architecture, config.os, Blob(CONFIG, own, place), layers)


def _layer(
    members: Mapping[str, Place], path: str, diff: str, content: Callable[[Place, int], bytes]
) -> Blob:
    place = _place(members, path, "a layer")
    head = content(place, 4)
    named = _BLOB.fullmatch(path)
    kind = "+gzip" if head.startswith(_GZIP) else "+zstd" if head.startswith(_ZSTD) else ""
    if not kind:
        return Blob(LAYER, diff, place)
    if named is None:
        raise BrokenError(f"{path:.80} is compressed, and nothing in it says which digest it has")
    return Blob(f"{LAYER}{kind}", f"sha256:{named[1]}", place)


def _place(members: Mapping[str, Place], path: str, what: str) -> Place:
    found = members.get(path.removeprefix("./"))
    if found is None:
        raise BrokenError(f"{what}, {path:.100}, which {DOCUMENT} names, is not in it")
    return found
