"""HAMi's own device configuration file, as its chart writes it and as people change it."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tangram.model.cards import CardMode, Vendor
from tangram.wire.errors import WireError
from tangram.wire.hami_device_config import HamiDeviceConfig, read_hami_device_config
from tangram.wire.nodes import read_node

AS_SHIPPED = """
nvidia:
  resourceCountName: nvidia.com/gpu
  resourceMemoryName: nvidia.com/gpumem
  deviceMemoryScaling: 1
  knownMigGeometries:
    - models: ["A30"]
      allowedGeometries:
        - [{name: 1g.6gb, memory: 6144, count: 4}]
metax:
  resourceCountName: metax-tech.com/gpu
  resourceVCountName: metax-tech.com/sgpu
  resourceVMemoryName: metax-tech.com/vmemory
  resourceVCoreName: metax-tech.com/vcore
  sgpuTopologyAware: false
mthreads:
  resourceCountName: "mthreads.com/vgpu"
  resourceMemoryName: "mthreads.com/sgpu-memory"
  resourceCoreName: "mthreads.com/sgpu-core"
vnpus:
  - chipName: 910A
    commonWord: Ascend910A
"""


def read(text: str) -> HamiDeviceConfig:
    return read_hami_device_config(yaml.safe_load(text))


def refusal(text: str) -> str:
    with pytest.raises(WireError) as refused:
        read(text)
    return refused.value.sentence


def test_the_file_as_it_is_shipped_changes_nothing() -> None:
    assert read(AS_SHIPPED) == HamiDeviceConfig()


def test_a_file_about_other_vendors_changes_nothing() -> None:
    assert read("nvidia: {resourceCountName: nvidia.com/gpu}") == HamiDeviceConfig()


def test_renamed_resources_are_known_by_both_names() -> None:
    config = read("""
        metax: {resourceCountName: corp.example/card, resourceVCoreName: corp.example/core}
        mthreads: {resourceCountName: corp.example/moore}
    """)
    assert config.renamed == {
        "corp.example/card": "metax-tech.com/gpu",
        "corp.example/core": "metax-tech.com/vcore",
        "corp.example/moore": "mthreads.com/vgpu",
    }


@pytest.mark.parametrize("word", ["true", '"true"', '"True"'])
def test_zones_are_switched_on_however_a_chart_quotes_it(word: str) -> None:
    assert read(f"metax: {{sgpuTopologyAware: {word}}}").zone_aware


@pytest.mark.parametrize(
    ("written", "sizes"),
    [
        pytest.param("96", (96,), id="a-number"),
        pytest.param('"160"', (160,), id="a-number-in-quotes"),
        pytest.param("[160, 96, 160]", (96, 160), id="a-list"),
    ],
)
def test_memory_per_card_is_a_number_or_a_list(written: str, sizes: tuple[int, ...]) -> None:
    config = read(f"mthreads: {{memoryPerCard: {written}}}")
    assert config.mthreads_memory_per_card == sizes


def test_an_empty_name_is_the_usual_one() -> None:
    assert read('metax: {resourceCountName: "", sgpuTopologyAware: ""}').renamed == {}


def test_names_may_trade_places() -> None:
    config = read("metax: {resourceCountName: metax-tech.com/sgpu, resourceVCountName: metax-tech.com/gpu}")
    assert config.renamed == {
        "metax-tech.com/sgpu": "metax-tech.com/gpu",
        "metax-tech.com/gpu": "metax-tech.com/sgpu",
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("", "all configurations are empty: at least one vendor's section", id="empty"),
        pytest.param("{metax: {}, nvidia:}", "all configurations are empty: ", id="empty-sections"),
        pytest.param("[metax]", "the file is a list: it is a map with a section for each vendor", id="list"),
        pytest.param(
            "metax: yes please", "metax is 'yes please': it is a map of keys; write", id="no-section"
        ),
        pytest.param(
            "metax: {resourceVCountName: metax-tech.com/gpu}",
            "metax.resourceVCountName and metax.resourceCountName are both 'metax-tech.com/gpu': each resource has a "
            "name of its own; write for example metax.resourceVCountName: metax-tech.com/sgpu",
            id="one-name-for-two",
        ),
        pytest.param(
            "{metax: {resourceCountName: corp.example/gpu}, mthreads: {resourceCountName: corp.example/gpu}}",
            "mthreads.resourceCountName and metax.resourceCountName are both 'corp.example/gpu'",
            id="one-name-for-two-vendors",
        ),
        pytest.param(
            "metax: {resourceVMemoryName: koordinator.sh/gpu-memory}",
            "metax.resourceVMemoryName is 'koordinator.sh/gpu-memory': that name has a meaning of its own",
            id="a-name-of-koordinator",
        ),
        pytest.param(
            "metax: {resourceCountName: gpu}",
            "metax.resourceCountName is 'gpu': it is the name of an extended resource, DOMAIN/NAME, and kubernetes.io "
            "is taken; write metax-tech.com/gpu",
            id="no-domain",
        ),
        pytest.param(
            "metax: {resourceCountName: requests.kubernetes.io/gpu}",
            "kubernetes.io is taken",
            id="kubernetes-own",
        ),
        pytest.param(
            "metax: {resourceCountName: 7}", "metax.resourceCountName is 7: it is the name", id="no-text"
        ),
        pytest.param(
            "metax: {sgpuTopologyAware: sometimes}",
            "metax.sgpuTopologyAware is 'sometimes': it is true or false; write one of these",
            id="no-flag",
        ),
        pytest.param(
            "mthreads: {memoryPerCard: [96, none]}",
            "mthreads.memoryPerCard is a list: it is a number of 512 MiB units from 1 to 65536, or a list of up to 16 "
            "of them; write 96 for the MTT S4000, 160 for the MTT S5000, or [96, 160] for both",
            id="no-size",
        ),
        pytest.param("mthreads: {memoryPerCard: []}", "mthreads.memoryPerCard is a list: ", id="no-sizes"),
        pytest.param("mthreads: {memoryPerCard: 0}", "mthreads.memoryPerCard is 0: ", id="zero"),
    ],
)
def test_what_nobody_could_follow_is_refused(text: str, says: str) -> None:
    assert says in refusal(text)


def test_a_node_that_announces_cards_under_the_clusters_name_has_those_cards() -> None:
    config = read(
        "{metax: {resourceCountName: corp.example/card}, mthreads: {resourceCoreName: corp.example/core}}"
    )
    amounts = {"corp.example/card": "2", "corp.example/core": "16", "mthreads.com/sgpu-memory": "96"}
    node = {"metadata": {"name": "n"}, "status": {"capacity": amounts, "allocatable": amounts}}
    cards = read_node(node, renamed=config.renamed).node.cards
    assert [(card.vendor, card.mode) for card in cards] == [
        (Vendor.METAX, CardMode.WHOLE),
        (Vendor.METAX, CardMode.WHOLE),
        (Vendor.MTHREADS, CardMode.SLICED),
    ]


def test_the_usual_name_on_a_node_means_nothing_once_it_was_renamed() -> None:
    config = read("metax: {resourceCountName: corp.example/card}")
    node = {"metadata": {"name": "n"}, "status": {"allocatable": {"metax-tech.com/gpu": "8"}}}
    assert read_node(node).node.cards
    assert read_node(node, renamed=config.renamed).node.cards == ()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = ("resourceCountName", "resourceVCountName", "resourceVCoreName", "memoryPerCard", "sgpuTopologyAware")


@given(
    st.dictionaries(
        st.sampled_from(["metax", "mthreads", "nvidia"]),
        st.dictionaries(st.sampled_from(NAMES), ANYTHING | st.sampled_from(["a.b/c", "a.b/d"])) | ANYTHING,
    )
)
def test_any_document_is_a_configuration_or_one_readable_sentence(document: dict[str, object]) -> None:
    sentence, config = "", HamiDeviceConfig()
    try:
        config = read_hami_device_config(document)
    except WireError as error:
        sentence = error.sentence
    assert "\n" not in sentence
    assert len(set(config.renamed.values())) == len(config.renamed)
