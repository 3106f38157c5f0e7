"""What the agent refuses: the container does not start, the pod says why, and nothing was given to anybody."""

import asyncio
import json
import shutil

import grpc
import pytest
from msgspec.structs import replace

from builders.agent_api import pod
from builders.agent_runs import ALLOCATED, SGPU, AgentRun, agent_on, allocated, slice_limits
from builders.api_server import Object
from builders.waiting import until
from tangram.kubelet.sockets import Refusal
from tangram.wire.hami import METAX_SLICE_ALLOCATED
from tangram.wire.kubelet.checkpoint import CHECKPOINT_FILE

SLICED = {"product": "C500", "count": 2, "sliced": True}
MODE = "mode: sgpu"
GIB = 1024


def told(run: AgentRun, name: str, code: str) -> bool:
    return any(
        each["reason"] == "GpuNotGiven" and each["type"] == "Warning" and f"[{code}]" in each["message"]
        for each in run.api.events(name)
    )


async def nothing_given(run: AgentRun, made: Object, code: str) -> None:
    """Refused with that code, to the kubelet and on the pod, and without a trace on the node."""
    answer = await run.refused(made)
    assert answer.endswith(f"[{code}]")
    assert not run.slices()
    assert not run.grants()
    await until(lambda: told(run, made["metadata"]["name"], code))


def of_card(run: AgentRun, at: int, gib: int = 4, cores: int = 10) -> dict[str, str]:
    return allocated([(run.uuids[at], gib * GIB, cores)])


@pytest.mark.parametrize(
    ("annotations", "code"),
    [
        pytest.param({}, "allocation-missing", id="no scheduler placed it"),
        pytest.param({ALLOCATED: "garbage"}, "allocation-unreadable", id="garbage"),
        pytest.param({ALLOCATED: '[["' * 5000}, "allocation-unreadable", id="deep garbage"),
        pytest.param(allocated([("GPU-none", 4 * GIB, 10)]), "card-unknown", id="unknown card"),
        pytest.param(
            {METAX_SLICE_ALLOCATED: "CARD-0,Metax-SGPU,4096,10:;", "hami.io/vgpu-node": "elsewhere"},
            "allocation-unreadable",
            id="another node",
        ),
        pytest.param(
            allocated([("CARD-0", 4 * GIB, 10)], [("CARD-0", 4 * GIB, 10)]),
            "allocation-unreadable",
            id="more containers than the pod has",
        ),
        pytest.param(
            allocated([("CARD-0", 5 * GIB, 10)]), "more-than-asked", id="more memory than asked for"
        ),
        pytest.param(
            allocated([("CARD-0", 4 * GIB, 11)]), "more-than-asked", id="more compute than asked for"
        ),
        pytest.param(
            allocated([("CARD-0", 4 * GIB, 10), ("CARD-1", 4 * GIB, 10)]),
            "more-than-asked",
            id="more cards than asked for",
        ),
        pytest.param(allocated([("CARD-0", -1, 10)]), "allocation-unreadable", id="less than nothing"),
    ],
)
async def test_an_annotation_that_cannot_be_meant_gives_nothing(
    annotations: dict[str, str], code: str
) -> None:
    """`CARD-0` and `CARD-1` stand for the uuids of the node's cards."""
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        for at, uuid in enumerate(run.uuids):
            annotations = {key: text.replace(f"CARD-{at}", uuid) for key, text in annotations.items()}
        made = run.api.bind(pod("p", slice_limits(4, 10)), annotations)
        await run.pods.admit(made)
        await nothing_given(run, made, code)


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        pytest.param((60, 10), (8, 10), "memory-oversold", id="memory"),
        pytest.param((4, 60), (4, 60), "compute-oversold", id="compute"),
    ],
)
async def test_of_two_pods_that_claim_the_same_room_the_later_bound_is_refused(
    first: tuple[int, int], second: tuple[int, int], code: str
) -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        earlier = run.api.bind(pod("earlier", slice_limits(*first)), of_card(run, 0, *first))
        later = run.api.bind(pod("later", slice_limits(*second)), of_card(run, 0, *second))
        for each in (later, earlier):
            await run.pods.admit(each)
        await nothing_given(run, later, code)
        await run.pods.start_container(earlier, "c0")
        (part,) = run.slices()
        assert part.cores == first[1]


async def test_a_forged_annotation_that_overlaps_a_running_pod_takes_nothing_from_it() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        honest = run.api.bind(pod("honest", slice_limits(60, 90)), of_card(run, 0, 60, 90))
        await run.pods.run(honest)
        before, files = run.slices(), run.grants()
        forged = run.api.bind(pod("forged", slice_limits(60, 90)), of_card(run, 0, 60, 90))
        await run.pods.admit(forged)
        assert "oversold" in await run.refused(forged)
        assert run.slices() == before
        assert run.grants() == files


async def test_a_pod_is_not_started_on_a_card_that_broke() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = run.api.bind(pod("p", slice_limits(4, 10)), of_card(run, 0))
        await run.pods.admit(made)
        run.order("fail GPU-0")
        await run.offered(SGPU, 16)
        await nothing_given(run, made, "card-unhealthy")
        run.order("recover GPU-0")
        await run.offered(SGPU, 32)
        await run.pods.start_container(made, "c0")
        assert len(run.slices()) == 1


