"""Cards out of placement and back, through the real command line and a small API server."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from aiohttp import web

from builders.api_server import refusal
from builders.commands import Answer, run
from builders.node_server import NodeServer, node_server
from tangram.kube.api import Api
from tangram.kube.cordoning import change_cordons
from tangram.model.cards import Card, Vendor
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import from_gib
from tangram.wire.hami import CORDONED_CARDS
from tangram.wire.inventory import INVENTORY, Inventory, encode_inventory

NODE = "gpu-1"


def card(index: int, uuid: str = "", vendor: Vendor = Vendor.METAX) -> Card:
    return Card(uuid=CardUuid(uuid or f"GPU-uuid-{index}"), index=index, vendor=vendor, memory=from_gib(64))


class Cluster:
    def __init__(self, server: NodeServer, folder: Path) -> None:
        self.server = server
        self._kubeconfig = str(server.kubeconfig(folder))

    def node(self, *cards: Card, cordoned: str | None = None, name: str = NODE) -> None:
        written = {INVENTORY: encode_inventory(Inventory(cards))} if cards else {}
        more = {} if cordoned is None else {CORDONED_CARDS: cordoned}
        self.server.put(name, metadata={"annotations": {"example.com/kept": "yes", **written, **more}})

    async def run(self, *arguments: str) -> Answer:
        return await asyncio.to_thread(run, *arguments, "--kubeconfig", self._kubeconfig)

    @property
    def cordoned(self) -> str | None:
        assert self.server.annotations(NODE)["example.com/kept"] == "yes"
        return self.server.annotations(NODE).get(CORDONED_CARDS)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncGenerator[Cluster]:
    async with node_server() as server:
        yield Cluster(server, tmp_path)


@pytest.mark.parametrize("word", ["3", "GPU-3", "gpu3", "GPU-uuid-3", "gpu-UUID-3"])
async def test_a_card_is_named_by_uuid_or_number(cluster: Cluster, word: str) -> None:
    cluster.node(*(card(index) for index in range(4)))
    answer = await cluster.run("cordon", NODE, word)
    assert answer == (
        0,
        "node gpu-1: card GPU-uuid-3 takes no new pods; pods on it keep running.\n",
        "",
    )
    assert cluster.cordoned == "GPU-uuid-3"


async def test_what_is_cordoned_stays_and_asking_twice_changes_nothing(cluster: Cluster) -> None:
    cluster.node(card(0), card(1), card(2), cordoned=" GPU-uuid-1 , gone-long-ago")
    answer = await cluster.run("cordon", NODE, "0", "1", "0")
    assert answer.status == 0
    assert answer.out == (
        "node gpu-1: card GPU-uuid-0 takes no new pods; pods on it keep running.\n"
        "node gpu-1: card GPU-uuid-1 was cordoned before; nothing changed.\n"
        "Cordoned as well: gone-long-ago.\n"
    )
    assert cluster.cordoned == "GPU-uuid-1,gone-long-ago,GPU-uuid-0"
    patches = len(cluster.server.patches)
    assert (await cluster.run("cordon", NODE, "0", "1")).status == 0
    assert len(cluster.server.patches) == patches


async def test_the_last_card_that_returns_takes_the_annotation_with_it(cluster: Cluster) -> None:
    cluster.node(card(0), card(1), cordoned="GPU-uuid-1")
    answer = await cluster.run("uncordon", NODE, "GPU-1", "0")
    assert answer.out == (
        "node gpu-1: card GPU-uuid-1 takes new pods again.\n"
        "node gpu-1: card GPU-uuid-0 was not cordoned; nothing changed.\n"
    )
    assert cluster.cordoned is None


async def test_a_card_that_is_gone_can_be_taken_off_the_list(cluster: Cluster) -> None:
    cluster.node(cordoned="gone-long-ago,other")
    assert (await cluster.run("uncordon", NODE, "gone-long-ago")).status == 0
    assert cluster.cordoned == "other"


async def test_for_programs(cluster: Cluster) -> None:
    cluster.node(card(0), card(1), cordoned="GPU-uuid-1")
    answer = await cluster.run("cordon", NODE, "0", "1", "-o", "json")
    assert json.loads(answer.out) == {
        "tangram": "cordon/v1",
        "node": "gpu-1",
        "action": "cordon",
        "changed": ["GPU-uuid-0"],
        "unchanged": ["GPU-uuid-1"],
        "cordoned": ["GPU-uuid-1", "GPU-uuid-0"],
    }


async def test_an_unknown_card_is_refused_with_those_there_are(cluster: Cluster) -> None:
    cluster.node(card(0), card(1))
    assert await cluster.run("cordon", NODE, "7") == (
        2,
        "",
        "tangram: node gpu-1 has no card '7': it has 0 (GPU-uuid-0), 1 (GPU-uuid-1); name one of these.\n",
    )
    assert cluster.server.patches == []


async def test_a_number_that_two_vendors_cards_have_is_not_guessed(cluster: Cluster) -> None:
    cluster.node(card(0), card(0, "mt-0", Vendor.MTHREADS))
    answer = await cluster.run("cordon", NODE, "0")
    assert answer.status == 2
    assert "may be GPU-uuid-0 or mt-0: both have that number; write the uuid." in answer.err
    assert (await cluster.run("cordon", NODE, "mt-0")).status == 0
    assert cluster.cordoned == "mt-0"


async def test_a_uuid_that_looks_like_a_number_wins_over_the_number(cluster: Cluster) -> None:
    cluster.node(card(0, "GPU-1"), card(1, "GPU-0"))
    await cluster.run("cordon", NODE, "GPU-1")
    assert cluster.cordoned == "GPU-1"


async def test_a_node_without_cards_is_no_place_to_cordon_any(cluster: Cluster) -> None:
    cluster.node()
    answer = await cluster.run("cordon", NODE, "0")
    assert answer.status == 1
    assert "node gpu-1 announces no card" in answer.err


async def test_a_node_that_is_not_there_is_the_api_servers_answer(cluster: Cluster) -> None:
    answer = await cluster.run("cordon", "gpu-9", "0")
    assert answer.status == 1
    assert "404 NotFound" in answer.err


async def test_somebody_elses_edit_in_between_is_kept(cluster: Cluster) -> None:
    cluster.node(card(0), card(1), card(2))
    edits = iter(("GPU-uuid-1", "GPU-uuid-1,GPU-uuid-2"))

    def interfere() -> web.Response | None:
        cordoned = next(edits, None)
        if cordoned is not None:
            cluster.server.change(NODE, {"metadata": {"annotations": {CORDONED_CARDS: cordoned}}})
        return None

    cluster.server.before_patch = interfere
    assert (await cluster.run("cordon", NODE, "0")).status == 0
    assert cluster.cordoned == "GPU-uuid-1,GPU-uuid-2,GPU-uuid-0"


async def test_many_at_once_lose_nothing(cluster: Cluster) -> None:
    cluster.node(*(card(index) for index in range(6)))
    async with Api(cluster.server.connection) as api:
        await asyncio.gather(
            *(change_cordons(api, NodeName(NODE), [str(index)], "cordon") for index in range(6))
        )
    assert sorted((cluster.cordoned or "").split(",")) == [f"GPU-uuid-{index}" for index in range(6)]


async def test_a_refusal_is_said_and_ends_with_1(cluster: Cluster) -> None:
    cluster.node(card(0))
    cluster.server.before_patch = lambda: refusal(403, "Forbidden", "nodes is forbidden")
    assert await cluster.run("cordon", NODE, "0") == (
        1,
        "",
        "tangram: the API server answered 403 Forbidden: nodes is forbidden.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("cordon",), "NODE"),
        (("cordon", NODE), "no card of node gpu-1 is named"),
        (("uncordon", NODE), "as in 'tangram uncordon gpu-1 3'"),
        (("cordon", "../pods", "0"), "a node name is at most"),
        (("cordon", NODE, "0", "-o", "xml"), "it is table, json or yaml"),
    ],
)
async def test_a_command_line_that_says_too_little_is_one_sentence(
    cluster: Cluster, arguments: tuple[str, ...], sentence: str
) -> None:
    answer = await cluster.run(*arguments)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_a_kubeconfig_that_is_not_there_is_one_sentence() -> None:
    answer = run("cordon", NODE, "0", "--kubeconfig", "nowhere.yaml")
    assert (answer.status, answer.err) == (
        2,
        "tangram: the kubeconfig nowhere.yaml cannot be read (No such file or directory).\n",
    )
