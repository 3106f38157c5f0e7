"""A no to pods whose reading and placing would keep everybody else waiting; nobody means them.

Each container is placed beside all before it, so a thousand of them cost a million steps, and one such pod would stop
everybody's scheduling for as long as it waits.
"""

from typing import Final

from tangram.model.refusals import Refusal
from tangram.vendors.codes import Code
from tangram.vendors.wording import sentence

MOST_CONTAINERS: Final = 64


def crowded(containers: int) -> tuple[Refusal, ...]:
    """The refusal of a pod that asks for cards and has so many containers; nothing where it has not too many."""
    if containers <= MOST_CONTAINERS:
        return ()
    return (
        Refusal(
            Code.TOO_MANY_CONTAINERS,
            sentence(
                f"the pod asks for cards and has {containers} containers",
                f"a pod that asks for cards has at most {MOST_CONTAINERS}",
                "split it into several pods",
            ),
        ),
    )
