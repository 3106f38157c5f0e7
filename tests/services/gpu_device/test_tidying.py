"""Taking back what nobody needs: everything in the end, nothing too early, and nothing on old news."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders.agent_api import pod
from builders.agent_runs import allocated, slice_limits
from builders.mxsml_twin import RULES, SYSFS, Twin, c500
from builders.simulated import ManualClock, make_driver
from builders.starts import held, noted
from tangram.drivers.errors import DriverError, Kind
from tangram.kube.informer import Change, Key
from tangram.kubelet.notebook import Notebook
from tangram.kubelet.podresources import PodResourcesClient
from tangram.model.devices import LinkReport
from tangram.model.grants import Grant, GrantedSlice
from tangram.model.pods import PodRef
from tangram.services.gpu_device.bound_pods import BoundPods
from tangram.services.gpu_device.claims import Claims
from tangram.services.gpu_device.grant_files import GrantFiles
from tangram.services.gpu_device.grants import slice_name
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.kubelet_view import KubeletView, Sight
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.slices import Slices
from tangram.services.gpu_device.stock import take_stock
from tangram.services.gpu_device.tidying import NAMELESS_S, Tidying
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.units.memory import from_gib
from tangram.units.na import NA, known
from tangram.wire.cdi_grants import grant_text
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import Checkpoint

NOTHING = Sight(notes=Checkpoint((), ()), held=())
UNREADABLE = WireError("checkpoint-unknown", "of a form nobody knows")


class Node:
    """Two sliced cards, pods as an informer tells them, and what was made for them."""

    def __init__(self, folder: Path) -> None:
        self.driver = make_driver({"product": "C500", "count": 2, "sliced": True})
        self.uuids = [device.uuid for device in self.driver.world.devices()]
        inventory = take_stock(
            NodeName("n"),
            self.driver.devices(),
            {},
            LinkReport(),
            wanted={},
            share_count=4,
            held_as={},
            cordoned=(),
        )
        self.clock = ManualClock()
        self.fresh = True
        self.done: list[str] = []
        self.pods = BoundPods(lambda: inventory, lambda: None)
        self.files = GrantFiles(folder / "cdi")
        self.files.load()
        self.tidying = self.tidying_of(inventory, Hardware(lambda: self.driver), folder)

    def tidying_of(self, inventory: Inventory, hardware: Hardware, folder: Path) -> Tidying:
        return Tidying(
            stock=lambda: inventory,
            pods=self.pods,
            fresh=lambda: self.fresh,
            kubelet=KubeletView(PodResourcesClient(folder / "none.sock"), Notebook(folder), within=0.01),
            hardware=hardware,
            slices=Slices(hardware),
            files=self.files,
            claims=Claims(folder, self.clock),
            counted=self.done.append,
            clock=self.clock,
        )

    def bind(self, name: str, *, at: int = 0, phase: str = "Running") -> dict[str, Any]:
        """The API server tells of a pod with a slice of 4 GiB and 10 percent."""
        thing = pod(name, slice_limits(4, 10), annotations=allocated([(self.uuids[at], 4096, 10)]))
        thing["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": "1"}
        thing["spec"]["nodeName"] = "n"
        thing["status"] = {"phase": phase}
        self.pods.told(Change(Key("default", name), None, thing))
        return thing

    def give(self, name: str, *, at: int = 0) -> None:
        """The slice and the file of such a pod."""
        made = self.driver.create_slice(
            self.uuids[at], memory=from_gib(4), cores=10, name=slice_name(PodUid(f"uid-{name}"), "c0")
        )
        grant = Grant(
            claim=f"c-{name}",
            pod=PodRef(Namespace("default"), PodName(name), PodUid(f"uid-{name}")),
            container="c0",
            resource="metax-tech.com/sgpu",
            ids=(f"id-{name}",),
            cards=(made.card,),
            slices=(
                GrantedSlice(
                    card=made.card,
                    id=made.id,
                    name=known(made.name, ""),
                    memory=made.memory,
                    cores=made.cores,
                ),
            ),
        )
        self.files.write(grant, grant_text(grant, {"A": "1"}, ()))

    def left(self) -> tuple[int, int]:
        """Slices and files that exist."""
        return sum(len(self.driver.world.slices(uuid)) for uuid in self.uuids), len(self.files.all())


async def test_what_a_pod_had_goes_when_it_is_gone(tmp_path: Path) -> None:
    node = Node(tmp_path)
    thing = node.bind("p")
    node.give("p")
    assert not await node.tidying.tidy(NOTHING)
    assert node.left() == (1, 1)
    node.pods.told(Change(Key("default", "p"), thing, None))
    assert not await node.tidying.tidy(NOTHING)
    assert node.left() == (0, 0)


async def test_nothing_goes_on_old_news_or_while_the_kubelet_says_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.give("gone")
    node.fresh = False
    await node.tidying.tidy(NOTHING)
    node.fresh = True
    await node.tidying.tidy(Sight(notes=UNREADABLE, held=None))
    assert node.left() == (1, 1)
    await node.tidying.tidy(NOTHING)
    assert node.left() == (0, 0)


async def test_what_is_in_use_is_looked_at_again_and_its_file_tells_whose_it_is(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.give("gone")
    node.driver.world.use(0, 0)
    assert await node.tidying.tidy(NOTHING)
    assert node.left() == (1, 1)
    node.driver.world.release(0, 0)
    assert not await node.tidying.tidy(NOTHING)
    assert node.left() == (0, 0)


async def test_what_the_kubelet_still_shows_is_looked_at_again_soon(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.give("leaving")
    shown = Sight(
        notes=Checkpoint((noted("uid-leaving", "c0", "id-leaving"),), ()),
        held=(held("leaving", "c0", "id-leaving"),),
    )
    assert await node.tidying.tidy(shown)
    assert node.left() == (1, 1)
    assert not await node.tidying.tidy(NOTHING)
    assert node.left() == (0, 0)


async def test_a_pod_that_comes_while_the_cards_are_asked_keeps_what_it_is_given_meanwhile(
    tmp_path: Path,
) -> None:
    node = Node(tmp_path)
    listed = node.driver.world.slices
    late = ["late"]

    def slices(uuid: str) -> object:
        if late:
            name = late.pop()
            node.bind(name, at=1)
            node.give(name, at=1)
        return listed(uuid)  # pyright: ignore[reportArgumentType] - the world's own question

    node.driver.world.slices = slices  # pyright: ignore[reportAttributeAccessIssue] - to be there at the right moment
    await node.tidying.tidy(NOTHING)
    assert node.left() == (1, 1)


async def test_slices_of_others_stay_whoever_they_belong_to(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.driver.create_slice(node.uuids[0], memory=from_gib(4), cores=10, name="by-hand")
    await node.tidying.tidy(NOTHING)
    assert node.left() == (1, 0)


async def test_a_slice_that_was_never_named_goes_after_a_while_unless_it_is_used(tmp_path: Path) -> None:
    node = Node(tmp_path)
    for uuid in node.uuids:
        node.driver.create_slice(uuid, memory=from_gib(4), cores=10)
    node.driver.world.use(1, 0)
    await node.tidying.tidy(NOTHING)
    node.clock.seconds += NAMELESS_S - 1
    await node.tidying.tidy(NOTHING)
    assert node.left() == (2, 0)
    node.clock.seconds += 1
    await node.tidying.tidy(NOTHING)
    assert [len(node.driver.world.slices(uuid)) for uuid in node.uuids] == [0, 1]
    assert node.done == ["nameless-removed"]


async def test_a_slice_whose_name_cannot_be_read_is_never_taken_for_one_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RULES, "")
    monkeypatch.setenv(SYSFS, "")
    node = Node(tmp_path)
    machine = c500(1).with_slice(0, 3, uuid="s3", alias="tangram-of-a-pod").with_slice(0, 4, uuid="s4")
    left = {}
    for missing in ((), ("mxSmlGetSgpuAlias",)):
        folder = tmp_path / f"without-{len(missing)}"
        folder.mkdir()
        driver = Twin(folder, machine, left_out=missing).driver()
        (card,) = driver.devices()
        inventory = take_stock(
            NodeName("n"), [card], {}, LinkReport(), wanted={}, share_count=4, held_as={}, cordoned=()
        )
        hardware = Hardware(lambda driver=driver: driver)
        tidying = node.tidying_of(inventory, hardware, folder)
        try:
            for _ in range(3):
                await tidying.tidy(NOTHING)
                node.clock.seconds += NAMELESS_S
            left[missing] = [each.id for each in driver.slices(card.uuid)]
        finally:
            driver.close()
    assert left == {(): [], ("mxSmlGetSgpuAlias",): [3, 4]}


async def test_a_slice_stays_while_it_is_not_known_whether_it_is_in_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(tmp_path)
    node.give("gone")
    node.driver.create_slice(node.uuids[1], memory=from_gib(4), cores=10)
    listed = node.driver.world.slices

    def slices(uuid: str) -> object:
        parts = listed(uuid)  # pyright: ignore[reportArgumentType] - the world's own question
        return tuple(msgspec.structs.replace(part, busy=NA) for part in parts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node.driver.world, "slices", slices)
        await node.tidying.tidy(NOTHING)
        node.clock.seconds += NAMELESS_S
        assert await node.tidying.tidy(NOTHING)
    assert node.left() == (2, 1)
    said = {str(vars(record)["error"]) for record in caplog.records if "error" in vars(record)}
    assert said
    assert all("hostPID" in sentence for sentence in said)
    await node.tidying.tidy(NOTHING)
    assert node.left() == (0, 0)


async def test_a_card_that_cannot_be_asked_keeps_its_files_and_the_others_are_tidied(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.give("here", at=0)
    node.give("there", at=1)
    listed = node.driver.world.slices

    def slices(uuid: str) -> object:
        if uuid == node.uuids[0]:
            raise DriverError(Kind.FAILED, "it will not say")
        return listed(uuid)  # pyright: ignore[reportArgumentType] - the world's own question

    node.driver.world.slices = slices  # pyright: ignore[reportAttributeAccessIssue] - a card that fails
    assert await node.tidying.tidy(NOTHING)
    assert [grant.claim for grant in node.files.all()] == ["c-here"]


async def test_a_lost_card_whose_pods_live_is_complained_of_once_and_hurries_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(tmp_path)
    node.bind("lives")
    node.give("lives")
    listed = node.driver.world.slices
    reasons = ["it is lost", "it is lost", "it is limited", "", "it is limited"]

    def slices(uuid: str) -> object:
        if uuid == node.uuids[0] and reasons[0]:
            raise DriverError(Kind.CARD_GONE, reasons[0])
        return listed(uuid)  # pyright: ignore[reportArgumentType] - the world's own question

    node.driver.world.slices = slices  # pyright: ignore[reportAttributeAccessIssue] - a card that comes and goes
    while reasons:
        assert not await node.tidying.tidy(NOTHING)
        reasons.pop(0)
    assert [record.__dict__["error"] for record in caplog.records] == [
        "it is lost",
        "it is limited",
        "it is limited",
    ]
    assert [grant.claim for grant in node.files.all()] == ["c-lives"]


async def test_room_is_made_only_of_what_is_dead(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.bind("lives")
    for name in ("lives", "gone"):
        node.give(name)
    # The kubelet tells nothing here, so nothing may go.
    assert await node.tidying.dead_on(node.uuids[0]) == ()
