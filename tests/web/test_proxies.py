"""Names in headers are believed of the proxy alone, and never those that are Kubernetes' own."""

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict, CIMultiDictProxy

from builders.dashboards import FakeKnown
from builders.receptions import Scene
from tangram.daemon.certificates import issue
from tangram.daemon.endpoints import Address
from tangram.daemon.serving_identity import ServingIdentity
from tangram.daemon.web_serving import serving_app
from tangram.kube.rights import User
from tangram.web.known import NotKnown
from tangram.web.proxies import (
    MOST_GROUPS,
    OAUTH2_PROXY,
    PROXY_DOOR,
    ProxyRules,
    is_header_name,
    named_by_proxy,
)
from tangram.web.reception import Way, WaysIn
from testbed.certificates import Authority

HERE = Address("127.0.0.1", 0)


class Wire:
    """A connection, as far as anybody looks at it."""

    def __init__(self, peer: str = "127.0.0.1", certificate: object = None) -> None:
        self._known = {"peername": (peer, 4711), "peercert": certificate}

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._known.get(name, default)


def named(
    *headers: tuple[str, str],
    rules: ProxyRules | None = None,
    door: bool = True,
    peer: str = "127.0.0.1",
    certificate: object = None,
) -> User | None:
    from aiohttp import web  # noqa: PLC0415 - only an application has doors

    app = web.Application()
    app[PROXY_DOOR] = door
    request = make_mocked_request(
        "GET",
        "/",
        CIMultiDictProxy(CIMultiDict(headers)),
        app=app,
        transport=Wire(peer, certificate),
    )
    return named_by_proxy(request, rules or ProxyRules())


ANNA = ("X-Remote-User", "anna")


def certificate_of(*names: str) -> Mapping[str, object]:
    return {"subject": tuple((("commonName", name),) for name in names)}


def test_a_person_comes_with_groups_and_facts_and_belongs_to_everybody() -> None:
    assert named(
        ANNA,
        ("x-remote-group", "dev"),
        ("X-Remote-Group", "ops"),
        ("X-Remote-Group", "dev"),
        ("X-Remote-Extra-Scopes", "read"),
        ("X-Remote-Extra-Scopes", "write"),
        ("X-Remote-Extra-Acme.com%2Fproject", "p"),
    ) == User(
        "anna",
        groups=("dev", "ops", "system:authenticated"),
        extra=(("acme.com/project", ("p",)), ("scopes", ("read", "write"))),
    )


def test_oauth2_proxy_joins_groups_by_commas() -> None:
    assert named(
        ("X-Forwarded-User", "anna@example.com"),
        ("X-Forwarded-Groups", "dev, ops,"),
        ("X-Remote-User", "mallory"),
        rules=OAUTH2_PROXY,
    ) == User("anna@example.com", groups=("dev", "ops", "system:authenticated"))


def test_names_get_what_the_api_server_puts_before_them() -> None:
    rules = ProxyRules(user_prefix="oidc:", group_prefix="oidc:")
    assert named(ANNA, ("X-Remote-Group", "dev"), rules=rules) == User(
        "oidc:anna", groups=("oidc:dev", "system:authenticated")
    )


def test_a_proxy_that_names_nobody_has_nobody_before_it() -> None:
    assert named(("X-Remote-Group", "dev")) is None


@pytest.mark.parametrize(
    ("door", "peer", "rules", "certificate"),
    [
        pytest.param(False, "127.0.0.1", ProxyRules(), None, id="at the usual door, from this very machine"),
        pytest.param(True, "192.0.2.7", ProxyRules(), None, id="at the proxy's door from elsewhere"),
        pytest.param(False, "192.0.2.7", ProxyRules(by_certificate=True), None, id="without a certificate"),
        pytest.param(
            False,
            "192.0.2.7",
            ProxyRules(by_certificate=True, common_names=frozenset({"proxy"})),
            certificate_of("metrics", "not-proxy"),
            id="with another's certificate",
        ),
        pytest.param(
            False,
            "192.0.2.7",
            ProxyRules(),
            certificate_of("proxy"),
            id="where certificates are not asked for",
        ),
    ],
)
@pytest.mark.parametrize(
    "header", [ANNA, ("X-Remote-Group", "dev"), ("x-remote-EXTRA-scopes", "read"), ("X-Remote-User", "")]
)
def test_on_any_other_connection_such_headers_are_refused(
    door: bool,  # noqa: FBT001 - a case
    peer: str,
    rules: ProxyRules,
    certificate: object,
    header: tuple[str, str],
) -> None:
    with pytest.raises(NotKnown) as refused:
        named(header, door=door, peer=peer, rules=rules, certificate=certificate)
    assert (refused.value.code, refused.value.status) == ("proxy-unproven", 403)
    assert named(door=door, peer=peer, rules=rules, certificate=certificate) is None


