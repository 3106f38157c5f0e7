"""The preempt verb: kube-scheduler's victims, corrected by what it does not see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from builders.scheduling import metax_cards, node, pod, silence
from builders.whole_scheduler import WholeScheduler, said
from tangram.kube.informer import Change, Key
from tangram.wire.disruption import read_budget

LARGE = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 60, "metax-tech.com/vmemory": 8}
SMALL = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 20, "metax-tech.com/vmemory": 8}
WANTED = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 8}
PLAIN = {"cpu": "1"}

Victims = dict[str, list[str]]


@pytest.fixture
async def whole() -> WholeScheduler:
    """A card with one large pod of middling importance and two small ones of none."""
    made = WholeScheduler(node("a", metax_cards("a", 1)))
    for name, limits, priority in (("large", LARGE, 5), ("small-1", SMALL, 1), ("small-2", SMALL, 1)):
        made.world.create(pod(name, limits, priority=priority, labels={"app": name}))
        assert (await made.filter(name, ["a"]))["NodeNames"] == ["a"]
        assert not await made.bind(name, "a")
    made.world.hear_all()
    return made


async def victims(
    whole: WholeScheduler, named: Mapping[str, Sequence[str]], limits: Mapping[str, str | int] = WANTED
) -> Victims:
    asked = {
        "Pod": pod("vip", dict(limits), priority=10),
        "NodeNameToMetaVictims": {
            each: {"Pods": [{"UID": f"uid-{name}"} for name in names], "NumPDBViolations": 1}
            for each, names in named.items()
        },
    }
    answer = said(await whole.desk.preempt(msgspec.json.encode(asked)))["NodeNameToMetaVictims"]
    assert {each["NumPDBViolations"] for each in answer.values()} <= {1}
    return {
        each: [pod["UID"].removeprefix("uid-") for pod in found["Pods"]] for each, found in answer.items()
    }


def protect(whole: WholeScheduler, name: str, *, allowed: int) -> None:
    budget = {
        "metadata": {"namespace": "default", "name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}},
        "status": {"disruptionsAllowed": allowed},
    }
    heard = Change(Key("default", name), None, read_budget(budget))
    whole.scheduler._preempting.budget_changed(heard)  # pyright: ignore[reportPrivateUsage] - an informer's part


async def test_the_one_whose_share_is_needed_goes_in_place_of_the_one_that_was_named(
    whole: WholeScheduler,
) -> None:
    assert await victims(whole, {"a": ["small-1"]}) == {"a": ["large"]}


async def test_a_protected_pod_is_not_added_and_what_then_does_not_help_costs_nobody(
    whole: WholeScheduler,
) -> None:
    protect(whole, "large", allowed=1)
    assert await victims(whole, {"a": ["small-1"]}) == {"a": ["large"]}
    protect(whole, "large", allowed=0)
    assert await victims(whole, {"a": ["small-1"]}) == {}


async def test_a_protected_pod_that_kube_scheduler_named_is_its_own_affair(whole: WholeScheduler) -> None:
    protect(whole, "large", allowed=0)
    assert await victims(whole, {"a": ["large"]}) == {"a": ["large"]}


async def test_nobody_is_added_where_the_budgets_cannot_be_looked_up(
    whole: WholeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_arguments: object) -> object:
        raise silence()

    protect(whole, "large", allowed=1)
    monkeypatch.setattr(whole.world.api, "pages", unreachable)
    assert await victims(whole, {"a": ["small-1"]}) == {}
    assert await victims(whole, {"a": ["large"]}) == {"a": ["large"]}, "those need no looking up"


async def test_a_pod_without_cards_keeps_the_victims_that_were_named(whole: WholeScheduler) -> None:
    assert await victims(whole, {"a": ["small-1"]}, PLAIN) == {"a": ["small-1"]}


async def test_a_standby_leaves_the_victims_as_they_were_named(whole: WholeScheduler) -> None:
    whole.scheduler.leadership.synced = False
    assert await victims(whole, {"a": ["small-1"]}) == {"a": ["small-1"]}


async def test_a_node_that_nobody_knows_is_left_out(whole: WholeScheduler) -> None:
    assert await victims(whole, {"a": ["large"], "b": ["somebody"]}) == {"a": ["large"]}
