"""The running scheduler asked, with the dashboard's own account, and never for more than somebody may see.

Answers are decoded straight into the records they are made of: a cluster of thousands of nodes passes through here
without a second copy of it as dictionaries. Whatever goes wrong is a sentence for whoever looks at the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from tangram.daemon.scheduler_address import scheduler_sentence
from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.objects import Object
from tangram.reports import view_shape
from tangram.reports.shape import ExplainReport
from tangram.reports.view_shape import NodeDetail, View
from tangram.web.known import NotKnown
from tangram.web.sight import Sight

ANSWER_LIMIT_S: Final = 20.0
WAIT_GRACE_S: Final = 15.0
"""How much later than asked for an answer that was waited for may come."""
MOST_ONLY: Final = 256
"""Namespaces that the scheduler lets a question be narrowed to."""
_ASKED_WRONGLY: Final = frozenset({400, NOT_FOUND, 413, 422})
"""What the person can do something about; everything else is between the scheduler and this process."""

_Answer = TypeVar("_Answer")


class SchedulerClient:
    """Everything raises `NotKnown`. Two connections: the one that waits for news may be left for another replica."""

    def __init__(self, following: Api, asking: Api, trust: Callable[[], None] = lambda: None) -> None:
        self._following = following
        self._asking = asking
        self._trust = trust
        """Looks again whom to believe."""

    async def view(self, epoch: str, since: int, wait: float) -> View:
        """What came after that version, or whatever there is after so many seconds."""
        query = urlencode({"epoch": epoch, "since": since, "wait": f"{wait:g}"})
        return await self._asked(
            self._following, "GET", f"{view_shape.PATH}?{query}", View, limit=wait + WAIT_GRACE_S
        )

    async def leave(self) -> None:
        """Ask for news over a new connection from now on, which may lead to another replica."""
        self._trust()
        await self._following.close()

    async def node(self, name: str, pod: str = "") -> NodeDetail:
        query = f"?{urlencode({'pod': pod})}" if pod else ""
        path = f"{view_shape.NODE_PATH}/{quote(name, safe='')}{query}"
        return await self._asked(self._asking, "GET", path, NodeDetail)

    async def explain_pod(
        self, namespace: str, name: str, sight: Sight, nodes: Sequence[str] = ()
    ) -> ExplainReport:
        query = [("namespace", namespace), ("pod", name), *_narrowed(sight, (namespace,)), *_named(nodes)]
        return await self._asked(self._asking, "GET", f"/explain?{urlencode(query)}", ExplainReport)

    async def explain_manifest(
        self, documents: Sequence[Object], sight: Sight, namespaces: Sequence[str], nodes: Sequence[str] = ()
    ) -> ExplainReport:
        query = [
            *(("namespace", each) for each in namespaces),
            *_narrowed(sight, namespaces),
            *_named(nodes),
        ]
        body = {"kind": "List", "items": list(documents)}
        return await self._asked(self._asking, "POST", f"/explain?{urlencode(query)}", ExplainReport, body)

    async def _asked(
        self,
        api: Api,
        method: str,
        path: str,
        kind: type[_Answer],
        body: object = None,
        *,
        limit: float = ANSWER_LIMIT_S,
    ) -> _Answer:
        try:
            return msgspec.json.decode(await api.answer(method, path, body, limit=limit), type=kind)
        except ApiError as error:
            raise _refused(error) from None
        except ApiUnreachable as error:
            why = _reason(error, limit)
            raise NotKnown(
                "no-scheduler", f"The scheduler cannot be asked ({why}); {_advice(why)}."
            ) from None
        except msgspec.MsgspecError as error:
            raise NotKnown(
                "not-a-scheduler",
                f"Something answers at the scheduler's address that is none, or of another version ({error!s:.120}); "
                "see that --server names the scheduler, and that both are of one release.",
            ) from None


def _narrowed(sight: Sight, first: Iterable[str]) -> list[tuple[str, str]]:
    if sight.everything:
        return []
    asked_about = [each for each in dict.fromkeys(first) if each in sight.namespaces]
    rest = sorted(sight.namespaces.difference(asked_about))
    return [("only", each) for each in (*asked_about, *rest)[:MOST_ONLY]] or [("only", "")]


def _named(nodes: Sequence[str]) -> list[tuple[str, str]]:
    return [("node", node) for node in nodes]


def _refused(error: ApiError) -> NotKnown:
    sentence = scheduler_sentence(error)
    if error.status in _ASKED_WRONGLY:
        return NotKnown("scheduler-says", f"{sentence[:1].upper()}{sentence[1:]}.", error.status)
    return NotKnown("scheduler-refuses", f"The scheduler answers {error.status}: {sentence}.")


def _advice(why: str) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in why:
        return "see that --server-ca is the authority of its certificate, and that --server names it as that does"
    return "see that it runs, and that --server is its address"


def _reason(error: ApiUnreachable, limit: float) -> str:
    cause = error.__cause__
    if isinstance(cause, TimeoutError):
        return f"no answer within {limit:g} s"
    return " ".join(str(cause or error).split())[:200]
