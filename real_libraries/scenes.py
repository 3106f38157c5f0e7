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


EIGHT = tuple(
    TreeCard(
        at,
        f"0000:{0x10 + at:02x}:00.0",
        uuid=f"0000000{at}-1111-2222-3333-555555555555",
        port_states=dict.fromkeys(range(1, 8), 1),
    )
    for at in range(8)
)
MESH_OF_EIGHT = {(a, b): METAXLINK for a in range(8) for b in range(a)}
SOCKETS = {1: 2, 3: 8, 4: 4, 5: 8, 12: 8}
"""How many sockets each arrangement of MetaXLink has. That of `FOUR` is number 2."""
SECOND_DIE = {
    "showxcuse": "1f",
    "showmeminfo": "vis_vram: 1000\nvram: 2000\nxtt: 30",
    "showmemuse": "vis_vram: 10\nvram: 20\nxtt: 3",
    "showtemp": "hotspot: 5500\nhotlimit: 10600\nsoc: 4700",
    "showboardpowerinfo": "12001 7 8",
    "capability": "999",
    "showclocks": "xcore: 1111\nmc0: 1222 333\nvpue: 444\nvpud: 555",
    "pmdecsrc": "8",
    "ras_show_mem_ecc_info": "1\n2\n3\n4\n5",
    "showdriverversion": "9.9.9",
    "showvbios": "8.8.8.8",
    "metalink_ctrl": "4\nsecond",
    "showmetalkspeed": "\n".join(f"port{port}: {60 + port}" for port in range(1, 8)),
    "showmetalkwidth": "\n".join(f"port{port}: {port}" for port in range(1, 8)),
    "showmetalkstatus": "\n".join(f"port{port}: {port % 6}" for port in range(1, 7)),
}
"""Every figure is another than that of the first die, so that each shows what becomes of the two."""


MOST_FILES = frozenset(f"smi/{name}" for name in (*SECOND_DIE, "showtopology", "showe2prominfo")) | {"model"}
"""All but those without which the library does not use a card."""


def arranged(number: int, *, without: frozenset[int] = frozenset()) -> MetaxTree:
    """As many cards as the arrangement has sockets, each joined to every other, but for those left out."""
    cards = tuple(replace(card, topology=(number, card.number)) for card in EIGHT[: SOCKETS[number]])
    return MetaxTree(tuple(card for card in cards if card.number not in without), (), MESH_OF_EIGHT)


def _with(number: int, **changes: object) -> tuple[TreeCard, ...]:
    return tuple(replace(card, **changes) if card.number == number else card for card in FOUR)


SCENES = {
    "usual": MetaxTree(FOUR, PROCESSES, MESH),
    "every-link": MetaxTree(
        FOUR,
        (),
        {(0, 1): METAXLINK, (0, 2): ETHERNET, (0, 3): PCIE_LINKS[1], (1, 2): PCIE_LINKS[4], (1, 3): 105},
    ),
    "every-pcie-link": MetaxTree(FOUR, (), {(0, 1): 102, (0, 2): 103, (0, 3): 99, (1, 2): 101, (1, 3): 0}),
    **{f"arrangement-{number}": arranged(number) for number in SOCKETS},
    "a-socket-without-a-card": arranged(5, without=frozenset({3})),
    "sockets-not-joined": replace(arranged(12), links={(0, 4): METAXLINK, (1, 5): ETHERNET}),
    "unknown-arrangement": MetaxTree(
        tuple(replace(card, topology=(7, card.number)) for card in FOUR), (), MESH
    ),
    "two-dies": MetaxTree(
        (
            replace(FOUR[0], second_die=SECOND_DIE),
            replace(
                FOUR[1],
                second_die=SECOND_DIE | {"showtemp": "hotspot: 100", "pmdecsrc": "1"},
                link=(2, "off"),
            ),
            replace(FOUR[2], second_die={}, absent=frozenset(f"smi1/{name}" for name in SECOND_DIE)),
            FOUR[3],
        ),
        PROCESSES,
        MESH,
    ),
    "labelled-use": MetaxTree(
        (
            replace(FOUR[0], files={"smi/showxcuse": "total usage: 15 %"}),
            replace(FOUR[1], files={"smi/showxcuse": "total usage: 100 %"}),
            replace(FOUR[2], files={"smi/showxcuse": "usage: 0"}),
            replace(
                FOUR[3],
                second_die={"showxcuse": "total usage: 21 %"},
                files={"smi/showxcuse": "total usage: 10 %"},
            ),
        ),
        (),
        MESH,
    ),
    "only-what-makes-a-card": MetaxTree(
        tuple(replace(card, slices=(), absent=MOST_FILES) for card in FOUR[:2]), PROCESSES[:2], MESH
    ),
    "one-inactive": MetaxTree(_with(2, active=0, reason=(7, "Too hot")), PROCESSES, MESH),
    "one-limited": MetaxTree(
        _with(3, smi=False, reason=(3, "MetaX Sysfs File Unaccessible")),
        (*PROCESSES, TreeProcess(82, 3, memory=9)),
        MESH,
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
