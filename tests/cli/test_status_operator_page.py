"""What `docs/operator.md` shows of `tangram status operator` is what it prints of such a cluster, word for word.

Lines that are too long for a page end in three dots there.
"""

import asyncio
import re
from pathlib import Path

import pytest

from builders.commands import run
from builders.operated import Operated, operated, operator_on
from tangram.cli import status_operator
from tangram.kube.connection import Connection
from tangram.services.operator import service
from tangram.wire.operator.names import (
    DRIVER_READY,
    DRIVER_STATE,
    MACA_READY,
    MACA_STATE,
    RUNTIME_READY,
    RUNTIME_STATE,
)
from tangram.wire.operator.node_states import DriverState, MacaState, Phase, RuntimeState, Source, state_text
from tangram.wire.operator.status import Status

PAGE = (Path(__file__).parents[2] / "docs" / "operator.md").read_text("utf-8")
SPEC = {
    "image": {"registry": "harbor.example.com/gpu"},
    "driver": {"payload": {"version": "2.33.0"}},
    "maca": {"payload": {"images": ["maca-c500:2.18.0.3"]}},
}
IMAGE = "harbor.example.com/gpu/driver-image:2.33.0"
WHY = f"the payload {IMAGE} is for amd64, and this machine is arm64: use an image for it"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PACE_S", 0.02)
    monkeypatch.setattr(service, "EVERY_S", 0.5)


async def bring_up(scene: Operated) -> None:
    """Five nodes, three of them with cards; on one of these the driver cannot be loaded."""
    everywhere = ("cpu-1", "cpu-2", "gpu-1", "gpu-2", "gpu-3")
    for name in everywhere:
        await scene.add_node(name)
    await scene.run_pods("gpu-label", len(everywhere))
    cards = [name for name in everywhere if name.startswith("gpu")]
    for name in everywhere:
        await scene.found_cards(name, there=name in cards)
    for part in ("container-runtime", "payloads", "driver-manager"):
        await scene.run_pods(part, len(cards))
    runtime = RuntimeState(phase=Phase.READY, engine="containerd", version="2.1.4", way="cdi")
    maca = MacaState(phase=Phase.READY, versions=("2.18.0.3",), default="2.18.0.3")
    done = DriverState(phase=Phase.READY, wanted="2.33.0", running="2.33.0", source=Source.CLOUD)
    failed = DriverState(phase=Phase.FAILED, wanted="2.33.0", code="wrong-architecture", why=WHY)
    for name in cards:
        fine = name != "gpu-2"
        word = str(fine).lower()
        await scene.write(
            name,
            {RUNTIME_READY: "true", DRIVER_READY: word, MACA_READY: "true"},
            {
                RUNTIME_STATE: state_text(runtime),
                MACA_STATE: state_text(maca),
                DRIVER_STATE: state_text(done if fine else failed),
            },
        )
    await scene.run_pods("gpu-device", 2)


def is_told(status: Status) -> bool:
    told = {part.name: (part.ready, part.wanted) for part in status.parts}
    return (
        told.get("gpu-device") == (2, 3)
        and told.get("driver-manager") == (2, 3)
        and bool(status.nodes.problems)
    )


async def test_the_page_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with operated() as scene:
        await scene.ask_for(SPEC)
        async with operator_on(scene):
            await bring_up(scene)
            await scene.status(is_told)

            def connection_for(*_: object) -> Connection:
                return scene.api.connection

            monkeypatch.setattr(status_operator, "connection_for", connection_for)
            answer = await asyncio.to_thread(run, "status", "operator")
    (shown,) = re.findall(r"```\n\$ tangram status operator\n(.*?)```", PAGE, re.DOTALL)
    assert answer.status == status_operator.NOT_READY
    printed = [line.rstrip() for line in answer.out.splitlines()]
    assert len(printed) == len(shown.splitlines())
    for line, told in zip(printed, shown.splitlines(), strict=True):
        assert (line[: len(told) - 3] + "..." if told.endswith("...") else line) == told
