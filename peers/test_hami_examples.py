"""HAMi's example manifests, from a checkout that a person named: each runs as its own page says.

What is changed in one is said here: the image, for the box has none of theirs, its command, so that the container tells
what it finds, and the uuid of a card that only its author had.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e.agent_view_kit import LOOK, all_slices, inside, metax
from e2e.scheduler_kit import slices_in
from peers.programs import EXAMPLES
from peers.world import GPU, USE, VGPU, World, cards_with, moore_index, uuids_in, whole_nodes
from testbed.api import Object
from testbed.manifests import container

pytestmark = pytest.mark.usefixtures("hami")

KINDS = ("metax/sgpu", "metax/gpu", "mthreads")


def manifests() -> Iterator[object]:
    folder = os.environ.get(EXAMPLES, "")
    found = (
        [path for kind in KINDS for path in sorted((Path(folder) / kind).glob("*.yaml"))] if folder else []
    )
    for path in found:
        yield pytest.param(path, id="/".join(path.parts[-3:]).removeprefix("examples/"))


@pytest.fixture(autouse=True)
async def left_as_it_was(world: World) -> None:
    await world.empty()


def told(world: World, path: Path) -> Object:
    """The manifest, with what the box lacks replaced."""
    made: Object = yaml.safe_load(path.read_text("utf-8"))
    made["spec"]["containers"] = [
        container(one["name"], script=LOOK) | {"resources": one["resources"]}
        for one in made["spec"]["containers"]
    ]
    notes = made["metadata"].get("annotations", {})
    if USE in notes:
        notes[USE] = metax(world.sliced)[2].uuid
    return made


@pytest.mark.parametrize("path", list(manifests()))
async def test_an_example_of_hamis_runs_as_recorded(world: World, path: Path) -> None:
    made = told(world, path)
    (seen,) = await world.run(made)
    asked = [one["resources"]["limits"] for one in made["spec"]["containers"]]
    if VGPU in asked[0]:
        assert seen["spec"]["nodeName"] == str(world.moore.name)
        found = (
            await inside(world.moore, seen["metadata"]["name"], made["spec"]["containers"][0]["name"])
        ).env
        assert len(moore_index(world, found)) == int(asked[0][VGPU])
    elif GPU in asked[0]:
        assert seen["spec"]["nodeName"] == str(world.whole.name)
        assert len(cards_with(metax(world.whole), await whole_nodes(world, seen))) == int(asked[0][GPU])
    else:
        assert seen["spec"]["nodeName"] == str(world.sliced.name)
        given = [card for row in slices_in(seen) for card in row]
        assert sorted(
            (part.card, part.memory >> 20, part.cores) for part in all_slices(world.sliced)
        ) == sorted(given)
        assert await uuids_in(world, seen) == {uuid for uuid, _, _ in given}
        if USE in made["metadata"].get("annotations", {}):
            assert {uuid for uuid, _, _ in given} == {made["metadata"]["annotations"][USE]}
    await world.sound()
