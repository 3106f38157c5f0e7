"""The texts of a device configuration: read whole, or refused with the key and the line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.services.gpu_device.config_texts import read_config_texts
from tangram.units.ids import NodeName
from tangram.wire.device_config import KEYS, ConfigError, DeviceConfig, NodeMode

NODE = NodeName("gpu-1")


def read(cluster: str = "", nodes: str = "") -> DeviceConfig:
    return read_config_texts({"version": "v1\n", "cluster-config": cluster, "nodes-config": nodes}, NODE)


def refusal(cluster: str = "", nodes: str = "") -> str:
    with pytest.raises(ConfigError) as refused:
        read(cluster, nodes)
    return refused.value.sentence


@pytest.mark.parametrize(
    ("cluster", "nodes"),
    [
        pytest.param("", "", id="empty texts"),
        pytest.param("null", "null", id="null"),
        pytest.param("# nothing yet\n", "# nothing yet\n", id="only comments"),
        pytest.param("mode: native\nannotations:\n  # none\n", "[]", id="a null map beside it"),
        pytest.param("mode:\ncolour: red", "- nodeName: gpu-1\n  annotations:\n", id="nulls and other keys"),
    ],
)
def test_what_says_nothing_changes_nothing(cluster: str, nodes: str) -> None:
    assert read(cluster, nodes) == DeviceConfig()


def test_windows_line_ends_a_byte_order_mark_and_blanks_around_the_version_are_read_over() -> None:
    assert read("\ufeffmode: shared\r\nshareNums: 3\r\n") == DeviceConfig(mode=NodeMode.SHARED, share_count=3)


def test_no_text_at_all_is_no_configuration_and_one_without_a_version_is_refused() -> None:
    assert read_config_texts({}, NODE) == DeviceConfig()
    with pytest.raises(ConfigError, match="version is None: only v1 is known"):
        read_config_texts({"cluster-config": "mode: sgpu"}, NODE)


@pytest.mark.parametrize(
    ("cluster", "nodes", "begins"),
    [
        pytest.param("# comment\n\nmode: sliced", "", "cluster-config, line 3: mode in", id="a word"),
        pytest.param("mode: sgpu\nshareNums: 0", "", "cluster-config, line 2: shareNums in", id="a number"),
        pytest.param(
            "",
            "- nodeName: gpu-2\n- nodeName: gpu-1\n  mode: x\n",
            "nodes-config, line 3: mode in nodes-config[1] (node gpu-1)",
            id="a word of this node",
        ),
        pytest.param(
            "mode: mixed\n", "", "cluster-config, line 1: mode mixed does not say", id="mixed of what"
        ),
        pytest.param(
            "mode: sgpu",
            "- nodeName: gpu-1\n  slicedCards: [0]",
            "nodes-config, line 1: cards of node gpu-1",
            id="cards for nothing",
        ),
        pytest.param(
            "", "- mode: sgpu", "nodes-config, line 1: nodes-config[0] has no nodeName", id="nobody"
        ),
        pytest.param(
            "",
            "- nodeName: gpu-1\n\n- nodeName: gpu-1",
            "nodes-config, line 3: nodes-config[1] names node gpu-1 a second time",
            id="twice",
        ),
        pytest.param(
            "- a", "", "cluster-config, line 1: cluster-config is a list: it is a map", id="another shape"
        ),
        pytest.param(
            "mode: [", "", "cluster-config, line 2: it cannot be read as YAML", id="an open bracket"
        ),
        pytest.param("a: b\n\tmode: sgpu", "", "cluster-config, line 2: it cannot be read", id="a tabulator"),
        pytest.param("a: 1\n---\nb: 2", "", "cluster-config, line 2: it cannot", id="two documents"),
        pytest.param("a: *nobody", "", "cluster-config, line 1: it cannot", id="an alias of nothing"),
        pytest.param("a: b\nmode: \x00", "", "cluster-config, line 2: it holds a character", id="no text"),
        pytest.param("\ud800", "", "cluster-config, line 1: it holds a character", id="half a character"),
        pytest.param(
            "mode: !!python/name:os.system", "", "cluster-config, line 1: it cannot", id="a program"
        ),
        pytest.param("mode: sgpu\nmode: native", "", "cluster-config, line 2: it cannot be", id="said twice"),
        pytest.param(
            "a: " + "9" * 5_000, "", "cluster-config, line 1: it begins something", id="a huge number"
        ),
        pytest.param("a: " + "[" * 300_000, "", "cluster-config, line 1: it is nested", id="too deep"),
        pytest.param("a: &a [*a]\nmode: 1", "", "cluster-config, line 2: mode in", id="bites its own tail"),
        pytest.param(
            "a: b\nmode: !!int", "", "cluster-config, line 2: it cannot be read", id="an empty number"
        ),
        pytest.param("a: !!bool x", "", "cluster-config, line 1: it cannot be read", id="neither yes nor no"),
        pytest.param("!!map [a]", "", "cluster-config, line 1: it cannot be read", id="a list called a map"),
        pytest.param("b: &b {c: d}\n<<: *b", "", "cluster-config, line 2: it has a merge key", id="a merge"),
    ],
)
def test_a_refusal_says_key_and_line(cluster: str, nodes: str, begins: str) -> None:
    assert refusal(cluster, nodes).startswith(begins)


def test_a_text_that_would_grow_without_end_is_refused_before_it_does() -> None:
    levels = ["a0: &a0 {k: v}"]
    levels += [f"a{at}: &a{at} {{<<: [{', '.join([f'*a{at - 1}'] * 9)}]}}" for at in range(1, 40)]
    assert "merge key" in refusal("\n".join(levels))


@pytest.mark.parametrize(
    "slip",
    [
        pytest.param("mode: sgqu", id="a word"),
        pytest.param("mode: sgpu\n  mode: native", id="said twice"),
        pytest.param("mode: !!int x", id="a number that is none"),
        pytest.param("mode: !!int", id="a number without a digit"),
        pytest.param("mode: !gpu x", id="a tag nobody knows"),
        pytest.param("mode: &x [*x]", id="bites its own tail"),
    ],
)
def test_a_slip_in_an_entry_is_the_trouble_of_its_node_alone(slip: str) -> None:
    nodes = f"- nodeName: gpu-2\n  {slip}\n- nodeName: gpu-1\n  mode: sgpu\n"
    assert read(nodes=nodes).mode is NodeMode.SGPU
    with pytest.raises(ConfigError, match="nodes-config, line"):
        read_config_texts({"version": "v1", "nodes-config": nodes}, NodeName("gpu-2"))


def test_an_entry_that_shares_something_with_a_broken_one_is_read_all_the_same() -> None:
    nodes = "- nodeName: gpu-2\n  a: &a [1]\n  mode: !!int x\n- nodeName: gpu-1\n  a: *a\n  mode: sgpu\n"
    assert read(nodes=nodes).mode is NodeMode.SGPU


def test_thousands_of_nodes_are_read() -> None:
    nodes = "".join(f"- nodeName: gpu-{at}\n  mode: native\n" for at in range(2, 2_000))
    assert read("mode: sgpu", nodes + "- {nodeName: gpu-1, mode: vgpu}\n").mode is NodeMode.VGPU


yamlish = st.text(alphabet="mode: sgpu-nativeN[]{}&*!|>#%@'\"\\\n\t,?<0123.\x00\ufeff\u2028", max_size=60)


@given(st.dictionaries(st.sampled_from(KEYS), yamlish | st.just("v1")))
def test_any_text_is_a_configuration_or_a_refusal(texts: dict[str, str]) -> None:
    try:
        config = read_config_texts(texts, NODE)
    except ConfigError:
        return
    assert isinstance(config, DeviceConfig)
