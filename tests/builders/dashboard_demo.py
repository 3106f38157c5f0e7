"""A dashboard to look at, over a handsome cluster that nobody has: `python -m builders.dashboard_demo --port 8099`.

Run it in `tests/`. Twelve nodes of both vendors, slices, virtual functions, a card that fails, one that is cordoned,
pods that wait. With `--lively` something changes every two seconds. Templates, styles and scripts are read again
whenever they change.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import random
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from builders.dashboards import (
    GIB,
    FakeKnown,
    FakeReception,
    card,
    held,
    node,
    parts_of,
    view,
    viewer,
)
from tangram.reports.charging import CARD
from tangram.reports.shape import (
    Advice,
    CardReport,
    CardSet,
    ClusterReport,
    ContainerReport,
    ExplainReport,
    GivenCard,
    LastVerdict,
    NodeReport,
    PodReport,
    Reason,
    Turn,
)
from tangram.reports.status_shape import CORDONED, NOT_READY, UNHEALTHY, CardStatus, Holder, NodeStatus
from tangram.reports.view_shape import IdleRoom, LinkView, NodeDetail, Rules, WaitingPod
from tangram.web.app import dashboard_app
from tangram.web.history.book import Page, Row
from tangram.web.history.keeping import History, Point
from tangram.web.language import Language
from tangram.web.page import Viewer
from tangram.web.sight import Sight

TENANT = Sight(nodes=True, namespaces=frozenset({"research"}))
_DAY = 86_400
FREE: list[list[Holder]] = [[] for _ in range(8)]


def _metax(name: str, *held_by: Sequence[Holder], mode: str = "native", qos: str = "") -> NodeStatus:
    slots = 16 if mode == "sgpu" else 1
    cards = [
        card(index, *holders, node=name, mode=mode, qos=qos, slots=slots, numa=index // 4)
        for index, holders in enumerate(held_by)
    ]
    return node(name, *cards)


def _mthreads(name: str, *held_by: Sequence[Holder], mode: str = "native") -> NodeStatus:
    cards = [
        card(
            index,
            *holders,
            node=name,
            vendor="mthreads",
            product="MTT S4000",
            mode=mode,
            memory=48 * GIB,
            slots=16 if mode == "sgpu" else 1,
            numa=index // 4,
        )
        for index, holders in enumerate(held_by)
    ]
    return node(name, *cards)


def demo_nodes() -> list[NodeStatus]:
    whole = held("research/llama-pretrain-0", whole=True)
    other = held("vision/detector-train-1", whole=True)
    sliver = held("research/notebook-zhang", memory=16 * GIB, cores=25)
    serve = held("serving/chat-7f9c", memory=24 * GIB, cores=40)
    embed = held("serving/embed-5d2b", memory=8 * GIB, cores=10)
    ending = held("vision/labelling", memory=12 * GIB, cores=20, phase="Terminating")
    unwell = _metax("metax-a03", [whole], [], [], [], [], [], [], [])
    return [
        _metax("metax-a01", *[[whole]] * 4, *[[other]] * 4),
        _metax("metax-a02", [held("research/rl-run", whole=True)], [held("research/rl-run", whole=True)], *FREE[:6]),
        _changed(unwell, 2, state=UNHEALTHY, reason="ECC: 3 uncorrectable errors since 02:14"),
        _changed(_metax("metax-a04", *FREE[:8]), 5, state=CORDONED, cordoned=True),
        _metax(
            "metax-b01", [sliver, serve, embed], [serve], [embed, sliver], [], [ending], [], [], [],
            mode="sgpu", qos="burst-share",
        ),
        _metax("metax-b02", [serve], [serve, embed], *FREE[:6], mode="sgpu", qos="fixed-share"),
        _metax("metax-b03", [embed], *FREE[:7], mode="vgpu"),
        msgspec.structs.replace(_metax("metax-b04", *FREE[:8]), state=NOT_READY),
        _mthreads("mt-c01", *[[held("vision/segment-0", whole=True)]] * 2, *FREE[:6]),
        _mthreads("mt-c02", [held("serving/ocr-1", memory=8 * GIB, cores=4)], *FREE[:7], mode="sgpu"),
        msgspec.structs.replace(_mthreads("mt-c03", *FREE[:8]), state=CORDONED),
        _mthreads("mt-c04", [held("research/sweep-3", memory=24 * GIB, cores=8)], [], [], [], mode="shared"),
    ]  # fmt: skip


def _changed(known: NodeStatus, index: int, **values: object) -> NodeStatus:
    cards: list[CardStatus] = list(known.cards)
    cards[index] = msgspec.structs.replace(cards[index], **values)
    return node(known.node, *cards, state=known.state)


def demo_waiting(now: float) -> list[WaitingPod]:
    return [
        WaitingPod(
            pod="research/llama-70b-0",
            uid="w1",
            since=now - 1860,
            vendor="metax",
            cards=8,
            stage="filter",
            word="CardNotFound",
            sentence="needs 8 whole linked cards on one node; the most that any node has free is 6",
            at=now - 40,
        ),
        WaitingPod(
            pod="vision/batch-infer",
            uid="w2",
            since=now - 95,
            vendor="metax",
            cards=1,
            memory=48 * GIB,
            cores=60,
            stage="filter",
            word="CardInsufficientMemory",
            sentence="needs 48 GiB of one card; metax-b02 has 40 GiB free on its emptiest sliced card",
            at=now - 10,
        ),
        WaitingPod(pod="serving/spare", uid="w3", since=now - 3, vendor="mthreads", cards=2, priority=100),
    ]


def demo_links(count: int, kind: str) -> list[LinkView]:
    """Two groups of four: linked within, PCIe across; neighbours share a switch."""
    links: list[LinkView] = []
    for a, b in itertools.combinations(range(count), 2):
        near = a // 4 == b // 4
        pcie = "single-switch" if a // 2 == b // 2 else "host-bridge" if near else "system"
        links.append(
            LinkView(a=a, b=b, kind=kind if near else "", pcie=pcie, lanes=2 if a // 2 == b // 2 else 1)
        )
    return links


def _card_report(one: CardStatus, verdict: str, sentence: str) -> CardReport:
    return CardReport(
        index=one.index,
        uuid=one.uuid,
        verdict=verdict,
        sentence=sentence,
        need=1,
        have=0,
        detail="",
        memory=one.memory,
        memory_free=one.memory - one.memory_used,
        cores=one.cores,
        cores_free=one.cores - one.cores_used,
        pods=len(one.holders),
        holders=[holder.pod for holder in one.holders],
    )


def _report(known: FakeKnown, pod: PodReport) -> ExplainReport:
    return ExplainReport(
        source="scheduler",
        cluster=ClusterReport(
            nodes=len(known.picture.nodes),
            cards=known.picture.sums.cards,
            running=14,
            guessed=[],
            waiting=[],
            problems=[],
        ),
        pods=[pod],
    )


def demo_reports(known: FakeKnown) -> dict[str, ExplainReport]:
    nodes = known.picture.nodes
    refused = [
        NodeReport(
            node=name,
            verdict="too-few-cards",
            chosen=False,
            sentence=f"has {nodes[name].cards_free} free cards of the 8 that are needed",
            score=None,
            container="trainer",
            need=8,
            have=nodes[name].cards_free,
            detail="",
            containers=[],
            cards=[
                _card_report(
                    one,
                    "fits" if one.state == "free" else "held",
                    "free" if one.state == "free" else "is held",
                )
                for one in nodes[name].cards
            ],
        )
        for name in ("metax-a01", "metax-a02", "metax-a03", "metax-a04")
    ]
    waits = PodReport(
        pod="research/llama-70b-0",
        verdict="waits",
        sentence="no node has 8 free whole MetaX cards: metax-a04 comes closest with 7",
        node_policy="binpack",
        card_policy=["topology"],
        reasons=[
            Reason("has too few free cards", 4),
            Reason("offers its cards in slices", 3),
            Reason("is not ready", 1),
            Reason("has no MetaX cards", 4),
        ],
        nodes=refused,
        nodes_left_out=8,
        suggestions=[
            Advice("fewer-cards", "with 7 cards it would run on metax-a04 at once", "metax-a04"),
            Advice("uncordon", "with card 5 of metax-a04 given back it would run there", "metax-a04"),
        ],
        last=LastVerdict(
            at="2026-11-17T12:00:00Z",
            stage="filter",
            sentence="no node has 8 free whole MetaX cards",
            words={"CardNotFound": 11, "NodeNotReady": 1},
        ),
        turn=Turn(place=1, of=3),
    )
    runs = PodReport(
        pod="research/rl-run",
        verdict="runs",
        sentence="runs on metax-a02 with cards 0 and 1",
        node="metax-a02",
        node_policy="binpack",
        card_policy=["topology"],
        containers=[
            ContainerReport(
                container="main",
                role="main",
                cards=[
                    GivenCard(
                        index=index,
                        uuid=nodes["metax-a02"].cards[index].uuid,
                        memory=64 * GIB,
                        cores=100,
                        kind="whole",
                    )
                    for index in (0, 1)
                ],
            )
        ],
    )
    return {
        "research/llama-70b-0": _report(known, waits),
        "research/rl-run": _report(known, runs),
        "": _report(known, waits),
    }


def demo_history(history: History, now: float) -> None:
    """A week that was, before the picture is told of."""
    chance = random.Random(7)  # noqa: S311 - a picture, no secret
    used, fragmented = 40.0, 6.0
    for minute in range(7 * _DAY // 60, 0, -3):
        used = min(78.0, max(12.0, used + chance.uniform(-1.4, 1.4)))
        fragmented = min(20.0, max(1.0, fragmented + chance.uniform(-0.5, 0.5)))
        # A night in which nobody answered.
        if not 2000 < minute < 2400:
            idle = round(92 - used, 2)
            history.way.add(
                Point(
                    at=now - minute * 60,
                    cards=92,
                    used=round(used, 2),
                    idle=idle,
                    fragmented=round(min(fragmented, idle), 2),
                    waiting=chance.randint(0, 4),
                )
            )
    this_hour = int(now // 3600 * 3600)
    pages: dict[int, Page] = {}
    for back in range(7 * 24, -1, -1):
        hour = this_hour - back * 3600
        seconds = 3600.0 if back else now - this_hour
        busy = 0.75 + 0.25 * math.sin(hour / 3600 / 24 * 2 * math.pi)
        rows: dict[str, Row] = {}
        for namespace, base in (
            ("research", 24.0),
            ("vision", 14.0),
            ("serving", 9.5),
            ("speech", 3.0),
            ("ci", 0.4),
        ):
            cards = base * busy * chance.uniform(0.8, 1.1)
            rows[namespace] = Row(
                cards * CARD * seconds,
                cards * 58 * GIB * seconds,
                cards * 0.9 * CARD * seconds,
                chance.randint(1, 9),
            )
        pages[hour] = Page(heard_s=seconds, capacity=92 * seconds, rows=rows)
    history.book.take(now - 60, 92, {}, pages)


def demo_moments(known: FakeKnown, now: float) -> None:
    """What the nodes looked like a little earlier: cards fail, are held back, come and go."""
    nodes = {status.node: status for status in demo_nodes()}
    before = dict(nodes)
    before["metax-a03"] = _metax("metax-a03", *FREE[:8])
    before["metax-a04"] = _metax("metax-a04", *FREE[:8])
    before["metax-b04"] = _metax("metax-b04", *FREE[:8])
    known.picture.take(view(*before.values(), at=now - 55))
    for version, (name, ago) in enumerate((("metax-b04", 50), ("metax-a04", 32), ("metax-a03", 14)), 2):
        known.picture.take(view(nodes[name], version=version, at=now - ago))


def demo_known(now: float | None = None) -> FakeKnown:
    """The whole of it, as of now."""
    now = time.time() if now is None else now
    known = FakeKnown()
    known.history = History()
    demo_history(known.history, now)
    known.picture.listeners.append(known.history.note)
    demo_moments(known, now)
    known.picture.take(
        view(
            *demo_nodes(),
            version=9,
            waiting=demo_waiting(now),
            at=now,
            room=IdleRoom(at=now, idle=61.4, fragmented=9.2, shapes=7),
            rules=Rules(
                node_policy="binpack", card_policy=["topology"], scheduler_names=["tangram-scheduler"]
            ),
        )
    )
    for name, status in known.picture.nodes.items():
        known.links[name] = demo_links(len(status.cards), "MX" if name.startswith("metax") else "MT")
    known.reports = demo_reports(known)
    weighed = known.picture.nodes["metax-a02"]
    known.details["metax-a02", "research/rl-run"] = NodeDetail(
        at=now,
        node=weighed,
        links=known.links["metax-a02"],
        links_known=True,
        labels={"metax-tech.com/gpu.product": "MXC500"},
        taints=[],
        cpu_milli=128_000,
        host_memory=1024 * GIB,
        problems=[],
        pod="research/rl-run",
        sets=[
            CardSet(cards=[0, 1], chosen=True, score=200.0),
            CardSet(cards=[2, 3], chosen=False, score=180.0, loss=20.0),
        ],
    )
    known.manifests["/api/v1/namespaces/research/pods/llama-70b-0"] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "llama-70b-0", "namespace": "research"},
        "spec": {"containers": [{"name": "trainer", "resources": {"limits": {"metax-tech.com/gpu": "8"}}}]},
    }
    return known


def one_change(known: FakeKnown, round_number: int) -> None:
    """A card of metax-a02 comes and goes, and the picture stays fresh."""
    busy = round_number % 2 == 0
    cards = (
        [[held("research/rl-run", whole=True)]] * 2
        + [[held("vision/blink", whole=True)] if busy else []]
        + FREE[:5]
    )
    known.picture.take(view(_metax("metax-a02", *cards), version=known.picture.told + 1, at=time.time()))


def demo_viewer(arguments: argparse.Namespace) -> Viewer:
    language = Language.CHINESE if arguments.chinese else Language.ENGLISH
    if arguments.tenant:
        return viewer("researcher", sight=TENANT, language=language, theme=arguments.theme)
    return viewer("admin", language=language, theme=arguments.theme, may_act=True)


async def _serve(arguments: argparse.Namespace) -> None:
    known = demo_known()
    parts = parts_of(known, FakeReception(demo_viewer(arguments)), now=None, reload=True)

    @web.middleware
    async def fresh_files(request: web.Request, handler: Handler) -> web.StreamResponse:
        parts.statics.read()
        return await handler(request)

    app = dashboard_app(parts)
    app.middlewares.append(fresh_files)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", arguments.port)
    await site.start()
    print(f"http://127.0.0.1:{arguments.port}", flush=True)  # noqa: T201 - for people at a shell
    looking = asyncio.create_task(parts.hub.run())
    try:
        for number in itertools.count():
            await asyncio.sleep(2)
            if arguments.lively:
                one_change(known, number)
            else:
                known.picture.at = time.time()
    finally:
        looking.cancel()
        await runner.cleanup()


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--port", type=int, default=8099)
    asked.add_argument("--lively", action="store_true")
    asked.add_argument("--chinese", action="store_true")
    asked.add_argument("--tenant", action="store_true", help="somebody who may see namespace research alone")
    asked.add_argument("--theme", choices=("", "light", "dark"), default="")
    arguments = asked.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(arguments))


if __name__ == "__main__":
    main()
