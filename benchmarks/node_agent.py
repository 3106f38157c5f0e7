"""What the node agent costs: the start of 40 slice pods at once against 40 plain ones, its own share, and idling.

    python benchmarks/node_agent.py             a table
    python benchmarks/node_agent.py --json      the same for programs
    python benchmarks/node_agent.py --rounds 5 --pods 40 --idle 60

Pods with and without slices take turns on one real node, so that a busy machine slows both. Budgets: slices at most
1.25 times the plain pods' time; 99 % of the agent's answers within 50 ms; idle 60 MiB, 0.5 % of a core, no API write.
Needs root and a built test bed (`make testbed`).
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from e2e.agent_kit import AgentNode, agent_node, slices  # noqa: E402 - found by the line above: not installed
from testbed.api import Object, path_of  # noqa: E402 - the same
from testbed.cluster import Cluster  # noqa: E402 - the same
from testbed.errors import BedError  # noqa: E402 - the same
from testbed.manifests import container, is_gone, is_running, pod  # noqa: E402 - the same
from testbed.options import Options  # noqa: E402 - the same

RATIO_BUDGET = 1.25
SHARE_BUDGET_S = 0.05
MEMORY_BUDGET_MIB = 60.0
CORE_BUDGET_PERCENT = 0.5
AIM_S = 20.0

CARDS = "tangram: cards/v1\ncards:\n- server: c500-8-two-groups\n  sliced: true\n"
MIB_EACH, PERCENT_EACH = 1024, 5
WITHIN = 300.0
SETTLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Measured:
    pods: int
    plain_s: list[float]
    slices_s: list[float]
    ratio: float
    calls: int
    within_budget: float
    """Part of the agent's answers (Allocate and PreStartContainer) that took at most 50 ms."""
    idle_rss_mib: float
    idle_core_percent: float
    idle_api_writes: int
    wrong: int
    """Containers that were given another slice than their own."""

    @property
    def failures(self) -> list[str]:
        checks = (
            (self.ratio <= RATIO_BUDGET, f"ratio {self.ratio:.2f}, budget {RATIO_BUDGET}"),
            (self.within_budget >= 0.99, f"{self.within_budget:.1%} of answers within 50 ms, budget 99 %"),
            (self.idle_rss_mib <= MEMORY_BUDGET_MIB, f"idle {self.idle_rss_mib:.1f} MiB"),
            (self.idle_core_percent <= CORE_BUDGET_PERCENT, f"idle {self.idle_core_percent:.2f} % of a core"),
            (self.idle_api_writes == 0, f"{self.idle_api_writes} API writes while idle"),
            (self.wrong == 0, f"{self.wrong} containers with another slice than their own"),
        )
        return [sentence for held, sentence in checks if not held]


async def measure(rounds: int, pods: int, idle: float) -> Measured:
    """Everything, on one cluster of one node."""
    async with (
        Cluster.open(Options(nodes=1)) as cluster,
        agent_node(cluster, CARDS, mode="mode: sgpu\n") as node,
    ):
        await node.until_allocatable("metax-tech.com/sgpu", 128)
        cards = [str(device.uuid) for device in node.driver.devices()]
        plain: list[float] = []
        sliced: list[float] = []
        wrong = 0
        held = [cards[number % len(cards)] for number in range(pods)]
        # The first burst of a cluster is like no other; it is not counted.
        await _round(cluster, node, "first", [None] * pods)
        for turn in range(rounds):
            for kind in ("plain", "slice") if turn % 2 else ("slice", "plain"):
                if kind == "plain":
                    plain.append(await _round(cluster, node, f"plain-{turn}", [None] * pods))
                    continue
                sliced.append(await _round(cluster, node, f"slice-{turn}", held, keep=True))
                wrong += await _wrong(cluster, f"slice-{turn}", held)
                await _remove_all(cluster)
        calls, quick = await _answers(node)
        await asyncio.sleep(5)
        rss, core, writes = await _idle(node, idle)
    return Measured(
        pods=pods,
        plain_s=plain,
        slices_s=sliced,
        ratio=statistics.median(sliced) / statistics.median(plain),
        calls=calls,
        within_budget=quick / max(1, calls),
        idle_rss_mib=rss,
        idle_core_percent=core,
        idle_api_writes=writes,
        wrong=wrong,
    )


