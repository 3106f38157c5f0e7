"""ConfigMap `driver-config`: both forms of it, and a sentence for everything that has no meaning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.units.ids import NodeName
from tangram.wire.device_config import ConfigError, Place
from tangram.wire.driver_config import FUNCTION_COUNTS, DriverConfig, read_driver_config

FOO, BAR = NodeName("foo"), NodeName("bar")

names = st.from_regex(r"[a-z][a-z0-9]{0,20}(-[a-z0-9]{1,5})?", fullmatch=True)
counts = st.sampled_from(FUNCTION_COUNTS)
values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10)
documents = st.recursive(
    values,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            names
            | st.text(max_size=3)
            | st.sampled_from(["nodes", "vfnum", "nodeName", "vfNum", "foo"])
            | st.integers(),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


def refusal(data: dict[str, object], node: NodeName | None = None) -> tuple[str, Place]:
    with pytest.raises(ConfigError) as refused:
        read_driver_config(data, node)
    return refused.value.sentence, refused.value.place


def test_no_config_map_says_nothing_of_any_node() -> None:
    assert read_driver_config({}) == DriverConfig()
    assert DriverConfig().functions_for(FOO) is None
    assert DriverConfig().parameters_for(FOO) == {}


def test_the_forms_that_the_vendors_chart_leaves_empty_say_nothing() -> None:
    data: dict[str, object] = {
        "version": "v1",
        "node-vfnums": "",
        "nodes-config": [],
        "module-params": {},
        "node-module-params": None,
    }
    assert read_driver_config(data) == DriverConfig()
    assert read_driver_config({"node-vfnums": {"nodes": None}}) == DriverConfig()


@given(wanted=st.dictionaries(names, counts, max_size=5))
def test_both_forms_say_the_same(wanted: dict[str, int]) -> None:
    first = read_driver_config({"node-vfnums": {"nodes": {name: {"vfnum": n} for name, n in wanted.items()}}})
    rows = [{"nodeName": name, "vfNum": str(n)} for name, n in wanted.items()]
    second = read_driver_config({"version": "v2", "nodes-config": rows})
    assert first == second == DriverConfig(functions={NodeName(name): n for name, n in wanted.items()})
    both = {
        "node-vfnums": {"nodes": {name: {"vfnum": n} for name, n in wanted.items()}},
        "nodes-config": rows,
    }
    assert read_driver_config(both) == first


def test_two_forms_that_contradict_each_other_are_refused() -> None:
    data: dict[str, object] = {
        "node-vfnums": {"nodes": {"foo": {"vfnum": 2}}},
        "nodes-config": [{"nodeName": "foo", "vfNum": 4}, {"nodeName": "bar", "vfNum": 1}],
    }
    sentence, _ = refusal(data)
    assert "foo has vfNum 4" in sentence
    assert "vfnum 2" in sentence
    assert read_driver_config(data, BAR).functions_for(BAR) == 1


def test_parameters_of_a_node_count_before_those_of_all() -> None:
    config = read_driver_config(
        {
            "module-params": {"gpu_model": 1, "mxcd_log_level": 3, "fast": True},
            "node-module-params": {"nodes": {"foo": {"gpu_model": "2"}}},
        }
    )
    assert config.parameters_for(FOO) == {"gpu_model": "2", "mxcd_log_level": "3", "fast": "1"}
    assert config.parameters_for(BAR) == {"gpu_model": "1", "mxcd_log_level": "3", "fast": "1"}


@pytest.mark.parametrize(
    ("data", "words", "place"),
    [
        ({"node-vfnum": {}}, "write node-vfnums", ("node-vfnum",)),
        ({"colour": "red"}, "remove it", ("colour",)),
        ({"version": "v3"}, "v1 or v2", ()),
        ({"node-vfnums": [1]}, "it is a map", ("node-vfnums",)),
        ({"node-vfnums": {"foo": {"vfnum": 2}}}, "nodes", ("node-vfnums", "foo")),
        ({"node-vfnums": {"nodes": "foo"}}, "it is a map", ("node-vfnums", "nodes")),
        ({"node-vfnums": {"nodes": {"foo": 2}}}, "vfnum: 2", ("node-vfnums", "nodes", "foo")),
        (
            {"node-vfnums": {"nodes": {"foo": {"vfNum": 2}}}},
            "write vfnum",
            ("node-vfnums", "nodes", "foo", "vfNum"),
        ),
        ({"node-vfnums": {"nodes": {"foo": {}}}}, "missing", ("node-vfnums", "nodes", "foo", "vfnum")),
        (
            {"node-vfnums": {"nodes": {"1": {"vfnum": 1}, 1: {"vfnum": 1}}}},
            "twice",
            ("node-vfnums", "nodes", "1"),
        ),
        ({"node-vfnums": {"nodes": {"a\nb": {"vfnum": 1}}}}, "no name", ("node-vfnums", "nodes", "a\nb")),
        ({"nodes-config": {"foo": 2}}, "it is a list", ("nodes-config",)),
        ({"nodes-config": ["foo"]}, "it is a map", ("nodes-config", 0)),
        ({"nodes-config": [{"vfNum": 2}]}, "no nodeName", ("nodes-config", 0)),
        ({"nodes-config": [{"nodeName": "foo"}]}, "vfNum", ("nodes-config", 0, "vfNum")),
        ({"nodes-config": [{"nodeName": "foo", "vfnum": 1}]}, "write vfNum", ("nodes-config", 0, "vfnum")),
        ({"nodes-config": [{"nodeName": "foo", "vfNum": 1}] * 2}, "second time", ("nodes-config", 1)),
        ({"module-params": "a=1"}, "it is a map", ("module-params",)),
        ({"module-params": {"a b": 1}}, "letters", ("module-params", "a b")),
        ({"module-params": {"a": "1 b=2"}}, "without blanks", ("module-params", "a")),
        ({"module-params": {"a": [1]}}, "without blanks", ("module-params", "a")),
        (
            {"node-module-params": {"nodes": {"foo": [1]}}},
            "it is a map",
            ("node-module-params", "nodes", "foo"),
        ),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_place(
    data: dict[str, object], words: str, place: Place
) -> None:
    sentence, found = refusal(data)
    assert words in sentence
    assert found == place
    assert sentence.count(";") == 1


@given(
    value=values.filter(lambda value: value not in FUNCTION_COUNTS and value not in ("0", "1", "2", "4", "8"))
)
def test_cards_are_split_into_0_1_2_4_or_8(value: object) -> None:
    sentence, _ = refusal({"node-vfnums": {"nodes": {"foo": {"vfnum": value}}}})
    assert "0, 1, 2, 4 or 8" in sentence


@pytest.mark.parametrize(
    "slip",
    [
        {"node-vfnums": {"nodes": {"foo": {"vfnum": 3}, "bar": {"vfnum": 2}}}},
        {"nodes-config": [{"nodeName": "foo", "vfNum": 3}, {"nodeName": "bar", "vfNum": 2}]},
        {
            "node-module-params": {"nodes": {"foo": "x"}},
            "nodes-config": [{"nodeName": "bar", "vfNum": 2}],
        },
    ],
)
def test_a_slip_about_another_node_is_that_nodes_business(slip: dict[str, object]) -> None:
    assert read_driver_config(slip, BAR).functions_for(BAR) == 2
    refusal(slip, FOO)
    refusal(slip)


@given(
    data=st.dictionaries(
        st.sampled_from(["version", "node-vfnums", "nodes-config", "module-params", "node-module-params"]),
        documents,
    ),
    node=st.none() | st.just(FOO),
)
def test_whatever_is_written_is_read_or_refused_in_one_sentence(
    data: dict[str, object], node: NodeName | None
) -> None:
    try:
        config = read_driver_config(data, node)
    except ConfigError as error:
        sentence = error.sentence
    else:
        sentence = ""
        assert config.functions_for(FOO) in (None, *FUNCTION_COUNTS)
    assert "\n" not in sentence
    assert len(sentence) < 500
