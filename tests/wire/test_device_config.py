"""The vendor's device ConfigMap: every mode, every override, and a sentence for everything else."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders.fake_driver import metax_card, mthreads_card
from tangram.model.cards import CardMode
from tangram.model.devices import Device
from tangram.units.ids import CardUuid, NodeName
from tangram.wire.device_config import DeviceConfig, NodeMode, read_device_config
from tangram.wire.errors import WireError

NODE = NodeName("gpu-1")
DEVICES = (
    *(metax_card(index) for index in range(4)),
    mthreads_card(0, sliced=True),
    mthreads_card(1, sliced=False),
)


def read(cluster: object = None, nodes: object = None, node: NodeName = NODE) -> DeviceConfig:
    return read_device_config({"version": "v1", "cluster-config": cluster, "nodes-config": nodes}, node)


def refusal(cluster: object = None, nodes: object = None) -> str:
    with pytest.raises(WireError) as refused:
        read(cluster, nodes)
    return refused.value.sentence


def metax_modes(config: DeviceConfig) -> list[CardMode]:
    modes = config.modes_for(DEVICES)
    return [modes[CardUuid(f"GPU-{index}")] for index in range(4)]


def test_no_config_map_means_whole_cards() -> None:
    assert read_device_config({}, NODE) == DeviceConfig()
    assert metax_modes(DeviceConfig()) == [CardMode.WHOLE] * 4


@pytest.mark.parametrize(
    ("mode", "offered"),
    [
        ("native", CardMode.WHOLE),
        ("sgpu", CardMode.SLICED),
        ("shared", CardMode.SHARED),
        ("vgpu", CardMode.VIRTUAL),
    ],
)
def test_a_mode_is_the_mode_of_every_metax_card(mode: str, offered: CardMode) -> None:
    config = read({"mode": mode})
    assert metax_modes(config) == [offered] * 4


def test_moore_threads_cards_are_what_their_kernel_says_in_every_mode() -> None:
    for mode in NodeMode:
        modes = DeviceConfig(mode=mode, sliced=("0", "1", "mt-0", "mt-1")).modes_for(DEVICES)
        assert (modes[CardUuid("mt-0")], modes[CardUuid("mt-1")]) == (CardMode.SLICED, CardMode.WHOLE)


def test_the_map_as_the_vendors_chart_renders_it_is_read() -> None:
    config = read(
        {"mode": "shared", "sgpuHybrid": None, "shareNums": 4, "deviceAllocationStrategy": "native"},
        [{"nodeName": "gpu-1", "mode": "sgpu", "annotations": None}, {"nodeName": "gpu-2", "mode": "vgpu"}],
    )
    assert config == DeviceConfig(mode=NodeMode.SGPU, share_count=4)


def test_the_example_of_the_page_is_read_as_the_page_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "device-config.md").read_text()
    example = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    data = {key: yaml.safe_load(text) for key, text in example["data"].items()}
    assert read_device_config(data, NODE).mode is NodeMode.SGPU
    assert read_device_config(data, NodeName("gpu-2")) == DeviceConfig(mode=NodeMode.MIXED, sliced=("0", "1"))
    assert read_device_config(data, NodeName("gpu-3")) == DeviceConfig()


def test_a_nodes_entry_overrides_the_cluster_key_by_key() -> None:
    cluster = {"mode": "shared", "shareNums": 8}
    assert read(cluster) == DeviceConfig(mode=NodeMode.SHARED, share_count=8)
    assert read(cluster, [{"nodeName": "gpu-1", "shareNums": "2"}]) == DeviceConfig(
        mode=NodeMode.SHARED, share_count=2
    )
    assert read(cluster, [{"nodeName": "gpu-1", "mode": "native"}]).mode is NodeMode.NATIVE
    assert read(cluster, [{"nodeName": "gpu-2", "mode": "native"}]).mode is NodeMode.SHARED


def test_empty_maps_and_keys_nobody_knows_change_nothing() -> None:
    assert read() == read({}, []) == DeviceConfig()
    data = {"version": "v1", "cluster-config": {"colour": "red"}, "annotations": None, "kind-config": [1]}
    assert read_device_config(data, NODE) == DeviceConfig()


@pytest.mark.parametrize(
    ("written", "sliced"),
    [
        pytest.param({"slicedCards": [0, 2]}, {0, 2}, id="numbers"),
        pytest.param({"slicedCards": ["1", "GPU-3"]}, {1, 3}, id="text"),
        pytest.param({"slicedCards": [2, "GPU-2", 2]}, {2}, id="twice"),
        pytest.param({"slicedCards": []}, set[int](), id="none"),
        pytest.param({"sgpuHybrid": [1]}, {1}, id="the-vendors-key"),
        pytest.param({"sgpuHybrid": 3}, {0, 1, 2}, id="the-first-three"),
        pytest.param({"sgpuHybrid": 0}, set[int](), id="the-first-none"),
        pytest.param({"sgpuHybrid": True, "slicedCards": [0]}, {0}, id="a-truth-value-says-nothing"),
    ],
)
def test_a_mixed_node_slices_the_cards_that_are_named(written: dict[str, object], sliced: set[int]) -> None:
    for config in (
        read({"mode": "mixed", **written}),
        read({}, [{"nodeName": NODE, "mode": "mixed", **written}]),
    ):
        modes = metax_modes(config)
        assert {index for index, mode in enumerate(modes) if mode is CardMode.SLICED} == sliced
        assert set(modes) <= {CardMode.SLICED, CardMode.WHOLE}


def test_virtual_functions_have_no_mode_of_their_own() -> None:
    part: Device = metax_card(0, uuid="vf-0", virtual_function_of="GPU-0")
    config = DeviceConfig(mode=NodeMode.MIXED, sliced=("0",))
    assert config.modes_for((metax_card(0), part)) == {CardUuid("GPU-0"): CardMode.SLICED}


def test_named_cards_that_are_not_there_are_told() -> None:
    config = read({"mode": "mixed", "slicedCards": [1, 7, "GPU-9", "mt-0"]})
    assert config.unmatched(DEVICES) == ("7", "GPU-9", "mt-0")


def test_what_the_cluster_says_of_mixed_nodes_does_not_trouble_a_node_that_is_none() -> None:
    cluster = {"mode": "mixed", "slicedCards": [0]}
    assert read(cluster, [{"nodeName": "gpu-1", "mode": "native"}]) == DeviceConfig()


@pytest.mark.parametrize(
    ("cluster", "nodes", "says"),
    [
        pytest.param({"mode": "SGPU"}, None, "native, sgpu, shared, vgpu, mixed", id="mode"),
        pytest.param({"mode": 4}, None, "mode in cluster-config is 4", id="mode-number"),
        pytest.param({"mode": ["sgpu"]}, None, "mode in cluster-config is a list", id="mode-list"),
        pytest.param("mode: sgpu", None, "it is a map", id="text-instead-of-map"),
        pytest.param({"shareNums": 0}, None, "from 1 to 64", id="no-share"),
        pytest.param({"shareNums": 65}, None, "from 1 to 64", id="too-many-shares"),
        pytest.param({"shareNums": True}, None, "shareNums in cluster-config is True", id="share-truth"),
        pytest.param({"shareNums": 2.5}, None, "from 1 to 64", id="half-a-share"),
        pytest.param({"shareNums": "x"}, None, "from 1 to 64", id="share-word"),
        pytest.param({"mode": "mixed"}, None, "write for example slicedCards: [0, 1]", id="mixed-of-what"),
        pytest.param({"mode": "mixed", "slicedCards": 2}, None, "it is a list", id="sliced-number"),
        pytest.param({"mode": "mixed", "slicedCards": [-1]}, None, "lists -1", id="sliced-negative"),
        pytest.param({"mode": "mixed", "slicedCards": [None]}, None, "lists None", id="sliced-null"),
        pytest.param({"mode": "mixed", "slicedCards": [" "]}, None, "lists ' '", id="sliced-blank"),
        pytest.param({"mode": "mixed", "sgpuHybrid": "some"}, None, "[0, 1] or 2", id="hybrid-word"),
        pytest.param({"mode": "mixed", "sgpuHybrid": -1}, None, "sgpuHybrid", id="hybrid-negative"),
        pytest.param({"mode": "mixed", "sgpuHybrid": 10**9}, None, "up to 128", id="hybrid-huge"),
        pytest.param(
            {"mode": "mixed", "sgpuHybrid": [0], "slicedCards": [1]}, None, "one of the two", id="both-keys"
        ),
        pytest.param({"mode": "sgpu", "slicedCards": [0]}, None, "its mode is sgpu", id="sliced-for-nothing"),
        pytest.param(
            {"mode": "sgpu"},
            [{"nodeName": "gpu-1", "slicedCards": [0]}],
            "write mode: mixed",
            id="sliced-for-nothing-here",
        ),
        pytest.param(None, {"nodeName": "gpu-1"}, "it is a list", id="map-instead-of-list"),
        pytest.param(None, ["gpu-1"], "nodes-config[0] is 'gpu-1': it is a map", id="text-instead-of-entry"),
        pytest.param(None, [{"mode": "sgpu"}], "nodes-config[0] has no nodeName", id="nobody"),
        pytest.param(None, [{"nodeName": ""}], "has no nodeName", id="empty-name"),
        pytest.param(
            None,
            [{"nodeName": "gpu-1"}, {"nodeName": "gpu-1"}],
            "nodes-config[1] names node gpu-1",
            id="twice",
        ),
        pytest.param(
            None,
            [{"nodeName": "gpu-1", "mode": "x"}],
            "mode in nodes-config[0] (node gpu-1) is 'x'",
            id="own-mode",
        ),
    ],
)
def test_what_has_no_meaning_is_refused_with_what_to_write(cluster: object, nodes: object, says: str) -> None:
    assert says in refusal(cluster, nodes)


@pytest.mark.parametrize("version", ["v2", 1, None, ["v1"]])
def test_another_version_is_refused(version: object) -> None:
    with pytest.raises(WireError, match="only v1 is known") as refused:
        read_device_config({"version": version, "cluster-config": {"mode": "sgpu"}}, NODE)
    assert refused.value.code == "config-version"


def test_a_slip_in_another_nodes_entry_stops_only_that_node() -> None:
    nodes = [
        {"nodeName": "gpu-2", "mode": "sgqu"},
        {"nodeName": "gpu-2", "shareNums": -1},
        {"nodeName": "gpu-1", "mode": "sgpu"},
    ]
    assert read({}, nodes).mode is NodeMode.SGPU
    with pytest.raises(WireError):
        read({}, nodes, NodeName("gpu-2"))


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([*NodeMode]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "mode",
                    "shareNums",
                    "slicedCards",
                    "sgpuHybrid",
                    "nodeName",
                    "cluster-config",
                    "nodes-config",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(anything, anything)
def test_whatever_is_written_there_is_a_mode_for_every_card_or_a_refusal(
    cluster: object, nodes: object
) -> None:
    try:
        config = read(cluster, nodes)
    except WireError:
        return
    assert config.modes_for(DEVICES).keys() == {device.uuid for device in DEVICES}
    assert 1 <= config.share_count <= 64
