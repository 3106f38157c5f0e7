"""Tenant A sees nothing of tenant B: in no page, fragment, file or event, whatever is asked and however it is asked.

The picture is full of B: pods on A's own card, pods that wait, a past, and where nodes may not be listed a machine with
a telling name. Every page there is, and every page that will be there, is asked for everything.
"""

import asyncio
from collections.abc import Sequence
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders.dashboards import NOW, FakeKnown, card, held, node, view
from builders.receptions import ADMIN, Browser, Scene, form_token_in
from tangram.drivers.doctor.findings import fail
from tangram.reports.status_shape import UNHEALTHY, NodeStatus
from tangram.reports.view_shape import WaitingPod
from tangram.services.scheduler.checkup.diagnosis import ClusterDiagnosis
from tangram.web.history.keeping import History
from tangram.web.pages.all import PAGES
from tangram.web.reception import WaysIn
from tangram.web.sight import Sight

HIDDEN = "umbra"
"""In everything of B's that has a name."""
QUERIES = (
    "",
    "?q=umb",
    "?namespace=umbra-lab",
    "?namespace=research",
    "?pod=umbra-lab/umbra-job-0",
    "?state=used",
    "?from=2020-01-01&to=2030-01-01",
    "?page=2",
)
PARTS = (
    {"name": "gpu-1", "namespace": "research"},
    {"name": "umbra-box", "namespace": "umbra-lab"},
    {"name": "umbra-job-0", "namespace": "umbra-lab"},
    {"name": "train-0", "namespace": "research"},
)
PATHS = tuple(dict.fromkeys(page.path.format(**parts) for page in PAGES for parts in PARTS))


def waits(pod: str) -> WaitingPod:
    return WaitingPod(
        pod=pod, uid=f"uid-{pod}", since=NOW - 60, vendor="metax", cards=1, sentence=f"{pod} waits for a card"
    )


def moments(nodes: Sequence[NodeStatus]) -> FakeKnown:
    """A cluster with a past: everybody came an hour ago, one card failed and one pod went since."""
    known = FakeKnown()
    history = History()
    known.history = history
    known.picture.listeners.append(history.note)
    waiting = (waits("research/next-0"), waits("umbra-lab/umbra-next-0"))
    known.picture.take(view(*nodes, waiting=waiting, version=1, at=NOW - 3600))
    failed = node("gpu-2", card(0, state=UNHEALTHY, reason="it fell off the bus", node="gpu-2"))
    known.picture.take(view(failed, version=2, at=NOW - 1800))
    known.picture.take(view(version=3, at=NOW))
    known.diagnosed = ClusterDiagnosis(
        server="https://127.0.0.1:6443",
        findings=[fail("pods", "pod umbra-lab/umbra-job-0 has no card", "look at umbra-lab")],
    )
    return known


def cluster(box: str = "umbra-box") -> FakeKnown:
    return moments(
        (
            node(
                "gpu-1",
                card(0, held("research/train-0", memory=8 << 30, cores=20), held("umbra-lab/umbra-job-0")),
                card(1, held("umbra-lab/umbra-job-1", whole=True)),
            ),
            node("gpu-2", card(0, held("umbra-lab/umbra-job-2", whole=True), node="gpu-2")),
            node(box, card(0, held("umbra-lab/umbra-job-3"), node=box)),
        )
    )


async def signed_in(browser: Browser) -> str:
    """A form token of a new session of the tenant."""
    await browser.sign_in("annas")
    return form_token_in((await browser.get("/pods"))[1])


def tenant(scene: Scene, *rights: str) -> None:
    scene.rights.person("anna", "list pods research", "get pods research", *rights, token="annas")  # noqa: S106 - anna's
    # Knowing of rights for manifests: the tenant may read nothing of B's.
    scene.known.rights = set()


@pytest.mark.parametrize(
    ("language", "box", "rights"),
    [
        pytest.param("en", "umbra-box", (), id="en"),
        pytest.param("zh-CN", "umbra-box", (), id="zh"),
        # Who may list nodes reads their names anyway.
        pytest.param("en", "gpu-3", ("list nodes", "patch nodes"), id="may list nodes"),
    ],
)
@pytest.mark.parametrize("path", PATHS)
async def test_no_page_names_anything_of_b_to_a(
    path: str, language: str, box: str, rights: tuple[str, ...]
) -> None:
    scene = Scene(cluster(box), WaysIn(actions=True))
    tenant(scene, *rights)
    async with scene.served() as browser:
        form_token = await signed_in(browser)
        browser.cookies["tangram-language"] = language
        for query in QUERIES:
            for headers in ({}, {"X-Fragment": "main"}):
                status, text = await browser.get(f"{path}{query}", headers)
                assert status < 500, text
                # What was asked for may be said back; what exists may not.
                assert HIDDEN not in said_back(text, path + query), f"{path}{query}"
        form = {"form_token": form_token, "node": box, "card": "0", "action": "cordon", "manifest": "{}"}
        status, text = await browser.post(path, form)
        assert status < 500, text
        assert HIDDEN not in said_back(text, path)


