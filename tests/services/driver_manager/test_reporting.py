"""What driver-manager writes about who installed a driver: what is so, or what the administrator wants to read."""

from __future__ import annotations

import pytest

from builders.node_server import node_server
from tangram.kube.api import Api
from tangram.services.driver_manager.decisions import Decision
from tangram.services.driver_manager.own_node import OwnNode
from tangram.services.driver_manager.reporting import Reporter
from tangram.units.ids import NodeName
from tangram.wire.operator import names
from tangram.wire.operator.node_states import DriverState, Phase, Source

NODE = NodeName("gpu-1")


@pytest.mark.parametrize(
    ("source", "mode", "written"),
    [
        pytest.param(Source.HOST, "", "native", id="the hosts"),
        pytest.param(Source.CLOUD, "", "cloud", id="a payloads"),
        pytest.param(Source.HOST, "cloud", "cloud", id="the hosts under another word"),
        pytest.param(Source.CLOUD, "native", "native", id="a payloads under another word"),
    ],
)
async def test_the_label_is_what_is_so_unless_a_mode_is_chosen(
    source: Source, mode: str, written: str
) -> None:
    decision = Decision(state=DriverState(phase=Phase.READY, running="2.32.0", source=source))
    async with node_server() as server, Api(server.connection) as api:
        server.put(NODE)
        await Reporter(api, OwnNode(NODE), mode=mode).tell_driver(decision)
        assert server.labels(NODE)[names.DRIVER_MODE] == written
