"""Whatever stands in the headers of a request, whoever sent it is somebody, a stranger, or refused."""

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from builders.dashboards import FakeKnown
from builders.receptions import ADMIN, Scene
from builders.virtual_time import in_virtual_time
from tangram.daemon.endpoints import Address
from tangram.daemon.web_serving import serving_app
from tangram.web.forms import check_form
from tangram.web.known import NotKnown
from tangram.web.proxies import PROXY_DOOR
from tangram.web.receiving import NotSignedIn
from tangram.web.reception import Way, WaysIn

NAMES = (
    "Authorization",
    "Cookie",
    "Host",
    "Accept-Language",
    "Origin",
    "Sec-Fetch-Site",
    "X-Remote-User",
    "X-Remote-Group",
    "X-Remote-Extra-%",
    "X-Forwarded-User",
)
TEXTS = st.one_of(
    st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40),
    st.sampled_from(
        [
            "Bearer",
            "Bearer  ",
            "bearer annas",
            "Bearer annas extra",
            "tangram-session=",
            'tangram-session="; a=b',
            "[",
            "[::1",
            ":80",
            "http://[",
            "same-origin",
            "system:masters",
        ]
    ),
)


class Wire:
    """A connection from this machine."""

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("127.0.0.1", 4711) if name == "peername" else default


@given(
    st.sampled_from(Way),
    st.lists(st.tuples(st.sampled_from(NAMES), TEXTS), max_size=5),
    st.dictionaries(TEXTS, TEXTS),
)
def test_odd_headers_are_never_a_failure_and_make_nobody_an_administrator(
    way: Way, headers: list[tuple[str, str]], form: dict[str, str]
) -> None:
    async def ask() -> None:
        scene = Scene(FakeKnown(), WaysIn(way=way))
        scene.rights.person("anna", token="annas")  # noqa: S106 - anna's
        scene.rights.person("system:masters", *ADMIN)
        app = web.Application()
        app[PROXY_DOOR] = True
        request = make_mocked_request(
            "POST", "/pods", CIMultiDictProxy(CIMultiDict(headers)), app=app, transport=Wire()
        )
        scene.reception.stranger(request)
        try:
            viewer = await scene.reception.viewer(request)
        except (NotSignedIn, NotKnown):
            return
        names = {value for name, value in headers if name == "X-Remote-User" and way is Way.PROXY}
        assert viewer.user.name in ({"anna", "kubeconfig-owner"} | names) - {"system:masters"}
        assert not viewer.sight.everything
        with pytest.raises(NotKnown) as refused:
            check_form(request, form, viewer)
        assert refused.value.status == 403

    in_virtual_time(ask())


async def test_bytes_that_are_no_text_are_refused_where_a_proxy_sends_them() -> None:
    scene = Scene(FakeKnown(), WaysIn(way=Way.PROXY))
    async with serving_app(
        scene.app(proxy_door=True), Address("127.0.0.1", 0), option="--address"
    ) as address:
        for line in (
            b"X-Remote-User: \xff",
            b"X-Remote-User: a\r\nX-Remote-Extra-x: \xff",
            b"X-Remote-User: a\r\nX-Remote-Group: \xfe",
        ):
            reader, writer = await asyncio.open_connection(address.host, address.port)
            writer.write(b"GET /pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + line + b"\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 400"), line
            writer.close()
        for line in (
            b"Authorization: Bearer \xff",
            b"Cookie: tangram-session=\xff",
            b"Accept-Language: \xff",
            b"Host: \xff",
        ):
            reader, writer = await asyncio.open_connection(address.host, address.port)
            writer.write(b"GET /pods HTTP/1.1\r\nConnection: close\r\n" + line + b"\r\n\r\n")
            assert (await reader.read())[9:10] in (b"3", b"4"), line
            writer.close()
