"""All that koord-scheduler goes by when it places a pod: its copies of nodes and pods, and the cards they add up to.

Two checks have to let a pod through. The plain one adds up what every pod of a node asks for, whoever bound it, and
compares with what the node states. The one for cards goes by `device-allocated` alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tangram.units.quantity import parse_quantity
from testbed.api import Object
from testbed.koord_choice import choose, node_score
from testbed.koord_copies import key_of
from testbed.koord_devices import Given, NodeCards, given_to
from testbed.koord_requests import Unschedulable, Wish, pod_amounts, wish_of
from testbed.manifests import is_over

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A node for a pod, and cards; none where the node is not described, or the pod wants none."""

    node: str
    given: tuple[Given, ...] = ()


@dataclass
class Beliefs:
    """What is believed now; changed by `device`, `pod` and the two halves of a placement."""

    cards: dict[str, NodeCards] = field(default_factory=dict[str, NodeCards])
    bound: dict[str, dict[Key, Mapping[str, int]]] = field(
        default_factory=dict[str, dict[Key, Mapping[str, int]]]
    )
    """By node: the pods on it, those just being bound included, and what each asks for."""

    # ---- what is heard

    def device(self, before: Object | None, after: Object | None) -> None:
        """A Device came, changed or went."""
        if after is not None:
            self.cards.setdefault(after["metadata"]["name"], NodeCards()).describe(after)
        elif before is not None and (known := self.cards.get(before["metadata"]["name"])) is not None:
            known.invalidate()

    def node_gone(self, name: str) -> None:
        self.cards.pop(name, None)

    def pod(self, before: Object | None, after: Object | None) -> None:
        """A pod came, changed or went. One that is not bound holds nothing, whatever it says."""
        if before is not None and (node := before["spec"].get("nodeName")):
            self.forget(key_of(before), node)
        if after is None or not (node := after["spec"].get("nodeName")):
            return
        if is_over(after):
            self.forget(key_of(after), node)
            return
        self.bound.setdefault(node, {})[key_of(after)] = pod_amounts(after)
        if given := given_to(after):
            self.cards.setdefault(node, NodeCards()).hold(key_of(after), given)

    # ---- placing

    def place(self, pod: Object, nodes: Iterable[Object]) -> Chosen:
        """The node and cards for a pod. Raises `Unschedulable` with what every node lacks."""
        wish = wish_of(pod)
        found: list[tuple[int, str, tuple[Given, ...]]] = []
        lacks: dict[str, int] = {}
        asked = 0
        for node in nodes:
            asked += 1
            try:
                _check_rules(pod, node)
                self._check_amounts(pod, node)
                found.append(self._on(wish, node["metadata"]["name"]))
            except Unschedulable as error:
                lacks[str(error)] = lacks.get(str(error), 0) + 1
        if not found:
            told = ", ".join(f"{count} {lack}" for lack, count in sorted(lacks.items()))
            raise Unschedulable(f"0/{asked} nodes are available: {told}.")
        _, node, given = max(found, key=lambda each: each[0])
        return Chosen(node, given)

    def assume(self, pod: Object, chosen: Chosen) -> None:
        """Reserve: from here on the pod counts, though nobody else knows of it."""
        self.bound.setdefault(chosen.node, {})[key_of(pod)] = pod_amounts(pod)
        if chosen.given:
            self.cards[chosen.node].hold(key_of(pod), chosen.given)

    def forget(self, key: Key, node: str) -> None:
        self.bound.get(node, {}).pop(key, None)
        if node in self.cards:
            self.cards[node].release(key)

    def _on(self, wish: Wish | None, node: str) -> tuple[int, str, tuple[Given, ...]]:
        cards = self.cards.get(node)
        if wish is None or cards is None:
            return 0, node, ()
        minors = choose(wish, cards)
        given = tuple(cards.filled(Given(minor, wish.per_card)) for minor in minors)
        return node_score(wish, cards), node, given

    def _check_amounts(self, pod: Object, node: Object) -> None:
        has: Mapping[str, str] = node["status"].get("allocatable", {})
        others = self.bound.get(node["metadata"]["name"], {})
        for name, wanted in sorted(pod_amounts(pod).items()):
            taken = sum(amounts.get(name, 0) for key, amounts in others.items() if key != key_of(pod))
            if wanted + taken > parse_quantity(str(has.get(name, "0"))).value():
                raise Unschedulable(f"Insufficient {name}")


def _check_rules(pod: Object, node: Object) -> None:
    labels: Mapping[str, str] = node["metadata"].get("labels", {})
    for key, value in pod["spec"].get("nodeSelector", {}).items():
        if labels.get(key) != value:
            raise Unschedulable("node(s) didn't match Pod's node affinity/selector")
    if node["spec"].get("unschedulable"):
        raise Unschedulable("node(s) were unschedulable")
    tolerated = {each.get("key", "") for each in pod["spec"].get("tolerations", [])}
    for taint in node["spec"].get("taints", []):
        if taint["effect"] in {"NoSchedule", "NoExecute"} and not {taint["key"], ""} & tolerated:
            raise Unschedulable(f"node(s) had untolerated taint {{{taint['key']}}}")
