"""The door for kube-scheduler: its extender verbs over HTTP.

kube-scheduler reads the sentence of an answer with status 200 only; of any other it shows the number. So whatever goes
wrong with a verb, the body that cannot be read and our own failure included, is a 200 with the sentence in `Error`: it
then stands in the pod's condition, and the pod is tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from tangram.daemon.web_asking import MEBI, Answering, NotAnswered, Paths, Reading, application, probe, told
from tangram.services.scheduler.desk import Desk, Reply

FILTER_BODY: Final = 16 * MEBI
"""A caller without a cache of its own sends whole nodes."""
OTHER_BODY: Final = MEBI

_log = logging.getLogger(__name__)


def extender_app(desk: Desk) -> web.Application:
    """The verbs for a kube-scheduler beside us, which needs no proof of who it is, and the probes."""
    return application({**verbs(desk, Reading()), **probes(desk)})


def verbs(desk: Desk, reading: Reading) -> Paths:
    """What kube-scheduler asks; HAMi's paths are the same."""
    return {
        "/filter": {"POST": _verb(desk.filter, reading, FILTER_BODY)},
        "/bind": {"POST": _verb(desk.bind, reading, OTHER_BODY)},
        "/preempt": {"POST": _verb(desk.preempt, reading, FILTER_BODY)},
    }


def probes(desk: Desk) -> Paths:
    """What the kubelet asks, with or without a body in the answer."""
    health, ready = probe(desk.unhealthy), probe(desk.unready)
    return {"/healthz": {"GET": health, "HEAD": health}, "/readyz": {"GET": ready, "HEAD": ready}}


def response(reply: Reply) -> web.Response:
    """The desk's answer as it goes out."""
    headers = {"Content-Type": reply.kind} | ({"Content-Encoding": "gzip"} if reply.gzipped else {})
    return web.Response(body=reply.body, status=reply.status, headers=headers)


def _verb(ask: Callable[[bytes], Awaitable[Reply]], reading: Reading, most: int) -> Answering:
    async def answer(request: web.Request) -> web.Response:
        try:
            return response(await ask(await reading.body(request, most)))
        except NotAnswered as refused:
            return told(refused.sentence)
        except ConnectionError:
            raise
        except Exception:  # noqa: BLE001 - a verb must be answered, or the pod waits without a reason
            _log.exception("%s could not be answered", request.path)
            return told(
                f"{request.path[1:]} failed inside the scheduler; its log says why, and it is tried again"
            )

    return answer
