"""What the scheduler weighs over a large, full cluster, and how soon after a cold start it answers rightly.

The pods are made bound, with everything our Binding carries, before the scheduler starts. They hold a part of every
card of the cluster but one, and the question asked is for a whole card: whoever answers before having read all pods
names another node, which counts as wrong. No answer yet, or an error, is what kube-scheduler asks again about.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

from cluster_bed import EXTENDER, Bed
from cluster_manifests import CARDS, SHAPES, WHOLE_CARD, bound_pod, gpu_node, node_name, waiting_pod
from cluster_rivals import LOOK_EVERY_S, START_LIMIT_S, Running, running
from testbed.api import Object
from testbed.cluster import SCHEDULER
from testbed.errors import BedError

QUESTIONS: Final = 200
"""Asked after the first answer, so that what answering needs is in the memory too."""


@dataclass(frozen=True, slots=True)
class Memory:
    nodes: int
    pods: int
    ready_s: float
    """From the start of the process until it says it is ready."""
    first_answer_s: float
    """From the start of the process until the first right answer to a filter call."""
    first_answer_cpu_s: float
    """What the process worked until then; on a busy machine it waits for the processor as well."""
    wrong_answers: int
    peak_rss_mb: float

    def as_json(self) -> Object:
        """For programs."""
        return {key: round(value, 3) for key, value in asdict(self).items()}


def preloaded(nodes: int, pods: int) -> Iterator[Object]:
    """So many bound pods, dealt out evenly: every card but the last one of the last node holds at least one."""
    for number in range(pods):
        turn, place = divmod(number, nodes)
        home = gpu_node(place)
        is_last = place == nodes - 1
        index = turn % (CARDS - 1 if is_last else CARDS)
        yield bound_pod(f"held-{number}", SHAPES[number % len(SHAPES)], home, index)


async def measure_memory(bed: Bed, rival_name: str, pods: int, token: str) -> Memory:
    """Fill the cluster, start the scheduler, ask until it answers rightly."""
    # It would hold all pods as well, and nothing is asked of it here.
    await bed.cluster.box.stop(SCHEDULER)
    await bed.create(preloaded(bed.nodes, pods), pods, "bound pods")
    question = await _question(bed)
    right, wrong = [node_name(bed.nodes - 1)], 0
    bed.progress.say(f"cold start of {rival_name}")
    async with running(bed, rival_name, token) as rival:
        readiness = asyncio.create_task(rival.until_ready())
        try:
            while (answer := await _asked(bed, question)) != right:
                wrong += answer is not None
                bed.progress.still("no right answer yet")
                await rival.refuse_ended()
                if time.monotonic() > rival.begun + START_LIMIT_S:
                    said = "nothing" if answer is None else ", ".join(answer) or "no node"
                    raise BedError(
                        f"{rival_name} gave no right answer within {START_LIMIT_S:g} s; its last was: {said}"
                    )
                await asyncio.sleep(LOOK_EVERY_S)
            first, worked = time.monotonic() - rival.begun, rival.weight().cpu_s
            ready = await readiness
        finally:
            readiness.cancel()
        bed.progress.say(f"{QUESTIONS} more questions")
        wrong += await _more_questions(bed, rival, question, right)
        return Memory(bed.nodes, pods, ready, first, worked, wrong, rival.weight().peak_rss_mb)


async def _question(bed: Bed) -> bytes:
    """A filter call as kube-scheduler sends it, about a pod that exists, with all nodes offered."""
    pod = await bed.cluster.api.create(waiting_pod("asking", WHOLE_CARD))
    offered = [node_name(number) for number in range(bed.nodes)]
    return json.dumps({"Pod": pod, "Nodes": None, "NodeNames": offered}).encode()


async def _asked(bed: Bed, question: bytes) -> list[str] | None:
    """The nodes it names; None where there is no answer yet, or an error in its place."""
    status, text = await bed.fetch(f"http://{EXTENDER}/filter", question)
    if status != 200:
        return None
    answer = json.loads(text)
    return None if answer.get("Error") else list(answer.get("NodeNames") or ())


async def _more_questions(bed: Bed, rival: Running, question: bytes, right: list[str]) -> int:
    wrong = 0
    for _ in range(QUESTIONS):
        wrong += await _asked(bed, question) != right
    await rival.refuse_ended()
    return wrong
