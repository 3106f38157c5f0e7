"""The whole agent and its device ConfigMap: an edit counts at once, busy cards wait, a slip changes nothing."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from builders.agent_api import NODE, pod
from builders.agent_runs import GPU, SGPU, AgentRun, agent_on
from builders.api_server import Object
from builders.waiting import until

PLACE = "/api/v1/namespaces/kube-system/configmaps"
FIRST, SECOND = "metax-device-config", "device-config"
CONDITION = "GpuModeChangePending"
TWO = {"product": "C500", "count": 2}


def write(run: AgentRun, cluster: str, name: str = FIRST) -> None:
    run.api.put(f"{PLACE}/{name}", {"data": {"version": "v1", "cluster-config": cluster}})


def delete(run: AgentRun, name: str = FIRST) -> None:
    run.api.remove(f"{PLACE}/{name}")


def condition(run: AgentRun) -> Object | None:
    found = [each for each in run.api.node["status"].get("conditions", ()) if each["type"] == CONDITION]
    return found[0] if found else None


def events(run: AgentRun, about: str, reason: str) -> list[Object]:
    return [each for each in run.api.events(about) if each["reason"] == reason]


@asynccontextmanager
async def following(cluster: str = "") -> AsyncGenerator[AgentRun]:
    """An agent that follows the namespace, and the ConfigMap there if one is given."""
    async with agent_on(TWO, begin=False) as run:
        run.adjust(config_namespace="kube-system", config_folder=None)
        if cluster:
            write(run, cluster)
        run.start()
        yield run


async def test_an_edit_of_the_config_map_changes_idle_cards_and_its_end_makes_them_whole_again() -> None:
    async with following() as run:
        await run.offered(GPU, 2)
        write(run, "mode: sgpu")
        await run.offered(SGPU, 32)
        await run.offered(GPU, 0)
        write(run, "mode: shared\nshareNums: 3")
        await run.offered(GPU, 6)
        delete(run)
        await run.offered(GPU, 2, 2)
        await until(lambda: bool(events(run, NODE, "GpuConfigGone")))
        assert condition(run) is None


async def test_a_busy_card_waits_names_its_pod_in_a_condition_and_follows_when_it_ends() -> None:
    async with following() as run:
        await run.offered(GPU, 2)
        await run.pods.run(run.api.bind(pod("holder", {GPU: 1})))
        write(run, "mode: sgpu")
        await run.offered(SGPU, 16)
        await until(lambda: condition(run) is not None)
        said = condition(run)
        assert said is not None
        assert (said["status"], said["reason"]) == ("True", "CardsBusy")
        assert "is native and is to be sgpu: held by default/holder" in said["message"]
        await run.offered(GPU, 1, 1)
        run.api.delete_pod("holder")
        await run.offered(SGPU, 32)
        await until(lambda: (condition(run) or {}).get("status") == "False")
        assert (condition(run) or {})["reason"] == "ModesInForce"


async def test_a_card_that_is_not_split_says_so_in_the_condition() -> None:
    async with following("mode: vgpu") as run:
        await until(lambda: condition(run) is not None)
        said = condition(run)
        assert said is not None
        assert said["reason"] == "NotPossible"
        assert "not split into virtual functions" in said["message"]


async def test_a_card_that_the_driver_will_not_change_says_so_in_the_condition() -> None:
    async with following() as run:
        await run.offered(GPU, 2)
        run.driver.world.use(0)
        write(run, "mode: sgpu")
        await until(lambda: (condition(run) or {}).get("reason") == "DriverRefused")
        assert "card 0" in (condition(run) or {})["message"]
        await run.offered(SGPU, 16)


async def test_a_slip_is_told_on_the_config_map_and_on_the_node_and_changes_nothing() -> None:
    async with following("mode: sgpu") as run:
        await run.offered(SGPU, 32)
        write(run, "# yes\nmode: sliced")
        await until(lambda: bool(events(run, FIRST, "GpuConfigRefused")))
        (event,) = events(run, FIRST, "GpuConfigRefused")
        assert (event["type"], event["count"]) == ("Warning", 1)
        assert event["involvedObject"]["kind"] == "ConfigMap"
        assert event["metadata"]["namespace"] == "kube-system"
        assert "cluster-config, line 2: mode in cluster-config is 'sliced'" in event["message"]
        await until(lambda: bool(events(run, NODE, "GpuConfigRefused")))
        await run.kill()
        run.start()
        await run.offered(SGPU, 32, 32)
        assert condition(run) is None


async def test_of_two_config_maps_the_operators_counts_and_the_other_is_told() -> None:
    async with following("mode: sgpu") as run:
        await run.offered(SGPU, 32)
        write(run, "mode: native", SECOND)
        await until(lambda: bool(events(run, SECOND, "GpuConfigNotRead")))
        await run.offered(SGPU, 32, 32)
        delete(run)
        await run.offered(GPU, 2)


async def test_a_restart_without_api_server_offers_the_cards_as_before() -> None:
    async with following("mode: shared\nshareNums: 5") as run:
        await run.offered(GPU, 10)
        await run.kill()
        run.api.go_down()
        run.start()
        await run.offered(GPU, 10, 10)
        assert run.agent is not None
        assert any("device ConfigMap in kube-system is not known yet" in each for each in run.agent.unready())


async def test_an_agent_that_has_never_heard_of_a_configuration_leaves_cards_as_they_are() -> None:
    sliced = {"product": "C500", "count": 2, "sliced": True}
    async with agent_on(sliced, begin=False) as run:
        run.adjust(config_namespace="kube-system", config_folder=None)
        run.api.go_down()
        run.start()
        await run.offered(SGPU, 32)
        run.api.down = False
        write(run, "mode: sgpu")
        await until(lambda: run.agent is not None and not run.agent.unready())
        await run.offered(SGPU, 32, 32)
        assert all(each.sliced for each in run.driver.world.devices())
