"""Signing in with a token, being signed out, and what a browser is given to keep."""

import datetime as dt
import io
import ssl
from collections.abc import AsyncGenerator

import pytest
from aiohttp import ClientSession, DummyCookieJar

from builders.dashboards import FakeKnown, card, held, node
from builders.receptions import ADMIN, Browser, Scene, form_token_in
from tangram.daemon.certificates import issue
from tangram.daemon.endpoints import Address
from tangram.daemon.serving_identity import ServingIdentity
from tangram.daemon.web_serving import serving_app
from tangram.kube.rights import LONGEST_TOKEN
from tangram.web.reception import Way, WaysIn
from tangram.web.sessions import IDLE_S, LONGEST_S
from tangram.web.tries import MOST

ANNAS = "eyJhbGciOiJSUzI1NiJ9.anna-secret.sig"


@pytest.fixture
async def scene() -> Scene:
    made = Scene(FakeKnown(node("gpu-1", card(0, held("research/train-0")))), WaysIn())
    made.rights.person("anna", "list pods research", token=ANNAS)
    return made


@pytest.fixture
async def browser(scene: Scene) -> AsyncGenerator[Browser]:
    async with scene.served() as made:
        yield made


async def test_a_stranger_is_led_to_the_form_and_back_to_what_they_asked_for(browser: Browser) -> None:
    assert await browser.get("/nodes/gpu-1?pod=research/train-0") == (
        303,
        "/sign-in?back=/nodes/gpu-1%3Fpod%3Dresearch/train-0",
    )
    status, page = await browser.get("/sign-in?back=/nodes/gpu-1%3Fpod%3Dresearch/train-0")
    assert status == 200
    assert 'type="password"' in page
    assert 'autocomplete="off"' in page
    assert 'value="/nodes/gpu-1?pod=research/train-0"' in page
    assert await browser.sign_in(ANNAS, "/nodes/gpu-1?pod=research/train-0") == (
        303,
        "/nodes/gpu-1?pod=research/train-0",
    )
    assert (await browser.get("/pods"))[0] == 200


async def test_what_no_page_is_shown_to_a_stranger_is_told_to_scripts_as_401(browser: Browser) -> None:
    for path, headers in (("/events?page=/", {}), ("/", {"X-Fragment": "main"})):
        assert (await browser.get(path, headers))[0] == 401
    assert (await browser.post("/explain", {}))[0] == 401


@pytest.mark.parametrize(
    "back", ["https://evil.example", "//evil.example/x", "/\\evil.example", "/\t/evil.example"]
)
async def test_no_address_leads_to_another_site_through_the_form(browser: Browser, back: str) -> None:
    assert await browser.sign_in(ANNAS, back) == (303, "/")
    _status, page = await browser.get(f"/sign-in?back={back.replace(chr(9), '%09')}")
    assert "evil.example" not in page


async def test_the_cookie_is_a_random_number_for_this_host_alone(browser: Browser) -> None:
    await browser.sign_in(ANNAS)
    (cookie,) = browser.set_cookies
    assert cookie.startswith("tangram-session=")
    for part in ("HttpOnly", "Path=/", "SameSite=Strict", f"Max-Age={int(LONGEST_S)}"):
        assert part in cookie
    assert "Domain" not in cookie
    assert "secret" not in cookie


