"""The door for everybody else: reviews, explain, a dashboard's view, metrics, and a kube-scheduler elsewhere.

Who may ask what is Kubernetes' own decision. Explain, the view, Koordinator's device summaries and metrics want the
bearer token of somebody with the right to read the same in Kubernetes, and the desk is told what else that person may
see. Whoever asks on behalf of somebody else can narrow that sight (`only`) and never widen it. Admission reviews need
no proof: they change nothing, and say of a pod only what its author wrote. Filter and bind decide for the whole
cluster, so from outside they need a certificate of the one authority named for it; without one there are no such paths.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from aiohttp import web

from tangram.daemon.web_asking import MEBI, Answering, NotAnswered, Paths, Reading, application
from tangram.kube.rights import RightsUnknown, User
from tangram.reports import view_shape
from tangram.services.scheduler.desk import Caller, Desk, Reply
from tangram.services.scheduler.doors import probes, response, verbs

REVIEW_BODY: Final = 8 * MEBI
"""An API server takes objects of 3 MiB, and an update's review has the old one beside the new."""
MANIFEST_BODY: Final = MEBI
SUMMARIES: Final = "/apis/v1/plugins/DeviceShare/nodeDeviceSummaries"
"""koord-scheduler's own path, which its users know."""
NAMESPACES: Final = 16
"""In one question: each costs the API server a review of its own."""

MOST_ONLY: Final = 256
"""Namespaces that a question may be narrowed to. They cost no review, and have to fit into its first line."""

FOLLOWERS_OF_ONE: Final = 8
"""Questions of one account that may wait for news at once, which is half of all: a dashboard asks one, and those that
it gave up wait on for some seconds."""

_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_POD = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_log = logging.getLogger(__name__)


class Rights(Protocol):
    """What Kubernetes says about a token and its owner. Raises `RightsUnknown`."""

    async def who(self, token: str) -> User | None: ...

    async def may(self, user: User, verb: str, resource: str, namespace: str = "") -> bool: ...

    async def may_reach(self, user: User, path: str, verb: str = "get") -> bool: ...


