"""Moore Threads cards for koord-scheduler: the plugin's words in the place of a number of cards that no node offers."""

from collections.abc import Callable

import pytest

from tangram.vendors.admission import Admission
from tangram.vendors.codes import Code

Answer = Callable[..., Admission]

SHARED = "koordinator.sh/gpu.shared"
CORE = "koordinator.sh/gpu-core"
MEMORY = "koordinator.sh/gpu-memory"
RATIO = "koordinator.sh/gpu-memory-ratio"
VGPU = "mthreads.com/vgpu"
PLUGIN_CORE = "mthreads.com/sgpu-core"
PLUGIN_MEMORY = "mthreads.com/sgpu-memory"


@pytest.mark.parametrize(
    ("words", "plugin", "cards"),
    [
        pytest.param(
            {SHARED: "1", CORE: "25", MEMORY: "16Gi"},
            {PLUGIN_CORE: "4", PLUGIN_MEMORY: "32"},
            "1",
            id="a slice",
        ),
        pytest.param(
            {CORE: "200", RATIO: "200"}, {PLUGIN_CORE: "32", PLUGIN_MEMORY: "192"}, "2", id="whole cards"
        ),
    ],
)
def test_the_plugins_words_stand_for_the_number_of_cards(
    admitted: Answer, words: dict[str, str], plugin: dict[str, str], cards: str
) -> None:
    bare, counted = admitted({**words, **plugin}), admitted({**words, **plugin, VGPU: cards})
    assert bare.refusals == ()
    assert bare.request == counted.request


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param({PLUGIN_CORE: "16", PLUGIN_MEMORY: "32"}, id="more compute than was asked for"),
        pytest.param({PLUGIN_CORE: "4", PLUGIN_MEMORY: "2"}, id="less memory than was asked for"),
    ],
)
def test_other_amounts_than_koordinators_are_refused_with_the_right_ones(
    admitted: Answer, plugin: dict[str, str]
) -> None:
    (refusal,) = admitted({SHARED: "1", CORE: "25", MEMORY: "16Gi", **plugin}).refusals
    assert refusal.code == Code.KOORDINATOR_COUNT_MISMATCH
    assert f"write {PLUGIN_CORE}: 4 and {PLUGIN_MEMORY}: 32" in refusal.sentence


def test_one_of_the_plugins_words_alone_does_not_stand_for_cards(admitted: Answer) -> None:
    refusals = admitted({CORE: "25", MEMORY: "16Gi", PLUGIN_CORE: "4"}).refusals
    assert [each.code for each in refusals] == [Code.KOORDINATOR_MIXED_WORDS, Code.KOORDINATOR_COUNT_MISMATCH]


def test_a_part_of_each_of_several_cards_is_refused_here_too(admitted: Answer) -> None:
    words = {SHARED: "2", CORE: "50", MEMORY: "32Gi", PLUGIN_CORE: "8", PLUGIN_MEMORY: "64"}
    (refusal,) = admitted(words).refusals
    assert refusal.code == Code.SEVERAL_CARDS_IN_SLICES