async def test_over_tls_the_cookie_stays_on_tls_and_no_neighbour_can_plant_one(scene: Scene) -> None:
    clock = dt.datetime.now(dt.UTC)
    own = issue(("127.0.0.1",), "test", now=clock, life=dt.timedelta(days=1))
    identity = ServingIdentity(lambda: clock)
    identity.show(own.pair)
    trusting = ssl.create_default_context(cadata=own.authority.decode())
    async with (
        serving_app(scene.app(), Address("127.0.0.1", 0), identity.context, option="--address") as address,
        ClientSession(f"https://{address}", cookie_jar=DummyCookieJar()) as session,
    ):
        async with session.get("/sign-in", ssl=trusting) as answer:
            form = {"token": ANNAS, "form_token": form_token_in(await answer.text())}
        ours = {"Origin": f"https://{address}"}
        async with session.post(
            "/sign-in", data=form, headers=ours, ssl=trusting, allow_redirects=False
        ) as answer:
            (cookie,) = answer.headers.getall("Set-Cookie")
            assert cookie.startswith("__Host-tangram-session=")
            assert "Secure" in cookie
        value = cookie.partition(";")[0].partition("=")[2]
        for name, expected in (("__Host-tangram-session", 200), ("tangram-session", 303)):
            async with session.get(
                "/pods", headers={"Cookie": f"{name}={value}"}, ssl=trusting, allow_redirects=False
            ) as answer:
                assert answer.status == expected
        plain = {"Origin": f"http://{address}"}
        async with session.post("/sign-in", data=form, headers=plain, ssl=trusting) as answer:
            assert answer.status == 403


async def test_a_number_that_was_planted_before_is_worth_nothing_after(browser: Browser) -> None:
    browser.cookies["tangram-session"] = planted = "A" * 43
    await browser.sign_in(ANNAS)
    assert browser.cookies["tangram-session"] != planted
    browser.cookies["tangram-session"] = planted
    assert await browser.get("/pods") == (303, "/sign-in?back=/pods&why=unknown")


async def test_signing_in_anew_ends_the_session_before(browser: Browser, scene: Scene) -> None:
    await browser.sign_in(ANNAS)
    before = browser.cookies["tangram-session"]
    await browser.sign_in(ANNAS)
    assert len(scene.reception.sessions) == 1
    browser.cookies["tangram-session"] = before
    assert (await browser.get("/pods"))[0] == 303


async def test_signing_out_forgets_the_token_and_takes_the_cookie_back(
    browser: Browser, scene: Scene
) -> None:
    await browser.sign_in(ANNAS)
    number = browser.cookies["tangram-session"]
    _status, page = await browser.get("/pods")
    assert await browser.post("/sign-out", {"form_token": form_token_in(page)}) == (303, "/sign-in?why=out")
    assert "tangram-session" not in browser.cookies
    assert len(scene.reception.sessions) == 0
    browser.cookies["tangram-session"] = number
    assert (await browser.get("/pods"))[0] == 303


async def test_signing_out_needs_no_api_server(browser: Browser, scene: Scene) -> None:
    await browser.sign_in(ANNAS)
    _status, page = await browser.get("/pods")
    scene.rights.lost = True
    assert (await browser.get("/pods"))[0] == 503
    assert await browser.post("/sign-out", {"form_token": form_token_in(page)}) == (303, "/sign-in?why=out")
    assert len(scene.reception.sessions) == 0


@pytest.mark.parametrize(("passed", "why"), [(IDLE_S, "idle"), (LONGEST_S, "long")])
async def test_a_session_that_ended_by_itself_says_why(
    browser: Browser, scene: Scene, passed: float, why: str
) -> None:
    await browser.sign_in(ANNAS)
    scene.clock.pass_time(passed)
    status, place = await browser.get("/pods")
    assert (status, place) == (303, f"/sign-in?back=/pods&why={why}")
    assert 'class="note note-warn"' in (await browser.get(place))[1]


async def test_a_token_that_is_revoked_signs_its_session_out_with_a_sentence(
    browser: Browser, scene: Scene
) -> None:
    await browser.sign_in(ANNAS)
    del scene.rights.users[ANNAS]
    status, place = await browser.get("/pods")
    assert (status, place) == (303, "/sign-in?back=/pods&why=revoked")
    assert "does not take your token any more" in (await browser.get(place))[1]
    scene.rights.person("anna", token=ANNAS)
    assert (await browser.get("/pods"))[1].endswith("why=unknown"), "it is gone for good"


