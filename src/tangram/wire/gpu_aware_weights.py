"""The ConfigMap that weighs topology: how much good cards count, and how much the damage to the rest.

Numbers are texts there, as MetaX's charts write them, and they are read exactly: two nodes that are equally good must
stay so, whatever their figures are multiplied with. A weight below zero would turn its meaning round and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

import msgspec

from tangram.wire import loose
from tangram.wire.errors import WireError, shown

CONFIG_MAP: Final = "gpu-aware-weight"
SCORE: Final = "score"
LOSS: Final = "loss"
KEYS: Final = (SCORE, LOSS)

# With figures of 32 bits, products of these are exact in the 28 digits of a decimal.
_WEIGHT = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")


class Weights(msgspec.Struct, frozen=True):
    """What a node is worth: `score` times its score, less `loss` times its loss."""

    score: Decimal = Decimal("1.0")
    loss: Decimal = Decimal("0.5")

    def __str__(self) -> str:
        return f"{SCORE} {self.score}, {LOSS} {self.loss}"


def read_weights(data: Mapping[str, object]) -> Weights:
    """The weights in a ConfigMap's data; a key that is not there has its usual value. Raises `WireError`."""
    usual = Weights()
    return Weights(_weight(data, SCORE, usual.score), _weight(data, LOSS, usual.loss))


def _weight(data: Mapping[str, object], key: str, usual: Decimal) -> Decimal:
    if key not in data:
        return usual
    written = (loose.scalar_text(data[key]) or "").strip()
    if not _WEIGHT.fullmatch(written):
        raise WireError(
            "weight-unreadable",
            f"{key} of {CONFIG_MAP} is {shown(data[key])}: it is a number from 0 to 999999 with at most six decimals; "
            f'write for example "{usual}"',
        )
    return Decimal(written)
