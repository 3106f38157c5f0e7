"""DaemonSets: one pod on every node that fits, on the nodes that are there and on those that come."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from tangram.kube.objects import Key, Object
from tangram.sandbox.controllers.daemon_places import (
    Fit,
    fit_of,
    limits_of,
    next_step,
    node_for,
    oldest_first,
    surplus_on,
    template_for,
    tolerations_for,
)
from tangram.sandbox.controllers.following import follow, follow_children
from tangram.sandbox.controllers.hands import Hands, in_batches
from tangram.sandbox.controllers.pods import claimed, create_pod, delete_pod, pod_from
from tangram.sandbox.controllers.reading import (
    Now,
    generation_of,
    is_active,
    is_available,
    is_ended,
    is_going,
    is_ready,
    key_of,
    labels_of,
    next_to_be_available,
    part,
    phase_of,
    spec_of,
    status_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import DAEMON_SETS, NODES, PODS
from tangram.sandbox.controllers.revisions import HASH, Revisions
from tangram.sandbox.controllers.taints import taints_of
from tangram.sandbox.controllers.work import WorkQueue

COMPONENT: Final = "daemonset-controller"
MOST_IN_ONE_LOOK: Final = 250
PACE_S: Final = 0.1
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 900.0

_Fits = dict[str, tuple[Object, Fit]]


class DaemonSets:
    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._sets = hands.copies.of(DAEMON_SETS)
        self._pods = hands.copies.of(PODS)
        self._nodes = hands.copies.of(NODES)
        self._revisions = Revisions(hands, DAEMON_SETS, HASH)
        self._fits: dict[str, tuple[Object, _Fits]] = {}
        self._failures: dict[tuple[str, str], tuple[float, float]] = {}
        self.queue: Final = WorkQueue[Key](COMPONENT, self.look, pace=PACE_S)
        follow(self._sets, self.queue)
        follow_children(self._pods, self._sets, self.queue)
        self._sets.listeners.append(self._set_changed)
        self._nodes.listeners.append(self._node_changed)

    def _set_changed(self, before: Object | None, after: Object | None) -> None:
        if before is not None and after is None:
            self._fits.pop(uid_of(before), None)
            self._failures = {key: value for key, value in self._failures.items() if key[0] != uid_of(before)}

    def _node_changed(self, before: Object | None, after: Object | None) -> None:
        """A heartbeat changes nothing for us; labels, taints and the node's coming and going do."""
        if before is not None and after is not None and _place_facts(before) == _place_facts(after):
            return
        for key in self._sets.things:
            self.queue.add(key)

    async def look(self, key: Key) -> None:
        owner = self._sets.get(key)
        if owner is None or is_going(owner):
            return
        revision, others = await self._revisions.current(owner)
        digest = labels_of(revision)[HASH]
        pods = await claimed(self._hands, DAEMON_SETS, owner, self._pods)
        fits = self._fits_of(owner)
        now = self._hands.clock()
        changed = await self._manage(owner, _by_node(pods), fits, digest, now)
        if not changed and part(spec_of(owner), "updateStrategy").get("type") != "OnDelete":
            await self._roll(owner, _by_node(pods), fits, digest, now)
        pods = self._pods.owned_by(uid_of(owner))
        await self._revisions.shorten(owner, others, {labels_of(pod).get(HASH, "") for pod in pods})
        owner = self._sets.get(key)
        if owner is not None:
            status = status_after(owner, _by_node(pods), fits, digest, self._hands.clock())
            await self._hands.write_status(self._sets, owner, status)
            self._note_next(owner, pods)

    def _fits_of(self, owner: Object) -> dict[str, Fit]:
        """Of every node; asked again only of nodes and templates that have changed."""
        template = spec_of(owner)["template"]
        known = self._fits.get(uid_of(owner))
        fits: _Fits = known[1] if known is not None and known[0] == template else {}
        tolerations = tolerations_for(part(template, "spec"))
        fresh: _Fits = {}
        for key, node in self._nodes.things.items():
            seen = fits.get(key.name)
            fresh[key.name] = (
                seen if seen and seen[0] is node else (node, fit_of(template, tolerations, node))
            )
        self._fits[uid_of(owner)] = (template, fresh)
        return {name: fit for name, (_, fit) in fresh.items()}

    async def _manage(
        self, owner: Object, by_node: dict[str, list[Object]], fits: dict[str, Fit], digest: str, now: Now
    ) -> bool:
        """Pods that are missing or should not be. Whether anything was done."""
        surging = limits_of(owner, 1).surge > 0
        least = spec_of(owner).get("minReadySeconds") or 0
        wanting: list[str] = []
        doomed: list[Object] = []
        for name, fit in fits.items():
            pods = by_node.get(name, [])
            if fit.starts and not pods:
                wanting.append(name)
            elif fit.stays:
                doomed += self._ended(owner, name, pods)
                alive = [pod for pod in pods if is_active(pod)]
                doomed += surplus_on(alive, digest, least, now, surging=surging)
                if surging and fit.starts and not alive:
                    wanting.append(name)
            else:
                doomed += [pod for pod in pods if not is_going(pod)]
        # Nobody else removes a pod that waits for a node that is gone.
        doomed += [
            pod
            for name, pods in by_node.items()
            if name not in fits
            for pod in pods
            if not spec_of(pod).get("nodeName") and not is_going(pod)
        ]
        await self._carry_out(owner, wanting, doomed, digest)
        return bool(wanting or doomed)

    async def _roll(
        self, owner: Object, by_node: dict[str, list[Object]], fits: dict[str, Fit], digest: str, now: Now
    ) -> None:
        wanted = sum(fit.starts for fit in fits.values())
        step = next_step(by_node, fits, digest, limits_of(owner, wanted), now)
        await self._carry_out(owner, step.nodes, step.doomed, digest)

    def _ended(self, owner: Object, node: str, pods: list[Object]) -> list[Object]:
        """Pods that ended are replaced; those that fail again and again, after longer and longer pauses."""
        doomed: list[Object] = []
        for pod in pods:
            if is_going(pod) or not is_ended(pod):
                continue
            what = f"{pod['metadata']['namespace']}/{pod['metadata']['name']} on node {node}"
            if phase_of(pod) == "Succeeded":
                self._tell(
                    owner, "SucceededDaemonPod", f"Found succeeded daemon pod {what}, will try to delete it"
                )
            elif not self._may_replace(owner, node):
                continue
            else:
                message = f"Found failed daemon pod {what}, will try to kill it"
                self._tell(owner, "FailedDaemonPod", message, bad=True)
            doomed.append(pod)
        return doomed

    def _may_replace(self, owner: Object, node: str) -> bool:
        place, now = (uid_of(owner), node), self._hands.clock().timestamp()
        last, pause = self._failures.get(place, (0.0, 0.0))
        if now - last < pause:
            self.queue.add_after(key_of(owner), pause - (now - last))
            return False
        steady = now - last > 2 * LONGEST_PAUSE_S
        longer = FIRST_PAUSE_S if steady or not pause else min(2 * pause, LONGEST_PAUSE_S)
        self._failures[place] = (now, longer)
        return True

    async def _carry_out(self, owner: Object, nodes: list[str], doomed: list[Object], digest: str) -> None:
        async def make(number: int) -> None:
            pod = pod_from(template_for(owner, digest, nodes[number]), DAEMON_SETS, owner)
            await create_pod(self._hands, COMPONENT, DAEMON_SETS, owner, pod)

        async def end(number: int) -> None:
            await delete_pod(self._hands, COMPONENT, DAEMON_SETS, owner, doomed[number])

        if len(nodes) > MOST_IN_ONE_LOOK:
            self.queue.add(key_of(owner))
        _, failure = await in_batches(min(len(nodes), MOST_IN_ONE_LOOK), make)
        _, failed = await in_batches(len(doomed), end)
        if failure or failed:
            raise failure or failed or AssertionError

    def _note_next(self, owner: Object, pods: list[Object]) -> None:
        least, now = spec_of(owner).get("minReadySeconds") or 0, self._hands.clock()
        wait = next_to_be_available(pods, least, now)
        if wait is not None:
            self.queue.add_after(key_of(owner), wait)

    def _tell(self, owner: Object, reason: str, message: str, *, bad: bool = False) -> None:
        self._hands.tell(COMPONENT, DAEMON_SETS, owner, reason, message, bad=bad)


