"""What a pod asks of the host around the cards: processor time and memory, summed as Kubernetes sums them.

Koordinator's amounts are summed beside them in the same way: what a pod gets of cards is read elsewhere, but its
kubelet adds up these names like any other.

An ordinary init container runs alone, on top of the sidecars started before it; app containers run together, on top
of all sidecars. The pod needs whichever is larger.
"""

from tangram.model.counted import COUNTED, Amounts
from tangram.model.pods import Container, Pod, Role
from tangram.model.refusals import Refusal
from tangram.model.requests import HostAsk
from tangram.units.memory import Bytes
from tangram.units.quantity import QuantityError, parse_quantity
from tangram.units.refusal import quoted
from tangram.vendors.codes import Code
from tangram.vendors.wording import sentence

CPU = "cpu"
MEMORY = "memory"

LARGEST_AMOUNT = 2**50
"""A trillion processors or a pebibyte: above it only a slip of the pen, and sums must fit 64 bits."""


def read_host(pod: Pod) -> HostAsk | tuple[Refusal, ...]:
    """The pod's need, or every amount in it that cannot be read."""
    needs = [(container.role, _cpu(container), _memory(container)) for container in pod.containers]
    refusals = tuple(
        amount for _, cpu, memory in needs for amount in (cpu, memory) if isinstance(amount, Refusal)
    )
    if refusals:
        return refusals
    cpus = [(role, cpu) for role, cpu, _ in needs if not isinstance(cpu, Refusal)]
    memories = [(role, memory) for role, _, memory in needs if not isinstance(memory, Refusal)]
    return HostAsk(_peak(cpus), Bytes(_peak(memories)), counted_amounts(pod))


def counted_amounts(pod: Pod) -> Amounts:
    """What the pod's kubelet counts in Koordinator's words; empty for a pod without them.

    What cannot be read counts as nothing here: the API server lets none of it through.
    """
    if not any(name in each.limits or name in each.requests for each in pod.containers for name in COUNTED):
        return ()
    return tuple(_peak([(each.role, _readable(each, name)) for each in pod.containers]) for name in COUNTED)


def _readable(container: Container, resource: str) -> int:
    found = _need(container, resource, milli=False)
    return 0 if isinstance(found, Refusal) else found


def _peak(needs: list[tuple[Role, int]]) -> int:
    sidecars = apps = init_peak = 0
    for role, need in needs:
        match role:
            case Role.SIDECAR:
                sidecars += need
            case Role.INIT:
                init_peak = max(init_peak, sidecars + need)
            case Role.APP:
                apps += need
    return max(init_peak, sidecars + apps)


def _cpu(container: Container) -> int | Refusal:
    return _need(container, CPU, milli=True)


def _memory(container: Container) -> int | Refusal:
    return _need(container, MEMORY, milli=False)


def _need(container: Container, resource: str, *, milli: bool) -> int | Refusal:
    text = container.requests.get(resource, container.limits.get(resource))
    if text is None:
        return 0
    try:
        quantity = parse_quantity(text)
    except QuantityError as error:
        return _refusal(container, resource, text, error.legal, f"write {error.instead}")
    if not 0 <= quantity.value() <= LARGEST_AMOUNT:
        legal = f"it is at least 0 and at most {LARGEST_AMOUNT}"
        return _refusal(container, resource, text, legal, "write what the container needs of the host")
    return quantity.milli_value() if milli else quantity.value()


def _refusal(container: Container, resource: str, text: str, legal: str, instead: str) -> Refusal:
    return Refusal(
        Code.HOST_AMOUNT,
        sentence(f"container {container.name} asks for {resource} {quoted(text)}", legal, instead),
        container.name,
    )
