"""The texts of `driver-config` as people write them, with the line of what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.daemon.driver_config_texts import read_driver_config_texts
from tangram.units.ids import NodeName
from tangram.wire.device_config import ConfigError
from tangram.wire.driver_config import KEYS, sample_data

FOO = NodeName("foo")


def refusal(texts: dict[str, str], node: NodeName | None = None) -> str:
    with pytest.raises(ConfigError) as refused:
        read_driver_config_texts(texts, node)
    return refused.value.sentence


def test_the_sample_is_the_manuals() -> None:
    config = read_driver_config_texts(sample_data())
    assert config.functions == {"sample-node": 4, "sample-node2": 2}
    assert config.functions_for(FOO) is None


def test_the_manuals_edit_splits_the_cards_of_foo() -> None:
    text = sample_data()["node-vfnums"] + "  foo:\n    vfnum: 2\n"
    assert read_driver_config_texts({"node-vfnums": text}, FOO).functions_for(FOO) == 2


def test_the_later_form_is_a_list() -> None:
    texts = {
        "version": "v2\n",
        "nodes-config": "- nodeName: foo\n  vfNum: 8\n- nodeName: bar\n  vfNum: 0\n",
        "module-params": "gpu_model: 1\n",
        "node-vfnums": "",
        "node-module-params": "",
    }
    config = read_driver_config_texts(texts)
    assert config.functions == {"foo": 8, "bar": 0}
    assert config.parameters_for(FOO) == {"gpu_model": "1"}


@pytest.mark.parametrize(
    ("texts", "begins"),
    [
        ({"node-vfnums": "nodes:\n  foo:\n    vfnum: 3\n"}, "node-vfnums, line 3: vfnum in"),
        (
            {"node-vfnums": "nodes:\n  foo:\n    vfnum: 2\n  foo:\n    vfnum: 4\n"},
            "node-vfnums, line 4: it cannot",
        ),
        ({"node-vfnums": "nodes:\n foo: [\n"}, "node-vfnums, line "),
        ({"node-vfnums": "nodes:\n  foo: {<<: {vfnum: 2}}\n"}, "node-vfnums, line 2: it has a merge key"),
        ({"nodes-config": "- nodeName: foo\n  vfNum: 5\n"}, "nodes-config, line 2: vfNum in"),
        ({"module-params": "a: 1\nb: x y\n"}, "module-params, line 2: b in"),
        ({"node-vfnum": "nodes: {}"}, "the ConfigMap has the key 'node-vfnum'"),
        ({"version": "v9"}, "version is 'v9'"),
    ],
)
def test_what_is_wrong_is_said_with_its_key_and_line(texts: dict[str, str], begins: str) -> None:
    assert refusal(texts, FOO).startswith(begins)


def test_an_entry_of_another_node_that_cannot_be_read_is_that_nodes_trouble() -> None:
    texts = {"nodes-config": "- nodeName: bar\n  vfNum: 1\n  vfNum: 2\n- nodeName: foo\n  vfNum: 2\n"}
    assert read_driver_config_texts(texts, FOO).functions_for(FOO) == 2
    assert "line 3" in refusal(texts, NodeName("bar"))


@given(texts=st.dictionaries(st.sampled_from(KEYS), st.text(max_size=60)))
def test_any_text_is_read_or_refused_in_one_sentence(texts: dict[str, str]) -> None:
    try:
        read_driver_config_texts(texts, FOO)
    except ConfigError as error:
        sentence = error.sentence
    else:
        sentence = ""
    assert "\n" not in sentence
