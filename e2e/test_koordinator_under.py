"""Pods that a scripted koord-scheduler binds, served by our agent on a real kubelet."""

import itertools
import json
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode, agent_node
from e2e.agent_view_kit import CORE as MT_CORE
from e2e.agent_view_kit import (
    GPU,
    TWO_GROUPS,
    WHOLE_GIVEN,
    Setup,
    all_slices,
    cards_in,
    empty,
    inside,
    metax,
    mthreads,
    nodes_of,
    on,
    room_on,
)
from e2e.agent_view_kit import MEMORY as MT_MEMORY
from e2e.agent_view_kit import share as mt_share
from e2e.koordinator_kit import (
    SGPU,
    Koordinator,
    create_all,
    infos_folder,
    koord_pod,
    koordinator,
    metax_rows,
    share,
    until_unlocked,
    whole,
)
from e2e.nodes_kit import until_refused
from e2e.restarts_kit import get_pod
from tangram.model.cards import QosPolicy
from testbed.cluster import Cluster
from testbed.koord_adapters import BIND_TIMESTAMP, METAX_ALLOCATED, MINORS
from testbed.koord_devices import ALLOCATED, MODEL, VENDOR
from testbed.koord_requests import CORE, MEMORY, RATIO, SHARED
from testbed.koord_scheduler import DEVICES
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("under koordinator")

GIB = 1 << 30
SLICED = Setup(
    "sliced",
    "tangram: cards/v1\ncards:\n- {product: C500, count: 4, sliced: true}\n",
    {SGPU: 64},
    "mode: sgpu\n",
)
QOS = "metax-tech.com/sgpu-qos-policy"


NATIVE = Setup("whole", TWO_GROUPS, {GPU: 8})
MTHREADS = Setup(
    "mthreads", "tangram: cards/v1\ncards:\n- {product: S4000, count: 2}\n", {MT_CORE: 32, MT_MEMORY: 192}
)


@pytest_asyncio.fixture
async def koord(standing: AgentNode) -> AsyncGenerator[Koordinator]:
    async with koordinator(standing) as running:
        try:
            yield running
        finally:
            await empty(standing)


@on(SLICED)
async def test_a_slice_that_a_scripted_koord_scheduler_binds_is_what_its_annotation_says(
    koord: Koordinator,
) -> None:
    node = koord.node
    await koord.cluster.api.create(koord_pod("page", share(10, "4Gi"), annotations={QOS: "fixed-share"}))
    found = await inside(node, "page")
    seen = await get_pod(koord.cluster, "page")
    ((uuid, mib, percent),) = metax_rows(seen)
    (part,) = all_slices(node)
    assert (part.card, part.memory, part.cores) == (uuid, 4 * GIB, 10)
    assert (mib, percent) == (4096, 10)
    (card,) = [each for each in metax(node) if each.uuid == uuid]
    assert found.nodes == nodes_of([card])
    assert f"alias={part.name}" in found.env["METAX_SGPUS"]
    assert room_on(node, card).policy is QosPolicy.FIXED_SHARE
    (row,) = json.loads(seen["metadata"]["annotations"][ALLOCATED])["gpu"]
    assert (row["minor"], row["id"]) == (card.index, uuid)
    await until_unlocked(node)


@on(SLICED)
async def test_whole_cards_in_koordinators_words_are_slices_of_everything_on_a_sliced_node(
    koord: Koordinator,
) -> None:
    node = koord.node
    await koord.cluster.api.create(koord_pod("pair", whole(2)))
    found = await inside(node, "pair")
    rows = metax_rows(await get_pod(koord.cluster, "pair"))
    cards = {card.uuid: card for card in metax(node)}
    # koord-device-daemon reports a card's memory, our agent what the card slices; the slice has that in any case.
    assert {memory for _, memory, _ in rows} <= {64 << 10, 63 << 10}
    assert {cores for _, _, cores in rows} == {100}
    assert len({uuid for uuid, _, _ in rows}) == 2
    assert found.nodes == nodes_of(card for uuid, card in cards.items() if uuid in {row[0] for row in rows})
    assert {(part.card, part.memory, part.cores) for part in all_slices(node)} == {
        (uuid, 63 * GIB, 100) for uuid, _, _ in rows
    }
    await until_unlocked(node)


@on(SLICED)
async def test_halves_and_quarters_of_cards_fill_them_with_what_they_slice(koord: Koordinator) -> None:
    node = koord.node
    # The halves first: quarters on every card would leave room for no half.
    for percent, count in ((50, 4), (25, 8)):
        asked: dict[str, str | int] = {SHARED: 1, CORE: percent, RATIO: percent, SGPU: 1}
        names = [f"ratio-{percent}-{number}" for number in range(count)]
        await create_all(koord.cluster, (koord_pod(name, asked) for name in names))
        for name in names:
            await inside(node, name)
            ((_, _, cores),) = metax_rows(await get_pod(koord.cluster, name))
            assert cores == percent
    parts = all_slices(node)
    assert sorted((part.memory >> 20, part.cores) for part in parts) == [(16128, 25)] * 8 + [(32256, 50)] * 4
    for card in metax(node):
        assert sum(part.memory for part in parts if part.card == card.uuid) == 63 * GIB
    await until_unlocked(node)


