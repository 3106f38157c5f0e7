"""What `driver-config` says for a node, and what is made of an object that cannot be meant."""

from tangram.kube.api import Api, Object
from tangram.kube.connection import Connection
from tangram.kube.recorder import Event
from tangram.services.driver_manager.configuring import Configuration
from tangram.services.driver_manager.facts import Wish
from tangram.units.ids import NodeName

GOOD: Object = {"data": {"node-vfnums": "nodes:\n  gpu-1:\n    vfnum: 2\n"}}


async def test_a_file_that_is_no_text_is_refused_and_takes_nothing_away() -> None:
    events: list[Event] = []
    async with Api(Connection("http://127.0.0.1:1", None)) as api:
        one = Configuration(api, "metax-operator", NodeName("gpu-1"), lambda: None, events.append)
        one.read(GOOD)
        one.read({"binaryData": {"node-vfnums": "//5uAA=="}})
        assert one.wish == Wish(functions=2)
        assert "node-vfnums is under binaryData" in one.refused
        assert [event.about.kind for event in events] == ["ConfigMap", "Node"]
        one.read(None)
        assert (one.wish, one.refused) == (Wish(), "")
