"""PodDisruptionBudgets as preemption minds them: whose end would break a promise, in order of importance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.placing.pods import Pod
from tangram.wire import loose
from tangram.wire.label_selectors import Selector, read_selector


class Budget(msgspec.Struct, frozen=True):
    namespace: str
    selector: Selector
    allowed: int
    going: frozenset[str]
    """Pods whose eviction is under way and counted already."""

    def covers(self, pod: Pod) -> bool:
        """Unlike the eviction call, preemption takes an empty selector for one that protects nobody."""
        return (
            pod.key.namespace == self.namespace
            and not self.selector.everything
            and self.selector.matches(pod.labels)
            and pod.key.name not in self.going
        )


def read_budget(thing: Object) -> Budget:
    """Never raises: what cannot be read protects nobody."""
    metadata, status = loose.members(thing.get("metadata")), loose.members(thing.get("status"))
    return Budget(
        loose.text(metadata.get("namespace")),
        read_selector(loose.members(thing.get("spec")).get("selector")),
        loose.integer(status.get("disruptionsAllowed")) or 0,
        frozenset(loose.members(status.get("disruptedPods"))),
    )


def split(pods: Sequence[Pod], budgets: Iterable[Budget]) -> tuple[list[Pod], list[Pod]]:
    """Those whose end would break a budget if all these ended, and the rest."""
    known = list(budgets)
    left = [each.allowed for each in known]
    breaking: list[Pod] = []
    harmless: list[Pod] = []
    for pod in pods:
        broken = False
        for number, budget in enumerate(known):
            if pod.labels and budget.covers(pod):
                left[number] -= 1
                broken = left[number] < 0
            if broken:
                break
        (breaking if broken else harmless).append(pod)
    return breaking, harmless
