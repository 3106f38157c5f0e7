"""The node's condition: only where somebody waits, only when it changes, beside the kubelet's own."""

import asyncio
import datetime as dt
from contextlib import suppress

from msgspec.structs import replace

from builders.agent_api import NODE, AgentApi, agent_api
from builders.api_server import Object, refusal
from builders.simulated import ManualClock
from builders.waiting import until
from tangram.kube.api import Api
from tangram.kube.informer import Change, Key
from tangram.model.cards import Card, CardMode, Vendor
from tangram.services.gpu_device.mode_condition import LATE_S, PACE_S, TYPE, ModeCondition
from tangram.services.gpu_device.mode_waiting import Reason, Waiting
from tangram.services.gpu_device.publishing import OwnNode
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import from_gib

READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
CARD = Card(uuid=CardUuid("GPU-0"), index=0, vendor=Vendor.METAX, memory=from_gib(64), mode=CardMode.WHOLE)
BUSY = Waiting(CARD, CardMode.WHOLE, CardMode.SLICED, Reason.CARDS_BUSY, "held by ns/a")
MOVING = replace(BUSY, reason=Reason.CHANGING, why="about to change")


class Run:
    def __init__(self, server: AgentApi, api: Api) -> None:
        self.server = server
        self.waiting: tuple[Waiting, ...] | None = ()
        self.clock = ManualClock()
        self.now = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
        self.own = OwnNode(lambda: None)
        server.set_node({"status": {"conditions": [READY]}})
        self.condition = ModeCondition(
            api,
            NodeName(NODE),
            self.own,
            lambda: self.waiting,
            now=lambda: self.now,
            clock=self.clock,
        )

    def hear(self) -> None:
        """The copy of the node catches up."""
        self.own.told(Change(Key("", NODE), None, self.server.node))

    async def write(self, *waiting: Waiting) -> None:
        self.waiting = waiting
        assert await self.condition.write()
        self.hear()

    @property
    def said(self) -> Object | None:
        found = [each for each in self.server.node["status"]["conditions"] if each["type"] == TYPE]
        return found[0] if found else None

    @property
    def writes(self) -> int:
        return len(self.server.writes)


async def test_a_node_whose_cards_follow_at_once_never_has_the_condition() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        run = Run(server, api)
        run.hear()
        await run.write()
        await run.write(MOVING)
        await run.write()
        assert (run.said, run.writes) == (None, 0)


async def test_a_busy_card_is_told_until_it_has_changed_and_the_kubelets_conditions_stay() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        run = Run(server, api)
        run.hear()
        await run.write(BUSY)
        began = "2026-03-01T00:00:00Z"
        assert run.said == {
            "type": TYPE,
            "status": "True",
            "reason": "CardsBusy",
            "message": "card 0 (GPU-0) is native and is to be sgpu: held by ns/a. It follows when they have ended; "
            f"tangram cordon {NODE} CARD keeps new pods away",
            "lastTransitionTime": began,
            "lastHeartbeatTime": began,
        }
        run.now += dt.timedelta(minutes=1)
        await run.write(MOVING)
        assert run.said is not None
        assert (run.said["status"], run.said["reason"]) == ("True", "Changing")
        assert (run.said["lastTransitionTime"], run.said["lastHeartbeatTime"]) == (
            began,
            "2026-03-01T00:01:00Z",
        )
        run.now += dt.timedelta(minutes=1)
        await run.write()
        assert run.said is not None
        assert (run.said["status"], run.said["reason"]) == ("False", "ModesInForce")
        assert run.said["lastTransitionTime"] == "2026-03-01T00:02:00Z"
        assert READY in server.node["status"]["conditions"]
        assert run.writes == 3


async def test_the_same_is_not_written_again_even_before_the_copy_has_heard_of_it() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        run = Run(server, api)
        run.hear()
        run.waiting = (BUSY,)
        for _ in range(3):
            assert await run.condition.write()
        run.hear()
        assert await run.condition.write()
        assert run.writes == 1


async def test_who_holds_the_cards_is_told_anew_only_now_and_then() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        run = Run(server, api)
        run.hear()
        await run.write(BUSY)
        other = replace(BUSY, why="held by ns/b")
        await run.write(other)
        assert run.writes == 1
        run.clock.seconds += PACE_S
        await run.write(other)
        assert run.writes == 2
        assert run.said is not None
        assert "ns/b" in run.said["message"]


async def test_what_somebody_took_away_is_written_again() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        run = Run(server, api)
        run.hear()
        await run.write(BUSY)
        server.set_node({"status": {"conditions": [READY]}})
        run.hear()
        await run.write(BUSY)
        assert run.said is not None
        assert run.writes == 2


async def test_a_server_whose_history_begins_anew_is_believed_after_a_while() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        run = Run(server, api)
        run.hear()
        restored = server.node
        await run.write(BUSY)
        run.own.told(Change(Key("", NODE), None, restored))
        await run.condition.write()
        assert run.writes == 1
        run.clock.seconds += LATE_S
        await run.condition.write()
        assert run.writes == 2


async def test_nothing_is_written_while_nobody_knows() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        run = Run(server, api)
        run.waiting = (BUSY,)
        assert await run.condition.write()
        run.hear()
        run.waiting = None
        assert await run.condition.write()
        assert run.writes == 0


async def test_a_write_that_fails_is_tried_again() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        run = Run(server, api)
        run.hear()
        run.waiting = (BUSY,)
        ordinary = server.answer_first
        server.answer_first = lambda _request: refusal(403, "Forbidden", "nodes/status is forbidden")
        assert not await run.condition.write()
        assert "forbidden" in run.condition.trouble
        server.answer_first = ordinary
        task = asyncio.create_task(run.condition.run())
        run.condition.due()
        await until(lambda: run.said is not None)
        assert run.condition.trouble == ""
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
