"""How an extender is called and its answer read, over HTTP and over HTTPS with a client certificate."""

import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from builders.placing import node, picture, pod
from tangram.sandbox.placing.configuration import BadConfiguration, Extender, Tls
from tangram.sandbox.placing.extenders import ExtenderFailed, Extenders, Filtered
from tangram.sandbox.placing.victims import Victims
from testbed.certificates import Authority

SEEN = picture([node("a"), node("b")], [pod("there", on="a")])
ASKS = pod("p", {"cpu": "1"})


class Peer:
    """Says what a test wants, and remembers what it was asked."""

    def __init__(self, text: str, status: int = 200) -> None:
        self.text = text
        self.status = status
        self.asked: list[tuple[str, Any]] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, await request.json()))
        return web.Response(text=self.text, status=self.status)


@asynccontextmanager
async def served(peer: Peer, tls: ssl.SSLContext | None = None) -> AsyncGenerator[str]:
    app = web.Application()
    app.router.add_post("/{path:.*}", peer.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}/prefix/"
    finally:
        await runner.cleanup()


def described(url: str, **more: Any) -> Extender:  # noqa: ANN401 - of the record
    given: dict[str, Any] = {
        "filter": "filter",
        "prioritize": "prioritize",
        "preempt": "preempt",
        "bind": "bind",
    }
    given |= {"cached": True, **more}
    return Extender(url=url, **given)


async def filtered(peer: Peer, **more: Any) -> Filtered:  # noqa: ANN401 - the same
    async with served(peer) as url, Extenders((described(url, **more),), None) as extenders:
        return await extenders.filter(extenders.all[0], ASKS, SEEN.nodes)


async def test_with_a_node_cache_names_are_sent_and_without_one_whole_nodes() -> None:
    peer = Peer('{"NodeNames": ["b"]}')
    assert (await filtered(peer)).names == ("b",)
    path, body = peer.asked[0]
    assert path == "/prefix/filter"
    assert body == {"Pod": ASKS.manifest, "Nodes": None, "NodeNames": ["a", "b"]}
    whole = Peer('{"Nodes": {"items": [{"metadata": {"name": "a"}}]}}')
    assert (await filtered(whole, cached=False)).names == ("a",)
    assert [each["metadata"]["name"] for each in whole.asked[0][1]["Nodes"]["items"]] == ["a", "b"]
    assert whole.asked[0][1]["NodeNames"] is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        pytest.param(
            '{"nodenames": ["a"], "FAILEDNODES": {"b": "no"}}',
            Filtered(("a",), {"b": "no"}, {}),
            id="any case",
        ),
        pytest.param('{"NodeNames": ["a"]} and so on', Filtered(("a",), {}, {}), id="text behind it"),
        pytest.param("{}", Filtered((), {}, {}), id="nothing said"),
        pytest.param("null", Filtered((), {}, {}), id="null"),
        pytest.param(
            '{"FailedAndUnresolvableNodes": {"a": "never"}}', Filtered((), {}, {"a": "never"}), id="never"
        ),
    ],
)
async def test_answers_are_read_as_kube_scheduler_reads_them(text: str, read: Filtered) -> None:
    assert await filtered(Peer(text)) == read


@pytest.mark.parametrize(
    ("peer", "told"),
    [
        pytest.param(Peer('{"Error": "not now"}'), "^not now$", id="an error"),
        pytest.param(
            Peer("{}", 202), "failed filter with extender at URL .*/filter, code 202", id="another status"
        ),
        pytest.param(Peer(""), "^EOF$", id="nothing"),
        pytest.param(Peer("oops"), "invalid character 'o' looking for beginning of value", id="no JSON"),
        pytest.param(Peer("[]"), "cannot unmarshal array", id="a list"),
        pytest.param(Peer('{"NodeNames": "a"}'), "cannot unmarshal string", id="a text for a list"),
        pytest.param(
            Peer('{"NodeNames": ["moon"]}'), 'claims a filtered node "moon"', id="a node nobody offered"
        ),
        pytest.param(Peer("[" * 100_000), "invalid character", id="lists without end"),
    ],
)
async def test_what_cannot_be_used_is_a_failure_with_a_sentence(peer: Peer, told: str) -> None:
    with pytest.raises(ExtenderFailed, match=told):
        await filtered(peer)


