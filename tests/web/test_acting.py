"""A card cordoned for somebody: by whose account, with which words, and what is written about it."""

import logging
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from aiohttp import web

from builders.api_server import refusal
from builders.node_server import NodeServer, node_server
from builders.receptions import WrittenRights
from tangram.kube.api import Api
from tangram.kube.connection import Connection, with_token
from tangram.kube.recorder import Event
from tangram.kube.rights import User
from tangram.model.cards import Card, Vendor
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib
from tangram.web.acting import Actor
from tangram.web.known import NotKnown
from tangram.wire.hami import CORDONED_CARDS
from tangram.wire.inventory import INVENTORY, Inventory, encode_inventory
from testbed.certificates import Authority

ANNA = User("anna")


class Scene:
    def __init__(self, server: NodeServer, api: Api) -> None:
        self.server = server
        self.rights = WrittenRights()
        self.events: list[Event] = []
        self.tokens = {"annas-form": "annas-token"}
        self.actor = Actor(api, self.rights, self, lambda form: self.tokens.get(form, ""))
        self.callers: list[str] = []
        cards = tuple(
            Card(uuid=CardUuid(f"GPU-{index}"), index=index, vendor=Vendor.METAX, memory=from_gib(64))
            for index in range(2)
        )
        server.put("gpu-1", metadata={"annotations": {INVENTORY: encode_inventory(Inventory(cards))}})
        usual = server.small.answer_first

        def first(request: web.Request) -> web.Response | None:
            self.callers.append(request.headers.get("Authorization", "the dashboard"))
            return usual(request)

        server.small.answer_first = first

    def record(self, event: Event) -> None:
        self.events.append(event)

    async def cordon(
        self, *, out: bool = True, card: str = "GPU-1", form: str = "", node: str = "gpu-1"
    ) -> object:
        return await self.actor.cordon(ANNA, node, card, out=out, form_token=form)

    @property
    def cordoned(self) -> str | None:
        return self.server.annotations("gpu-1").get(CORDONED_CARDS)


@pytest.fixture
async def scene() -> AsyncGenerator[Scene]:
    async with node_server() as server, Api(server.connection) as api:
        yield Scene(server, api)


async def test_a_session_acts_with_its_own_token_so_that_the_api_server_decides_and_audits(
    scene: Scene,
) -> None:
    await scene.cordon(form="annas-form")
    assert set(scene.callers) == {"Bearer annas-token"}
    assert scene.rights.asked == []
    assert scene.cordoned == "GPU-1"


async def test_without_one_the_dashboard_acts_for_those_who_have_the_right(scene: Scene) -> None:
    with pytest.raises(NotKnown) as refused:
        await scene.cordon()
    assert (refused.value.status, refused.value.code) == (403, "act-lacking")
    assert "'anna' may not patch node gpu-1, which cordon needs" in refused.value.sentence
    assert scene.callers == []
    scene.rights.person("anna", "patch nodes")
    await scene.cordon()
    assert set(scene.callers) == {"the dashboard"}
    assert scene.cordoned == "GPU-1"


