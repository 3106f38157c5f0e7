"""How many whole MetaX cards a pod asks for, counted as kube-scheduler counts.

Every pod of the cluster is sent here, so nothing is refused that does not concern these cards: rules about privileged
containers or mixed words belong to admission. But an amount that cannot be read is an error and never "none".
"""

from __future__ import annotations

from collections.abc import Mapping

from tangram.model.pods import Container, Role
from tangram.units.quantity import QuantityError, parse_quantity
from tangram.vendors.metax import names
from tangram.wire.errors import WireError, shown
from tangram.wire.pods import read_pod

_LARGEST = 2**31 - 1
_UNREADABLE = "pod-unreadable"


def cards_asked(manifest: Mapping[str, object]) -> int:
    """The cards a pod needs at its busiest moment; 0 when it asks for none. Raises `WireError`.

    Ordinary init containers run before the others, one at a time; sidecars among them stay.
    """
    pod = read_pod(manifest)
    for problem in pod.problems:
        if problem.code == _UNREADABLE:
            raise WireError(problem.code, problem.sentence)
    staying = peak = 0
    for container in pod.containers:
        asked = _asked(container)
        if container.role is Role.INIT:
            peak = max(peak, staying + asked)
        else:
            staying += asked
    return max(peak, staying)


def _asked(container: Container) -> int:
    text = container.limits.get(names.GPU, container.requests.get(names.GPU))
    if text is None:
        return 0
    try:
        amount = parse_quantity(text)
    except QuantityError:
        amount = None
    if amount is None or amount.sign < 0 or not amount.is_integer or amount.value() > _LARGEST:
        raise WireError(
            "cards-unreadable",
            f"container {shown(container.name)} asks for {shown(text)} of {names.GPU}: "
            "whole cards are counted in whole numbers; write for example 1",
        )
    return amount.value()
