"""What the operator's work looks like from outside: states of nodes, the order in which they come, files of hosts.

Everything is read from the API server or from the host itself, never asked of the programs under test.
"""

import asyncio
import itertools
import json
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from tangram.wire.operator import names
from tangram.wire.operator.node_states import (
    DriverState,
    MacaState,
    RuntimeState,
    Upgrade,
    UpgradePhase,
    state_of,
)
from testbed.api import Object, path_of
from testbed.cluster import Cluster

GPU = "metax-tech.com/gpu"
INSTALLED = "metax-tech.com/gpu.installed"
CARDS_OF_A_NODE = 2
OFFER = "offer"
"""In a timeline: how many cards the node offers."""

# ---- what a node says


def labels(node: Object) -> Mapping[str, str]:
    return node.get("metadata", {}).get("labels", {})


def _annotations(node: Object) -> dict[str, str]:
    return node.get("metadata", {}).get("annotations", {})


def driver_state(node: Object) -> DriverState | None:
    return state_of(DriverState, _annotations(node), names.DRIVER_STATE)


def maca_state(node: Object) -> MacaState | None:
    return state_of(MacaState, _annotations(node), names.MACA_STATE)


def runtime_state(node: Object) -> RuntimeState | None:
    return state_of(RuntimeState, _annotations(node), names.RUNTIME_STATE)


def upgrade_of(node: Object) -> Upgrade | None:
    return state_of(Upgrade, _annotations(node), names.UPGRADE)


def offered(node: Object, resource: str = GPU) -> int:
    return int(node.get("status", {}).get("allocatable", {}).get(resource, "0"))


def cordoned(node: Object) -> bool:
    return bool(node.get("spec", {}).get("unschedulable"))


def serves(node: Object, driver: str, cards: int = CARDS_OF_A_NODE) -> bool:
    """Its driver is that one and verified, nobody works on it, and its cards can be had."""
    state = driver_state(node)
    return (
        state is not None
        and (state.phase, state.running) == ("ready", driver)
        and offered(node) == cards
        and not cordoned(node)
        and upgrade_of(node) is None
    )


def condition_of(thing: Object, kind: str) -> Object:
    """Of a node, or of the object `cluster-operator`; empty where it says nothing of the kind."""
    found: list[Object] = thing.get("status", {}).get("conditions", [])
    return next((one for one in found if one["type"] == kind), Object())


# ---- the order in which things happen


class Step(NamedTuple):
    at: float
    node: str
    key: str
    value: str


@dataclass
class Timeline:
    """Every change of the labels and of the offer of every node, as the API server told of it."""

    steps: list[Step] = field(default_factory=list[Step])
    out_of_service: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """Nodes that the operator held, after each change."""
    seen: dict[str, Object] = field(default_factory=dict[str, Object])

    def look(self, node: Object) -> None:
        name = node["metadata"]["name"]
        now, before = _words(node), _words(self.seen.get(name, {}))
        self.seen[name] = node
        at = time.monotonic()
        self.steps += [
            Step(at, name, key, now.get(key, ""))
            for key in sorted({**now, **before})
            if now.get(key, "") != before.get(key, "")
        ]
        held = frozenset(name for name, one in self.seen.items() if is_held(one))
        if not self.out_of_service or self.out_of_service[-1] != held:
            self.out_of_service.append(held)

    def first(self, node: str, key: str, true: Callable[[str], bool]) -> int:
        """Where in the story a key of a node was first so."""
        return next(
            number
            for number, step in enumerate(self.steps)
            if (step.node, step.key) == (node, key) and true(step.value)
        )

    def order(self, node: str, keys: Iterable[str]) -> list[str]:
        """The keys in the order in which each first was `true`, or more than none."""
        return sorted(
            keys, key=lambda key: self.first(node, key, lambda value: value not in {"", "false", "0"})
        )

    def most_held(self) -> int:
        return max(map(len, self.out_of_service), default=0)

    def told(self) -> str:
        began = self.steps[0].at if self.steps else 0.0
        return "\n".join(f"{at - began:7.2f} {node} {key}={value}" for at, node, key, value in self.steps)


def _words(node: Object) -> dict[str, str]:
    found = {
        key: value
        for key, value in labels(node).items()
        if key.startswith(("metax-tech.com/", "tangram.dev/"))
    }
    return {**found, OFFER: str(offered(node))}


def is_held(node: Object) -> bool:
    """The operator has taken it out of service for a driver."""
    upgrade = upgrade_of(node)
    return upgrade is not None and upgrade.phase is not UpgradePhase.FAILED


@asynccontextmanager
async def watching_nodes(cluster: Cluster) -> AsyncGenerator[Timeline]:
    """What happens to nodes during the block."""
    timeline = Timeline()
    listed = await cluster.api.get(path_of("Node"))
    for node in listed["items"]:
        timeline.look(node)

    async def follow() -> None:
        since = listed["metadata"]["resourceVersion"]
        for _ in itertools.count():
            async for _kind, node in cluster.api.watch(path_of("Node"), resourceVersion=since):
                since = node["metadata"]["resourceVersion"]
                timeline.look(node)

    following = asyncio.create_task(follow())
    try:
        yield timeline
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        print(timeline.told())  # noqa: T201 - pytest shows it when a test fails


# ---- a host as it is

_LISTING = """
import hashlib, json, os, stat, sys
found = {}
for place in sys.argv[1:]:
    for folder, folders, files in os.walk(place):
        for path in [folder, *(os.path.join(folder, one) for one in folders + files)]:
            facts = os.lstat(path)
            word = stat.filemode(facts.st_mode) + f" {facts.st_uid}:{facts.st_gid}"
            if stat.S_ISLNK(facts.st_mode):
                word += " -> " + os.readlink(path)
            elif stat.S_ISREG(facts.st_mode):
                with open(path, "rb") as file:
                    word += " " + hashlib.sha256(file.read()).hexdigest()
            found[path] = word
print(json.dumps(found))
"""
PLACES = ("/etc", "/opt", "/var/lib/metax", "/usr/local/bin", "/lib/firmware/", "/run/cdi")


async def host_files(cluster: Cluster, node: str, *places: str) -> dict[str, str]:
    """Every file, folder and link of a host that an installation could have to do with: mode, owner, content."""
    program = f"listing-{node}"
    (cluster.box.folder.logs / f"{program}.log").unlink(missing_ok=True)
    await cluster.box.start(program, [sys.executable, "-c", _LISTING, *(places or PLACES)], room=node)
    assert await cluster.box.wait(program) == 0, cluster.box.log(program)
    return json.loads(cluster.box.log(program))


async def hosts(cluster: Cluster) -> dict[str, Mapping[str, str]]:
    """Of every node."""
    return {node.name: await host_files(cluster, node.name) for node in cluster.nodes}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What is not as it was: path to what it was and is."""
    return {
        path: (before.get(path, ""), after.get(path, ""))
        for path in sorted({**before, **after})
        if before.get(path) != after.get(path)
    }
