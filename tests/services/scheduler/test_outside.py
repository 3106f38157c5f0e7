"""Who may ask what from other machines, how they are refused, and what a tenant's question tells the desk."""

import asyncio
import datetime as dt
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from builders.desks import ScriptedDesk, ask
from builders.waiting import until
from tangram.daemon.certificates import issue
from tangram.daemon.endpoints import Address
from tangram.daemon.serving_identity import ServingIdentity
from tangram.daemon.web_serving import END_LIMIT_S, serving_app
from tangram.kube.rights import RightsUnknown, User
from tangram.services.scheduler import outside as door
from tangram.services.scheduler.desk import Caller
from tangram.services.scheduler.outside import MOST_ONLY, outside_app
from testbed.certificates import Authority

HERE = Address("127.0.0.1", 0)


class WrittenRights:
    """Tokens are names; rights are written down as `verb resource namespace`."""

    def __init__(self, *rights: str) -> None:
        self.rights = set(rights)
        self.known = {"ann"}
        self.lost = False

    async def who(self, token: str) -> User | None:
        if self.lost:
            raise RightsUnknown("the API server did not say who is calling")
        return User(token) if token in self.known else None

    async def may(self, user: User, verb: str, resource: str, namespace: str = "") -> bool:
        assert user.name in self.known
        return f"{verb} {resource} {namespace}".strip() in self.rights

    async def may_reach(self, user: User, path: str, verb: str = "get") -> bool:
        assert user.name in self.known
        return f"{verb} {path}" in self.rights


@asynccontextmanager
async def outside(*rights: str) -> AsyncGenerator[tuple[ScriptedDesk, WrittenRights, Address]]:
    desk, written = ScriptedDesk(), WrittenRights(*rights)
    app = outside_app(desk, written, verbs_by_certificate=False)
    async with serving_app(app, HERE, option="--address") as address:
        yield desk, written, address


def bearer(token: str) -> str:
    return f"Authorization: Bearer {token}\r\n"


def sentence(answer: tuple[int, bytes]) -> tuple[int, str]:
    return answer[0], json.loads(answer[1])["Error"]


async def test_reviews_are_answered_without_asking_who_it_is() -> None:
    async with outside() as (desk, _rights, address):
        assert await ask(address, "/webhook", b"{}") == (200, b'{"said":"review"}')
        assert await ask(address, "/guard", b"{}") == (200, b'{"said":"guard"}')
        assert desk.asked == [("review", b"{}"), ("guard", b"{}")]


async def test_a_review_that_fails_inside_is_a_500_so_that_the_failure_policy_decides() -> None:
    async with outside() as (desk, _rights, address):
        desk.failure = KeyError("inner")
        status, told = sentence(await ask(address, "/webhook", b"{}"))
    assert status == 500
    assert "inner" not in told


async def test_a_review_may_hold_two_of_the_largest_objects_and_not_more() -> None:
    async with outside() as (desk, _rights, address):
        assert (await ask(address, "/webhook", b"x" * (8 << 20)))[0] == 200
        assert sentence(await ask(address, "/webhook", b"x" * ((8 << 20) + 1))) == (
            413,
            "the body of /webhook is larger than 8 MiB; send less at a time",
        )
        assert len(desk.asked) == 1


@pytest.mark.parametrize("verb", ["filter", "bind", "preempt"])
async def test_without_a_named_authority_there_are_no_verbs(verb: str) -> None:
    async with outside("get pods a") as (desk, _rights, address):
        status, told = sentence(await ask(address, f"/{verb}", b"{}", headers=bearer("ann")))
        summaries = "/apis/v1/plugins/DeviceShare/nodeDeviceSummaries"
        there = f"{summaries}, {summaries}/*, /explain, /guard, /healthz, /metrics, /readyz, "
        there += "/view, /view/nodes/*, /webhook"
        assert (status, told) == (404, f"there is no such path; there are {there}")
        assert not desk.asked


