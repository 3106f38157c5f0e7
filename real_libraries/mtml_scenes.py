"""Machines on which Moore Threads' library and its twin are asked the same.

The library 1.5.0 is older than the cards that this project is for, so they are of a product that it knows.
"""

from __future__ import annotations

from builders.mtml_twin import GIB, Machine, TwinCard, uuid_of

PRODUCT = "MTT S3000"
FOUR = Machine(
    tuple(
        TwinCard(
            at,
            uuid_of(at),
            name=PRODUCT,
            sbdf=f"00000000:{8 + at:02x}:00.0",
            memory=32 * GIB,
            numa=at // 2,
            more={
                "bios": f"3.{at}.7",
                "used": (at + 1) * GIB + 4096,
                "utilisation": 10 * at,
                "power": 50_000 + at,
            },
        )
        for at in range(4)
    ),
    library="1.5.0",
)

SCENES = {
    "usual": FOUR,
    "one-card": FOUR.without(1, 2, 3),
    "others-than-the-first": FOUR.without(0, 2),
    "used": FOUR.having("process 0 4711 1073741824", "process 0 4712 4096", "process 2 7 1"),
    "used-by-hidden-ones": FOUR.having("process 0 0 1073741824", "process 0 4712 4096", "process 1 0 5"),
    "used-by-more-than-are-told": FOUR.having(
        *(f"process 0 {1000 + at} {4096 + at}" for at in range(100)),
        *("process 1 0 1" for _ in range(10)),
        *(f"process 1 {2000 + at} {4096 + at}" for at in range(100)),
        *(f"process 2 {3000 + at} 1" for at in range(80)),
        *(f"process 3 {4000 + at} 1" for at in range(79)),
    ),
    "none": FOUR.without(0, 1, 2, 3),
}