def _place_facts(node: Object) -> tuple[object, object]:
    return labels_of(node), taints_of(node)


def _by_node(pods: list[Object]) -> dict[str, list[Object]]:
    """By the node each is meant for; pods that have ended and are going are nobody's business any more."""
    found: defaultdict[str, list[Object]] = defaultdict(list)
    for pod in pods:
        node = node_for(pod)
        if node and not (is_ended(pod) and is_going(pod)):
            found[node].append(pod)
    return found


def status_after(
    owner: Object, by_node: dict[str, list[Object]], fits: dict[str, Fit], digest: str, now: Now
) -> Object:
    """What a DaemonSet with these pods says of itself."""
    least = spec_of(owner).get("minReadySeconds") or 0
    counts: dict[str, int] = dict.fromkeys(
        (
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "numberAvailable",
            "updatedNumberScheduled",
            "numberMisscheduled",
        ),
        0,
    )
    for node, fit in fits.items():
        pods = by_node.get(node, [])
        if not fit.starts:
            counts["numberMisscheduled"] += bool(pods)
            continue
        counts["desiredNumberScheduled"] += 1
        if not pods:
            continue
        counts["currentNumberScheduled"] += 1
        pod = oldest_first(pods)[0]
        counts["numberReady"] += is_ready(pod)
        counts["numberAvailable"] += is_available(pod, least, now)
        counts["updatedNumberScheduled"] += labels_of(pod).get(HASH) == digest
    counts["numberUnavailable"] = counts["desiredNumberScheduled"] - counts["numberAvailable"]
    always = {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"}
    kept = {key: value for key, value in status_of(owner).items() if key in ("collisionCount", "conditions")}
    shown = {key: value for key, value in counts.items() if value or key in always}
    return {**shown, "observedGeneration": generation_of(owner), **kept}
