"""Pods of three teams on the sandbox's six machines: whole cards, slices, cards that are out, pods that wait."""

from __future__ import annotations

from typing import Any, Final

from e2e.dashboard_kit import Board, pod

TEAMS: Final = ("research", "serving", "vision")
FAILED: Final = ("metax-c", 7)
CORDONED: Final = ("moore-b", 0)
PAGES: Final = {
    "cluster": "/",
    "node": "/nodes/metax-b",
    "set": "/nodes/metax-a?pod=research/finetune",
    "pods": "/pods",
    "placed": "/pods/vision/pair",
    "waiting": "/pods/research/foundation",
    "explain": "/explain?example=whole",
    "fragmentation": "/fragmentation",
    "usage": "/usage",
    "health": "/health",
    "sign-in": "/sign-in",
    "error": "/nodes/nowhere",
}
"""Every kind of page, with something on it."""
NOT_FOUND: Final = "error"


def metax(cards: int) -> dict[str, int]:
    return {"metax-tech.com/gpu": cards}


def metax_slice(cards: int, cores: int, gib: int) -> dict[str, int]:
    return {
        "metax-tech.com/sgpu": cards,
        "metax-tech.com/vcore": cores,
        "metax-tech.com/vmemory": gib,
    }


def moore_slice(units: int, cores: int) -> dict[str, int]:
    return {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-memory": units, "mthreads.com/sgpu-core": cores}


RUNNING: Final[tuple[dict[str, Any], ...]] = (
    pod("pretrain", metax(4), "research"),
    pod("finetune", metax(2), "research"),
    pod("evaluate", metax(1), "research"),
    pod("detector", {"mthreads.com/gpu": 4}, "vision"),
    pod("tracker", {"mthreads.com/gpu": 1}, "vision"),
    *(pod(f"chat-{number}", metax_slice(1, 25, 16), "serving") for number in range(4)),
    *(pod(f"embed-{number}", moore_slice(16 << number, 4), "serving") for number in range(3)),
    pod("notebook", metax_slice(1, 10, 8), "vision"),
    pod("pair", metax_slice(2, 50, 32), "vision"),
    pod("rank-a", metax_slice(1, 80, 48), "research"),
    pod("rank-b", metax_slice(2, 60, 40), "research"),
)
WAITING: Final[tuple[dict[str, Any], ...]] = (
    pod("foundation", metax(16), "research"),
    pod("mosaic", metax_slice(1, 100, 120), "vision"),
)


async def tell(board: Board) -> None:
    """Everything of the story, and everything has come to rest."""
    for team in TEAMS:
        await board.namespace(team)
    await board.break_card(*FAILED)
    node, card = CORDONED
    await board.tangram("cordon", node, str(card))
    await board.until_state(*FAILED, "unhealthy")
    await board.until_state(*CORDONED, "cordoned")
    for each in (*RUNNING, *WAITING):
        await board.create(each)
    for each in RUNNING:
        await board.node_of(each["metadata"]["name"], each["metadata"]["namespace"])
    for each in WAITING:
        await board.until_waiting(each["metadata"]["name"], each["metadata"]["namespace"])
