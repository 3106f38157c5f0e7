"""What a sandbox cannot do is said in a sentence that kubectl prints, and not by silence."""

from __future__ import annotations

import asyncio
import logging

import pytest
from aiohttp import web
from aiohttp.client_exceptions import ClientConnectionResetError

from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.sandbox.apiserver.server import serving_api


@pytest.mark.parametrize("part", ["exec", "attach", "portforward", "proxy"])
async def test_who_wants_to_enter_a_container_is_told_what_to_do_instead(part: str) -> None:
    async with serving_api() as running, Api(running.connection()) as api:
        with pytest.raises(ApiError, match="kubectl logs") as refused:
            await api.create(f"/api/v1/namespaces/default/pods/any/{part}", {})
    assert refused.value.status == 501


async def test_who_hangs_up_while_watching_is_no_failure(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung_up = asyncio.Event()

    async def closing(*_: object) -> None:
        hung_up.set()
        raise ClientConnectionResetError("Cannot write to closing transport")

    monkeypatch.setattr(web.StreamResponse, "write", closing)
    with caplog.at_level(logging.WARNING):
        async with serving_api() as running, Api(running.connection()) as api:
            async for _ in api.watch("/api/v1/namespaces", {"resourceVersion": "0"}):
                pass
    assert hung_up.is_set()
    assert caplog.records == []
