"""A dashboard over a cluster that a test makes up: nodes, cards, pods and links as records."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from tangram.drivers.doctor.findings import fail, ok, warn
from tangram.kube.objects import Object
from tangram.kube.rights import User
from tangram.reports.shape import ClusterReport, ExplainReport
from tangram.reports.status_shape import FREE, READY, USED, CardStatus, Holder, NodeStatus
from tangram.reports.view_shape import IdleRoom, LinkView, NodeDetail, Rules, View, WaitingPod
from tangram.services.scheduler.checkup.diagnosis import ClusterDiagnosis
from tangram.web.answers import Answers
from tangram.web.app import Parts, dashboard_app
from tangram.web.events import Hub
from tangram.web.history.keeping import History, Moment, Point, Used
from tangram.web.known import NotKnown
from tangram.web.language import Language
from tangram.web.page import Asked, Viewer
from tangram.web.picture import Change, Picture
from tangram.web.receiving import Receives, Reception
from tangram.web.rendering import Rendering
from tangram.web.sight import Sight
from tangram.web.static_files import StaticFiles

GIB = 1024**3
NOW = 1_790_000_000.0
FORM_TOKEN = "of-this-form"  # noqa: S105 - what a test sends back
EVERYTHING = Sight(everything=True, nodes=True)


def held(pod: str, *, memory: int = 0, cores: int = 0, whole: bool = False, phase: str = "Running") -> Holder:
    return Holder(pod=pod, memory=memory, cores=cores, whole=whole, phase=phase)


def card(
    index: int,
    *holders: Holder,
    node: str = "gpu-1",
    vendor: str = "metax",
    product: str = "MXC500",
    mode: str = "native",
    state: str = "",
    reason: str = "",
    memory: int = 64 * GIB,
    slots: int = 1,
    numa: int = -1,
    qos: str = "",
    app_class: str = "",
) -> CardStatus:
    """A card; whole holders take all of it, the others what they say."""
    cores = 100 if vendor == "metax" else 16
    whole = any(one.whole for one in holders)
    return CardStatus(
        index=index,
        uuid=f"GPU-{node}-{index:04d}",
        vendor=vendor,
        product=product,
        mode=mode,
        state=state or (USED if holders else FREE),
        reason=reason,
        memory=memory,
        memory_used=memory if whole else sum(one.memory for one in holders),
        cores=cores,
        cores_used=cores if whole else sum(one.cores for one in holders),
        slots=slots,
        slots_used=len(holders),
        holders=[
            msgspec.structs.replace(one, memory=memory, cores=cores) if one.whole else one for one in holders
        ],
        numa=numa,
        qos=qos,
        app_class=app_class,
    )


def node(name: str, *cards: CardStatus, state: str = READY) -> NodeStatus:
    return NodeStatus(
        node=name,
        state=state,
        cards=list(cards),
        cards_free=sum(one.state == FREE for one in cards),
        memory=sum(one.memory for one in cards),
        memory_used=sum(one.memory_used for one in cards),
        compute=float(len(cards)),
        compute_used=round(sum(one.cores_used / one.cores for one in cards), 4),
    )


def view(
    *nodes: NodeStatus,
    waiting: Sequence[WaitingPod] = (),
    version: int = 1,
    epoch: str = "one",
    at: float = NOW,
    gone: Sequence[str] = (),
    gone_waiting: Sequence[str] = (),
    room: IdleRoom | None = None,
    rules: Rules | None = None,
    more: bool = False,
    active: bool = True,
) -> View:
    return View(
        epoch=epoch,
        version=version,
        more=more,
        at=at,
        active=active,
        behind_s=0.0,
        nodes=list(nodes),
        gone_nodes=list(gone),
        waiting=list(waiting),
        gone_waiting=list(gone_waiting),
        room=room,
        rules=rules,
    )


class FakeHistory(History):
    """Says what a test gave it."""

    def __init__(
        self,
        moments: Mapping[str, Sequence[Moment]] | None = None,
        points: Sequence[Point] = (),
        uses: Sequence[Used] = (),
    ) -> None:
        super().__init__()
        self.moments = dict(moments or {})
        self.points = list(points)
        self.uses = list(uses)
        self.noted: list[Change] = []

    def note(self, change: Change) -> None:
        self.noted.append(change)

    def moments_of(self, node: str, most: int = 50) -> Sequence[Moment]:
        return self.moments.get(node, ())[:most]

    def course(self, since: float) -> Sequence[Point]:
        return [point for point in self.points if point.at >= since]

    def used(self, since: float, until: float = math.inf) -> Sequence[Used]:
        return [one for one in self.uses if since <= one.hour < until]


class FakeKnown:
    """A `Known` that answers from what it was given. What is missing is `NotKnown`, as in real life."""

    def __init__(self, *nodes: NodeStatus, waiting: Sequence[WaitingPod] = (), at: float = NOW) -> None:
        self.picture = Picture()
        self.history: History = FakeHistory()
        self.links: dict[str, list[LinkView]] = {}
        self.details: dict[tuple[str, str], NodeDetail] = {}
        """By node and pod; others are made of the picture."""
        self.reports: dict[str, ExplainReport] = {}
        """By `namespace/name`; `` for a pasted manifest."""
        self.manifests: dict[str, Object] = {}
        self.rights: set[tuple[str, str, str]] | None = None
        """(user, verb, resource); None: everything."""
        self.cordoned: list[tuple[str, str, str, bool]] = []
        self.trouble: NotKnown | None = None
        """Raised by everything that waits."""
        self.diagnosed = ClusterDiagnosis(
            server="https://127.0.0.1:6443",
            findings=[
                ok("api-server", "https://127.0.0.1:6443 answers, Kubernetes 1.34"),
                warn("device-locks", "gpu-7 is locked for 6 minutes", "wait, or delete the annotation"),
                fail("agents", "gpu-9 has no agent that answers", "kubectl describe node gpu-9"),
            ],
        )
        if nodes or waiting:
            self.picture.take(
                view(
                    *nodes,
                    waiting=waiting,
                    at=at,
                    rules=Rules(
                        node_policy="binpack", card_policy=["topology"], scheduler_names=["tangram-scheduler"]
                    ),
                )
            )

    async def node(self, name: str, pod: str = "") -> NodeDetail:
        self._answer()
        given = self.details.get((name, pod))
        if given is not None:
            return given
        known = self.picture.nodes.get(name)
        if known is None:
            raise NotKnown(
                "no-node", f"there is no node {name!r:.80} with cards; the cluster page lists them.", 404
            )
        return NodeDetail(
            at=self.picture.at,
            node=known,
            links=self.links.get(name, []),
            links_known=name in self.links,
            labels={"kubernetes.io/hostname": name},
            taints=[],
            cpu_milli=128_000,
            host_memory=1024 * GIB,
            problems=[],
            pod=pod,
        )

    async def explain_pod(
        self, namespace: str, name: str, sight: Sight, nodes: Sequence[str] = ()
    ) -> ExplainReport:
        self._answer()
        del sight, nodes
        report = self.reports.get(f"{namespace}/{name}")
        if report is None:
            raise NotKnown("no-pod", f"there is no pod {name!r:.80} in namespace {namespace!r:.80}.", 404)
        return report

    async def explain_manifest(
        self, documents: Sequence[Object], sight: Sight, namespaces: Sequence[str], nodes: Sequence[str] = ()
    ) -> ExplainReport:
        self._answer()
        del documents, sight, namespaces, nodes
        return self.reports.get("") or ExplainReport(cluster=_summary(self.picture), pods=[])

    async def manifest(self, user: User, path: str) -> Object:
        self._answer()
        del user
        found = self.manifests.get(path)
        if found is None:
            raise NotKnown("no-object", f"there is nothing at {path!r:.80}.", 404)
        return found

    async def may(
        self, user: User, verb: str, resource: str, namespace: str = "", *, group: str = ""
    ) -> bool:
        self._answer()
        del namespace, group
        return self.rights is None or (user.name, verb, resource) in self.rights

    async def diagnosis(self) -> tuple[float, ClusterDiagnosis]:
        self._answer()
        return self.picture.at, self.diagnosed

    async def cordon(
        self, user: User, node: str, card: str, *, out: bool, form_token: str = ""
    ) -> Mapping[str, object]:
        self._answer()
        del form_token
        self.cordoned.append((user.name, node, card, out))
        return {"node": node, "cards": [card], "cordoned": out}

    def _answer(self) -> None:
        if self.trouble is not None:
            raise self.trouble


def _summary(picture: Picture) -> ClusterReport:
    return ClusterReport(
        nodes=len(picture.nodes),
        cards=picture.sums.cards,
        running=0,
        guessed=[],
        waiting=[pod.pod for pod in picture.waiting.values()],
        problems=[],
    )


def viewer(
    name: str = "alice",
    *,
    sight: Sight = EVERYTHING,
    language: Language = Language.ENGLISH,
    theme: str = "",
    may_act: bool = False,
) -> Viewer:
    return Viewer(
        user=User(name),
        sight=sight,
        language=language,
        theme=theme,
        may_act=may_act,
        form_token=FORM_TOKEN,
    )


def asked(
    path: str = "/",
    *,
    by: Viewer | None = None,
    parts: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    now: float = NOW,
) -> Asked:
    return Asked(
        viewer=by or viewer(), path=path, parts=parts or {}, query=query or {}, form=form or {}, now=now
    )


class FakeReception:
    """Whoever asks is the one the test named; a header may choose the language for one question."""

    def __init__(self, known_viewer: Viewer) -> None:
        self.known = known_viewer
        self.paths: Mapping[str, Mapping[str, Receives]] = {}
        self.refusal: Exception | None = None
        self.asked = 0
        """How often it was wanted who looks."""

    def check(self, request: web.Request) -> None:
        pass

    def stranger(self, request: web.Request) -> Viewer:
        del request
        return Viewer(user=User(""), sight=Sight(), language=self.known.language, theme=self.known.theme)

    async def viewer(self, request: web.Request) -> Viewer:
        del request
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal
        return self.known


def parts_of(
    known: FakeKnown,
    reception: Reception | None = None,
    *,
    now: float | None = NOW,
    static: Path | None = None,
    reload: bool = False,
) -> Parts:
    """Everything around a `Known`; inside a running loop."""
    statics = StaticFiles() if static is None else StaticFiles(static)
    hub = Hub(known) if now is None else Hub(known, lambda: now)
    answers = Answers(Rendering(statics.address, reload=reload), known, hub.stamp)
    received = reception or FakeReception(viewer())
    parts = Parts(known=known, reception=received, answers=answers, statics=statics, hub=hub)
    return parts if now is None else replace(parts, clock=lambda: now)


@asynccontextmanager
async def dashboard(known: FakeKnown, reception: Reception | None = None) -> AsyncGenerator[ClientSession]:
    """The whole application over it, served on loopback; paths are asked of the session as they are."""
    server = TestServer(dashboard_app(parts_of(known, reception)))
    await server.start_server()
    try:
        async with ClientSession(server.make_url("/")) as session:
            yield session
    finally:
        await server.close()