async def test_an_extender_that_is_away_or_too_slow_is_a_failure_in_go_s_words() -> None:
    async with served(Peer("{}")) as url:
        gone = url
    async with Extenders((described(gone),), None) as extenders:
        with pytest.raises(
            ExtenderFailed, match=r"dial tcp 127\.0\.0\.1:[0-9]+: connect: connection refused$"
        ):
            await extenders.filter(extenders.all[0], ASKS, SEEN.nodes)
    with pytest.raises(ExtenderFailed, match="context deadline exceeded"):
        await filtered(Peer("{}"), limit=1e-9)


async def test_scores_of_an_extender_are_added_up_for_each_node() -> None:
    peer = Peer('[{"Host": "a", "Score": 7}, {"host": "b", "score": 2}, {"Host": "b", "Score": 1}]')
    async with served(peer) as url, Extenders((described(url),), None) as extenders:
        assert await extenders.prioritize(extenders.all[0], ASKS, SEEN.nodes) == {"a": 7, "b": 3}
        peer.text = "{}"
        with pytest.raises(ExtenderFailed):
            await extenders.prioritize(extenders.all[0], ASKS, SEEN.nodes)


async def test_victims_are_told_by_uid_or_whole_and_must_be_on_the_node_that_is_named() -> None:
    there = SEEN.hosts["a"].pods["uid-there"]
    proposed = {"a": Victims((there,), 1)}
    peer = Peer(
        json.dumps({"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-there"}], "NumPDBViolations": 1}}})
    )
    async with (
        served(peer) as url,
        Extenders((described(url), described(url, cached=False)), None) as extenders,
    ):
        for extender in extenders.all:
            assert await extenders.preempt(extender, ASKS, proposed, SEEN.hosts) == proposed
        by_uid, whole = (body for _, body in peer.asked)
        assert by_uid["NodeNameToMetaVictims"] == {
            "a": {"Pods": [{"UID": "uid-there"}], "NumPDBViolations": 1}
        }
        assert by_uid["NodeNameToVictims"] is None
        assert whole["NodeNameToVictims"]["a"]["Pods"] == [there.manifest]
        peer.text = peer.text.replace("uid-there", "uid-elsewhere")
        with pytest.raises(ExtenderFailed, match="the pod is not found on that node"):
            await extenders.preempt(extenders.all[0], ASKS, proposed, SEEN.hosts)
        peer.text = '{"NodeNameToMetaVictims": {"moon": {}}}'
        with pytest.raises(ExtenderFailed, match='node name "moon"'):
            await extenders.preempt(extenders.all[0], ASKS, proposed, SEEN.hosts)


async def test_a_bind_call_names_the_pod_and_the_node_and_nothing_else() -> None:
    peer = Peer("{}")
    async with served(peer) as url, Extenders((described(url),), None) as extenders:
        await extenders.bind(extenders.all[0], ASKS, "a")
        peer.text = '{"Error": "taken"}'
        with pytest.raises(ExtenderFailed, match=r"^taken$"):
            await extenders.bind(extenders.all[0], ASKS, "a")
    order = {"PodName": "p", "PodNamespace": "default", "PodUID": "uid-p", "Node": "a"}
    assert peer.asked[0] == ("/prefix/bind", order)


async def test_over_https_it_shows_the_certificate_that_the_configuration_names(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    server = authority.issue("server", "server", addresses=["127.0.0.1"])
    client = authority.issue("client", "client")
    demanding = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate))
    demanding.load_cert_chain(server.certificate, server.key)
    demanding.verify_mode = ssl.CERT_REQUIRED
    files = Tls(
        ca_file=str(authority.certificate), cert_file=str(client.certificate), key_file=str(client.key)
    )
    peer = Peer('{"NodeNames": ["a"]}')
    async with served(peer, demanding) as url:
        for tls, works in ((files, True), (msgspec.structs.replace(files, cert_file="", key_file=""), False)):
            async with Extenders((described(url, https=True, tls=tls),), None) as extenders:
                if works:
                    assert (await extenders.filter(extenders.all[0], ASKS, SEEN.nodes)).names == ("a",)
                else:
                    with pytest.raises(ExtenderFailed):
                        await extenders.filter(extenders.all[0], ASKS, SEEN.nodes)


def test_files_that_are_not_there_are_told_at_the_start() -> None:
    with pytest.raises(BadConfiguration, match="write caFile"):
        Extenders((described("https://here", https=True, tls=Tls(ca_file="/none")),), None)