def said_back(text: str, asked: str) -> str:
    """A page without what stands in the address, which the tenant typed, in every way it may be written."""
    words = [
        "umbra-lab/umbra-job-0", "umbra-lab", "umbra-box", "umbra-job-0", "umb",
    ]  # fmt: skip
    typed = [word for word in words if word in asked]
    if not typed:
        return text
    # Names that were not asked for have their own endings: they stay.
    for word in ("umbra-job-1", "umbra-job-2", "umbra-job-3", "umbra-next"):
        assert word not in text, word
    for word in typed:
        text = text.replace(quote(word, safe=""), "").replace(word, "")
    return text.replace("umbra", "") if "umbra" in asked else text


@pytest.mark.parametrize("path", [path for path in PATHS if HIDDEN in path])
async def test_what_is_hidden_and_what_does_not_exist_are_answered_alike(path: str) -> None:
    """Neither by status nor by words: nobody learns which names others use."""
    scene = Scene(cluster(), WaysIn(actions=True))
    tenant(scene)
    async with scene.served() as browser:
        await signed_in(browser)
        nothing = path.replace("umbra", "ombra")
        hidden, missing = await browser.get(path), await browser.get(nothing)
        assert hidden[0] == missing[0]
        assert plain(hidden[1]) == plain(missing[1])


def plain(page: str) -> str:
    return page.replace("ombra", "umbra")


async def test_no_event_tells_a_of_b() -> None:
    scene = Scene(cluster(), WaysIn())
    tenant(scene)
    async with scene.served() as browser:
        await signed_in(browser)
        got = bytearray()
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
        async with browser.session.get("/events?page=/", headers=headers) as stream:
            assert stream.status == 200
            parts = scene.parts
            parts.hub.look()
            changed = node("gpu-1", card(0, held("research/train-0"), held("umbra-lab/umbra-job-9")))
            scene.known.picture.take(view(changed, version=4, waiting=(waits("umbra-lab/umbra-next-1"),)))
            parts.hub.look()
            async with asyncio.timeout(10):
                while b"event: tiles" not in got or not got.endswith(b"\n\n"):
                    got += await stream.content.readany()
        assert HIDDEN.encode() not in got


PODS = st.lists(
    st.tuples(st.sampled_from(["research", "umbra-lab"]), st.integers(0, 3)), max_size=3, unique=True
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PODS, min_size=1, max_size=4), st.booleans())
def test_however_pods_lie_the_tiles_name_only_what_is_seen(
    cards: list[list[tuple[str, int]]],
    nodes: bool,  # noqa: FBT001 - a case
) -> None:
    machines = [
        node(
            "umbra-box" if not nodes and all(space == "umbra-lab" for space, _ in pods) else f"gpu-{number}",
            card(0, *(held(f"{space}/{space}-{number}-{pod}") for space, pod in pods), node="x"),
        )
        for number, pods in enumerate(cards)
    ]
    known = FakeKnown(*machines)
    sight = Sight(namespaces=frozenset({"research"}), nodes=nodes)
    for page in PAGES:
        if page.tiles is not None:
            assert HIDDEN.encode() not in page.tiles(sight, known, 0)


async def test_a_stranger_learns_nothing_at_all() -> None:
    known = cluster()
    known.picture.trouble = "https://umbra-scheduler.umbra-lab.svc does not answer"
    async with Scene(known, WaysIn()).served() as browser:
        for path in (*PATHS, "/sign-in", "/nothing-here", "/events?page=/", "/cards/cordon"):
            if HIDDEN not in path:
                _status, text = await browser.get(path)
                assert HIDDEN not in text, path
                assert "gpu-2" not in text, path


async def test_an_administrator_sees_all_of_it() -> None:
    """Or the tests above would hold of pages that show nothing."""
    scene = Scene(cluster(), WaysIn())
    scene.rights.person("anna", *ADMIN, token="annas")  # noqa: S106 - anna's
    async with scene.served() as browser:
        await signed_in(browser)
        for path in ("/", "/nodes/gpu-1", "/pods", "/health", "/usage", "/usage.csv", "/cluster.json"):
            assert HIDDEN in (await browser.get(path))[1], path
