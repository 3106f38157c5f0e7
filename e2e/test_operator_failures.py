"""What goes wrong on nodes, each with its sentence where people look for it, and how it is right again once mended.

Where the cards of a node can be had with the driver that it has, they can be had all the while.
"""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from e2e.helm_kit import Shipped
from e2e.operator_kit import BARE, NEW, OLD, Operated, driver_name, operated, values
from e2e.operator_view_kit import (
    cordoned,
    driver_state,
    offered,
    runtime_state,
    serves,
    upgrade_of,
)
from e2e.scheduling_kit import poll_until
from tangram.wire.operator.node_states import Phase, UpgradePhase
from testbed.api import Object
from testbed.images.payloads import driver_image
from testbed.node import CONTAINERD_FILE
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("operator-failures")

CORRUPT, OTHER_KERNEL, REFUSED, ABSENT = "9.1.0", "9.2.0", "9.3.0", "9.9.9"
KERNEL = "6.8.0-40-generic"
NODE = "n1"
PATIENCE = 180.0


@pytest_asyncio.fixture(scope="module")
async def ready(operator_release: Shipped) -> AsyncIterator[Operated]:
    """One node that serves with the first driver, and images that cannot become its driver."""
    async with operated(operator_release, Options(nodes=1, hurry=True)) as made:
        await made.cluster.load_image(
            driver_image(driver_name(CORRUPT), corrupt=True),
            driver_image(driver_name(OTHER_KERNEL), kernel=KERNEL),
            driver_image(driver_name(REFUSED), made_for=KERNEL),
        )
        await made.install(values())
        await made.until_ready()
        yield made


@pytest_asyncio.fixture
async def bare(operator_release: Shipped) -> AsyncIterator[Operated]:
    """One node on which nothing is installed yet."""
    async with operated(operator_release, Options(nodes=1, hurry=True), cards=BARE) as made:
        yield made


def has_driver(true: Callable[[str, str, Phase], bool]) -> Callable[[Object], bool]:
    """Whether code, sentence and phase of a node's driver are so."""

    def looked(node: Object) -> bool:
        state = driver_state(node)
        return state is not None and true(state.code, state.why, state.phase)

    return looked


async def told(ready: Operated, *words: str, within: float = PATIENCE) -> None:
    """`tangram status operator` has all of these words."""

    async def seen() -> bool:
        said = (await ready.tangram("status", "operator", "-o", "json")).output
        return all(word in said for word in words)

    try:
        await poll_until(seen, within=within, what=f"{words} in the status")
    except AssertionError:
        said = (await ready.status()).output
        raise AssertionError(f"{words} are not in the status:\n{said}\n{await ready.events()}") from None


async def serves_on(ready: Operated) -> None:
    """The node is as it was, with its first driver."""
    node = (await ready.nodes())[NODE]
    assert offered(node) > 0
    assert not cordoned(node)
    assert await ready.loaded(NODE) == OLD


async def back(ready: Operated) -> None:
    await ready.want_driver(OLD)
    await ready.until_ready(OLD, within=PATIENCE)


async def test_a_corrupt_payload_never_reaches_the_host_and_is_named(ready: Operated) -> None:
    await ready.want_driver(CORRUPT)
    await told(ready, driver_name(CORRUPT), "mxdriver/version")
    await serves_on(ready)
    room = ready.cluster.box.folder.of_room(NODE)
    assert not list((room.lib / "metax" / "payloads").glob(f"driver-image-{CORRUPT}-*"))
    await back(ready)


async def test_a_driver_for_other_kernels_is_refused_before_anything_is_touched(ready: Operated) -> None:
    await ready.want_driver(OTHER_KERNEL)
    await told(ready, OTHER_KERNEL, KERNEL, "5.15.0-91-generic")
    await serves_on(ready)
    assert upgrade_of((await ready.nodes())[NODE]) is None
    await back(ready)


