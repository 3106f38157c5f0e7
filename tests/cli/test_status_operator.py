"""`tangram status operator`: the operator's words on one screen, waited for, and with an exit status for scripts."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from builders.commands import Answer, run
from builders.controlled import ISSUED, node
from tangram.cli import status_operator
from tangram.kube.api import Api
from tangram.kube.probing import has_resource
from tangram.sandbox.apiserver.server import serving_api
from tangram.sandbox.kinds import DEFINITIONS
from tangram.sandbox.kubeconfig import kubeconfig_text
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.definition import operator_definition
from tangram.wire.operator.names import (
    API_VERSION,
    DRIVER_READY,
    DRIVER_STATE,
    GROUP,
    KIND,
    MACA_READY,
    MACA_STATE,
    MANAGED,
    OBJECT,
    PLURAL,
    RUNTIME_READY,
    RUNTIME_STATE,
    UPGRADE,
    VERSION,
)
from tangram.wire.operator.node_states import (
    DriverState,
    MacaState,
    Phase,
    RuntimeState,
    Source,
    Upgrade,
    UpgradePhase,
    state_text,
)
from tangram.wire.operator.status import (
    Condition,
    ConditionType,
    Nodes,
    PartState,
    PartStatus,
    State,
    Status,
    UpgradeStatus,
    status_object,
)

OBJECTS = f"/apis/{GROUP}/{VERSION}/{PLURAL}"


class Scene:
    def __init__(self, api: Api, kubeconfig: Path) -> None:
        self.api = api
        self.kubeconfig = kubeconfig

    async def ask(self, *arguments: str) -> Answer:
        return await asyncio.to_thread(
            run, "status", "operator", "--kubeconfig", str(self.kubeconfig), *arguments
        )

    async def object(self) -> None:
        body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": OBJECT}, "spec": {}}
        await self.api.create(OBJECTS, body)

    async def say(self, status: Status) -> None:
        await self.api.merge(f"{OBJECTS}/{OBJECT}/status", {"status": status_object(status)})

    async def node(self, name: str, labels: dict[str, str], annotations: dict[str, str], **spec: Any) -> None:  # noqa: ANN401 - any field
        made = node(name, **spec)
        made["metadata"] |= {"labels": {MANAGED: "true", **labels}, "annotations": annotations}
        await self.api.create("/api/v1/nodes", made)


@asynccontextmanager
async def scene(folder: Path) -> AsyncGenerator[Scene]:
    kubeconfig = folder / "kubeconfig"
    async with serving_api(issued=ISSUED) as running, Api(running.connection()) as api:
        kubeconfig.write_text(kubeconfig_text(running.address, running.issued.authority, running.token))
        yield Scene(api, kubeconfig)


async def install_kind(api: Api) -> None:
    await api.create(DEFINITIONS, operator_definition())
    async with asyncio.timeout(10):
        while not await has_resource(api, API_VERSION, PLURAL):  # noqa: ASYNC110 - another process' state
            await asyncio.sleep(0.01)


def status(state: State, message: str, **more: Any) -> Status:  # noqa: ANN401 - any field
    ready = Condition(
        type=ConditionType.READY,
        status=str(state is State.READY),
        reason="Because",
        last_transition_time="2026-11-17T10:00:00Z",
        observed_generation=1,
    )
    return Status(state=state, message=message, observed_generation=1, conditions=(ready,), **more)


async def test_everything_on_one_screen(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with scene(tmp_path) as one:
        await install_kind(one.api)
        await one.object()
        runtime = state_text(RuntimeState(phase=Phase.READY, engine="containerd", version="2.1.4", way="cdi"))
        maca = state_text(MacaState(phase=Phase.READY, versions=("2.18.0.3", "2.23.0.1"), default="2.18.0.3"))
        done = DriverState(phase=Phase.READY, wanted="2.33.0", running="2.33.0", source=Source.CLOUD)
        old = DriverState(
            phase=Phase.FAILED,
            wanted="2.33.0",
            running="2.32.0",
            needs_turn=True,
            why="the driver lists no card",
        )
        waits = DriverState(phase=Phase.WAITING, wanted="2.33.0", running="2.32.0", needs_turn=True)
        ready = {INSTALLED: "true", RUNTIME_READY: "true", DRIVER_READY: "true", MACA_READY: "true"}
        common = {RUNTIME_STATE: runtime, MACA_STATE: maca}
        failed = Upgrade(to="2.33.0", phase=UpgradePhase.FAILED, why="2.33.0 could not be put in place")
        held = Upgrade(to="2.33.0", phase=UpgradePhase.CORDONED)
        await one.node("n1", ready, {**common, DRIVER_STATE: state_text(done)})
        await one.node("n2", ready, {**common, DRIVER_STATE: state_text(old), UPGRADE: state_text(failed)})
        await one.node(
            "n3",
            {RUNTIME_READY: "true", DRIVER_READY: "true", MACA_READY: "true"},
            {**common, DRIVER_STATE: state_text(waits), UPGRADE: state_text(held)},
            unschedulable=True,
        )
        await one.node("n4", {INSTALLED: "true"}, {})
        upgrade = UpgradeStatus(
            to="2.33.0", done=1, updating=1, failed=1, message="n3 waits for pod ai/train"
        )
        parts = (
            PartStatus(name="gpu-label", state=PartState.READY, wanted=5, ready=5),
            PartStatus(
                name="gpu-device",
                state=PartState.NOT_READY,
                wanted=4,
                ready=2,
                message="gpu-device does not offer",
            ),
            PartStatus(
                name="device-config", state=PartState.IGNORED, message="devicePlugin.deviceConfig is empty"
            ),
        )
        await one.say(
            status(
                State.DEPLOYING,
                "n3 waits for pod ai/train",
                parts=parts,
                nodes=Nodes(managed=4, ready=2),
                upgrade_status=upgrade,
            )
        )
        answer = await one.ask()
        assert (answer.status, answer.err) == (1, "")
        assert answer.out == snapshot
        told = json.loads((await one.ask("-o", "json")).out)
        assert [each["name"] for each in told["nodes"]] == ["n1", "n2", "n3", "n4"]
        assert told["nodes"][2]["cordoned"] == "by the operator"
        assert told["upgrade"]["to"] == "2.33.0"
        assert (await one.ask("-o", "yaml")).out.startswith("tangram: operator-status/v1\nstate: deploying\n")


async def test_ready_is_zero(tmp_path: Path) -> None:
    async with scene(tmp_path) as one:
        await install_kind(one.api)
        await one.object()
        silent = await one.ask()
        assert silent.status == 1
        assert "no operator has looked at it yet" in silent.out
        await one.say(status(State.READY, "1 GPU node is ready"))
        answer = await one.ask()
        assert (answer.status, answer.out) == (0, "ready: 1 GPU node is ready\n")


async def test_waiting_ends_when_everything_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_operator, "BETWEEN_S", 0.05)
    async with scene(tmp_path) as one:
        await install_kind(one.api)
        await one.object()
        await one.say(status(State.DEPLOYING, "driver-manager: ready on 0 of 1 nodes"))
        asking = asyncio.create_task(one.ask("--wait", "50s"))
        await asyncio.sleep(0.5)
        await one.say(status(State.READY, "1 GPU node is ready"))
        answer = await asking
        assert answer.status == 0
        assert answer.err == "tangram: deploying: driver-manager: ready on 0 of 1 nodes\n"
        assert (await one.ask("--wait", "60ms")).status == 0


async def test_a_changed_object_that_nobody_has_looked_at_is_not_ready(tmp_path: Path) -> None:
    async with scene(tmp_path) as one:
        await install_kind(one.api)
        await one.object()
        await one.say(status(State.READY, "1 GPU node is ready"))
        await one.api.merge(f"{OBJECTS}/{OBJECT}", {"spec": {"log": {"level": "debug"}}})
        answer = await one.ask()
        assert answer.status == 1
        assert answer.out == "ready: 1 GPU node is ready (of the spec before the last change)\n"


async def test_no_operator_is_one_sentence(tmp_path: Path) -> None:
    async with scene(tmp_path) as one:
        answer = await one.ask()
        assert answer.status == 1
        assert answer.out == (
            "absent: there is no ClusterOperator cluster-operator in this cluster; helm install metax-operator makes "
            "one\n"
        )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(("--wait", "soon"), "--wait: ", id="wait"),
        pytest.param(
            ("-o", "xml"), "-o is 'xml': it is table, json or yaml; write one of these.", id="format"
        ),
        pytest.param(("--kubeconfig", "/nonexistent"), "/nonexistent", id="kubeconfig"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    answer = run("status", "operator", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