@on(SLICED)
async def test_pods_that_come_at_once_all_run_and_leave_no_lock(koord: Koordinator) -> None:
    node = koord.node
    names = [f"turn-{number}" for number in range(6)]
    await create_all(koord.cluster, (koord_pod(name, share(30, "8Gi")) for name in names))
    for name in names:
        await inside(node, name)
    rows = [metax_rows(await get_pod(koord.cluster, name))[0] for name in names]
    assert sorted((part.card, part.memory >> 20, part.cores) for part in all_slices(node)) == sorted(rows)
    await until_unlocked(node)


@on(SLICED)
async def test_a_pod_that_the_agent_refuses_gives_the_lock_back_and_the_next_one_runs(
    koord: Koordinator,
) -> None:
    node, api = koord.node, koord.cluster.api
    # Koordinator never reads the policy, so it binds one that does not exist.
    await api.create(koord_pod("odd", share(10, "1Gi"), annotations={QOS: "sometimes"}))
    told = await until_refused(koord.cluster, "odd", "CreateContainerConfigError", QOS)
    assert "sometimes" in told
    assert "fixed-share" in told
    await until_unlocked(node)
    await api.create(koord_pod("next", share(10, "1Gi"), annotations={QOS: "fixed-share"}))
    await inside(node, "next")
    await until_unlocked(node)
    assert len(all_slices(node)) == 1


@on(SLICED)
async def test_from_the_agents_file_to_the_container_through_scripted_koordinator_programs(
    standing: AgentNode,
) -> None:
    async with koordinator(standing, file=False) as koord:
        (file,) = infos_folder(standing).iterdir()
        assert file.name == "tangram"
        device = await koord.cluster.api.get(f"{DEVICES}/{standing.name}")
        assert device["metadata"]["labels"] == {VENDOR: "metax", MODEL: "C500"}
        assert {entry["manager"] for entry in device["metadata"]["managedFields"]} == {"koordlet"}
        told = {
            (entry["id"], entry["minor"], entry["topology"]["busID"]) for entry in device["spec"]["devices"]
        }
        assert told == {(card.uuid, card.index, card.bdf) for card in metax(standing)}
        await koord.cluster.api.create(koord_pod("through", share(10, "1Gi")))
        found = await inside(standing, "through")
        assert "/dev/mxcd" in found.nodes
        (part,) = all_slices(standing)
        assert (part.memory, part.cores) == (GIB, 10)
        await until_unlocked(standing)
        await empty(standing)


@on(NATIVE)
async def test_whole_cards_of_a_node_that_is_not_sliced_reach_their_container(koord: Koordinator) -> None:
    node = koord.node
    await koord.cluster.api.create(koord_pod("native", whole(2, trigger=GPU)))
    found = await inside(node, "native")
    (given,) = [pair for pair in itertools.combinations(metax(node), 2) if nodes_of(pair) == found.nodes]
    # Which of whole cards they are is the kubelet's to say, and is written on the pod.
    seen = await koord.cluster.until_pod(
        "native", lambda pod: WHOLE_GIVEN in pod["metadata"]["annotations"], what="the cards are written"
    )
    ((*told,),) = cards_in(seen["metadata"]["annotations"][WHOLE_GIVEN])
    assert set(told) == {card.uuid for card in given}
    assert len(metax_rows(seen)) == 2
    await until_unlocked(node)


@on(MTHREADS)
async def test_a_moore_threads_pod_gets_its_share_from_what_every_vendor_is_told(koord: Koordinator) -> None:
    node = koord.node
    asked: dict[str, str | int] = {SHARED: 1, CORE: 25, MEMORY: "16Gi", MT_CORE: 4, MT_MEMORY: 32}
    await koord.cluster.api.create(koord_pod("musa", asked))
    found = await inside(node, "musa")
    seen = await get_pod(koord.cluster, "musa")
    written = seen["metadata"]["annotations"]
    assert {key for key in written if "koordinator" in key} == {ALLOCATED, BIND_TIMESTAMP, MINORS}
    assert METAX_ALLOCATED not in written
    (row,) = json.loads(written[ALLOCATED])["gpu"]
    assert row["id"] in {card.uuid for card in mthreads(node)}
    assert found == mt_share(written[MINORS], 16 * GIB, 4, 32, 4)
    assert koord.scheduler.locks == []


async def test_a_node_without_cdi_serves_one_pod_after_the_other_by_the_lock() -> None:
    async with (
        Cluster.open(Options(nodes=1, cdi=False)) as cluster,
        agent_node(cluster, SLICED.cards, mode=SLICED.mode, extra=("--cdi", "off")) as node,
    ):
        await node.until_allocatable(SGPU, 64)
        async with koordinator(node) as koord:
            names = [f"plain-{number}" for number in range(4)]
            await create_all(cluster, (koord_pod(name, share(40, "16Gi")) for name in names))
            rows: list[tuple[str, int, int]] = []
            for name in names:
                found = await inside(node, name)
                ((uuid, mib, percent),) = metax_rows(await get_pod(cluster, name))
                (part,) = [
                    each for each in all_slices(node) if f"alias={each.name}" in found.env["METAX_SGPUS"]
                ]
                assert (part.card, part.memory >> 20, part.cores) == (uuid, mib, percent)
                rows.append((uuid, mib, percent))
            assert len(all_slices(node)) == len(rows)
            assert koord.scheduler.waiting.stuck == {}
            await until_unlocked(node)
            await empty(node)