async def test_an_event_and_a_log_line_say_who_did_it(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        await scene.cordon(form="annas-form")
        await scene.cordon(form="annas-form")
        await scene.cordon(form="annas-form", out=False)
    assert [(event.about.kind, event.about.name, event.reason, event.message) for event in scene.events] == [
        ("Node", "gpu-1", "CardCordoned", "card GPU-1 was taken out of placement by anna in the dashboard"),
        (
            "Node",
            "gpu-1",
            "CardUncordoned",
            "card GPU-1 was given back to placement by anna in the dashboard",
        ),
    ]
    assert "card GPU-1 of node gpu-1 was taken out of placement by anna" in caplog.text
    assert "annas-token" not in caplog.text
    assert scene.cordoned is None


async def test_a_name_with_odd_characters_stays_on_one_line(scene: Scene) -> None:
    scene.rights.rights["an\nna"] = {"patch nodes"}
    await scene.actor.cordon(User("an\nna"), "gpu-1", "0", out=True)
    assert "by an?na in" in scene.events[0].message


async def test_what_is_told_is_the_report_of_the_command(scene: Scene) -> None:
    assert await scene.cordon(form="annas-form", card="0") == {
        "tangram": "cordon/v1",
        "node": "gpu-1",
        "action": "cordon",
        "changed": ("GPU-0",),
        "unchanged": (),
        "cordoned": ("GPU-0",),
    }


async def test_refusals_are_sentences_and_leave_no_event(scene: Scene) -> None:
    async def refused(card: str = "GPU-1", node: str = "gpu-1") -> tuple[int, str]:
        with pytest.raises(NotKnown) as told:
            await scene.cordon(form="annas-form", card=card, node=node)
        return told.value.status, told.value.sentence

    assert await refused(card="7") == (
        404,
        "node gpu-1 has no card '7': it has 0 (GPU-0), 1 (GPU-1); name one of these.",
    )
    assert (await refused(node="gpu-9"))[0] == 404
    assert (await refused(node="../pods"))[0] == 400
    scene.server.before_patch = lambda: refusal(403, "Forbidden", "nodes is forbidden")
    assert await refused() == (
        403,
        "nothing was changed: the API server answered 403 Forbidden: nodes is forbidden.",
    )
    scene.server.before_patch = lambda: refusal(401, "Unauthorized", "Unauthorized")
    assert (await refused())[0] == 403
    scene.server.down = True
    assert (await refused())[0] == 503
    assert scene.events == []


async def test_silence_leaves_open_whether_it_was_done_and_says_so(scene: Scene) -> None:
    async with Api(Connection("http://127.0.0.1:9", None)) as nowhere:
        actor = Actor(nowhere, scene.rights, scene)
        scene.rights.person("anna", "patch nodes")
        with pytest.raises(NotKnown, match="nobody knows whether card 'GPU-1' was changed") as told:
            await actor.cordon(ANNA, "gpu-1", "GPU-1", out=True)
    assert told.value.status == 503
    scene.rights.lost = True
    with pytest.raises(NotKnown, match="did not say whether you may patch nodes"):
        await scene.cordon()
    assert scene.events == []


async def test_a_persons_token_is_never_sent_beside_the_kubeconfigs_certificate(tmp_path: Path) -> None:
    """An API server asks for a certificate first: the person would be the kubeconfig's owner."""
    from tangram.kube.connection import from_kubeconfig  # noqa: PLC0415 - of this test alone

    authority = Authority(tmp_path, "cluster")
    server, owner = (
        authority.issue("server", "server", addresses=["127.0.0.1"]),
        authority.issue("own", "own"),
    )
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate))
    tls.load_cert_chain(server.certificate, server.key)
    tls.verify_mode = ssl.CERT_OPTIONAL
    shown: list[tuple[bool, str]] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        certificate = bool(request.transport.get_extra_info("peercert"))
        shown.append((certificate, request.headers.get("Authorization", "")))
        return web.json_response({})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        file = tmp_path / "kubeconfig"
        file.write_text(
            "current-context: it\n"
            "contexts: [{name: it, context: {cluster: it, user: it}}]\n"
            f"clusters: [{{name: it, cluster: {{server: 'https://127.0.0.1:{runner.addresses[0][1]}', "
            f"certificate-authority: '{authority.certificate}'}}}}]\n"
            f"users: [{{name: it, user: {{client-certificate: '{owner.certificate}', client-key: '{owner.key}'}}}}]\n"
        )
        connection = from_kubeconfig(file)
        for one in (connection, with_token(connection, "annas")):
            async with Api(one) as api:
                await api.get("/")
    finally:
        await runner.cleanup()
    assert shown == [(True, ""), (False, "Bearer annas")]