async def _round(
    cluster: Cluster, node: AgentNode, prefix: str, held: Sequence[str | None], *, keep: bool = False
) -> float:
    """Seconds from the first binding to the last container running; the pods are made before."""
    limits = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": PERCENT_EACH, "metax-tech.com/vmemory": 1}
    script = "echo $METAX_SGPUS; trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"
    made: list[Object] = []
    for number, card in enumerate(held):
        described = pod(
            f"{prefix}-{number}",
            container(script=script, limits=None if card is None else limits),
            scheduler="placed-by-test",
        )
        made.append(await cluster.api.create(described))
    begun = time.monotonic()
    await asyncio.gather(
        *(
            node.bind(thing, {} if card is None else slices([(card, MIB_EACH, PERCENT_EACH)]))
            for thing, card in zip(made, held, strict=True)
        )
    )
    await asyncio.gather(
        *(cluster.until_pod(thing["metadata"]["name"], is_running, within=WITHIN) for thing in made)
    )
    took = time.monotonic() - begun
    if not keep:
        await _remove_all(cluster)
    return took


async def _wrong(cluster: Cluster, prefix: str, held: Sequence[str | None]) -> int:
    seen: list[str] = [await cluster.pod_log(f"{prefix}-{number}") for number in range(len(held))]
    aliases = [found[1] for text in seen if (found := re.search(r"alias=(\S+)", text))]
    quotas = [text for text in seen if f"compute={PERCENT_EACH};vram={MIB_EACH}" in text]
    return len(held) - min(len(set(aliases)), len(quotas))


async def _remove_all(cluster: Cluster) -> None:
    """In good order, so that the next burst does not compete with the end of this one."""
    pods = await cluster.api.list(path_of("Pod"))
    names = [thing["metadata"]["name"] for thing in pods]
    await asyncio.gather(*(cluster.api.delete(path_of("Pod", name)) for name in names))
    for name in names:
        await cluster.until_pod(name, is_gone, within=WITHIN)
    await asyncio.sleep(SETTLE_S)


async def _answers(node: AgentNode) -> tuple[int, int]:
    """How many calls of the kubelet the agent answered, and how many of them within the budget."""
    text = await node.metrics()
    counts = {"all": 0.0, "quick": 0.0}
    for call in ("allocate", "pre-start"):
        for bound, word in (("+Inf", "all"), (str(SHARE_BUDGET_S), "quick")):
            pattern = (
                rf'tangram_agent_call_seconds_bucket{{call="{call}",le="{re.escape(bound)}"[^}}]*}} (\S+)'
            )
            counts[word] += sum(float(found) for found in re.findall(pattern, text))
    return int(counts["all"]), int(counts["quick"])


async def _idle(node: AgentNode, seconds: float) -> tuple[float, float, int]:
    process = _process(node)
    writes = _total(await node.metrics(), "tangram_agent_api_writes_total")
    before, begun = _cpu(process), time.monotonic()
    await asyncio.sleep(seconds)
    core = 100 * (_cpu(process) - before) / (time.monotonic() - begun)
    status = (process / "status").read_text("utf-8")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    rss = int(found[1]) / 1024 if found else 0.0
    return rss, core, _total(await node.metrics(), "tangram_agent_api_writes_total") - writes


def _process(node: AgentNode) -> Path:
    for path in Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if (
            b"tangram.services.gpu_device" in words
            and str(node.cluster.box.folder.path).encode() in words[-2]
        ):
            return path
    raise BedError("the agent does not run")


def _cpu(process: Path) -> float:
    fields = (process / "stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _total(text: str, name: str) -> int:
    return int(sum(float(found) for found in re.findall(rf"^{name}{{[^}}]*}} (\S+)", text, re.MULTILINE)))


def main() -> None:
    """Measure, print, and fail when a budget is exceeded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pods", type=int, default=40)
    parser.add_argument("--idle", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    try:
        found = asyncio.run(measure(asked.rounds, asked.pods, asked.idle))
    except BedError as error:
        sys.exit(f"node_agent: {error}")
    if asked.json:
        print(json.dumps({**asdict(found), "failures": found.failures}, indent=2))
    else:
        print(f"{found.pods} plain pods at once   {' '.join(f'{each:.1f}' for each in found.plain_s)} s")
        print(f"{found.pods} slice pods at once   {' '.join(f'{each:.1f}' for each in found.slices_s)} s")
        print(f"ratio of the medians   {found.ratio:.2f} (budget {RATIO_BUDGET}; aim {AIM_S:g} s)")
        print(f"answers within 50 ms   {found.within_budget:.2%} of {found.calls} (budget 99 %)")
        print(f"idle   {found.idle_rss_mib:.1f} MiB, {found.idle_core_percent:.2f} % of a core, "
              f"{found.idle_api_writes} API writes in {asked.idle:g} s")  # fmt: skip
        print(f"containers with a wrong slice   {found.wrong}")
    if found.failures:
        sys.exit("over budget: " + "; ".join(found.failures))


if __name__ == "__main__":
    main()
