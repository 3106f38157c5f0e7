"""Whole cards in Koordinator's words beside `metax-tech.com/gpu`, from the webhook to the container."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tangram.kube.errors import ApiError
from tangram.kube.objects import Object
from tangram.sandbox.starting import Sandbox
from tour.playing import playground

PODS = "/api/v1/namespaces/default/pods"
CLUSTER = """
tangram: cluster/v1
nodes:
  - {name: gpu-1, product: C500, cards: 4, numa: [0, 0, 0, 0]}
"""
WORDS = {"koordinator.sh/gpu-core": "200", "koordinator.sh/gpu-memory-ratio": "200"}


def pod(name: str, limits: dict[str, str]) -> Object:
    container = {
        "name": "main",
        "image": "sleep:1",
        "command": ["sleep", "infinity"],
        "resources": {"limits": limits},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"schedulerName": "tangram-scheduler", "containers": [container]},
    }


async def running(box: Sandbox, name: str) -> Object:
    for _ in range(800):
        seen = await box.api.get(f"{PODS}/{name}")
        if seen["status"].get("phase") == "Running":
            return seen
        await asyncio.sleep(0.05)
    raise AssertionError(f"pod {name} does not run")


async def test_whole_cards_in_koordinators_words_reach_their_container(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    async with playground(tmp_path / "box", tmp_path / "cluster.yaml") as box:
        await box.api.create(PODS, pod("pair", {**WORDS, "metax-tech.com/gpu": "2"}))
        seen = await running(box, "pair")
        limits = seen["spec"]["containers"][0]["resources"]["limits"]
        assert limits["koordinator.sh/gpu.shared"] == "2"
        told = json.loads(seen["metadata"]["annotations"]["scheduling.koordinator.sh/device-allocated"])
        assert [each["resources"]["koordinator.sh/gpu-core"] for each in told["gpu"]] == ["100", "100"]
        log = await box.machines.log_of("default", "pair", "main")
        assert log.count(", whole, ") == 2, log
        await box.api.create(PODS, pod("rest", {"metax-tech.com/gpu": "2"}))
        await running(box, "rest")
        with pytest.raises(ApiError) as refused:
            await box.api.create(PODS, pod("part", {"koordinator.sh/gpu": "50", "metax-tech.com/gpu": "2"}))
        assert "handed out in whole cards" in str(refused.value)
        assert "here 1" in str(refused.value), "every fault in one answer"
