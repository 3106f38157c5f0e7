"""MXMACA for two products in one release: each node pulls and mounts what its cards need, and a new one reaches jobs
whose images stay as they are.

Images are built and pushed by our own tools to a real registry, which writes down who fetched what. The tests of this
file are one story.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from e2e.helm_kit import Shipped
from e2e.operator_kit import BARE, OLD, Operated, looking_pod, operated, removed, runs, values
from e2e.operator_view_kit import CARDS_OF_A_NODE, GPU, host_files, labels, maca_state, offered
from e2e.payload_images_kit import Site
from e2e.registry_kit import registry_in
from e2e.release_kit import life_of
from e2e.scheduling_kit import poll_until
from tangram.services.driver_manager.maca_choosing import NO_IMAGE
from tangram.wire.metax_cards import LABEL_PRODUCT
from tangram.wire.operator.names import MACA_PRODUCT
from testbed.api import Object, path_of
from testbed.manifests import container, is_over, pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("operator-products")

C500, N100 = "n1", "n2"
CARDS = {
    C500: BARE,
    N100: "tangram: cards/v1\nmodule: none\ncards: [{product: N100, count: 2, memory: 32 GiB}]\n",
}
FIRST, SECOND = "3.0.0", "3.1.0"
PATIENCE = 120.0
FOLLOW = "while true; do cat /opt/maca/version; sleep 1; done"
"""Says again and again which MXMACA a container that runs on sees."""


@dataclass(frozen=True, slots=True)
class Story:
    ready: Operated
    site: Site
    images: Mapping[tuple[str, str], str]
    """By node and version."""

    def values(self, *images: str) -> dict[str, Any]:
        made = values(
            maca__payload__registry=self.site.place,
            maca__cleanupConfig={"threshold": 1, "cleanupPolicy": "OlderVersionFirst"},
            driver__payload__registry=self.site.place,
        )
        made["maca"]["payload"]["images"] = list(images)
        return made

    async def until_maca(self, node: str, true: Callable[[Object], bool], what: str) -> Object:
        return await self.ready.cluster.until_node(node, true, within=PATIENCE, what=f"{node}: {what}")

    async def until_served(self, node: str) -> None:
        """The agent is back: while a node has no MXMACA that is wanted, it has none, and a kubelet tells so late."""

        async def so() -> bool:
            agents = await self.ready.pods("gpu-device", node)
            return len(agents) == 1 and _serves(agents[0])

        await poll_until(so, within=PATIENCE, what=f"{node} is served")


def _serves(agent: Object) -> bool:
    statuses = agent["status"].get("containerStatuses", [])
    leaving = "deletionTimestamp" in agent["metadata"]
    return not leaving and bool(statuses) and all(one["ready"] for one in statuses)


def has_default(version: str) -> Callable[[Object], bool]:
    def so(node: Object) -> bool:
        state = maca_state(node)
        return state is not None and state.default == version and offered(node) == CARDS_OF_A_NODE

    return so


def has_code(code: str) -> Callable[[Object], bool]:
    def so(node: Object) -> bool:
        state = maca_state(node)
        return state is not None and state.code == code and not offered(node)

    return so


@pytest_asyncio.fixture(scope="module")
async def story(operator_release: Shipped) -> AsyncIterator[Story]:
    async with (
        operated(operator_release, Options(nodes=2, hurry=True), cards=CARDS, drivers=()) as ready,
        registry_in(ready.cluster.box) as registry,
    ):
        folder = ready.cluster.box.folder.path / "payloads"
        folder.mkdir()
        site = Site(ready.cluster, registry, folder)
        site.trust()
        await site.bring_driver(OLD)
        images = {
            # One name of each scheme of the manual.
            (node, version): await site.bring_maca(name, version, says(node, version))
            for node, name in ((C500, "maca-c500"), (N100, "mxn100-maca"))
            for version in (FIRST, SECOND)
        }
        made = Story(ready, site, images)
        await ready.install(made.values(images[C500, FIRST], images[N100, FIRST]))
        await ready.until_ready()
        yield made


def says(node: str, version: str) -> str:
    return f"{version} for the cards of {node}"


def on_node(name: str, node: str, script: str) -> Object:
    made = pod(name, container(script=script, limits={GPU: 1}))
    made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return made


async def folders_of(ready: Operated, node: str) -> Sequence[str]:
    """The MXMACA folders of a host."""
    found = await host_files(ready.cluster, node, "/opt")
    return sorted(path for path in found if path.startswith("/opt/maca-") and path.count("/") == 2)


async def test_each_node_pulls_and_shows_the_mxmaca_of_its_cards_and_no_other(story: Story) -> None:
    ready = story.ready
    for node in (C500, N100):
        seen = await ready.seen_by(looking_pod(f"on-{node}", cards=1, node=node))
        assert says(node, FIRST) in seen, seen
    assert story.site.fetched() == {
        C500: {"driver-image", "maca-c500"},
        N100: {"driver-image", "mxn100-maca"},
    }
    nodes = await ready.nodes()
    marks = {
        name: (labels(node).get(LABEL_PRODUCT), labels(node).get(MACA_PRODUCT))
        for name, node in nodes.items()
    }
    assert marks == {C500: ("C500", "c500"), N100: ("N100", "n100")}
    said = await ready.status()
    assert said.status == 0, said.output


async def test_new_mxmaca_reaches_new_containers_of_an_image_that_nobody_has_rebuilt(story: Story) -> None:
    """The container that runs keeps its own, and only when it has ended the old version goes from the host."""
    ready = story.ready
    trainer = await runs(ready.cluster, on_node("trainer", C500, FOLLOW))
    await ready.upgrade(story.values(story.images[C500, SECOND], story.images[N100, FIRST]))
    await story.until_maca(C500, has_default(SECOND), f"MXMACA {SECOND}")
    await story.until_served(C500)
    after = await ended(ready, on_node("after", C500, "cat /opt/maca/version"))
    assert await ready.cluster.pod_log("after") == f"{says(C500, SECOND)}\n"
    assert image_id(after) == image_id(trainer)

    # Whoever runs is not disturbed, and sees what it was started with.
    now = await ready.cluster.api.get(path_of("Pod", "trainer"))
    assert life_of(now) == life_of(trainer)
    assert set((await ready.cluster.pod_log("trainer")).splitlines()) == {says(C500, FIRST)}
    assert await folders_of(ready, C500) == [f"/opt/maca-{FIRST}", f"/opt/maca-{SECOND}"]
    assert await folders_of(ready, N100) == [f"/opt/maca-{FIRST}"]

    await removed(ready.cluster, "trainer", "after")

    async def gone() -> bool:
        return await folders_of(ready, C500) == [f"/opt/maca-{SECOND}"]

    await poll_until(gone, within=PATIENCE, what=f"the end of /opt/maca-{FIRST}")
    seen = await ready.seen_by(looking_pod("still", cards=1, node=N100))
    assert says(N100, FIRST) in seen, seen


async def ended(ready: Operated, made: Object) -> Object:
    await ready.cluster.api.create(made)
    return await ready.cluster.until_pod(made["metadata"]["name"], is_over)


def image_id(seen: Object) -> str:
    return seen["status"]["containerStatuses"][0]["imageID"]


async def test_a_node_that_no_image_is_for_says_which_to_add_and_offers_nothing(story: Story) -> None:
    ready, images = story.ready, (story.images[C500, SECOND], story.images[N100, FIRST])
    await ready.upgrade(story.values(images[0]))
    node = await story.until_maca(N100, has_code(NO_IMAGE), "no image for its cards")
    state = maca_state(node)
    assert state is not None
    assert images[0] in state.why
    assert "maca-n100:" in state.why

    async def told() -> bool:
        return (await ready.condition("Degraded")).get("status") == "True"

    await poll_until(told, what="Degraded")
    said = await ready.tangram("status", "operator", "-o", "json")
    assert said.status == 1
    assert "names no image for the N100 cards" in said.output
    assert offered((await ready.nodes())[C500]) == CARDS_OF_A_NODE
    await ready.upgrade(story.values(*images))
    await story.until_maca(N100, has_default(FIRST), "its MXMACA again")


async def test_names_that_no_node_could_tell_apart_are_refused_and_all_serves_on(story: Story) -> None:
    ready, images = story.ready, [story.images[C500, SECOND], story.images[N100, FIRST]]
    file = ready.cluster.box.folder.path / "unknown-product.json"
    file.write_text('{"maca": {"payload": {"images": ["maca-x900:3.0.0"]}}}')
    refused = await ready.helm.run(
        *("upgrade", ready.helm.release, ready.shipped.chart("metax-operator"), "-n", ready.helm.namespace),
        *("--reset-then-reuse-values", "-f", file),
        status=1,
    )
    assert "named after its product" in refused.errors
    twice = [*images, images[0].replace("maca-c500", "mxc500-maca")]
    await ready.ask({"maca": {"payload": {"images": twice}}})

    async def said() -> bool:
        found = await ready.condition("Ready")
        return found.get("reason") == "SpecRefused" and "MXMACA 3.1.0 for c500" in found.get("message", "")

    await poll_until(said, what="the refusal of two images for one product")
    assert {name: offered(node) for name, node in (await ready.nodes()).items()} == {
        C500: CARDS_OF_A_NODE,
        N100: CARDS_OF_A_NODE,
    }
    await ready.ask({"maca": {"payload": {"images": images}}})

    async def ready_again() -> bool:
        return (await ready.condition("Ready")).get("status") == "True"

    await poll_until(ready_again, what="a spec that is taken again")


async def test_uninstalling_takes_the_mark_of_its_product_off_a_node(story: Story) -> None:
    await story.ready.helm.uninstall()
    for node in (await story.ready.nodes()).values():
        assert not {MACA_PRODUCT, LABEL_PRODUCT} & labels(node).keys()
    assert [await folders_of(story.ready, node) for node in CARDS] == [[], []]
