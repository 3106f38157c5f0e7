"""Node locks that stand: one is held for seconds, until the plugin of a node has served the pod it names.

Whoever binds next takes over a lock that is too old or whose pod is gone, so these cost time and nothing more. One
that cannot be read is taken over by nobody but us: HAMi's and Koordinator's schedulers wait for it for ever.
"""

from __future__ import annotations

from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok, warn
from tangram.services.scheduler.checkup.naming import annotations_of, name_of, some_of
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.units.durations import age_text
from tangram.wire.agent_state import AGENT, STOPPING
from tangram.wire.errors import WireError
from tangram.wire.nodelock import NODE_LOCK, parse_lock

CHECK: Final = "node-locks"
LASTS_S: Final = 300.0
"""So long every scheduler respects a lock."""
SERVED_WITHIN_S: Final = 30.0


def locks(scene: Scene) -> Findings:
    """Those that cannot be read, and those that nobody needs any more."""
    if scene.nodes.unknown:
        return
    standing = 0
    unreadable: list[str] = []
    forgotten: list[str] = []
    living = {pod.full_name for pod in scene.pods.asking}
    for node in scene.nodes.items:
        value = annotations_of(node).get(NODE_LOCK)
        if value is None:
            continue
        standing += 1
        try:
            lock = parse_lock(value)
        except WireError:
            unreadable.append(name_of(node))
            continue
        age = scene.now - lock.taken_at
        holder = f"{lock.holder.namespace}/{lock.holder.name}" if lock.holder is not None else ""
        # A reservation of Koordinator's has no namespace, and is no pod.
        is_pod = lock.holder is not None and bool(lock.holder.namespace)
        # An agent that ends holds its node in the name of a pod that has all it needs.
        if annotations_of(node).get(AGENT) == STOPPING and age <= LASTS_S:
            continue
        gone = is_pod and not scene.pods.unknown and holder not in living and age > SERVED_WITHIN_S
        if age > LASTS_S or gone:
            whose = f" for {holder}{', which is gone' if gone else ''}" if holder else ""
            forgotten.append(f"{name_of(node)} ({age_text(age)}{whose})")
    if unreadable:
        yield fail(
            CHECK,
            f"the lock {NODE_LOCK} of {some_of(unreadable)} cannot be read, and HAMi's and Koordinator's schedulers "
            "wait for it for ever",
            f"kubectl annotate node {unreadable[0]} {NODE_LOCK}-",
        )
    if forgotten:
        yield warn(
            CHECK,
            f"a lock stands that no pod waits for, on {some_of(forgotten)}: the plugin there did not serve its pod",
            "the next scheduler that binds there takes it over after five minutes; look at the plugin's log, or remove "
            f"it with kubectl annotate node NODE {NODE_LOCK}-",
        )
    if not unreadable and not forgotten:
        yield ok(CHECK, f"{standing} nodes are locked just now" if standing else "no node is locked")
