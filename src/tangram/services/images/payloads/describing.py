"""What a payload is to say of itself in `payload.json`. What the format refuses becomes a sentence here."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.folder import Found
from tangram.wire.errors import WireError
from tangram.wire.operator.payloads import Payload, PayloadFile, PayloadKind, payload_text


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the payload is to say of itself."""

    kind: PayloadKind
    version: str
    architecture: str
    name: str
    requires: tuple[str, ...] = ()


def refuse_early(found: Found, wish: Wish) -> None:
    """What the format does not allow, before an hour of compressing."""
    empty = PayloadFile("0" * 64, 0)
    text_of(describe(found, wish, dict.fromkeys((one.path for one in found.files), empty)))


def describe(found: Found, wish: Wish, files: Mapping[str, PayloadFile]) -> Payload:
    """The payload with these files."""
    try:
        return msgspec.convert(
            {
                "format": 1,
                "kind": wish.kind,
                "version": wish.version,
                "architecture": wish.architecture,
                "kernels": found.kernels,
                "modules": found.modules,
                "requires": wish.requires,
                "files": files,
                "links": found.links,
            },
            Payload,
        )
    except msgspec.ValidationError as error:
        raise ImagesError(f"The folder cannot be described as a payload: {error}.") from None


def text_of(payload: Payload) -> bytes:
    """The exact bytes of the file."""
    try:
        return payload_text(payload).encode()
    except WireError as error:
        raise ImagesError(f"The folder cannot be described as a payload: {error}.") from None
