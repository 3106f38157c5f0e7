"""Weights as people write them into a ConfigMap."""

from decimal import Decimal

import pytest

from tangram.wire.errors import WireError
from tangram.wire.gpu_aware_weights import (
    WRITTEN_BY_CHART,
    Weights,
    WrittenWeights,
    join_weights,
    read_weights,
    read_written,
)

CHART = {"score": "1.0", "loss": "0.5"}


@pytest.mark.parametrize(
    ("data", "score", "loss"),
    [
        pytest.param({}, "1.0", "0.5", id="nothing written"),
        pytest.param({"score": "1.0", "loss": "0.5"}, "1.0", "0.5", id="as the charts write it"),
        pytest.param({"score": "2"}, "2", "0.5", id="one of the two"),
        pytest.param({"loss": "5\n"}, "1.0", "5", id="a file written with echo"),
        pytest.param({"score": 3, "loss": 0.25}, "3", "0.25", id="numbers"),
        pytest.param({"score": "0", "loss": "0"}, "0", "0", id="switched off"),
        pytest.param({"score": "999999.999999"}, "999999.999999", "0.5", id="the largest"),
        pytest.param({"other": "x"}, "1.0", "0.5", id="keys of others"),
    ],
)
def test_weights_are_read_exactly(data: dict[str, object], score: str, loss: str) -> None:
    assert read_weights(data) == Weights(Decimal(score), Decimal(loss))


@pytest.mark.parametrize(
    "written",
    [
        "",
        "-1",
        "+1",
        "1e3",
        "NaN",
        "inf",
        "0,5",
        "1.",
        ".5",
        "1000000",
        "0.1234567",
        "5 0",
        None,
        [],
        {},
        True,
    ],
)
@pytest.mark.parametrize("key", ["score", "loss"])
def test_what_is_no_weight_is_refused_with_what_to_write(key: str, written: object) -> None:
    with pytest.raises(WireError) as refused:
        read_weights({key: written})
    assert refused.value.sentence.startswith(f"{key} of gpu-aware-weight is ")
    assert "write for example" in refused.value.sentence


# ---- the ConfigMap of MetaX's manual beside the usual one


def usual(**data: object) -> WrittenWeights:
    return WrittenWeights(source="home/usual", data=CHART | data)


def alias(data: dict[str, object] | None = None, **edits: object) -> WrittenWeights:
    written = CHART | edits if data is None else data
    return WrittenWeights(source="metax-gpu/alias", data=written, by_chart=CHART)


@pytest.mark.parametrize(
    ("there", "elsewhere", "joined", "contested"),
    [
        pytest.param(usual(), alias(), CHART, (), id="as the chart made both"),
        pytest.param(usual(loss="3"), alias(), CHART | {"loss": "3"}, (), id="edited in the usual one"),
        pytest.param(usual(), alias(loss="5"), CHART | {"loss": "5"}, (), id="edited in the alias"),
        pytest.param(usual(loss="3"), alias(score="2"), {"score": "2", "loss": "3"}, (), id="a key in each"),
        pytest.param(
            usual(loss="3"), alias(loss="5"), CHART | {"loss": "5"}, ("loss",), id="one key in both"
        ),
        pytest.param(usual(loss="5"), alias(loss="5"), CHART | {"loss": "5"}, (), id="the same in both"),
        pytest.param(usual(loss="3"), alias({}), CHART | {"loss": "3"}, (), id="keys deleted in the alias"),
        pytest.param(
            usual(loss="3"), WrittenWeights(source="x"), CHART | {"loss": "3"}, (), id="no alias there"
        ),
        pytest.param(WrittenWeights(source="x"), alias(), {}, (), id="nothing but the chart's alias"),
        pytest.param(WrittenWeights(source="x"), alias(loss="5"), {"loss": "5"}, (), id="the usual one gone"),
        pytest.param(
            usual(),
            WrittenWeights(source="x", data={"loss": "0.5", "score": "7"}),
            CHART | {"score": "7"},
            ("score",),
            id="an alias that no chart has made",
        ),
    ],
)
def test_what_was_edited_in_the_alias_counts_and_everything_else_is_of_the_usual_one(
    there: WrittenWeights, elsewhere: WrittenWeights, joined: dict[str, object], contested: tuple[str, ...]
) -> None:
    found = join_weights(there, elsewhere)
    assert (found.data, found.contested) == (joined, contested)


def test_a_weight_of_the_alias_that_is_none_is_refused_by_the_name_of_the_alias() -> None:
    joined = join_weights(usual(), alias(loss="a lot"))
    with pytest.raises(WireError) as refused:
        read_weights(joined.data, joined.sources)
    assert refused.value.sentence.startswith("loss of metax-gpu/alias is ")


@pytest.mark.parametrize("annotation", ["", "{", "[]", "7", '"x"', None, {}])
def test_an_alias_whose_annotation_cannot_be_read_counts_as_edited(annotation: object) -> None:
    thing = {"metadata": {"annotations": {WRITTEN_BY_CHART: annotation}}, "data": {"loss": "2"}}
    found = read_written("x", thing)
    assert (found.edited("loss"), found.edited("score")) == (True, False)


def test_what_the_chart_wrote_is_read_from_its_annotation() -> None:
    note = {WRITTEN_BY_CHART: '{"loss": "0.5", "score": "1.0"}'}
    thing = {"metadata": {"annotations": note}, "data": {"score": "1.0", "loss": "5"}}
    found = read_written("x", thing)
    assert (found.edited("score"), found.edited("loss")) == (False, True)
