"""A folder as an image archive that `tangram images push` and `load`, containerd and docker take.

The image has one layer and no program: what it holds is copied out of it by a program that the node brings. The same
folder gives the same bytes, and no clock is read.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.describing import Wish, refuse_early
from tangram.services.images.payloads.documents import documents_of, write_archive
from tangram.services.images.payloads.folder import Found
from tangram.services.images.payloads.layer import write_layer
from tangram.wire.operator.payloads import Payload

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class Built(msgspec.Struct, frozen=True):
    file: str
    image: str
    digest: str
    """Of the manifest."""
    size: int
    """Bytes that a node downloads."""
    payload: Payload
    signed: bool


def build(
    found: Found,
    wish: Wish,
    output: Path,
    *,
    key: Ed25519PrivateKey | None = None,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> Built:
    """Write the archive. On any failure there is neither a file nor a part of one."""
    refuse_early(found, wish)
    work = output.with_name(f".{output.name}.layer")
    beside = output.with_name(f".{output.name}.part")
    try:
        with work.open("wb") as file:
            layer = write_layer(found, wish, file, key, on_bytes)
        size = work.stat().st_size
        documents = documents_of(wish, layer, size)
        write_archive(beside, wish, documents, layer.digest, work)
        beside.replace(output)
    except OSError as error:
        raise ImagesError(
            f"{output} cannot be written ({error.strerror}): make room there, or name another place."
        ) from None
    finally:
        for path in (work, beside):
            with suppress(OSError):
                path.unlink(missing_ok=True)
    total = size + len(documents.config) + len(documents.manifest)
    return Built(str(output), wish.name, documents.digest, total, layer.payload, key is not None)
