"""Everything pages may ask, put together: the picture, its history, the scheduler, the API server.

The dashboard's own account reads for everybody. So whatever is handed to somebody out of the API server is handed over
only after the API server itself has said that this very person may get it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.objects import Object
from tangram.kube.rights import RightsUnknown, User
from tangram.reports.shape import ExplainReport
from tangram.reports.view_shape import NodeDetail
from tangram.web.history.keeping import History
from tangram.web.known import NotKnown
from tangram.web.picture import Picture
from tangram.web.scheduler_client import SchedulerClient
from tangram.web.sight import Sight

if TYPE_CHECKING:
    from tangram.services.scheduler.checkup.diagnosis import ClusterDiagnosis

NEVER_SHOWN: Final = frozenset({"secrets", "serviceaccounts"})
"""Kinds with secrets in them, or that lead to some; no page needs one."""
_PATH = re.compile(
    r"/(?:api/v1|apis/(?P<group>[a-z0-9.-]{1,253})/[a-z0-9]{1,63})"
    r"/namespaces/(?P<namespace>[a-z0-9-]{1,63})/(?P<resource>[a-z0-9]{1,63})/(?P<name>[a-z0-9][a-z0-9.-]{0,252})"
)

_log = logging.getLogger(__name__)


class Rights(Protocol):
    """Raises `RightsUnknown`."""

    async def may(
        self, user: User, verb: str, resource: str, namespace: str = "", *, group: str = "", name: str = ""
    ) -> bool: ...


class Acts(Protocol):
    async def cordon(
        self, user: User, node: str, card: str, *, out: bool, form_token: str = ""
    ) -> Mapping[str, object]: ...


class Checks(Protocol):
    async def diagnosis(self) -> tuple[float, ClusterDiagnosis]: ...


class Sources(NamedTuple):
    scheduler: SchedulerClient
    api: Api
    rights: Rights
    actor: Acts
    checks: Checks


class Knowing:
    """The `Known` of a dashboard that runs."""

    def __init__(self, picture: Picture, history: History, sources: Sources) -> None:
        self.picture: Final = picture
        self.history: Final = history
        self._from = sources

    async def node(self, name: str, pod: str = "") -> NodeDetail:
        return await self._from.scheduler.node(name, pod)

    async def explain_pod(
        self, namespace: str, name: str, sight: Sight, nodes: Sequence[str] = ()
    ) -> ExplainReport:
        if not sight.of_namespace(namespace):
            # The same as for one that does not exist: that it does is not theirs to know.
            raise NotKnown(
                "no-pod", f"There is no pod {name!r:.80} in namespace {namespace!r:.80}.", NOT_FOUND
            )
        return await self._from.scheduler.explain_pod(namespace, name, sight, nodes)

    async def explain_manifest(
        self, documents: Sequence[Object], sight: Sight, namespaces: Sequence[str], nodes: Sequence[str] = ()
    ) -> ExplainReport:
        return await self._from.scheduler.explain_manifest(documents, sight, namespaces, nodes)

    async def manifest(self, user: User, path: str) -> Object:
        match = _PATH.fullmatch(path)
        if match is None or match["resource"] in NEVER_SHOWN:
            raise NotKnown("no-object", f"{path!r:.120} is nothing that is shown here.", NOT_FOUND)
        resource, namespace, name = match["resource"], match["namespace"], match["name"]
        if not await self._may(user, "get", resource, namespace, group=match["group"] or "", name=name):
            raise NotKnown(
                "no-right",
                f"{user.name!r:.200} may not get {resource} in namespace {namespace!r}; bind a role with that right to "
                "the account to see it here.",
                403,
            )
        try:
            return await self._from.api.get(path)
        except ApiError as error:
            if error.status == NOT_FOUND:
                raise NotKnown(
                    "no-object", f"There is no {name!r:.80} at {path!r:.200}.", NOT_FOUND
                ) from None
            _log.warning("%s could not be read: %s", path, error)
            raise NotKnown(
                "api-refuses",
                f"The API server does not let the dashboard read {path!r:.200} ({error.status}).",
            ) from None
        except ApiUnreachable as error:
            _log.warning("%s could not be read: %s", path, error)
            raise NotKnown("no-api", "The API server does not answer; try again in a moment.") from None

    async def may(
        self, user: User, verb: str, resource: str, namespace: str = "", *, group: str = ""
    ) -> bool:
        return await self._may(user, verb, resource, namespace, group=group)

    async def diagnosis(self) -> tuple[float, ClusterDiagnosis]:
        return await self._from.checks.diagnosis()

    async def cordon(
        self, user: User, node: str, card: str, *, out: bool, form_token: str = ""
    ) -> Mapping[str, object]:
        return await self._from.actor.cordon(user, node, card, out=out, form_token=form_token)

    async def _may(
        self, user: User, verb: str, resource: str, namespace: str, *, group: str, name: str = ""
    ) -> bool:
        try:
            return await self._from.rights.may(user, verb, resource, namespace, group=group, name=name)
        except RightsUnknown as unknown:
            _log.warning("it is not known what somebody may see: %s", unknown)
            raise NotKnown(
                "rights-unknown",
                "The API server did not say what you may see, so nothing is shown; try again in a moment.",
            ) from None
