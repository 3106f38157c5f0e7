"""The device ConfigMap through the API server: either name, live, and nothing before both were looked up."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.agent_api import AgentApi, agent_api
from builders.api_server import Object, refusal
from builders.waiting import until
from tangram.kube.api import Api
from tangram.kube.recorder import About
from tangram.services.gpu_device.config_maps import ConfigMaps, read_config_map

PLACE = "/api/v1/namespaces/kube-system/configmaps"
FIRST, SECOND = "metax-device-config", "device-config"


def config_map(**more: object) -> Object:
    return {"metadata": {"name": FIRST, "namespace": "kube-system", "uid": "u"}, **more}


@pytest.mark.parametrize(
    "thing",
    [
        pytest.param(config_map(), id="no data"),
        pytest.param(config_map(data=None, binaryData=None), id="null data"),
        pytest.param(config_map(data={"kind-config": "x", "colour": "red"}), id="other keys"),
        pytest.param(config_map(binaryData={"logo": "AAAA"}), id="somebody's picture"),
        pytest.param(config_map(data={"cluster-config": None}), id="a null key"),
    ],
)
def test_a_config_map_without_our_keys_says_nothing(thing: Object) -> None:
    assert not read_config_map(thing).says_something


def test_our_keys_are_taken_and_the_others_left_alone() -> None:
    found = read_config_map(
        config_map(
            metadata={"name": FIRST, "namespace": "kube-system", "uid": "u", "annotations": None},
            data={"version": "v1", "cluster-config": "mode: sgpu", "kind-config": "x"},
            binaryData={"logo": "AAAA"},
        )
    )
    assert found.texts == {"version": "v1", "cluster-config": "mode: sgpu"}
    assert (found.source, found.trouble) == (f"ConfigMap kube-system/{FIRST}", "")
    assert found.about == About("ConfigMap", FIRST, "kube-system", "u")


def test_our_key_under_binary_data_is_told_and_not_overlooked() -> None:
    found = read_config_map(config_map(data={"version": "v1"}, binaryData={"cluster-config": "//4="}))
    assert "cluster-config is under binaryData" in found.trouble


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["version", "cluster-config", "name", "uid"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(odd)
def test_whatever_the_server_sends_can_be_taken_over(thing: object) -> None:
    read_config_map(config_map(data=thing, binaryData=thing))
    read_config_map({"metadata": thing, "data": {"version": thing}})


class Following:
    """Both names followed, on a server that a test changes."""

    def __init__(self, server: AgentApi, api: Api) -> None:
        self.server = server
        self.changes = 0
        self.maps = ConfigMaps(api, "kube-system", self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def put(self, name: str, cluster: str) -> None:
        self.server.put(f"{PLACE}/{name}", {"data": {"version": "v1", "cluster-config": cluster}})

    def modes(self) -> list[str]:
        return [each.texts["cluster-config"] for each in self.maps.written()]


async def test_both_are_followed_and_the_operators_name_comes_first() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        run = Following(server, api)
        assert not run.maps.known
        task = asyncio.create_task(run.maps.run())
        await until(lambda: run.maps.known and run.changes == 1)
        assert run.modes() == []
        run.put(SECOND, "mode: sgpu")
        await until(lambda: run.modes() == ["mode: sgpu"])
        run.put(FIRST, "mode: shared")
        await until(lambda: run.modes() == ["mode: shared", "mode: sgpu"])
        server.put(f"{PLACE}/{FIRST}", {"data": None})
        await until(lambda: run.modes() == ["mode: sgpu"])
        server.remove(f"{PLACE}/{SECOND}")
        await until(lambda: run.modes() == [])
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_server_that_refuses_is_no_empty_namespace() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        server.answer_first = lambda _request: refusal(403, "Forbidden", "configmaps is forbidden")
        run = Following(server, api)
        task = asyncio.create_task(run.maps.run())
        await until(lambda: bool(run.maps.trouble))
        assert not run.maps.known
        assert "forbidden" in run.maps.trouble
        assert run.changes == 0
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_each_name_is_asked_for_by_itself_so_that_a_role_can_name_the_two() -> None:
    async with agent_api() as server, Api(server.connection) as api:
        run = Following(server, api)
        task = asyncio.create_task(run.maps.run())
        await until(lambda: run.maps.known)
        asked = {query.get("fieldSelector") for _, path, query, _ in server.requests if path == PLACE}
        assert asked == {f"metadata.name={FIRST}", f"metadata.name={SECOND}"}
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
