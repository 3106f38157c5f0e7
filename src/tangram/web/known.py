"""What pages may ask: the picture of the cluster, its history, the scheduler itself, and the API server.

Everything a page shows comes from here and is narrowed by the viewer's sight there. The methods that wait raise
`NotKnown` with a sentence for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from tangram.kube.objects import Object
from tangram.kube.rights import User
from tangram.reports.shape import ExplainReport
from tangram.reports.view_shape import NodeDetail
from tangram.web.history.keeping import History
from tangram.web.picture import Picture
from tangram.web.sight import Sight

if TYPE_CHECKING:
    # The checks bring half a scheduler with them, and are made in a process of their own.
    from tangram.services.scheduler.checkup.diagnosis import ClusterDiagnosis


class NotKnown(Exception):  # noqa: N818 - says what is the case
    """Why there is no answer, as a sentence in English with a code that catalogues may know."""

    def __init__(self, code: str, sentence: str, status: int = 503) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.status = status


class Known(Protocol):
    @property
    def picture(self) -> Picture:
        """The scheduler's view, followed."""
        ...

    @property
    def history(self) -> History: ...

    async def node(self, name: str, pod: str = "") -> NodeDetail:
        """One node in full, with every holder named: the page hides what its viewer may not see."""
        ...

    async def explain_pod(
        self, namespace: str, name: str, sight: Sight, nodes: Sequence[str] = ()
    ) -> ExplainReport:
        """The scheduler's own answer, which names no pod outside the sight."""
        ...

    async def explain_manifest(
        self, documents: Sequence[Object], sight: Sight, namespaces: Sequence[str], nodes: Sequence[str] = ()
    ) -> ExplainReport: ...

    async def manifest(self, user: User, path: str) -> Object:
        """An object from the API server, such as /api/v1/namespaces/NS/pods/NAME.

        Only after the API server has said that this user may get it.
        """
        ...

    async def may(
        self, user: User, verb: str, resource: str, namespace: str = "", *, group: str = ""
    ) -> bool: ...

    async def diagnosis(self) -> tuple[float, ClusterDiagnosis]:
        """What `tangram doctor --cluster` says, and when it said so (Unix seconds); a minute old at most."""
        ...

    async def cordon(
        self, user: User, node: str, card: str, *, out: bool, form_token: str = ""
    ) -> Mapping[str, object]:
        """Take a card out of placement or give it back, for that user, who has the right; an event says who did it.

        `form_token` is the viewer's, by which the session's own Kubernetes token is found where there is one.
        """
        ...
