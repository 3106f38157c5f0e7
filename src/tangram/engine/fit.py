"""Which cards can serve an ask, and for those that cannot, the first rule that says so.

One pass of arrays per rule over all cards of all nodes at once. The rules and their order are those users know from
HAMi; the ones HAMi lacks (how the card is offered, cordons, products, memory tiers) stand where a person would look
for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangram.engine.columns import CLASS_NUMBER, QOS_NUMBER, VENDOR_NUMBER, Bools, CardUse, Int32s, Int64s
from tangram.engine.view import View
from tangram.model.cards import AppClass, names_product
from tangram.model.requests import Ask, AskKind, CardFilter, Request
from tangram.model.verdicts import CardRule

Rules = NDArray[np.uint8]

_Fail = Callable[[CardRule, Bools], None]


class Needs(NamedTuple):
    """What one unit of an ask takes, card by card."""

    memory: Int64s | int
    cores: Int32s | int


def needs_of(view: View, ask: Ask, app_class: AppClass | None) -> Needs:
    """What one unit of the ask would take of every card of the view."""
    if ask.kind is AskKind.WHOLE:
        return Needs(view.facts.unit_memory, view.facts.unit_cores)
    memory = ask.memory if ask.memory is not None else view.facts.memory * ask.memory_percent // 100
    if app_class is AppClass.ONLINE:
        # Online slices suspend the others instead of sharing with them, so they reserve no compute.
        return Needs(memory, 0)
    return Needs(memory, view.facts.cores if ask.cores is None else ask.cores)


def card_rules(
    view: View, use: CardUse, ask: Ask, request: Request, *, mutex: bool, only: Bools | None = None
) -> tuple[Rules, Needs]:
    """Per card, the first rule the ask fails there. `only` marks the cards the pod's other containers leave open."""
    facts = view.facts
    needs = needs_of(view, ask, request.app_class)
    sliced = ask.kind is AskKind.SLICE
    online = request.app_class is AppClass.ONLINE
    rules = np.zeros_like(facts.present, np.uint8)

    def fail(rule: CardRule, where: Bools) -> None:
        np.copyto(rules, np.uint8(rule), where=where)

    # From the last rule to the first, so that what stays is the first that fails.
    if only is not None:
        fail(CardRule.OTHER_CARD, ~only)
    if sliced and not online:
        if ask.cores == 0:
            fail(CardRule.COMPUTE_TAKEN, use.cores >= facts.cores)
        elif ask.cores is None or ask.cores >= int(facts.cores.max(initial=0)):
            fail(CardRule.EXCLUSIVE, use.slots > 0)
        else:
            fail(CardRule.EXCLUSIVE, (use.slots > 0) & (facts.cores <= ask.cores))
    elif not sliced:
        fail(CardRule.EXCLUSIVE, (use.slots > 0) & ~facts.several_units)
    if not online:
        fail(CardRule.CORES, facts.cores - use.cores < needs.cores)
    fail(CardRule.MEMORY, facts.memory - use.memory < needs.memory)
    if sliced and (ask.memory is not None or ask.memory_percent < 100) and any(view.tiers.values):
        fail(CardRule.MEMORY_TIER, ~_tier_allows(view, needs.memory))
    if mutex:
        fail(CardRule.MUTEX, use.slots > 0)
    fail(CardRule.SLOTS, use.slots >= facts.slots)
    _fail_unwanted_cards(fail, view, request.cards, sliced=sliced)
    if sliced:
        if request.qos is not None and not online:
            mine = use.qos[:, :, QOS_NUMBER[request.qos]]
            others = use.qos.sum(axis=2, dtype=np.int16) > mine
            fail(CardRule.QOS, others & (facts.cores > needs.cores))
        fail(CardRule.APP_CLASS, _class_clashes(use, request.app_class))
    fail(CardRule.CORDONED, facts.cordoned)
    fail(CardRule.HEALTH, ~facts.healthy)
    fail(CardRule.MODE, ~_is_offered(view, ask))
    fail(CardRule.VENDOR, facts.vendor != VENDOR_NUMBER[ask.vendor])
    fail(CardRule.ABSENT, ~facts.present)
    return rules, needs


def _is_offered(view: View, ask: Ask) -> Bools:
    """Whether each card is offered in the way that the ask means."""
    if ask.kind is AskKind.SLICE:
        return view.facts.sliced
    return view.facts.whole & ~view.facts.several_units if ask.entire else view.facts.whole


def _fail_unwanted_cards(fail: _Fail, view: View, wanted: CardFilter, *, sliced: bool) -> None:
    if wanted.only_products:
        fail(CardRule.PRODUCT, ~_is_product(view, wanted.only_products))
    if wanted.not_products:
        fail(CardRule.PRODUCT, _is_product(view, wanted.not_products))
    if wanted.only_uuids:
        unlisted = ~view.where(wanted.only_uuids)
        if not sliced and not view.has_any(wanted.only_uuids):
            # No node names a card of the list, so it can be kept nowhere; HAMi reads none for whole cards.
            unlisted &= ~view.facts.counted
        fail(CardRule.UUID, unlisted)
    if wanted.not_uuids:
        fail(CardRule.UUID, view.where(wanted.not_uuids))


def _tier_allows(view: View, memory: Int64s | int) -> Bools:
    """A size fixed for all cards is looked up once; a share of the card is another size on each."""
    if isinstance(memory, int):
        legal = np.array([not tiers or memory in tiers for tiers in view.tiers.values], np.bool_)
        return legal[view.facts.tiers]
    allowed = np.ones_like(view.facts.present)
    for number, tiers in enumerate(view.tiers.values):
        if tiers:
            allowed &= (view.facts.tiers != number) | np.isin(memory, tiers)
    return allowed


def _is_product(view: View, words: frozenset[str]) -> Bools:
    named = np.array([names_product(words, product) for product in view.products.values], np.bool_)
    return named[view.facts.product]


def _class_clashes(use: CardUse, app_class: AppClass | None) -> Bools:
    online, offline, unclassed = (use.classes[:, :, CLASS_NUMBER[each]] > 0 for each in (*AppClass, None))
    match app_class:
        case None:
            return online | offline
        case AppClass.OFFLINE:
            return online | unclassed
        case AppClass.ONLINE:
            return unclassed