async def test_a_folder_that_cannot_be_written_is_a_refusal_and_the_next_try_succeeds() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = run.api.bind(pod("p", slice_limits(4, 10)), of_card(run, 0))
        await run.pods.admit(made)
        shutil.rmtree(run.folder / "cdi")
        answer = await run.refused(made)
        assert "[cdi-unwritable]" in answer
        assert "free the disk" in answer
        await until(lambda: told(run, "p", "cdi-unwritable"))
        (run.folder / "cdi").mkdir()
        await run.pods.start_container(made, "c0")
        assert len(run.slices()) == len(run.grants()) == 1


@pytest.mark.parametrize(
    ("kind", "code"), [("failed", "driver-failed"), ("busy", "driver-busy"), ("stuck", "driver-stuck")]
)
async def test_a_driver_that_cannot_make_a_slice_is_a_refusal_with_its_words(kind: str, code: str) -> None:
    errors = [{"call": "create_slice", "kind": kind, "text": "code 17 of the vendor"}]
    async with agent_on(SLICED, mode=MODE, errors=errors) as run:
        await run.offered(SGPU, 32)
        made = run.api.bind(pod("p", slice_limits(4, 10)), of_card(run, 0))
        await run.pods.admit(made)
        await nothing_given(run, made, code)
        assert any("code 17 of the vendor" in each["message"] for each in run.api.events("p"))


async def test_a_pod_that_the_api_server_has_not_told_of_is_waited_for_then_refused_on_the_node() -> None:
    async with agent_on(SLICED, mode=MODE, begin=False) as run:
        run.adjust(patience=0.05)
        run.start()
        await run.offered(SGPU, 32)
        made = {**pod("ghost", slice_limits(4, 10))}
        made["metadata"]["uid"] = "uid-ghost"
        await run.pods.admit(made)
        assert "[pod-unknown]" in await run.refused(made)
        assert not run.slices()
        await until(lambda: told(run, "gpu-1", "pod-unknown") or bool(run.api.events("gpu-1")))


async def test_a_pod_that_is_known_late_starts_without_a_refusal() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        late = {**pod("late", slice_limits(4, 10))}
        late["metadata"]["uid"] = "uid-late"
        await run.pods.admit(late)

        starting = asyncio.create_task(run.pods.start_container(late, "c0"))
        calls = run.pods.resources.questions
        await until(lambda: run.pods.resources.questions > calls + 1)
        run.api.bind(late, of_card(run, 0))
        await starting
        assert len(run.slices()) == 1
        assert not run.api.events("late")


async def test_a_silent_kubelet_is_a_refusal_and_not_a_guess() -> None:
    async with agent_on(SLICED, mode=MODE, begin=False) as run:
        run.adjust(patience=0.05)
        run.start()
        await run.offered(SGPU, 32)
        made = run.api.bind(pod("p", slice_limits(4, 10)), of_card(run, 0))
        await run.pods.admit(made)
        (run.folder / "plugins" / CHECKPOINT_FILE).write_text("of a form nobody knows")
        run.pods.forget(made)
        answer = await run.refused(made)
        assert answer.rsplit(" ", 1)[1] in ("[notes-unreadable]", "[start-unlisted]", "[start-unnoted]"), (
            answer
        )
        assert not run.slices()


async def test_notes_in_an_unknown_form_are_made_up_for_by_pod_resources_and_our_own() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = run.api.bind(pod("p", slice_limits(4, 10)), of_card(run, 0))
        await run.pods.admit(made)
        (run.folder / "plugins" / CHECKPOINT_FILE).write_text("of a form nobody knows")
        await run.pods.start_container(made, "c0")
        (name,) = [each.name for each in run.pods.answer(made, "c0", SGPU).cdi_devices]
        assert name == f"tangram.dev/gpu={run.grant_of(made).claim}"


async def test_what_a_container_was_given_is_never_given_another_meaning() -> None:
    async with agent_on(SLICED, mode=MODE) as run:
        await run.offered(SGPU, 32)
        made = run.api.bind(pod("p", slice_limits(4, 10)), of_card(run, 0))
        await run.pods.run(made)
        first = run.grant_of(made)
        # Somebody changes the annotation, and the slice is gone, so it cannot simply be found standing.
        run.api.set_pod("p", {"metadata": {"annotations": of_card(run, 1)}})
        run.driver.world.remove_slice(first.slices[0].card, first.slices[0].id)
        text = json.dumps(run.uuids[1])
        await until(lambda: text.strip('"') in str(run.api.pod("p")))
        await run.pods.start_container(made, "c0")
        assert run.grant_of(made) == first
        assert [part.id for part in run.driver.slices(first.slices[0].card)] == [first.slices[0].id]


async def test_a_container_that_the_notes_name_starts_while_pod_resources_are_silent() -> None:
    async with agent_on(SLICED, mode=MODE, begin=False) as run:
        run.adjust(pauses=replace(run.settings.pauses, listen=0.1))
        run.start()
        await run.offered(SGPU, 32)
        made = run.api.bind(pod("p", slice_limits(4, 10)), of_card(run, 0))
        await run.pods.admit(made)
        run.pods.resources.silent = Refusal(grpc.StatusCode.UNAVAILABLE, "silent")
        await run.pods.start_container(made, "c0")
        (part,) = run.slices()
        assert part.card == run.uuids[0]
