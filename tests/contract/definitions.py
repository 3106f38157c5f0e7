"""A CustomResourceDefinition that works: made, established and served."""

from __future__ import annotations

from contract.things import definition
from contract.world import Answer, Object, World

DEFINITIONS = "customresourcedefinitions"
VERSION = "apiextensions.k8s.io/v1"


def established(answer: Answer) -> bool:
    conditions: list[Object] = answer.body.get("status", {}).get("conditions") or []
    return {"Established": "True"}.items() <= {one["type"]: one["status"] for one in conditions}.items()


def widgets(world: World, name: str = "") -> str:
    """Where the objects of a definition of the case are."""
    return world.at("widgets" + (f"/{name}" if name else ""), f"{world.group}/v1")


async def defined(world: World, made: Object | None = None) -> str:
    """Make a definition and wait until its objects can be asked for. Where they are."""
    made = made or definition(world)
    await world.have(world.top(DEFINITIONS, VERSION), made)
    await world.until(world.top(f"{DEFINITIONS}/{made['metadata']['name']}", VERSION), established)
    path = widgets(world)
    if made["spec"]["scope"] == "Cluster":
        path = world.top("widgets", f"{world.group}/v1")
    await world.until(path, lambda answer: answer.code == 200)
    return path