async def test_a_driver_that_the_kernel_refuses_is_taken_back(ready: Operated) -> None:
    await ready.want_driver(REFUSED)
    seen = await ready.cluster.until_node(
        NODE,
        lambda node: (found := upgrade_of(node)) is not None and found.phase is UpgradePhase.FAILED,
        within=PATIENCE,
    )
    state = driver_state(seen)
    assert state is not None
    assert (state.phase, state.code, state.running) == (Phase.FAILED, "wrong-kernel", OLD)
    assert "Invalid module format" in state.why
    await ready.cluster.until_node(NODE, lambda node: offered(node) > 0, within=PATIENCE)
    await serves_on(ready)
    await told(ready, "Invalid module format")
    await back(ready)


async def test_an_image_that_cannot_be_pulled_is_named_and_changes_nothing(ready: Operated) -> None:
    await ready.want_driver(ABSENT)
    await told(ready, driver_name(ABSENT), "pull")
    await serves_on(ready)
    # It comes to the registry after all.
    await ready.cluster.load_image(driver_image(driver_name(ABSENT)))
    await ready.until_ready(ABSENT, within=PATIENCE)
    await back(ready)


async def test_a_module_in_use_by_somebody_else_stays_and_the_node_is_given_back(ready: Operated) -> None:
    await ready.ctl(NODE, "module", "fail", "unload", "always")
    await ready.want_driver(NEW)
    seen = await ready.cluster.until_node(
        NODE,
        lambda node: (found := upgrade_of(node)) is not None and found.phase is UpgradePhase.FAILED,
        within=300,
    )
    state = driver_state(seen)
    assert state is not None
    assert (state.phase, state.code, state.running) == (Phase.FAILED, "module-busy", OLD)
    await ready.cluster.until_node(NODE, lambda node: offered(node) > 0, within=PATIENCE)
    await serves_on(ready)
    await told(ready, "the kernel has refused for 120 s to unload driver")
    await ready.ctl(NODE, "module", "heal")
    await ready.cluster.kubectl("annotate", "node", NODE, "tangram.dev/driver.upgrade-")
    await ready.until_ready(NEW, within=PATIENCE)
    await back(ready)


async def test_a_full_disk_is_named_and_nothing_is_left_half_done(bare: Operated) -> None:
    await _mount(bare, "mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", "/opt")
    await bare.begin(values())
    await bare.cluster.until_node(
        NODE,
        has_driver(lambda code, _why, _phase: code == "disk-full"),
        within=PATIENCE,
        what="a full disk told",
    )
    await told(bare, "MiB are free")
    assert await bare.loaded(NODE) == ""
    await _mount(bare, "mount", "-o", "remount,size=256m", "/opt")
    await bare.until_ready(within=PATIENCE)


async def test_a_configuration_that_the_runtime_cannot_read_is_left_alone(bare: Operated) -> None:
    file = bare.cluster.room(bare.cluster.nodes[0]).containerd / CONTAINERD_FILE.name
    good = file.read_bytes()
    broken = good + b"\n[[[ # somebody was interrupted here\n"
    file.write_bytes(broken)
    await bare.begin(values())

    def failed(node: Object) -> bool:
        state = runtime_state(node)
        return state is not None and state.phase is Phase.FAILED and "config.toml" in state.why

    await bare.cluster.until_node(NODE, failed, within=PATIENCE, what="a broken configuration told")
    assert file.read_bytes() == broken
    await told(bare, "config.toml")
    file.write_bytes(good)
    await bare.until_ready(within=PATIENCE)


async def test_a_part_that_breaks_takes_the_offer_of_its_node_with_it(ready: Operated) -> None:
    """The driver is unloaded by hand: the node stops offering cards, and offers them again with a driver."""
    await ready.until_ready(OLD, within=PATIENCE)
    await ready.ctl(NODE, "module", "none")
    await ready.cluster.until_node(NODE, lambda node: not serves(node, OLD), within=PATIENCE, what="no cards")
    await ready.until_ready(OLD, within=PATIENCE)


async def _mount(ready: Operated, *words: str) -> None:
    await ready.cluster.box.start("mounting", [f"/usr/bin/{words[0]}", *words[1:]], room=NODE)
    assert await ready.cluster.box.wait("mounting") == 0, ready.cluster.box.log("mounting")
