"""Everything a node's agent writes on its Node about cards, in every format that somebody reads.

One function makes all of it from one moment's cards, so that no two readers can be told different things. A key of
ours that no longer has a value is None, which a merge patch takes for removal: an announcement that outlives its cards
is a promise nobody keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tangram.engine.usage import Hold
from tangram.model.cards import Card, Vendor
from tangram.model.topology import Topology
from tangram.units.ids import CardUuid
from tangram.wire.errors import WireError
from tangram.wire.inventory import INVENTORY, Inventory, encode_inventory
from tangram.wire.limits import MOST_ANNOTATION_BYTES, check_annotations, check_labels
from tangram.wire.metax_listing import NODE_DEVICES, encode_listing
from tangram.wire.metax_publishing import figures_of, listing_of, zones_of
from tangram.wire.metax_topology import LOSSES, SCORES, ZONES, encode_figures, encode_zones
from tangram.wire.mthreads_publishing import labels_of

_NOTHING: Mapping[str, str] = {}


class Publication(msgspec.Struct, frozen=True):
    """Annotations and labels to be found on the node from now on; None is one that is not to be found."""

    annotations: dict[str, str | None] = {}
    labels: dict[str, str | None] = {}

    def differing_from(self, annotations: Mapping[str, str], labels: Mapping[str, str]) -> Publication:
        """What of it a node with these annotations and labels lacks; nothing means that nothing need be written."""
        return Publication(_differing(self.annotations, annotations), _differing(self.labels, labels))

    def __bool__(self) -> bool:
        return bool(self.annotations or self.labels)


def publication(
    cards: Sequence[Card],
    topology: Topology | None,
    held: Mapping[CardUuid, Hold],
    *,
    annotations: Mapping[str, str] = _NOTHING,
    labels: Mapping[str, str] = _NOTHING,
    leaving: bool = False,
) -> Publication:
    """What the node says about these cards, of which that much is held.

    `annotations` and `labels` are what it carries now: other people's annotations take room as well, and labels of
    cards that are gone are known only from there. With `leaving` schedulers that read the vendor's list send no slices
    here; our own reads the agent's state. Raises `WireError` for what the API server or a reader would refuse.
    """
    made = Publication(
        {
            INVENTORY: encode_inventory(Inventory(tuple(cards), topology)),
            **_metax_annotations(cards, topology, held, leaving=leaving),
        },
        _mthreads_labels(cards, annotations, labels),
    )
    _check_size({**annotations, **made.annotations})
    check_labels({key: value for key, value in made.labels.items() if value is not None})
    return made


def _mthreads_labels(
    cards: Sequence[Card], annotations: Mapping[str, str], labels: Mapping[str, str]
) -> dict[str, str | None]:
    """Labels of cards that we announce now, or did before; where we never had any, they are somebody else's."""
    announced = Vendor.MTHREADS.value in annotations.get(INVENTORY, "")
    ours = announced or any(card.vendor is Vendor.MTHREADS for card in cards)
    return labels_of(cards, labels) if ours else {}


def _metax_annotations(
    cards: Sequence[Card], topology: Topology | None, held: Mapping[CardUuid, Hold], *, leaving: bool
) -> dict[str, str | None]:
    figures, zones = figures_of(cards, topology, held), zones_of(cards, topology, held)
    listed = listing_of(cards, topology, held, leaving=leaving)
    return {
        NODE_DEVICES: encode_listing(listed) if listed else None,
        SCORES: None if figures is None else encode_figures(figures.scores.items()),
        LOSSES: None if figures is None else encode_figures(figures.losses.items()),
        ZONES: encode_zones(zones) if zones else None,
    }


def _check_size(annotations: Mapping[str, str | None]) -> None:
    try:
        check_annotations({key: value for key, value in annotations.items() if value is not None})
    except WireError as error:
        if error.code != "annotations-too-large":
            raise
        raise WireError(
            error.code,
            f"with the cards the node's annotations would take more than the {MOST_ANNOTATION_BYTES} bytes that "
            "Kubernetes holds on one object; remove annotations of others from the node",
        ) from error


def _differing(wanted: Mapping[str, str | None], present: Mapping[str, str]) -> dict[str, str | None]:
    return {key: value for key, value in wanted.items() if present.get(key) != value}
