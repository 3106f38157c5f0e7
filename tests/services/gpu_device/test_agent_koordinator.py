"""The agent beside koordlet, put together: what its driver knows arrives in the file that koordlet reads."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from builders.agent_api import pod
from builders.agent_runs import GPU, SGPU, AgentRun, agent_on
from builders.waiting import until
from tangram.wire.koordinator.device_info import DeviceInfo, decode_device_infos

SLICED = {"product": "C500", "count": 2, "sliced": True}


def beside_koordlet(run: AgentRun) -> Path:
    """Koordlet's pod and its directory; the agent is begun."""
    folder = run.folder / "infos"
    folder.mkdir()
    run.adjust(device_infos=folder)
    made = pod("koordlet", {})
    made["metadata"]["labels"] = {"koord-app": "koordlet"}
    made["spec"]["volumes"] = [{"name": "run", "hostPath": {"path": "/var/run"}}]
    run.api.bind(made)
    run.start()
    return folder / "tangram"


def infos(file: Path) -> list[DeviceInfo]:
    return list(decode_device_infos(file.read_text())[0]) if file.exists() else []


async def test_the_file_has_what_only_the_driver_knows() -> None:
    async with agent_on({"server": "c500-8-two-groups"}, begin=False) as run:
        file = beside_koordlet(run)
        await until(lambda: len(infos(file)) == 8)
        cards = run.driver.world.devices()
        for info, card in zip(infos(file), cards, strict=True):
            assert info.place is not None
            assert info.place.pcie == f"pci{card.pcie_path[0].rpartition(':')[0]}"
            assert (info.uuid, info.place.bus_id, info.place.numa) == (card.uuid, card.bdf, card.numa)
        run.order("fail GPU-3 ecc")
        await until(lambda: infos(file)[3].error_code == "ECCError")
        assert [each.healthy for each in infos(file)].count(False) == 1


async def test_a_card_that_is_about_to_change_its_mode_takes_no_tenants_of_koordinator_either() -> None:
    async with agent_on(SLICED, mode="mode: sgpu", begin=False) as run:
        run.adjust(pauses=replace(run.settings.pauses, told=1000.0))
        file = beside_koordlet(run)
        await run.offered(SGPU, 32)
        await until(lambda: [each.healthy for each in infos(file)] == [True, True])
        run.configure("mode: native")
        await until(lambda: [each.error_code for each in infos(file)] == ["ModeChanging"] * 2)


async def test_the_file_stays_when_the_agent_ends() -> None:
    async with agent_on({"product": "C500", "count": 1}, begin=False) as run:
        file = beside_koordlet(run)
        await run.offered(GPU, 1)
        await until(lambda: len(infos(file)) == 1)
        before = file.read_text()
        assert await run.stop() == 0
        assert file.read_text() == before


async def test_cards_are_served_whatever_becomes_of_the_report(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr("tangram.services.gpu_device.koordinator.device_infos_of", broken)
    async with agent_on({"product": "C500", "count": 1}, begin=False) as run:
        beside_koordlet(run)
        await run.offered(GPU, 1)
        await until(lambda: "reporting to Koordinator failed and is begun again" in caplog.text)
        made = run.api.bind(pod("p", {GPU: 1}))
        assert (await run.pods.run(made))["c0"][GPU]
        assert await run.stop() == 0