EXPLAIN = "/explain?namespace=a&pod=web-0"
RIGHT = "send 'Authorization: Bearer TOKEN' of an account that may get pods in namespace 'a'"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param("", f"/explain needs to know who asks, and no token was sent; {RIGHT}", id="no token"),
        pytest.param(
            "Authorization: Basic YTpi\r\n",
            f"/explain needs to know who asks, and no token was sent; {RIGHT}",
            id="a password",
        ),
        pytest.param(
            bearer("mallory"),
            f"/explain needs to know who asks, and the token is not one of this cluster; {RIGHT}",
            id="a foreign token",
        ),
    ],
)
async def test_explain_wants_to_know_who_asks(headers: str, expected: str) -> None:
    async with outside("get pods a") as (desk, _rights, address):
        assert sentence(await ask(address, EXPLAIN, headers=headers)) == (401, expected)
        assert not desk.asked


async def test_explain_across_namespaces_is_refused_with_the_right_that_is_missing() -> None:
    async with outside("get pods b", "list pods b") as (desk, _rights, address):
        assert sentence(await ask(address, EXPLAIN, headers=bearer("ann"))) == (
            403,
            "'ann' may not get pods in namespace 'a', which /explain needs; bind a role with that right to the account",
        )
        assert not desk.asked


@pytest.mark.parametrize(
    "rights", [("get pods a",), ("get pods a", "list pods")], ids=["a tenant", "an operator"]
)
async def test_the_desk_is_told_who_asks_and_whether_others_must_be_hidden(rights: tuple[str, ...]) -> None:
    async with outside(*rights) as (desk, _rights, address):
        assert (await ask(address, EXPLAIN, headers=bearer("ann")))[0] == 200
        assert desk.asked == [("explain_pod", b"a/web-0")]
        assert desk.callers == [Caller("ann", "list pods" in rights, frozenset({"a"}))]


async def test_the_desk_is_told_which_nodes_to_speak_of() -> None:
    async with outside("get pods a") as (desk, _rights, address):
        assert (await ask(address, f"{EXPLAIN}&node=gpu-1&node=gpu-2", headers=bearer("ann")))[0] == 200
    assert desk.nodes == ("gpu-1", "gpu-2")


async def test_manifests_are_explained_to_those_who_may_see_every_namespace_they_are_for() -> None:
    async with outside("get pods a", "get pods b", "get pods default") as (desk, _rights, address):
        assert (await ask(address, "/explain?namespace=a&namespace=b", b"[]", headers=bearer("ann")))[
            0
        ] == 200
        assert (await ask(address, "/explain", b"[]", headers=bearer("ann")))[0] == 200
        status, told = sentence(
            await ask(address, "/explain?namespace=a&namespace=c", b"[]", headers=bearer("ann"))
        )
        assert (status, "namespace 'c'" in told) == (403, True)
        assert [caller.namespaces for caller in desk.callers] == [{"a", "b"}, {"default"}]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/explain", "namespace is given 0 times", id="nothing"),
        pytest.param("/explain?namespace=a", "pod is given 0 times", id="no pod"),
        pytest.param(
            "/explain?namespace=a&namespace=b&pod=c", "namespace is given 2 times", id="two namespaces"
        ),
        pytest.param(
            "/explain?namespace=../kube-system&pod=c", "which is no name in Kubernetes", id="a path"
        ),
        pytest.param(
            "/explain?namespace=a&pod=" + "x" * 254, "which is no name in Kubernetes", id="too long"
        ),
        pytest.param("/explain?namespace=A&pod=c", "which is no name in Kubernetes", id="capitals"),
        pytest.param("/explain?namespace=a&pod=c%0Ad", "which is no name in Kubernetes", id="two lines"),
    ],
)
async def test_a_question_that_names_no_pod_is_refused_before_anybody_is_asked(
    path: str, expected: str
) -> None:
    async with outside() as (_desk, rights, address):
        rights.lost = True
        status, told = sentence(await ask(address, path, headers=bearer("ann")))
    assert status == 400
    assert expected in told


async def test_too_many_namespaces_at_once_are_refused() -> None:
    many = "&".join(f"namespace=n{number}" for number in range(17))
    async with outside() as (_desk, _rights, address):
        assert sentence(await ask(address, f"/explain?{many}", b"[]", headers=bearer("ann"))) == (
            400,
            "namespace is given 17 times: at most 16 are looked at; ask several times",
        )


