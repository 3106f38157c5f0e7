"""One request for each change and none without one, whatever the API server and other people do."""

import asyncio
from collections.abc import Mapping
from typing import Any

from builders.virtual_time import virtually
from tangram.kube.api import JSON, Api, Object
from tangram.kube.connection import Connection
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.recorder import Event
from tangram.services.operator.applying import LONGEST_PAUSE_S, PUT_BACK, STAYS, Applier
from tangram.services.operator.objects import HASH, hash_of, signed
from tangram.services.operator.parts.pods import MANAGED_BY, MANAGER

LABELS = {MANAGED_BY: MANAGER, "app.kubernetes.io/component": "gpu-label"}


def wanted(image: str = "i:1") -> Object:
    metadata = {"name": "metax-gpu-label", "namespace": "ns", "labels": dict(LABELS)}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": {"image": image}}


class Server(Api):
    """One DaemonSet: what is applied is merged into it, its generation counts changes of its spec."""

    def __init__(self) -> None:
        super().__init__(Connection("http://nowhere.invalid", None))
        self.thing: Object | None = None
        self.version = 0
        self.requests = 0
        self.refuses: Exception | None = None

    async def call(
        self,
        method: str,
        path: str,  # noqa: ARG002 - the real one's
        body: Any = None,  # noqa: ANN401 - any JSON
        *,
        content: str = JSON,  # noqa: ARG002 - the real one's
        query: Mapping[str, str] | None = None,  # noqa: ARG002 - the real one's
        limit: float | None = None,  # noqa: ARG002 - the real one's
    ) -> Object:
        self.requests += 1
        await asyncio.sleep(0)
        if self.refuses is not None:
            raise self.refuses
        if method == "DELETE":
            self.thing = None
            return {}
        assert method == "PATCH"
        return self.put(body["spec"], body["metadata"])

    def put(self, spec: Object, metadata: Object | None = None, by: str = MANAGER) -> Object:
        old = self.thing or {"metadata": {"uid": f"u{self.version}", "generation": 0}, "spec": {}}
        merged = {**old["spec"], **spec}
        kept = {**old["metadata"], **(metadata or {})}
        changed = merged != old["spec"]
        if self.thing is None or changed or kept != old["metadata"]:
            self.version += 1
        fields = [{"manager": by, "time": f"t{self.version:04}"}]
        kept |= {
            "generation": old["metadata"]["generation"] + changed,
            "resourceVersion": str(self.version),
            "managedFields": fields,
        }
        self.thing = {"kind": "DaemonSet", "metadata": kept, "spec": merged}
        return self.thing


class Scene:
    def __init__(self) -> None:
        self.server = Server()
        self.events: list[Event] = []
        self.counted: list[str] = []
        self.leads = True
        loop = asyncio.get_running_loop()
        self.applier = Applier(
            self.server,
            self.events.append,
            leading=lambda: self.leads,
            counted=self.counted.append,
            clock=loop.time,
        )

    async def ensure(self, image: str = "i:1") -> str:
        return await self.applier.ensure(wanted(image), self.server.thing)


@virtually
async def test_what_is_right_is_not_asked_about_again() -> None:
    one = Scene()
    assert await one.ensure() == ""
    for _ in range(10):
        assert await one.ensure() == ""
    assert one.server.requests == 1
    assert one.counted == ["created"]
    assert one.events == []


@virtually
async def test_a_restart_asks_once_and_changes_nothing() -> None:
    one = Scene()
    await one.ensure()
    version = one.server.version
    other = Scene()
    other.server = one.server
    other.applier = Applier(one.server, other.events.append)
    for _ in range(3):
        await other.ensure()
    assert one.server.requests == 2
    assert one.server.version == version
    assert other.events == []


@virtually
async def test_a_status_that_moves_is_nobodys_edit() -> None:
    one = Scene()
    await one.ensure()
    assert one.server.thing is not None
    one.server.version += 1
    one.server.thing["metadata"]["resourceVersion"] = str(one.server.version)
    one.server.thing["status"] = {"numberReady": 1}
    await one.ensure()
    assert one.server.requests == 1


@virtually
async def test_a_new_wish_is_an_update_and_no_edit() -> None:
    one = Scene()
    await one.ensure()
    await one.ensure("i:2")
    assert one.counted == ["created", "updated"]
    assert one.events == []


@virtually
async def test_an_edit_is_put_back_and_named() -> None:
    one = Scene()
    await one.ensure()
    one.server.put({"image": "evil:1"}, by="kubectl-edit")
    await one.ensure()
    assert one.server.thing is not None
    assert one.server.thing["spec"]["image"] == "i:1"
    (event,) = one.events
    assert event.reason == PUT_BACK
    assert event.message.startswith(
        "DaemonSet metax-gpu-label was edited by kubectl-edit and was put back: spec.image;"
    )


