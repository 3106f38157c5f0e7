"""`docs/refusals.md` names what the scheduler refuses beyond what a pod's request earns by itself.

The part is made from the examples below: run this file with Python to write it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import tangram.services.scheduler
from builders.reviews import asking_pod, review_of
from builders.scheduling import World, metax_cards, node
from tangram.kube.informer import Change, Key
from tangram.services.scheduler.desk import Reply
from tangram.services.scheduler.guarding import guard
from tangram.services.scheduler.quota_book import QuotaBook
from tangram.services.scheduler.quotas import Quotas
from tangram.services.scheduler.reviewing import ReviewRules, review
from tangram.services.scheduler.settings import SchedulerSettings
from tangram.wire.trust_policy import TrustedAccounts

PAGE = Path(__file__).parents[3] / "docs" / "refusals.md"
HEADING = "## When the cluster has a say"
AGENT = "\n## When a container starts"
SLICE = {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "10", "metax-tech.com/vmemory": "40"}

INTRODUCTION = f"""\
{HEADING}

These depend on more than what the pod asks for. They too are said when the pod is made, by the webhook of the
[scheduler](scheduler.md) or, for `allocation-not-yours`, by the API server's own policy in the same words.

This part is made from the examples in `tests/services/scheduler/test_refusals_part.py` by running that file.
"""


def _on_a_node() -> Reply:
    return review(review_of(asking_pod(SLICE, nodeName="gpu-1")), ReviewRules())


def _over_quota() -> Reply:
    book = QuotaBook(World(node("gpu-1", metax_cards("gpu-1"))).state, Quotas())
    quota = {"metadata": {"name": "cards"}, "spec": {"hard": {"limits.metax-tech.com/vmemory": "32"}}}
    book.quota_changed(Change(Key("default", "cards"), None, quota))
    return review(review_of(asking_pod(SLICE)), ReviewRules(over_quota=book.over_at_admission))


def _forged() -> Reply:
    pod = asking_pod(annotations={"hami.io/vgpu-node": "gpu-1"})
    settings = SchedulerSettings()
    return guard(review_of(pod), TrustedAccounts(scheduler=settings.account, agents=settings.agents))


EXAMPLES: dict[str, tuple[str, Callable[[], Reply]]] = {
    "node-assigned": ("`metax-tech.com/sgpu: '1'`<br>`nodeName: gpu-1`", _on_a_node),
    "resource-quota": ("`metax-tech.com/vmemory: '40'` under a quota of 32", _over_quota),
    "allocation-not-yours": ("`hami.io/vgpu-node: gpu-1`, written by alice", _forged),
}


def refusal(code: str) -> str:
    response = json.loads(EXAMPLES[code][1]().body)["response"]
    assert response["allowed"] is False
    assert [cause["reason"] for cause in response["status"]["details"]["causes"]] == [code]
    return response["status"]["message"]


def part() -> str:
    rows = [f"| `{code}` | {pod} | {refusal(code)} |" for code, (pod, _) in EXAMPLES.items()]
    return "\n".join([INTRODUCTION, "| Code | A pod says | The answer |", "|---|---|---|", *rows]) + "\n"


def test_every_code_that_is_written_in_the_scheduler_has_an_example() -> None:
    folder = Path(tangram.services.scheduler.__file__).parent
    sources = [file.read_text("utf-8") for file in folder.glob("*.py")]
    codes = {code for text in sources for code in re.findall(r'(?:Cause|Refusal)\(\s*"([a-z-]+)"', text)}
    assert codes == set(EXAMPLES)


def test_the_part_of_the_page_is_what_these_examples_make() -> None:
    _, heading, rest = PAGE.read_text("utf-8").partition(HEADING)
    assert heading + rest.partition(AGENT)[0] == part(), "run this file with Python to write it again"


if __name__ == "__main__":
    before, agent, after = PAGE.read_text("utf-8").partition(AGENT)
    before = before.partition(HEADING)[0]
    PAGE.write_text(f"{before.rstrip()}\n\n{part()}{agent}{after}", "utf-8")