@pytest.mark.parametrize(
    ("token", "status", "said"),
    [
        pytest.param("wrong", 403, "not a token of this cluster", id="wrong"),
        pytest.param("", 400, "No token was sent", id="nothing"),
        pytest.param(" \r\n ", 400, "No token was sent", id="blank"),
        pytest.param("x" * (LONGEST_TOKEN + 1), 403, "not a token of this cluster", id="endless"),
        pytest.param("令牌", 403, "not a token of this cluster", id="not ASCII"),
    ],
)
async def test_what_is_no_token_is_one_sentence_and_no_cookie(
    browser: Browser, token: str, status: int, said: str
) -> None:
    answer = await browser.sign_in(token)
    assert answer[0] == status
    assert said in answer[1]
    assert browser.set_cookies == []


@pytest.mark.parametrize("pasted", [f"  {ANNAS}\n", f"Bearer {ANNAS}", f"{ANNAS[:20]}\r\n{ANNAS[20:]}"])
async def test_a_token_is_taken_as_terminals_give_it(browser: Browser, pasted: str) -> None:
    assert (await browser.sign_in(pasted))[0] == 303


async def test_who_is_wrong_too_often_waits_and_the_api_server_is_not_asked(
    browser: Browser, scene: Scene
) -> None:
    for index in range(MOST):
        assert (await browser.sign_in(f"wrong-{index}"))[0] == 403
    status, page = await browser.sign_in(ANNAS)
    assert status == 429
    assert "Try again in 6 seconds" in page
    scene.clock.pass_time(6)
    assert (await browser.sign_in(ANNAS))[0] == 303


async def test_when_the_api_server_does_not_say_who_it_is_nobody_is_signed_in(
    browser: Browser, scene: Scene
) -> None:
    scene.rights.lost = True
    status, page = await browser.sign_in(ANNAS)
    assert status == 503
    assert "API server did not say who you are" in page
    assert browser.set_cookies == []


async def test_when_it_falls_silent_later_nothing_is_shown_and_the_session_stays(
    browser: Browser, scene: Scene
) -> None:
    await browser.sign_in(ANNAS)
    scene.rights.lost = True
    status, page = await browser.get("/pods")
    assert status == 503
    assert "research" not in page
    assert "it is gone" not in page, "what the API server said is for the log"
    scene.rights.lost = False
    assert (await browser.get("/pods"))[0] == 200


# --- forms of others ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="another site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="a neighbour under the same domain"),
        pytest.param({"Sec-Fetch-Site": "none"}, id="no page at all"),
        pytest.param({"Origin": "https://evil.example"}, id="another origin"),
        pytest.param({"Origin": "null"}, id="no origin"),
        pytest.param({"Origin": "http://["}, id="half an address"),
        pytest.param({}, id="says nothing"),
    ],
)
async def test_a_form_to_sign_in_comes_from_our_own_page(browser: Browser, headers: dict[str, str]) -> None:
    _status, page = await browser.get("/sign-in")
    form = {"token": ANNAS, "form_token": form_token_in(page)}
    assert (await browser.post("/sign-in", form, headers))[0] == 403
    assert browser.cookies == {}


