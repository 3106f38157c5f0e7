"""The ConfigMap that weighs topology: how much good cards count, and how much the damage to the rest.

Numbers are texts there, as MetaX's charts write them, and they are read exactly: two nodes that are equally good must
stay so, whatever their figures are multiplied with. A weight below zero would turn its meaning round and is refused.

MetaX's manual edits a ConfigMap of another name in another namespace. Where a chart makes that one too, as an alias, a
key that was edited there counts before the usual ConfigMap; one that is still what the chart has written says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Final

import msgspec

from tangram.wire import loose
from tangram.wire.errors import WireError, shown

CONFIG_MAP: Final = "gpu-aware-weight"
ALIAS: Final = "gpu-aware-plugin"
"""What the manual looks for in its namespace; the Service that leads to gpu-aware from there is called so too."""
WRITTEN_BY_CHART: Final = "tangram.dev/chart-weights"
"""An annotation of the alias: its data as the chart has written them, as JSON."""
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


class WrittenWeights(msgspec.Struct, frozen=True, kw_only=True):
    """A ConfigMap's data, and which of them a chart has written there; of a ConfigMap that is not there, nothing."""

    source: str
    """What people call it."""
    data: Mapping[str, object] = {}
    by_chart: Mapping[str, object] = {}

    def edited(self, key: str) -> bool:
        """Whether a person has written the key."""
        return key in self.data and self.data[key] != self.by_chart.get(key)


class JoinedWeights(msgspec.Struct, frozen=True):
    """What two ConfigMaps say together."""

    data: dict[str, object]
    sources: dict[str, str]
    """By key, the ConfigMap that it is from."""
    contested: tuple[str, ...] = ()
    """Keys that were edited in both, to different values."""


def read_written(source: str, thing: Mapping[str, object]) -> WrittenWeights:
    """What a ConfigMap object says. An annotation that cannot be read is none: every key counts as edited then."""
    annotations = loose.members(loose.members(thing.get("metadata")).get("annotations"))
    by_chart: Mapping[str, object] = {}
    with suppress(msgspec.DecodeError):
        by_chart = loose.members(msgspec.json.decode(loose.text(annotations.get(WRITTEN_BY_CHART))))
    return WrittenWeights(source=source, data=loose.members(thing.get("data")), by_chart=by_chart)


def join_weights(usual: WrittenWeights, alias: WrittenWeights) -> JoinedWeights:
    """Both as one: of each key what was edited in the alias, else what the usual ConfigMap has."""
    edited = [key for key in KEYS if alias.edited(key)]
    data = {key: usual.data[key] for key in KEYS if key in usual.data}
    return JoinedWeights(
        data | {key: alias.data[key] for key in edited},
        {key: alias.source if key in edited else usual.source for key in KEYS},
        tuple(
            key
            for key in edited
            if key in usual.data and usual.data[key] not in (alias.data[key], alias.by_chart.get(key))
        ),
    )


def read_weights(data: Mapping[str, object], sources: Mapping[str, str] | None = None) -> Weights:
    """The weights in a ConfigMap's data; a key that is not there has its usual value. Raises `WireError`.

    `sources` are the names of the ConfigMaps that the keys are from, where they are not all from the usual one.
    """
    usual, named = Weights(), sources or {}
    return Weights(
        _weight(data, SCORE, usual.score, named.get(SCORE, CONFIG_MAP)),
        _weight(data, LOSS, usual.loss, named.get(LOSS, CONFIG_MAP)),
    )


def _weight(data: Mapping[str, object], key: str, usual: Decimal, source: str) -> Decimal:
    if key not in data:
        return usual
    written = (loose.scalar_text(data[key]) or "").strip()
    if not _WEIGHT.fullmatch(written):
        raise WireError(
            "weight-unreadable",
            f"{key} of {source} is {shown(data[key])}: it is a number from 0 to 999999 with at most six decimals; "
            f'write for example "{usual}"',
        )
    return Decimal(written)
