"""What a container's log tells of its cards, held against what its pod was allotted."""

from __future__ import annotations

import pytest

from tangram.model.allocations import Share
from tangram.model.requests import AskKind
from tangram.sandbox.scenarios.granted import Given, agree, given_in
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib

LOG = """\
[sandbox] container main of pod team/notebook
[sandbox] card 7: MXC500, GPU-7, slice 0: 16 GiB of memory, 40 % of compute, fixed-share
[sandbox] card 3: MTT S4000, f2-3, slice 1: 1.5 GiB of memory, 4 of 16 shares of compute
[sandbox] card 2: MXC500, GPU-2, whole, 64 GiB
[sandbox] device nodes: /dev/mxcd /dev/dri/card8
card 9: not the sandbox's word
"""
SLICE = Given(card=7, product="MXC500", uuid="GPU-7", memory=from_gib(16), cores=40, policy="fixed-share")
WHOLE = Given(card=2, product="MXC500", uuid="GPU-2", memory=from_gib(64), cores=None)


def share(given: Given, **changes: object) -> Share:
    kind = AskKind.WHOLE if given.cores is None else AskKind.SLICE
    fields: dict[str, object] = {
        "card": CardUuid(given.uuid),
        "index": given.card,
        "memory": given.memory,
        "cores": 100 if given.cores is None else given.cores,
        "kind": kind,
        **changes,
    }
    return Share(**fields)  # pyright: ignore[reportArgumentType] - the fields of a Share, one of them changed


def test_every_card_of_a_log_is_read() -> None:
    slice_, tier, whole = given_in(LOG)
    assert (slice_, whole) == (SLICE, WHOLE)
    assert (tier.product, tier.memory * 2, tier.cores, tier.policy) == ("MTT S4000", from_gib(3), 4, "")


def test_a_log_without_cards_tells_of_none() -> None:
    assert given_in("[sandbox] container main of pod a/b\n[sandbox] no card was given to it\n") == ()


def test_what_was_allotted_and_found_agrees_in_any_order() -> None:
    assert agree([share(SLICE), share(WHOLE)], [WHOLE, SLICE])


@pytest.mark.parametrize(
    "found",
    [
        pytest.param([], id="nothing"),
        pytest.param([SLICE, SLICE], id="twice as much"),
        pytest.param([WHOLE], id="another card"),
    ],
)
def test_a_container_that_found_something_else_does_not_agree(found: list[Given]) -> None:
    assert not agree([share(SLICE)], found)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"memory": from_gib(17)}, id="memory"),
        pytest.param({"cores": 41}, id="compute"),
        pytest.param({"card": CardUuid("GPU-6")}, id="card"),
        pytest.param({"kind": AskKind.WHOLE}, id="whole"),
    ],
)
def test_every_part_of_an_allotment_counts(changes: dict[str, object]) -> None:
    assert not agree([share(SLICE, **changes)], [SLICE])