async def test_metrics_need_the_right_to_their_path() -> None:
    async with outside() as (_desk, rights, address):
        assert (await ask(address, "/metrics"))[0] == 401
        status, told = sentence(await ask(address, "/metrics", headers=bearer("ann")))
        assert (status, told.partition(",")[0]) == (403, "'ann' may not get the non-resource URL /metrics")
        rights.rights.add("get /metrics")
        assert await ask(address, "/metrics", headers=bearer("ann")) == (200, b"cards 8\n")


async def test_when_the_api_server_does_not_say_nobody_may_anything() -> None:
    async with outside("get pods a", "list pods", "get /metrics") as (desk, rights, address):
        rights.lost = True
        for path in (EXPLAIN, "/metrics"):
            assert (await ask(address, path, headers=bearer("ann")))[0] == 503
        assert not desk.asked


async def test_probes_are_open() -> None:
    async with outside() as (desk, _rights, address):
        desk.reasons_unready = ["no nodes yet"]
        assert await ask(address, "/healthz") == (200, b"ok\n")
        assert await ask(address, "/readyz") == (503, b"no nodes yet\n")


# --- client certificates ------------------------------------------------------------------------------------------


async def test_the_verbs_are_for_those_with_a_certificate_of_the_named_authority(tmp_path: Path) -> None:
    named, other = Authority(tmp_path, "named"), Authority(tmp_path, "other")
    clock = dt.datetime.now(dt.UTC)
    own = issue(("127.0.0.1",), "test", now=clock, life=dt.timedelta(days=1))
    identity = ServingIdentity(lambda: clock, named.certificate.read_bytes())
    identity.show(own.pair)
    desk = ScriptedDesk()
    app = outside_app(desk, WrittenRights(), verbs_by_certificate=True)

    def client(authority: Authority | None) -> ssl.SSLContext:
        trusting = ssl.create_default_context(cadata=own.authority.decode())
        if authority is not None:
            pair = authority.issue("scheduler", "system:kube-scheduler")
            trusting.load_cert_chain(pair.certificate, pair.key)
        return trusting

    async def call(address: Address, path: str, tls: ssl.SSLContext) -> bytes:
        reader, writer = await asyncio.open_connection(address.host, address.port, ssl=tls)
        try:
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}".encode()
            )
            return await reader.read()
        finally:
            writer.close()

    async with serving_app(app, HERE, identity.context, option="--address") as address:
        for verb in ("filter", "bind", "preempt"):
            refused = await call(address, f"/{verb}", client(None))
            assert refused.startswith(b"HTTP/1.1 403")
            assert (
                b"needs a client certificate of the authority in --client-ca, and none was shown" in refused
            )
        assert not desk.asked
        # The server's no comes after the client's own handshake is over, as an alert or as an end.
        assert await call(address, "/bind", client(other)) in (b"", b"no connection")
        assert not desk.asked
        assert b'{"said":"bind"}' in await call(address, "/bind", client(named))
        assert b'{"said":"review"}' in await call(address, "/webhook", client(None)), (
            "the API server shows none"
        )


VIEWERS = ("list nodes", "list pods")


