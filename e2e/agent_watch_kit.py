"""What the tests of the node agent wait for: the node's counts and words, pods' annotations, events.

It states no fact: that is left to the test that needs it.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping

from e2e.agent_kit import AgentNode
from e2e.restarts_kit import PATIENCE, counts, get_pod
from testbed.api import NotInTime, Object, path_of


async def until(
    true: Callable[[], bool] | Callable[[], Awaitable[bool]],
    what: str,
    *,
    within: float = PATIENCE,
    pause: float = 0.05,
) -> None:
    """Wait for something that nobody announces, such as a file or what a driver says."""
    deadline = time.monotonic() + within
    while True:
        answer = true()
        if answer is True or (not isinstance(answer, bool) and await answer):
            return
        if time.monotonic() > deadline:
            raise NotInTime(f"it did not happen within {within:g} s that {what}")
        await asyncio.sleep(pause)


async def until_counts(
    node: AgentNode, resource: str, capacity: int, allocatable: int, *, fresh: bool = False
) -> Object:
    """Until the node counts so many; `fresh` believes only what its kubelet says from now on."""
    wanted = (str(capacity), str(allocatable))
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) if fresh else ""
    return await node.cluster.until_node(
        node.name,
        lambda seen: counts(seen, resource) == wanted and _last_word(seen) > since,
        within=PATIENCE,
        what=f"capacity {capacity} and allocatable {allocatable} of {resource}",
    )


def _last_word(seen: Object) -> str:
    """When the kubelet last wrote the node's status, to the second; moments of this form sort as texts."""
    return max(one.get("lastHeartbeatTime") or "" for one in seen["status"]["conditions"])


async def annotations(node: AgentNode) -> dict[str, str]:
    return (await node.cluster.api.get(path_of("Node", node.name)))["metadata"].get("annotations", {})


async def until_annotation(node: AgentNode, key: str, true: Callable[[str], bool], what: str = "") -> str:
    """The value of one of the node's annotations as soon as it is as wanted; '' stands for none."""
    seen = await node.cluster.until_node(
        node.name,
        lambda seen: true(seen["metadata"].get("annotations", {}).get(key, "")),
        within=PATIENCE,
        what=what or f"{key} as wanted",
    )
    return seen["metadata"].get("annotations", {}).get(key, "")


async def annotate(node: AgentNode, change: Mapping[str, str | None]) -> None:
    await node.cluster.api.patch(path_of("Node", node.name), {"metadata": {"annotations": dict(change)}})


async def until_pod_says(node: AgentNode, name: str, key: str, value: str) -> None:
    await node.cluster.until_pod(
        name,
        lambda seen: seen.get("metadata", {}).get("annotations", {}).get(key) == value,
        within=PATIENCE,
        what=f"{key} of pod {name} is {value}",
    )


async def announced_health(node: AgentNode) -> dict[str, bool]:
    """By uuid, whether the node announces a card as one that may be given."""
    said = json.loads((await annotations(node))["tangram.dev/node-inventory"])
    return {
        each["uuid"]: each.get("healthy", True) and not each.get("cordoned", False) for each in said["cards"]
    }


async def listed_cards(node: AgentNode) -> dict[str, Object]:
    """What the node's list for peers says of its sliced cards, by uuid."""
    return {
        each["uuid"]: each
        for each in json.loads((await annotations(node))["metax-tech.com/node-gpu-devices"])
    }


async def events_about(node: AgentNode, name: str, *, namespace: str = "default") -> list[Object]:
    return await node.cluster.api.list(
        path_of("Event", namespace=namespace), fieldSelector=f"involvedObject.name={name}"
    )


async def until_event(node: AgentNode, name: str, reason: str, words: str = "") -> Object:
    """The first event of this kind about a pod or node that says this."""
    found: list[Object] = []

    async def there() -> bool:
        found[:] = [
            one
            for one in await events_about(node, name)
            if one["reason"] == reason and words in one["message"]
        ]
        return bool(found)

    await until(there, f"an event {reason} about {name} that says {words!r}", pause=0.1)
    return found[0]


async def pod_annotations(node: AgentNode, name: str) -> dict[str, str]:
    return (await get_pod(node.cluster, name))["metadata"].get("annotations", {})
