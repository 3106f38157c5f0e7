"""Whether one container's shares can be meant: cards this node has, sliced, of the right vendor and size, as asked."""

from __future__ import annotations

from tangram.model.allocations import ContainerShares, Share
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.pods import Pod
from tangram.model.refusals import Refusal
from tangram.model.requests import Ask, AskKind
from tangram.services.gpu_device.codes import StartCode
from tangram.services.gpu_device.records import Inventory
from tangram.units.memory import ceil_mib, floor_mib, memory_text
from tangram.vendors.metax.products import MEMORY_STEP
from tangram.vendors.wording import either, sentence
from tangram.wire.errors import shown

PLACED_AGAIN = "delete the pod and let it be made and placed again"


def card_text(card: Card) -> str:
    """A card as people find it on its node."""
    return f"card {card.index} ({card.uuid})"


def cards_text(inventory: Inventory) -> str:
    """All cards of the node, for the end of "its cards are"."""
    return ", ".join(card.uuid for card in inventory.cards) or "none"


def container_fault(
    pod: Pod, container: ContainerShares, ask: Ask | None, inventory: Inventory
) -> Refusal | None:
    """The first reason why the container cannot have these shares; `ask` is None where it asks for no cards."""
    got, asked = len(container.shares), 0 if ask is None else ask.count
    if got > asked:
        return _more(pod, container, f"{got} cards", f"{asked}")
    if ask is None:
        return None
    if got < asked:
        return Refusal(
            StartCode.ALLOCATION_UNREADABLE,
            sentence(
                f"the allocation of pod {pod.ref} names {got} cards for container {container.name}",
                f"it asks for {asked}",
                PLACED_AGAIN,
            ),
            container.name,
        )
    faults = (_share_fault(pod, container, ask, share, inventory) for share in container.shares)
    return next((fault for fault in faults if fault is not None), None)


def _share_fault(
    pod: Pod, container: ContainerShares, ask: Ask, share: Share, inventory: Inventory
) -> Refusal | None:
    card = inventory.card(share.card)
    owner = f"container {container.name} of pod {pod.ref}"
    if card is None:
        code = StartCode.CARD_UNKNOWN
        read = f"the allocation of {owner} names card {shown(share.card)}, which node {inventory.node} does not have"
        legal = f"its cards are {cards_text(inventory)}"
        instead = f"{PLACED_AGAIN}; if the card should be there, run tangram doctor"
    elif card.vendor is not ask.vendor:
        code = StartCode.CARD_OF_OTHER_VENDOR
        read = f"{owner} asks for {ask.vendor} and its allocation names {card_text(card)}, which is of {card.vendor}"
        legal, instead = "a container has the cards of the vendor it asks for", PLACED_AGAIN
    elif card.mode is not CardMode.SLICED or share.kind is not AskKind.SLICE:
        code = StartCode.CARD_NOT_SLICED
        read = (
            f"{owner} has a {share.kind} allocation of {card_text(card)}, which is offered as {card.mode} now"
        )
        legal, instead = f"slices are made of cards that are offered as {CardMode.SLICED}", PLACED_AGAIN
    else:
        return _amount_fault(pod, container, ask, share, card) or _size_fault(pod, container, share, card)
    return Refusal(code, sentence(read, legal, instead), container.name)


def _amount_fault(pod: Pod, container: ContainerShares, ask: Ask, share: Share, card: Card) -> Refusal | None:
    # Peers write whole MiB, so a part of one is no difference.
    if floor_mib(share.memory) > ceil_mib(ask.memory_on(card)):
        read = f"{memory_text(share.memory)} of {card_text(card)}"
        return _more(pod, container, read, memory_text(ask.memory_on(card)))
    if share.cores > ask.cores_on(card):
        read = f"{share.cores} of {card.cores} compute units of {card_text(card)}"
        return _more(pod, container, read, str(ask.cores_on(card)))
    return None


def _size_fault(pod: Pod, container: ContainerShares, share: Share, card: Card) -> Refusal | None:
    if card.vendor is Vendor.METAX:
        possible = share.memory >= MEMORY_STEP
        legal = f"a MetaX slice has {memory_text(MEMORY_STEP)} at least, and grows in steps of that"
        instead = f"ask for {memory_text(MEMORY_STEP)} or more"
    else:
        tiers = card.memory_tiers
        possible = share.memory > 0 and (not tiers or share.memory in tiers)
        legal = f"a slice of it has {either(map(memory_text, tiers))}" if tiers else "a slice has some memory"
        instead = "ask for one of these" if tiers else "ask for some"
    if possible:
        return None
    read = f"container {container.name} of pod {pod.ref} has {memory_text(share.memory)} of {card_text(card)}"
    return Refusal(StartCode.MEMORY_IMPOSSIBLE, sentence(read, legal, instead), container.name)


def _more(pod: Pod, container: ContainerShares, got: str, asked: str) -> Refusal:
    return Refusal(
        StartCode.MORE_THAN_ASKED,
        sentence(
            f"the allocation of pod {pod.ref} gives container {container.name} {got} and it asks for {asked}",
            "a scheduler gives what was asked for, so somebody else wrote this",
            PLACED_AGAIN,
        ),
        container.name,
    )
