"""Machines on which the library and its twin are asked the same."""

from __future__ import annotations

from dataclasses import replace

from builders.metax_tree import ETHERNET, METAXLINK, PCIE_LINKS, MetaxTree, TreeCard, TreeProcess, TreeSlice

SLICES = (
    TreeSlice(3, memory=16000, compute=25, minor=22, alias="web-0", uuid="s3", usage=1234, used=300 << 20),
    TreeSlice(15, memory=128, compute=1, online=1),
)
FOUR = tuple(
    TreeCard(
        at,
        f"0000:{0x10 + at:02x}:00.0",
        uuid=f"0000000{at}-1111-2222-3333-444444444444",
        topology=(2, at),
        serial=f"BOARD{at}",
        model="sgpu" if at < 2 else "native",
        slices=SLICES if at == 0 else (),
        port_states={4: 1, 5: 1, 6: 1},
        usage=10 + at,
    )
    for at in range(4)
)
MESH = {(a, b): METAXLINK for a in range(4) for b in range(a)}
PROCESSES = (
    TreeProcess(777, 0, memory=4096, name="python train.py"),
    TreeProcess(778, 1, memory=77),
    TreeProcess(779, 0, slice=3, memory=5),
    TreeProcess(80, 0, nspid=0),
    TreeProcess(81, 0, memory=1),
)


def _with(number: int, **changes: object) -> tuple[TreeCard, ...]:
    return tuple(replace(card, **changes) if card.number == number else card for card in FOUR)


SCENES = {
    "usual": MetaxTree(FOUR, PROCESSES, MESH),
    "every-link": MetaxTree(
        FOUR,
        (),
        {(0, 1): METAXLINK, (0, 2): ETHERNET, (0, 3): PCIE_LINKS[1], (1, 2): PCIE_LINKS[4], (1, 3): 105},
    ),
    "one-inactive": MetaxTree(_with(2, active=0, reason=(7, "Too hot")), PROCESSES, MESH),
    "one-limited": MetaxTree(
        _with(3, smi=False, reason=(3, "MetaX Sysfs File Unaccessible")), PROCESSES, MESH
    ),
    "one-without-a-node": MetaxTree(_with(3, uuid=""), PROCESSES, MESH),
    "all-limited": MetaxTree(tuple(replace(card, smi=False) for card in FOUR), (), MESH),
    "none": MetaxTree(),
    "sixteen-slices": MetaxTree(
        _with(
            1,
            slices=tuple(
                TreeSlice(at, memory=128, compute=1, alias=f"s{at}", uuid=f"s{at}") for at in range(16)
            ),
        ),
        (TreeProcess(5, 1, slice=7, memory=3),),
        MESH,
    ),
}