@virtually
async def test_a_field_that_is_not_ours_is_left_and_not_told() -> None:
    one = Scene()
    await one.ensure()
    one.server.put({"theirs": 1}, by="somebody")
    await one.ensure()
    await one.ensure()
    assert one.events == []
    assert one.server.requests == 2, "looked at once, and then known to be right"


@virtually
async def test_a_label_that_somebody_took_off_comes_back() -> None:
    one = Scene()
    await one.ensure()
    one.server.put({}, {"labels": {MANAGED_BY: MANAGER}}, by="somebody")
    await one.ensure()
    assert one.server.thing is not None
    assert one.server.thing["metadata"]["labels"] == LABELS


@virtually
async def test_what_we_signed_is_ours_whatever_somebody_writes_on_it() -> None:
    one = Scene()
    await one.ensure()
    one.server.put({}, {"labels": {**LABELS, MANAGED_BY: "somebody"}}, by="kubectl-label")
    assert await one.ensure() == ""
    assert one.server.thing is not None
    assert one.server.thing["metadata"]["labels"] == LABELS


@virtually
async def test_whoever_takes_our_signature_off_is_answered_ever_more_slowly() -> None:
    one = Scene()
    await one.ensure()
    loop = asyncio.get_running_loop()
    ends = loop.time() + 3600
    while loop.time() < ends:
        one.server.put({}, {"annotations": {HASH: "of-another-operator"}}, by="another-operator")
        await one.ensure()
        await asyncio.sleep(1)
    assert one.server.requests < 15 + 3600 / LONGEST_PAUSE_S


@virtually
async def test_a_copy_that_lags_behind_our_own_write_is_no_edit() -> None:
    one = Scene()
    await one.ensure()
    old = one.server.thing
    await one.ensure("i:2")
    await one.applier.ensure(wanted("i:2"), old)
    assert one.server.requests == 2
    assert one.events == []


@virtually
async def test_somebody_who_keeps_editing_is_answered_ever_more_slowly() -> None:
    one = Scene()
    await one.ensure()
    loop = asyncio.get_running_loop()
    ends = loop.time() + 3600
    while loop.time() < ends:
        one.server.put({"image": "evil:1"}, by="another-controller")
        await one.ensure()
        await asyncio.sleep(1)
    assert one.counted.count("healed") < 10 + 3600 / LONGEST_PAUSE_S


@virtually
async def test_a_refusal_is_a_sentence_that_stays_and_is_not_asked_again_at_every_turn() -> None:
    one = Scene()
    one.server.refuses = ApiError(422, "Invalid", "spec.selector: field is immutable")
    told = {await one.ensure() for _ in range(50)}
    refusal = "the API server answered 422 Invalid: spec.selector: field is immutable"
    assert told == {f"DaemonSet metax-gpu-label could not be applied: {refusal}"}
    assert one.server.requests == 1
    one.server.refuses = None
    await asyncio.sleep(LONGEST_PAUSE_S + 1)
    assert await one.ensure() == ""


@virtually
async def test_a_server_that_is_away_is_a_sentence_too() -> None:
    one = Scene()
    one.server.refuses = ApiUnreachable("no route")
    assert await one.ensure() == "DaemonSet metax-gpu-label could not be applied: no route"
    one.server.refuses = None
    assert await one.ensure() == ""


@virtually
async def test_who_does_not_lead_writes_nothing() -> None:
    one = Scene()
    one.leads = False
    assert await one.ensure() == ""
    one.leads = True
    await one.ensure()
    one.leads = False
    assert one.server.thing is not None
    assert await one.applier.remove(one.server.thing) == ""
    assert one.server.thing is not None
    assert one.server.requests == 1


def test_the_hash_is_of_what_is_wanted_alone() -> None:
    assert hash_of(wanted()) == hash_of(wanted())
    assert hash_of(wanted()) != hash_of(wanted("i:2"))
    assert signed(wanted())["metadata"]["annotations"] == {HASH: hash_of(wanted())}


@virtually
async def test_what_may_not_be_removed_is_said_once_and_stays() -> None:
    one = Scene()
    await one.ensure()
    assert one.server.thing is not None
    one.server.refuses = ApiError(403, "Forbidden", "no right there")
    for _ in range(3):
        assert await one.applier.remove(one.server.thing) == ""
    assert one.server.requests == 2
    (event,) = one.events
    assert event.reason == STAYS
    assert event.message == (
        "DaemonSet metax-gpu-label in namespace ns is not wanted any more and stays, remove it by hand: no right there"
    )
