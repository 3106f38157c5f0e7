"""The number behind one resource of one container, or the reason why it cannot be read.

Kubernetes counts extended resources in whole numbers, copies limits into requests and demands that the two agree.
A scheduler that skips what it cannot read binds the pod without a card, so here every text is either a number or a
refusal; only a resource that is not there at all is `None`.
"""

from collections.abc import Iterable

import msgspec

from tangram.model.pods import Container
from tangram.model.refusals import Refusal
from tangram.units.memory import GIB
from tangram.units.quantity import Quantity, QuantityError, parse_quantity
from tangram.units.refusal import quoted
from tangram.vendors.codes import Code
from tangram.vendors.protocol import Reading
from tangram.vendors.wording import asked, sentence

LARGEST_COUNT = 2**31 - 1
"""Every peer's encoding holds counts and MiB in 32 bits."""
LARGEST_MEMORY = LARGEST_COUNT // 1024 * GIB
LARGEST_MEMORY_TEXT = f"{LARGEST_COUNT // 1024}Gi"


class Meaning(msgspec.Struct, frozen=True, kw_only=True):
    """What the number of a resource means, as far as the sentence that refuses one needs to say."""

    resource: str
    legal: str
    instead: str
    peer_text: str = ""
    """What a peer says to zero and below."""
    zero: bool = False
    """Whether 0 is a number like any other."""
    largest: int = LARGEST_COUNT
    largest_text: str = str(LARGEST_COUNT)


def names_any(container: Container, resources: Iterable[str]) -> bool:
    """Whether the container mentions one of the resources, under limits or under requests."""
    return any(name in container.limits or name in container.requests for name in resources)


def stated(container: Container, resource: str) -> str | Refusal | None:
    """The text of a resource, once limits and requests agree on it as Kubernetes demands."""
    limit = container.limits.get(resource)
    request = container.requests.get(resource)
    if limit is None and request is None:
        return None
    if limit is None:
        return Refusal(
            Code.REQUEST_WITHOUT_LIMIT,
            sentence(
                f"{asked(container, resource)} under requests only",
                "Kubernetes wants such a resource under limits and copies it to requests",
                "move it to limits",
            ),
            container.name,
        )
    if request is not None and not _same_number(limit, request):
        return Refusal(
            Code.LIMIT_DIFFERS_FROM_REQUEST,
            sentence(
                f"{asked(container, resource)} under limits and {quoted(request)} under requests",
                "Kubernetes demands the same number in both",
                "remove it from requests, where the limit is copied to",
            ),
            container.name,
        )
    return limit


def amount(container: Container, meaning: Meaning) -> int | Refusal | None:
    """The whole number a container asks for, `None` when it does not mention the resource."""
    text = stated(container, meaning.resource)
    if text is None or isinstance(text, Refusal):
        return text
    try:
        quantity = parse_quantity(text)
    except QuantityError:
        return refusal(container, meaning, Code.AMOUNT_UNREADABLE if text else Code.AMOUNT_EMPTY)
    fault = _fault(quantity, meaning)
    return quantity.value() if fault is None else refusal(container, meaning, fault)


def counted(container: Container, resource: str) -> int | None:
    """The number by which a kubelet counts the resource of a running container; `None` where there is none to read.

    A kubelet goes by the limit. What is below zero or too large for any encoding is brought back into bounds.
    """
    text = container.limits.get(resource, container.requests.get(resource))
    if text is None:
        return None
    try:
        quantity = parse_quantity(text)
    except QuantityError:
        return None
    return min(max(quantity.value(), 0), LARGEST_COUNT)


def counted_cards(container: Container, resource: str) -> int:
    """The same of a number of cards: a text that is no number stands for one, because the container asked for some."""
    if not names_any(container, (resource,)):
        return 0
    found = counted(container, resource)
    return 1 if found is None else found


def refusal(container: Container, meaning: Meaning, code: Code, *, peer_text: str | None = None) -> Refusal:
    """The refusal of what the container says about a resource, in the words of its meaning."""
    not_positive = code in (Code.AMOUNT_ZERO, Code.AMOUNT_NEGATIVE)
    peer = (meaning.peer_text if not_positive else "") if peer_text is None else peer_text
    bound = f", at most {meaning.largest_text}" if code is Code.AMOUNT_TOO_LARGE else ""
    read = asked(container, meaning.resource)
    return Refusal(
        code, sentence(read, f"{meaning.legal}{bound}", meaning.instead, peer=peer), container.name
    )


def refused(*findings: object) -> Reading:
    """The reading of a container in which at least one finding is a refusal."""
    return Reading(refusals=tuple(finding for finding in findings if isinstance(finding, Refusal)))


def _fault(quantity: Quantity, meaning: Meaning) -> Code | None:
    if quantity.sign < 0:
        return Code.AMOUNT_NEGATIVE
    if not quantity.sign and not meaning.zero:
        return Code.AMOUNT_ZERO
    if not quantity.is_integer:
        return Code.AMOUNT_FRACTIONAL
    return Code.AMOUNT_TOO_LARGE if quantity.value() > meaning.largest else None


def _same_number(limit: str, request: str) -> bool:
    if limit == request:
        return True
    try:
        return parse_quantity(limit) == parse_quantity(request)
    except QuantityError:
        return False
