"""Which cards a pod allows and avoids, by UUID and by model, from four comma lists of annotations.

The grammar is HAMi's: entries are trimmed, a blank list constrains nothing, and avoiding beats using. A UUID is
compared whole, a model by a part of its name, so `C500` is every MXC500. Two things HAMi lets pass are refused. An
empty entry is what a template leaves behind when a value was missing, and then the list says less than its author
thinks. Lists that contradict each other until no card is left make a pod wait for ever.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tangram.model.cards import names_product
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import AskKind, CardFilter
from tangram.units.ids import CardUuid, IdError, card_uuid
from tangram.units.refusal import quoted
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.products import Catalogue
from tangram.vendors.protocol import Reading
from tangram.vendors.wording import annotated, either, sentence


class ListNames(msgspec.Struct, frozen=True, kw_only=True):
    """The annotations of one vendor that hold such lists."""

    use_uuids: str
    avoid_uuids: str
    use_products: str
    avoid_products: str


class CardLists(msgspec.Struct, frozen=True):
    cards: CardFilter = CardFilter()
    refusals: tuple[Refusal, ...] = ()
    cautions: tuple[Caution, ...] = ()


def read_card_lists(annotations: Mapping[str, str], names: ListNames, catalogue: Catalogue) -> CardLists:
    """Everything the four lists say, with every fault in any of them."""
    only = _uuids(annotations, names.use_uuids)
    avoided = _uuids(annotations, names.avoid_uuids)
    models = _entries(annotations, names.use_products)
    avoided_models = _entries(annotations, names.avoid_products)
    if (
        isinstance(only, Refusal)
        or isinstance(avoided, Refusal)
        or isinstance(models, Refusal)
        or isinstance(avoided_models, Refusal)
    ):
        found = (only, avoided, models, avoided_models)
        return CardLists(refusals=tuple(finding for finding in found if isinstance(finding, Refusal)))

    only_products = frozenset(catalogue.unbranded(model) for model in models)
    not_products = frozenset(catalogue.unbranded(model) for model in avoided_models)
    left_models = tuple(model for model in models if not names_product(not_products, model))
    left = tuple(uuid for uuid in only if uuid not in avoided)
    clashes = (
        (names.use_uuids, names.avoid_uuids, only, left),
        (names.use_products, names.avoid_products, models, left_models),
    )
    return CardLists(
        CardFilter(
            only_uuids=frozenset(only),
            not_uuids=frozenset(avoided),
            only_products=only_products,
            not_products=not_products,
        ),
        tuple(
            _nothing_left(use, annotations[use], avoid)
            for use, avoid, listed, left_over in clashes
            if listed and not left_over
        ),
        (
            *(
                _in_both(use, annotations[use], avoid)
                for use, avoid, listed, left_over in clashes
                if left_over and left_over != listed
            ),
            *_unknown_products(annotations, names.use_products, models, catalogue),
            *_unknown_products(annotations, names.avoid_products, avoided_models, catalogue),
        ),
    )


def needs_named_cards(
    annotations: Mapping[str, str], names: ListNames, readings: Iterable[Reading]
) -> tuple[Caution, ...]:
    """Warn of lists of UUIDs in a pod that asks for whole cards, which some nodes only count."""
    if not any(ask.kind is AskKind.WHOLE for reading in readings for ask in reading.asks):
        return ()
    return tuple(
        Caution(
            CautionCode.LIST_NEEDS_NAMED_CARDS,
            sentence(
                annotated(key, annotations[key]),
                "a node that only counts its whole cards leaves the choice to its plugin, and as long as no node names"
                " a listed card the list has no effect, as with HAMi",
                "run Tangram's agent on the nodes that are meant",
            ),
        )
        for key in (names.use_uuids, names.avoid_uuids)
        if annotations.get(key, "").strip()
    )


def _entries(annotations: Mapping[str, str], key: str) -> tuple[str, ...] | Refusal:
    text = annotations.get(key, "")
    if not text.strip():
        return ()
    entries = tuple(entry.strip() for entry in text.split(","))
    if all(entries):
        return entries
    return Refusal(
        Code.LIST_WITH_GAP,
        sentence(
            annotated(key, text),
            "it is a comma list without empty entries",
            "write what is missing between the commas, or remove the extra comma",
        ),
    )


def _uuids(annotations: Mapping[str, str], key: str) -> tuple[CardUuid, ...] | Refusal:
    entries = _entries(annotations, key)
    if isinstance(entries, Refusal):
        return entries
    try:
        return tuple(card_uuid(entry) for entry in entries)
    except IdError as error:
        read = f"{annotated(key, annotations[key])}, with the entry {quoted(error.read)}"
        return Refusal(
            Code.LIST_ENTRY_UNREADABLE, sentence(read, error.legal, "write the UUIDs that the node reports")
        )


def _nothing_left(use: str, text: str, avoid: str) -> Refusal:
    return Refusal(
        Code.LIST_LEAVES_NOTHING,
        sentence(
            annotated(use, text),
            f"every entry is also in {avoid}, which wins, so no card is left",
            f"take an entry out of {avoid}",
        ),
    )


def _in_both(use: str, text: str, avoid: str) -> Caution:
    return Caution(
        CautionCode.LISTED_IN_BOTH,
        sentence(
            annotated(use, text),
            f"part of it is also in {avoid}, which wins",
            "take those entries out of one of the two lists",
        ),
    )


def _unknown_products(
    annotations: Mapping[str, str], key: str, models: tuple[str, ...], catalogue: Catalogue
) -> tuple[Caution, ...]:
    unknown = [model for model in models if not catalogue.has_part(model)]
    if not unknown:
        return ()
    known = either(product.name for product in catalogue.products)
    return (
        Caution(
            CautionCode.PRODUCT_UNKNOWN,
            sentence(
                f"{annotated(key, annotations[key])}, with {either(quoted(model) for model in unknown)}",
                f"the models known here are {known}",
                "check the spelling, or leave it if the model is newer than this program",
            ),
        ),
    )
