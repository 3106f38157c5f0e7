"""Weights as people write them into a ConfigMap."""

from decimal import Decimal

import pytest

from tangram.wire.errors import WireError
from tangram.wire.gpu_aware_weights import Weights, read_weights


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