async def test_the_view_is_for_those_who_may_list_nodes_and_all_pods() -> None:
    async with outside("list nodes") as (desk, rights, address):
        assert sentence(await ask(address, "/view", headers=bearer("ann"))) == (
            403,
            (
                "'ann' may not list nodes and list pods of all namespaces, which /view needs; bind a role with "
                "that right to the account"
            ),
        )
        assert (await ask(address, "/view/nodes/gpu-1"))[0] == 401
        rights.rights.update(VIEWERS)
        assert (await ask(address, "/view?epoch=e.1&since=7&wait=20", headers=bearer("ann")))[0] == 200
        assert (await ask(address, "/view", headers=bearer("ann")))[0] == 200
        assert (await ask(address, "/view/nodes/gpu-1?pod=a/web-0", headers=bearer("ann")))[0] == 200
    assert desk.asked == [("view", b"e.1 7 20"), ("view", b"  "), ("view_node", b"gpu-1 a/web-0")]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/view?since=1&since=2", "since is given 2 times: write it once, or leave it away"),
        ("/view/nodes/GPU_1", "the node is 'GPU_1', which is no name in Kubernetes"),
        ("/view/nodes/a?pod=web-0", "pod is 'web-0': write NAMESPACE/NAME, as kubectl shows them"),
        ("/view/nodes/a?pod=A/../b", "pod is 'A/../b': write NAMESPACE/NAME, as kubectl shows them"),
    ],
)
async def test_a_view_that_cannot_be_read_is_refused_before_anybody_is_asked(
    path: str, expected: str
) -> None:
    async with outside(*VIEWERS) as (desk, _rights, address):
        status, told = sentence(await ask(address, path, headers=bearer("ann")))
    assert status == 400
    assert told.startswith(expected)
    assert not desk.asked


async def test_whoever_waits_for_news_does_not_hold_up_the_end() -> None:
    async with outside(*VIEWERS) as (desk, _rights, address):
        desk.wait = asyncio.Event()
        waiting = asyncio.create_task(ask(address, "/view?wait=20", headers=bearer("ann")))
        await until(lambda: bool(desk.asked))
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - began < END_LIMIT_S
    assert (await waiting)[0] == 200


@pytest.mark.parametrize(
    ("rights", "only", "seen"),
    [
        pytest.param(
            (*VIEWERS, "get pods a"), "only=a&only=b", frozenset({"a", "b"}), id="an operator for somebody"
        ),
        pytest.param((*VIEWERS, "get pods a"), "only=", frozenset[str](), id="for somebody who sees nothing"),
        pytest.param(("get pods a",), "only=a&only=b", frozenset({"a"}), id="a tenant gains nothing by it"),
        pytest.param(("get pods a",), "only=b", frozenset[str](), id="a tenant sees less"),
    ],
)
async def test_a_question_can_be_narrowed_and_never_widened(
    rights: tuple[str, ...], only: str, seen: frozenset[str]
) -> None:
    async with outside(*rights) as (desk, _rights, address):
        assert (await ask(address, f"{EXPLAIN}&{only}", headers=bearer("ann")))[0] == 200
        assert (await ask(address, f"/explain?namespace=a&{only}", b"{}", headers=bearer("ann")))[0] == 200
    assert desk.callers == [Caller("ann", may_see_all=False, namespaces=seen)] * 2


async def test_what_a_question_is_narrowed_to_must_be_namespaces_and_few() -> None:
    most = "".join(f"&only={number:x<63}" for number in range(MOST_ONLY))
    async with outside("get pods a") as (desk, _rights, address):
        assert sentence(await ask(address, f"{EXPLAIN}&only=A_b", headers=bearer("ann")))[0] == 400
        assert (await ask(address, f"{EXPLAIN}{most}", headers=bearer("ann")))[0] == 200
        assert sentence(await ask(address, f"{EXPLAIN}{most}&only=more", headers=bearer("ann"))) == (
            400,
            (
                f"only is given with {MOST_ONLY + 1} namespaces: at most {MOST_ONLY} are looked at; name those "
                "that matter to the question"
            ),
        )
    assert len(desk.asked) == 1


async def test_one_account_does_not_take_every_place_for_those_who_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(door, "FOLLOWERS_OF_ONE", 1)
    async with outside(*VIEWERS) as (desk, rights, address):
        rights.known.add("bob")
        desk.wait = asyncio.Event()
        waits = "/view?wait=20"
        waiting = [asyncio.create_task(ask(address, waits, headers=bearer(who))) for who in ("ann", "bob")]
        await until(lambda: len(desk.asked) == 2)
        status, told = sentence(await ask(address, waits, headers=bearer("ann")))
        assert status == 429
        assert told.startswith("'ann' waits for news 1 times already, which is the most")
        desk.wait.set()
        assert {answer[0] for answer in await asyncio.gather(*waiting)} == {200}
        assert (await ask(address, waits, headers=bearer("ann")))[0] == 200