def outside_app(desk: Desk, rights: Rights, *, verbs_by_certificate: bool) -> web.Application:
    """Everything that may be asked from other machines.

    `verbs_by_certificate` adds the extender's verbs, for callers whose certificate the listener has verified.
    """
    reading, reception = Reading(), _Reception(rights)
    followers: Counter[str] = Counter()

    async def explain_pod(request: web.Request) -> web.Response:
        namespace, name = _one(request, "namespace", _NAMESPACE), _one(request, "pod", _POD)
        caller = _narrowed(request, await reception.reader_of_pods(request, (namespace,)))
        return response(await desk.explain_pod(namespace, name, caller, request.query.getall("node", [])))

    async def explain_manifest(request: web.Request) -> web.Response:
        caller = _narrowed(request, await reception.reader_of_pods(request, _namespaces(request)))
        body = await reading.body(request, MANIFEST_BODY)
        return response(await desk.explain_manifest(body, caller, request.query.getall("node", [])))

    async def view(request: web.Request) -> web.Response:
        asked = [_at_most_once(request, field) for field in ("epoch", "since", "wait")]
        user = await reception.reader_of_nodes(request, "list")
        if not asked[-1]:
            return response(await desk.view(*asked))
        if followers[user.name] >= FOLLOWERS_OF_ONE:
            raise NotAnswered(
                429,
                f"{user.name!r:.200} waits for news {FOLLOWERS_OF_ONE} times already, which is the most; wait for an "
                "answer, or ask without wait",
                Retry_After="1",
            )
        followers[user.name] += 1
        try:
            return response(await desk.view(*asked))
        finally:
            followers[user.name] -= 1
            if not followers[user.name]:
                del followers[user.name]

    async def view_node(request: web.Request) -> web.Response:
        name, pod = request.path.rpartition("/")[2], _at_most_once(request, "pod")
        _check("the node", name, _POD)
        _check_pod(pod)
        await reception.reader_of_nodes(request, "list")
        return response(await desk.view_node(name, pod))

    async def ending(_app: web.Application) -> None:
        desk.end_waiting()

    async def every_summary(request: web.Request) -> web.Response:
        await reception.reader_of_nodes(request, "list")
        return response(await desk.device_summaries(None))

    async def one_summary(request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        _check("the node", name, _POD)
        await reception.reader_of_nodes(request, "get")
        return response(await desk.device_summaries(name))

    async def metrics(request: web.Request) -> web.Response:
        await reception.scraper(request)
        takes = request.headers.get("Accept-Encoding", "")
        return response(await desk.metrics(gzipped="gzip" in takes))

    paths: dict[str, dict[str, Answering]] = {
        "/webhook": {"POST": _review(desk.review, reading)},
        "/guard": {"POST": _review(desk.guard, reading)},
        "/explain": {"GET": _by_right(explain_pod), "POST": _by_right(explain_manifest)},
        view_shape.PATH: {"GET": _by_right(view)},
        f"{view_shape.NODE_PATH}/*": {"GET": _by_right(view_node)},
        SUMMARIES: {"GET": _by_right(every_summary)},
        f"{SUMMARIES}/*": {"GET": _by_right(one_summary)},
        "/metrics": {"GET": _by_right(metrics)},
    }
    behind_certificate: Paths = _certified(verbs(desk, reading)) if verbs_by_certificate else {}
    app = application({**paths, **behind_certificate, **probes(desk)})
    app.on_shutdown.append(ending)
    return app


def _review(ask: Callable[[bytes], Awaitable[Reply]], reading: Reading) -> Answering:
    async def answer(request: web.Request) -> web.Response:
        return response(await ask(await reading.body(request, REVIEW_BODY)))

    return answer


def _by_right(answering: Answering) -> Answering:
    async def answer(request: web.Request) -> web.Response:
        try:
            return await answering(request)
        except RightsUnknown as unknown:
            _log.warning("%s was not answered: %s", request.path, unknown)
            raise NotAnswered(
                503,
                f"{request.path} could not find out what you may see; ask again in a moment",
                Retry_After="5",
            ) from None

    return answer


def _certified(paths: Paths) -> Paths:
    def guarded(answering: Answering) -> Answering:
        async def answer(request: web.Request) -> web.Response:
            transport = request.transport
            # The listener has verified it, or there is none: one that does not hold ends the handshake.
            if transport is None or not transport.get_extra_info("peercert"):
                raise NotAnswered(
                    403,
                    f"{request.path} needs a client certificate of the authority in --client-ca, and none was shown; "
                    "name one in tlsConfig of the extender in kube-scheduler's configuration",
                )
            return await answering(request)

        return answer

    return {
        path: {method: guarded(answering) for method, answering in by.items()} for path, by in paths.items()
    }


class _Reception:
    """Finds out who asks, and what Kubernetes lets them see. Everything raises `NotAnswered`, and `RightsUnknown`."""

    def __init__(self, rights: Rights) -> None:
        self._rights = rights

    async def reader_of_pods(self, request: web.Request, namespaces: tuple[str, ...]) -> Caller:
        """Somebody who may get pods in each of these namespaces."""
        where = ", ".join(repr(namespace) for namespace in namespaces)
        user = await self._user(request, f"get pods in namespace {where}")
        for namespace in namespaces:
            if not await self._rights.may(user, "get", "pods", namespace):
                raise _lacking(user, f"get pods in namespace {namespace!r}", request.path)
        return Caller(user.name, await self._rights.may(user, "list", "pods"), frozenset(namespaces))

    async def reader_of_nodes(self, request: web.Request, verb: str) -> User:
        """Somebody who may read nodes, and pods of every namespace: both are told of."""
        rights = ((verb, "nodes"), ("list", "pods"))
        both = f"{verb} nodes and list pods of all namespaces"
        user = await self._user(request, both)
        for right in rights:
            if not await self._rights.may(user, *right):
                raise _lacking(user, both, request.path)
        return user

    async def scraper(self, request: web.Request) -> None:
        """Somebody who may read metrics."""
        right = "get the non-resource URL /metrics"
        user = await self._user(request, right)
        if not await self._rights.may_reach(user, "/metrics"):
            raise _lacking(user, right, request.path)

    async def _user(self, request: web.Request, right: str) -> User:
        scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        known = await self._rights.who(bearer) if bearer else None
        if known is None:
            was = "the token is not one of this cluster" if bearer else "no token was sent"
            raise NotAnswered(
                401,
                f"{request.path} needs to know who asks, and {was}; send 'Authorization: Bearer TOKEN' of an account "
                f"that may {right}",
                WWW_Authenticate="Bearer",
            )
        return known


def _lacking(user: User, right: str, path: str) -> NotAnswered:
    return NotAnswered(
        403,
        f"{user.name!r:.200} may not {right}, which {path} needs; bind a role with that right to the account",
    )


def _narrowed(request: web.Request, caller: Caller) -> Caller:
    """Who asks on behalf of somebody names what that one may see with `only`, and is shown no more; an empty `only` is
    nothing of others. It can take sight away and never give any.
    """
    only = request.query.getall("only", None)
    if only is None:
        return caller
    named = frozenset(each for each in only if each)
    if len(named) > MOST_ONLY:
        raise NotAnswered(
            400,
            f"only is given with {len(named)} namespaces: at most {MOST_ONLY} are looked at; name those that matter "
            "to the question",
        )
    for each in named:
        _check("only", each, _NAMESPACE)
    seen = named if caller.may_see_all else named & caller.namespaces
    return Caller(caller.user, may_see_all=False, namespaces=seen)


def _namespaces(request: web.Request) -> tuple[str, ...]:
    asked = tuple(dict.fromkeys(request.query.getall("namespace", ["default"])))
    if len(asked) > NAMESPACES:
        raise NotAnswered(
            400,
            f"namespace is given {len(asked)} times: at most {NAMESPACES} are looked at; ask several times",
        )
    for one in asked:
        _check("namespace", one, _NAMESPACE)
    return asked


def _one(request: web.Request, field: str, form: re.Pattern[str]) -> str:
    values = request.query.getall(field, [])
    if len(values) != 1:
        raise NotAnswered(
            400,
            f"{field} is given {len(values)} times: ask {request.path}?namespace=NAMESPACE&pod=POD, each once",
        )
    _check(field, values[0], form)
    return values[0]


def _at_most_once(request: web.Request, field: str) -> str:
    values = request.query.getall(field, [])
    if len(values) > 1:
        raise NotAnswered(400, f"{field} is given {len(values)} times: write it once, or leave it away")
    return values[0] if values else ""


def _check_pod(pod: str) -> None:
    namespace, slash, name = pod.partition("/")
    if pod and not (slash and _NAMESPACE.fullmatch(namespace) and _POD.fullmatch(name)):
        raise NotAnswered(400, f"pod is {pod!r:.80}: write NAMESPACE/NAME, as kubectl shows them")


def _check(field: str, value: str, form: re.Pattern[str]) -> None:
    if form.fullmatch(value) is None:
        raise NotAnswered(
            400,
            f"{field} is {value!r:.80}, which is no name in Kubernetes: it has small letters, digits and hyphens; "
            "write the name as kubectl shows it",
        )
