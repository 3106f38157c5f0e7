"""Which MXMACA a pod wants to see where its node brings one: the node's, a version of it, or the image's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tangram.model.refusals import Refusal
from tangram.vendors.codes import Code
from tangram.vendors.metax.names import MACA
from tangram.vendors.wording import annotated, sentence

IMAGE: Final = "image"
"""What the image has is left as it is."""
_VERSION = re.compile(r"[0-9][0-9A-Za-z._+-]{0,62}")
"""As payloads are numbered; no such text leads out of its folder."""


def read_maca(annotations: Mapping[str, str]) -> str | Refusal | None:
    """`image`, a version, or None for whichever the node has by default."""
    text = annotations.get(MACA)
    if text is None or text == IMAGE or _VERSION.fullmatch(text):
        return text
    return Refusal(
        Code.MACA_UNKNOWN,
        sentence(
            annotated(MACA, text),
            "it is image, for the MXMACA of the image, or a version that nodes have, such as 2.23.0.4",
            "write one of these, or remove it for the version that is the node's default",
        ),
    )
