"""One request out of what several vendors read in one pod.

Different containers of a pod may use different vendors' cards. A request has one card filter and one rule on sharing
a card, so what one vendor's annotations say must be made safe for the other's cards, or be refused.
"""

from collections.abc import Mapping

from tangram.model.cards import Vendor
from tangram.model.refusals import Refusal
from tangram.model.requests import CardFilter
from tangram.units.refusal import quoted
from tangram.vendors.codes import Code
from tangram.vendors.protocol import PodReading, Reading
from tangram.vendors.wording import either, sentence

_SPOKEN = {Vendor.METAX: "MetaX", Vendor.MTHREADS: "Moore Threads", Vendor.GENERIC: "no vendor"}


def combined_cards(pod_readings: Mapping[Vendor, PodReading]) -> CardFilter | Refusal:
    """The union of the vendors' lists, which never name each other's cards.

    An allow list of one vendor would shut out every card of another that has none; that cannot be meant.
    """
    filters = {vendor: reading.cards for vendor, reading in pod_readings.items()}
    allowing = {
        vendor: (cards.only_uuids, cards.only_products)
        for vendor, cards in filters.items()
        if cards.only_uuids or cards.only_products
    }
    kinds = {tuple(bool(listed) for listed in lists) for lists in allowing.values()}
    if allowing and (len(allowing) < len(filters) or len(kinds) > 1):
        return _for_one_vendor(allowing, filters)
    every = tuple(filters.values())
    return CardFilter(
        only_uuids=frozenset(uuid for cards in every for uuid in cards.only_uuids),
        not_uuids=frozenset(uuid for cards in every for uuid in cards.not_uuids),
        only_products=frozenset(model for cards in every for model in cards.only_products),
        not_products=frozenset(model for cards in every for model in cards.not_products),
    )


def combined_one_card(
    pod_readings: Mapping[Vendor, PodReading], readings: Mapping[Vendor, tuple[Reading, ...]]
) -> Vendor | None:
    """Whose slices share one card. A single container beside another vendor's has none to share it with; the cards of
    the other vendor are chosen as if they were alone in the pod.
    """
    for vendor, reading in pod_readings.items():
        asking = sum(bool(each.asks) for each in readings[vendor])
        if reading.one_card and (len(pod_readings) == 1 or asking > 1):
            return vendor
    return None


def _for_one_vendor(
    allowing: Mapping[Vendor, tuple[frozenset[str], frozenset[str]]], filters: Mapping[Vendor, CardFilter]
) -> Refusal:
    listed = sorted(entry for lists in allowing.values() for entries in lists for entry in entries)
    asked_of = " and ".join(_SPOKEN[vendor] for vendor in filters)
    return Refusal(
        Code.LIST_FOR_ONE_VENDOR,
        sentence(
            f"the pod asks for cards of {asked_of} and lists {either(map(quoted, listed))} to use",
            "such a list counts for all cards of the pod, so each vendor needs one of the same kind",
            "list cards of the other vendor too, or remove the list",
        ),
    )