def test_a_certificate_of_the_authority_is_enough_and_a_name_narrows_it() -> None:
    by = ProxyRules(by_certificate=True)
    narrow = ProxyRules(by_certificate=True, common_names=frozenset({"proxy"}))
    for rules, name in ((by, "any"), (narrow, "proxy")):
        found = named(ANNA, rules=rules, door=False, peer="192.0.2.7", certificate=certificate_of(name))
        assert found is not None


@pytest.mark.parametrize(
    ("headers", "code", "said"),
    [
        pytest.param(
            (ANNA, ("X-Remote-Group", "system:masters")), "proxy-reserved", "'system:masters'", id="masters"
        ),
        pytest.param(
            (("X-Remote-User", "system:admin"),), "proxy-reserved", "'system:admin'", id="system user"
        ),
        pytest.param(
            (("X-Remote-User", "system:serviceaccount:kube-system:x"),),
            "proxy-reserved",
            "system:",
            id="account",
        ),
        pytest.param((ANNA, ("X-Remote-User", "ben")), "proxy-unreadable", "came 2 times", id="two people"),
        pytest.param((("X-Remote-User", ""),), "proxy-unreadable", "X-Remote-User is ''", id="nobody"),
        pytest.param((("X-Remote-User", "a" * 2000),), "proxy-unreadable", "1 to 1024", id="endless"),
        pytest.param(
            (ANNA, *(("X-Remote-Group", f"g{index}") for index in range(MOST_GROUPS + 1))),
            "proxy-unreadable",
            f"{MOST_GROUPS + 1} groups",
            id="too many groups",
        ),
    ],
)
def test_what_no_proxy_should_say_is_refused_with_a_sentence(
    headers: tuple[tuple[str, str], ...], code: str, said: str
) -> None:
    with pytest.raises(NotKnown) as refused:
        named(*headers)
    assert refused.value.code == code
    assert said in refused.value.sentence


def test_a_prefix_cannot_be_dodged_into_a_reserved_name() -> None:
    with pytest.raises(NotKnown):
        named(("X-Remote-User", "tem:admin"), rules=ProxyRules(user_prefix="sys"))


def test_names_of_headers_are_checked_before_they_are_used() -> None:
    assert is_header_name("X-Remote-User")
    for wrong in ("", "X Remote", "X:User", "X-User\r\nA", "名"):
        assert not is_header_name(wrong)


# --- over real connections ----------------------------------------------------------------------------------------


@asynccontextmanager
async def proxied(rules: ProxyRules, way: Way = Way.PROXY) -> AsyncGenerator[Scene]:
    scene = Scene(FakeKnown(), WaysIn(way=way, proxy=rules))
    scene.rights.person("anna", "list nodes")
    yield scene


async def test_the_sidecars_door_believes_it_and_the_other_does_not() -> None:
    async with proxied(ProxyRules()) as scene:
        async with scene.served(proxy_door=True) as inside:
            assert (await inside.get("/pods", {"X-Remote-User": "anna"}))[0] == 200
            assert (await inside.get("/pods"))[0] == 303
        async with scene.served() as outside:
            status, page = await outside.get("/pods", {"X-Remote-User": "anna"})
            assert status == 403
            assert "does not come from the proxy" in page


@pytest.mark.parametrize("way", [Way.TOKEN, Way.NONE])
async def test_where_there_is_no_proxy_its_headers_mean_nothing(way: Way) -> None:
    async with proxied(ProxyRules(), way) as scene, scene.served(proxy_door=True) as browser:
        status, _page = await browser.get("/pods", {"X-Remote-User": "anna"})
        assert status == (303 if way is Way.TOKEN else 200)
        assert "anna" not in {name for name, _right in scene.rights.asked}


async def test_a_proxy_on_another_machine_shows_its_certificate(tmp_path: Path) -> None:
    named_authority = Authority(tmp_path, "proxies")
    clock = dt.datetime.now(dt.UTC)
    own = issue(("127.0.0.1",), "test", now=clock, life=dt.timedelta(days=1))
    identity = ServingIdentity(lambda: clock, named_authority.certificate.read_bytes())
    identity.show(own.pair)

    async def call(address: Address, name: str) -> str:
        trusting = ssl.create_default_context(cadata=own.authority.decode())
        if name:
            pair = named_authority.issue(name, name)
            trusting.load_cert_chain(pair.certificate, pair.key)
        reader, writer = await asyncio.open_connection(address.host, address.port, ssl=trusting)
        try:
            writer.write(b"GET /pods HTTP/1.1\r\nHost: x\r\nX-Remote-User: anna\r\nConnection: close\r\n\r\n")
            return (await reader.read()).decode()
        finally:
            writer.close()

    rules = ProxyRules(by_certificate=True, common_names=frozenset({"front"}))
    async with (
        proxied(rules) as scene,
        serving_app(scene.app(), HERE, identity.context, option="--address") as address,
    ):
        assert (await call(address, "front")).startswith("HTTP/1.1 200")
        assert (await call(address, "other")).startswith("HTTP/1.1 403")
        assert (await call(address, "")).startswith("HTTP/1.1 403")
