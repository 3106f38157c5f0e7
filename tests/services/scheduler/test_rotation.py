"""Certificates change under real TLS while clients call: nobody is refused."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from builders.api_server import SmallApiServer, small_api_server
from builders.desks import ScriptedDesk
from builders.kept_objects import KeptObjects, Object
from builders.waiting import until
from tangram.daemon.certificates import issue
from tangram.daemon.endpoints import Address
from tangram.daemon.serving_identity import PairFiles, ServingIdentity
from tangram.daemon.web_serving import serving_app
from tangram.kube.api import Api
from tangram.services.scheduler import authority
from tangram.services.scheduler.authority import OwnAuthority, Places
from tangram.services.scheduler.doors import extender_app
from tangram.services.scheduler.generations import Pace
from tangram.services.scheduler.trust import KINDS, configuration_path

PLACES = Places("gpu", "tangram-webhook", "tangram")
NAMES = ("127.0.0.1",)
PATH = configuration_path(KINDS[0], PLACES.configuration)
HOOK = {"name": "a", "clientConfig": {"url": "https://127.0.0.1:9443/webhook"}}
PACE = Pace(renew_after=dt.timedelta(seconds=20), settle=dt.timedelta(seconds=4))


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


async def call(address: Address, bundle: bytes) -> str:
    """One call over a new connection by somebody who trusts this bundle alone; the certificate it was shown."""
    trusting = ssl.create_default_context(cadata=bundle.decode())
    reader, writer = await asyncio.open_connection(address.host, address.port, ssl=trusting)
    try:
        shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.write(b"POST /filter HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
        assert b"200 OK" in await reader.read()
        return shown.hex()
    finally:
        writer.close()
        with suppress(ssl.SSLError, ConnectionError):
            await writer.wait_closed()


async def test_no_call_fails_while_certificates_are_renewed_again_and_again() -> None:
    """The clock of the certificates runs ahead; TLS itself checks them by the real one."""
    objects, begun, ahead = KeptObjects(), now(), dt.timedelta()
    objects.put(PATH, {"webhooks": [HOOK]})

    def later() -> dt.datetime:
        return begun + ahead

    identities = [ServingIdentity(later), ServingIdentity(later)]
    owners = [OwnAuthority(objects, PLACES, NAMES, one, now=later, pace=PACE) for one in identities]
    for owner in owners:
        await owner.step()
    seen: set[str] = set()
    calls = 0
    rotating = True

    async def keep_calling(address: Address) -> None:
        nonlocal calls
        while rotating:
            bundle = objects.objects[PATH]["webhooks"][0]["clientConfig"]["caBundle"]
            # What an API server goes by may be a moment old.
            await asyncio.sleep(0.005)
            seen.add(await call(address, base64.b64decode(bundle)))
            calls += 1

    async with (
        serving_app(
            extender_app(ScriptedDesk()), Address("127.0.0.1", 0), identities[0].context, option="a"
        ) as one,
        serving_app(
            extender_app(ScriptedDesk()), Address("127.0.0.1", 0), identities[1].context, option="b"
        ) as two,
        asyncio.TaskGroup() as tasks,
    ):
        for address in (one, two, one, two):
            tasks.create_task(keep_calling(address))
        for second in range(150):
            ahead += dt.timedelta(seconds=1)
            await owners[second % 2].step()
            await asyncio.sleep(0.01)
        rotating = False
    assert len(seen) >= 5
    assert calls > 100


# --- a real API client and its watches -------------------------------------------------------------------------------


def trusted(server: SmallApiServer) -> str:
    hooks: list[Object] = server.objects[PATH]["webhooks"]
    return hooks[0]["clientConfig"].get("caBundle", "")


async def until_trusted(server: SmallApiServer) -> str:
    await until(lambda: bool(trusted(server)))
    return trusted(server)


async def test_a_bundle_that_is_taken_away_is_back_at_once_and_trouble_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(authority, "LOOK_AGAIN_S", 0.01)
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.put(PATH, {"webhooks": [HOOK]})
        identity = ServingIdentity(now)
        own = OwnAuthority(api, PLACES, NAMES, identity, now=now)
        following = asyncio.create_task(own.follow())
        try:
            good = await until_trusted(server)
            await until(lambda: not identity.unready())
            await until(lambda: server.watching == 3)
            server.put(PATH, {"webhooks": [HOOK]})
            assert await until_trusted(server) == good, (
                "within seconds, though it looks by itself every half minute"
            )
        finally:
            following.cancel()
            await asyncio.wait({following})
    assert following.cancelled()
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


async def test_an_api_server_that_is_away_is_waited_for_and_the_door_stays_shut_meanwhile(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(authority, "LOOK_AGAIN_S", 0.001)
    monkeypatch.setattr(authority, "LOOK_EVERY_S", 0.001)
    objects = KeptObjects()
    objects.fates = ["not done"] * 5
    identity = ServingIdentity(now)
    own = OwnAuthority(objects, PLACES, NAMES, identity, now=now)
    async with serving_app(
        extender_app(ScriptedDesk()), Address("127.0.0.1", 0), identity.context, option="a"
    ) as address:
        with pytest.raises(ConnectionError):
            await call(address, b"")
        following = asyncio.create_task(own.follow())
        await until(lambda: not identity.unready())
        following.cancel()
        await asyncio.wait({following})
        kept = objects.objects["/api/v1/namespaces/gpu/secrets/tangram-webhook"]["data"]["ca.crt"]
        assert await call(address, base64.b64decode(kept))
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1


async def test_files_that_somebody_else_renews_are_served_from_the_next_connection_on(tmp_path: Path) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    identity = ServingIdentity(now)
    files = PairFiles(identity, certificate, key)

    def renew() -> bytes:
        new = issue(NAMES, "another authority", now=now(), life=dt.timedelta(days=1))
        certificate.write_bytes(new.pair.certificate)
        key.write_bytes(new.pair.key)
        return new.authority

    first = renew()
    files.begin()
    async with serving_app(
        extender_app(ScriptedDesk()), Address("127.0.0.1", 0), identity.context, option="a"
    ) as address:
        shown = await call(address, first)
        both = first + renew()
        assert await call(address, both) == shown, "nobody has looked yet"
        files.look()
        assert await call(address, both) != shown