@pytest.mark.parametrize("path", ["/sign-out", "/preferences", "/explain", "/cards/cordon"])
@pytest.mark.parametrize(
    ("token", "headers"),
    [
        pytest.param("", None, id="no token"),
        pytest.param("stranger's", None, id="a stranger's token"),
        pytest.param("other's", None, id="another session's token"),
        pytest.param("own", {"Origin": "https://evil.example"}, id="another site"),
        pytest.param("own", {"Sec-Fetch-Site": "cross-site"}, id="said to be another site"),
    ],
)
async def test_every_form_needs_the_token_that_was_made_for_this_session(
    scene: Scene, path: str, token: str, headers: dict[str, str] | None
) -> None:
    scene.rights.person("ben", *ADMIN, token="bens")  # noqa: S106 - ben's
    async with scene.served() as browser, scene.served() as other:
        tokens = {"": "", "stranger's": form_token_in((await browser.get("/sign-in"))[1])}
        await other.sign_in("bens")
        tokens["other's"] = form_token_in((await other.get("/pods"))[1])
        await browser.sign_in(ANNAS)
        tokens["own"] = form_token_in((await browser.get("/pods"))[1])
        assert len(set(tokens.values())) == 4
        form = {
            "form_token": tokens[token],
            "language": "zh-CN",
            "manifest": "",
            "node": "gpu-1",
            "card": "0",
        }
        assert (await browser.post(path, form, headers))[0] == 403
        assert (await browser.get("/pods"))[0] == 200, "still signed in"
        assert "tangram-language" not in browser.cookies
        assert scene.known.cordoned == []


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("multipart/form-data; boundary=x", b"--x--", 415),
        ("application/json", b"{}", 415),
        ("application/x-www-form-urlencoded", b"a=%ff", 400),
        ("application/x-www-form-urlencoded", b"&".join(b"a=1" for _ in range(200)), 400),
        ("application/x-www-form-urlencoded", b"a" * (3 << 20), 413),
    ],
)
async def test_what_is_no_form_is_one_sentence(browser: Browser, kind: str, body: bytes, status: int) -> None:
    async with browser.session.post(
        "/sign-in", data=io.BytesIO(body), headers={"Content-Type": kind}
    ) as answer:
        assert answer.status == status


# --- other ways -----------------------------------------------------------------------------------------------------


async def test_a_token_in_a_header_needs_no_session(browser: Browser, scene: Scene) -> None:
    assert (await browser.get("/pods", {"Authorization": f"Bearer {ANNAS}"}))[0] == 200
    assert len(scene.reception.sessions) == 0
    assert (await browser.get("/pods", {"Authorization": "Basic YTpi"}))[0] == 303


async def test_a_wrong_token_in_a_header_is_refused_though_there_is_a_session(browser: Browser) -> None:
    await browser.sign_in(ANNAS)
    status, page = await browser.get("/pods", {"Authorization": "Bearer wrong"})
    assert status == 401
    assert "not one of this cluster" in page


async def test_wrong_headers_are_bounded_too(browser: Browser) -> None:
    found = [(await browser.get("/pods", {"Authorization": f"Bearer {index}"}))[0] for index in range(62)]
    assert found == [401] * 60 + [429] * 2


async def test_locally_everybody_is_the_owner_of_the_kubeconfig_and_may_become_somebody_else() -> None:
    scene = Scene(FakeKnown(), WaysIn(way=Way.NONE))
    scene.rights.person("kubeconfig-owner", *ADMIN)
    scene.rights.person("anna", token=ANNAS)
    async with scene.served() as browser:
        page = (await browser.get("/pods"))[1]
        assert "kubeconfig-owner" in page
        assert "/sign-out" not in page
        await browser.sign_in(ANNAS)
        page = (await browser.get("/pods"))[1]
        assert "anna" in page
        await browser.post("/sign-out", {"form_token": form_token_in(page)})
        assert "kubeconfig-owner" in (await browser.get("/pods"))[1]
        browser.cookies["tangram-session"] = "from-before-a-restart"
        assert "kubeconfig-owner" in (await browser.get("/pods"))[1]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8080", 200),
        ("127.0.0.1:8080", 200),
        ("[::1]:8080", 200),
        ("tangram.localhost", 200),
        ("LOCALHOST.", 200),
        ("dash.lan:1", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example:8080", 421),
        ("192.0.2.1", 421),
    ],
)
async def test_locally_no_other_sites_name_leads_here(host: str, status: int) -> None:
    scene = Scene(FakeKnown(), WaysIn(way=Way.NONE, hosts=frozenset({"dash.lan"})))
    async with scene.served() as browser:
        assert (await browser.get("/pods", {"Host": host}))[0] == status
        assert (await browser.get("/sign-in", {"Host": host}))[0] == status
