"""What may not stand in a pod beside the cards it asks for, because it would be lost without a word.

Each of these means something to koord-scheduler, which counts by the pod and places several kinds of devices at once.
Taken by anybody else the pod would run: without its network card, with a whole card where an old spelling said a tenth,
or with the first container's cards in the second. Only a pod that is still to be placed is judged; of a pod that is
bound, whoever placed it has read all this.
"""

from collections.abc import Iterable

from tangram.model.pods import Container, Pod
from tangram.model.refusals import Refusal
from tangram.vendors.amounts import names_any
from tangram.vendors.codes import Code
from tangram.vendors.koordinator_words import WORDS
from tangram.vendors.names import (
    KOORDINATOR_FORMER_NAMES,
    KOORDINATOR_OTHER_DEVICES,
    KOORDINATOR_OTHER_VENDORS,
    KOORDINATOR_RESOURCES,
)
from tangram.vendors.protocol import VendorRules
from tangram.vendors.wording import asked, sentence, written

_LEAVE_IT = "leave the pod to koord-scheduler with schedulerName: koord-scheduler"


def faults_beside(pod: Pod, vendors: Iterable[VendorRules]) -> tuple[Refusal, ...]:
    """Every such thing in a pod that asks for cards of ours."""
    in_koordinators_words = [each for each in pod.containers if names_any(each, KOORDINATOR_RESOURCES)]
    faults = [
        fault
        for container in pod.containers
        for fault in (*_former_names(container), *_other_devices(container))
    ]
    if in_koordinators_words:
        faults += [fault for container in pod.containers for fault in _other_vendors(container)]
        faults += _several_containers(pod, in_koordinators_words[0], vendors)
    return tuple(faults)


def _former_names(container: Container) -> list[Refusal]:
    former = [name for name in KOORDINATOR_FORMER_NAMES if names_any(container, (name,))]
    if not former:
        return []
    present = " and ".join(KOORDINATOR_FORMER_NAMES[name] for name in former)
    return [
        Refusal(
            Code.KOORDINATOR_FORMER_NAME,
            sentence(
                asked(container, *former),
                "only koord-scheduler still knows that spelling, so it would be passed over here",
                f"write {present} instead",
            ),
            container.name,
        )
    ]


def _other_devices(container: Container) -> list[Refusal]:
    others = [name for name in sorted(KOORDINATOR_OTHER_DEVICES) if names_any(container, (name,))]
    if not others:
        return []
    return [
        Refusal(
            Code.KOORDINATOR_OTHER_DEVICE,
            sentence(
                f"{asked(container, *others)} in a pod that asks for cards",
                "nobody here places that device, and the pod would run without it",
                f"remove it, or {_LEAVE_IT}",
            ),
            container.name,
        )
    ]


def _other_vendors(container: Container) -> list[Refusal]:
    others = [name for name in sorted(KOORDINATOR_OTHER_VENDORS) if names_any(container, (name,))]
    if not others:
        return []
    named = " ".join(name for name in (*others, *WORDS) if names_any(container, (name,)))
    return [
        Refusal(
            Code.KOORDINATOR_OTHER_VENDOR,
            sentence(
                f"{asked(container, *others)} in a pod that uses Koordinator's words",
                "those words and another maker's name both state the pod's cards",
                f"remove {' and '.join(others)} or everything under koordinator.sh/, or {_LEAVE_IT}",
                peer=f"invalid resource device requests: [{named}]",
            ),
            container.name,
        )
    ]


def _several_containers(pod: Pod, first: Container, vendors: Iterable[VendorRules]) -> list[Refusal]:
    """The annotations that Koordinator's words lead to hold one list of cards for the pod."""
    ours = frozenset(name for rules in vendors for name in rules.resource_names) | KOORDINATOR_RESOURCES
    return [
        Refusal(
            Code.KOORDINATOR_SEVERAL_CONTAINERS,
            sentence(
                f"{asked(first, *WORDS)} and container {other.name} asks for {written(other, sorted(ours))}",
                "a pod in Koordinator's words has one list of cards, so one container, init containers counted,"
                " may ask for some",
                "give each its own pod, or let both ask in their vendor's words",
            ),
            other.name,
        )
        for other in pod.containers
        if other is not first and names_any(other, ours)
    ]
