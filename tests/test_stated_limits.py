"""Limits that the pages state are those of the code today. A test that fails here says which sentence has to go."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from builders.charts.cases import case_named
from builders.charts.goldens import objects_of
from builders.charts.reading import of_kind, pod_of
from builders.clusters import metax_node
from builders.fake_driver import metax_card
from tangram.drivers.sysfs.pci import PciFunction
from tangram.drivers.sysfs.products import Named
from tangram.engine.hostrules import wants
from tangram.engine.layout import MOST_CARDS
from tangram.model.cards import CardMode, QosPolicy, Vendor
from tangram.model.devices import DriverMode
from tangram.model.pods import Container, Phase, Pod, PodRef, Role
from tangram.sandbox.nodes.machine import HEALTH_S
from tangram.sandbox.nodes.pod_run import CONFIG_ERROR
from tangram.services.driver_manager.reporting import MODES
from tangram.services.scheduler.reviewing import MOST_SENTENCES
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.units.memory import from_gib
from tangram.vendors.admission import admit
from tangram.vendors.codes import CautionCode, Code
from tangram.wire.metax_labels import DRIVER_MODE, Choices, label_set
from tangram.wire.metax_publishing import listing_of
from tangram.wire.mthreads_container import WEIGHT, slice_environment
from tangram.wire.operator.node_states import Source
from tangram.wire.placing import read_placing
from tangram.wire.tenants import Unnamed, read_tenant

ROOT: Final = Path(__file__).resolve().parents[1]
CHARTS: Final = ("tangram", "metax-gpu-extensions", "metax-operator")
PRODUCT: Final = "metax-tech.com/gpu.product"
FUNCTIONS: Final = "metax-tech.com/gpu.vfnum"


def prose(name: str) -> str:
    """A page without its line breaks."""
    return " ".join((ROOT / name).read_text("utf-8").split())


def pod(*limits: dict[str, str], privileged: bool = False, node: str | None = None) -> Pod:
    return Pod(
        ref=PodRef(Namespace("default"), PodName("demo"), PodUid("uid-1")),
        containers=tuple(
            Container(f"c{number}", Role.APP, limits=each, privileged=privileged)
            for number, each in enumerate(limits)
        ),
        node_name=NodeName(node) if node is not None else None,
        phase=Phase.RUNNING if node is not None else Phase.PENDING,
    )


def codes(of: Pod) -> list[Code]:
    return [Code(refusal.code) for refusal in admit(of).refusals]


# ---- selectors of jobs that were written for MetaX's own labels


MANUAL: Final = Choices(short_products=True)
"""What the charts with the vendor's names choose."""


def labeller_of(chart: str, name: str = "default") -> list[str]:
    found = of_kind(objects_of(case_named(chart, name)), "DaemonSet")
    (daemons,) = (each for each in found if each["metadata"]["name"].endswith("-gpu-label"))
    (container,) = pod_of(daemons)["spec"]["containers"]
    return container["args"]


def test_the_manuals_job_finds_nodes_of_the_charts_with_the_vendors_names_as_it_is() -> None:
    labels = label_set([metax_card(0, virtual_functions=0)], on_bus=True, choices=MANUAL)
    assert {PRODUCT: "C500", FUNCTIONS: "0"}.items() <= labels.items()
    arguments = labeller_of("metax-gpu-extensions")
    assert arguments[arguments.index("--product-names") + 1] == "short"
    (spec,) = of_kind(objects_of(case_named("metax-operator", "default")), "ClusterOperator")
    assert spec["spec"]["labelgen"]["productNames"] == "short"
    assert 'so does the manual\'s sample job (`gpu.product: "C500"`, `gpu.vfnum: "0"`)' in prose(
        "docs/migrate-from-metax.md"
    )


def test_chart_tangram_labels_as_the_library_does_and_the_page_says_what_to_set() -> None:
    arguments = labeller_of("tangram")
    assert arguments[arguments.index("--product-names") + 1] == "library"
    changed = labeller_of("tangram", "gpuLabel.productNames")
    assert changed[changed.index("--product-names") + 1] == "short"
    page = prose("docs/migrate-from-metax.md")
    row = f'| `{PRODUCT}: "C500"`, the manual\'s | nothing to do | `--set gpuLabel.productNames=short` |'
    assert row in page


@pytest.mark.parametrize("label", ["C500", "MXC500"])
def test_the_affinity_that_the_page_shows_matches_either_spelling(label: str) -> None:
    text = (ROOT / "docs" / "migrate-from-metax.md").read_text("utf-8")
    (block,) = (each for each in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "affinity:" in each)
    placing = read_placing(yaml.safe_load(block))
    assert wants(placing, "any", {PRODUCT: label})
    assert not wants(placing, "any", {PRODUCT: "MXC550"})


def test_a_job_that_the_pages_show_selects_labels_that_nodes_carry() -> None:
    text = (ROOT / "docs" / "images-for-jobs.md").read_text("utf-8").partition("\n## The job\n")[2]
    block = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert block is not None
    wanted: dict[str, str] = yaml.safe_load(block[1])["spec"]["nodeSelector"]
    labels = label_set([metax_card(0, virtual_functions=0)], on_bus=True, choices=MANUAL)
    assert wanted == {key: labels[key] for key in (FUNCTIONS, PRODUCT)}


def test_who_installed_the_driver_is_said_of_every_kind_of_driver() -> None:
    hosts_own = PciFunction(
        bdf="0000:01:00.0", folder="", vendor=Vendor.METAX, named=Named("MXC500"), kernel_driver="MXGVM"
    )
    assert hosts_own.mode is DriverMode.CLOUD, "the kind of driver that hands out virtual functions"
    labels = label_set([metax_card(0, mode=hosts_own.mode)], on_bus=True)
    assert labels[DRIVER_MODE] == MODES[Source.HOST] == "native"
    assert "the host's virtualization driver included" in prose("docs/migrate-from-metax.md")


@pytest.mark.parametrize("chart", CHARTS)
def test_every_chart_has_an_option_for_product_names_and_the_drivers_mode(chart: str) -> None:
    schema: dict[str, Any] = json.loads(
        (ROOT / "deploy" / "charts" / chart / "values.schema.json").read_text("utf-8")
    )
    options = schema["properties"]["gpuLabel"]["properties"]
    assert {*options["productNames"]["enum"]} == {"library", "short"}
    assert {*options["driverMode"]["enum"]} == {"auto", "native", "cloud"}


# ---- what keeps tenants apart


def test_compute_is_not_limited_for_a_pod_that_names_no_policy_and_the_pages_say_so() -> None:
    answer = admit(pod({"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "60"}))
    assert answer.request is not None
    assert answer.request.qos is QosPolicy.BEST_EFFORT
    assert [caution.code for caution in answer.cautions][-1] == CautionCode.COMPUTE_NOT_LIMITED
    assert "under `best-effort`, which a pod gets that names no policy, it is not limited" in prose(
        "README.md"
    )
    assert "under `best-effort`, the default (" in prose("docs/security.md")


# ---- the sandbox


def test_what_the_readme_says_the_sandbox_lacks_is_on_its_page() -> None:
    page = (
        (ROOT / "docs" / "sandbox.md")
        .read_text("utf-8")
        .partition("\n## What the embedded API server is not\n")[2]
    )
    rows = re.findall(r"^\| ([A-Z][^|]+) \|", page.partition("\n## ")[0], re.MULTILINE)
    lacks = re.search(r"Its API server is ours: it ([^.]+)\.", prose("README.md"))
    assert lacks is not None
    assert lacks[1] == (
        "evaluates no CEL, enters no container, carries no traffic and has few of a cluster's built-in roles"
    )
    assert {"Evaluate CEL", "Enter containers", "Carry traffic", "Know every role of a cluster"} <= set(rows)


def test_an_agent_of_the_sandbox_notices_a_card_that_dies_as_soon_as_the_readme_says() -> None:
    assert HEALTH_S == 2
    assert "The agent notices within two seconds." in prose("README.md")


def test_cards_of_a_node_are_weighed_exactly_up_to_the_number_that_the_readme_says() -> None:
    assert f"**At most {MOST_CARDS} cards per node** for the exact topology search" in prose("README.md")


# ---- requests


def test_less_than_whole_cards_in_koordinators_words_beside_whole_ones_is_refused_and_the_page_says_so() -> (
    None
):
    words = {"koordinator.sh/gpu-core": "200", "koordinator.sh/gpu-memory": "64Gi"}
    for whole in ("metax-tech.com/gpu", "mthreads.com/gpu"):
        assert codes(pod({**words, whole: "2"})) == [Code.KOORDINATOR_MIXED_WORDS]
    assert "Less than a card, and `gpu-memory` in bytes, is refused (`koordinator-mixed-words`)" in prose(
        "docs/koordinator.md"
    )


def test_every_fault_is_reported_and_of_very_many_the_first_eight() -> None:
    own = {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "150", "metax-tech.com/vmemory": "1500m"}
    assert codes(pod(own)) == [Code.CORES_OUT_OF_RANGE, Code.AMOUNT_FRACTIONAL]
    both = codes(pod({**own, "metax-tech.com/gpu": "0"}))
    assert both == [
        Code.WHOLE_AND_SLICE,
        Code.AMOUNT_ZERO,
        Code.CORES_OUT_OF_RANGE,
        Code.AMOUNT_FRACTIONAL,
    ]
    theirs = {
        "metax-tech.com/sgpu": "2",
        "koordinator.sh/gpu.shared": "1",
        "koordinator.sh/gpu-core": "150",
        "koordinator.sh/gpu-memory": "16Gi",
        "koordinator.sh/gpu-memory-ratio": "25",
    }
    assert codes(pod(theirs)) == [
        Code.KOORDINATOR_COMBINATION,
        Code.KOORDINATOR_UNIT,
        Code.KOORDINATOR_COUNT_MISMATCH,
    ]
    page = prose("docs/refusals.md")
    assert MOST_SENTENCES == 8
    assert "Every fault of a pod is in the answer, of very many the first eight;" in page


def test_two_exclusive_moore_threads_cards_are_taken_and_the_page_says_where_they_are_placed() -> None:
    assert codes(pod({"mthreads.com/vgpu": "1"}, {"mthreads.com/vgpu": "1"})) == []
    assert codes(pod({"mthreads.com/vgpu": "2"}, {"mthreads.com/vgpu": "1"})) == [Code.ONE_CARD_PER_POD]
    page = prose("docs/scheduler.md")
    assert "are placed on nodes of Tangram's agent alone" in page
    assert "A container with several cards beside others is refused (`one-card-per-pod`)" in page


def test_fixed_share_gives_the_turns_that_the_page_says() -> None:
    page = prose("docs/gpu-device.md")
    assert "never more than n/16, and less while slots are empty (8 of 16 alone: 8 of 23)" in page
    half = slice_environment([0], from_gib(16), 8, limited=True)
    assert int(half[WEIGHT]) == 8, "and each of fifteen empty slots weighs 1"
    assert "a slice with all 16 weighs 9999" in page
    assert slice_environment([0], from_gib(48), 16, limited=True)[WEIGHT] == "9999"


def test_which_cards_a_running_pod_without_an_allocation_has_is_a_guess_and_the_page_says_so() -> None:
    running = read_tenant(pod({"metax-tech.com/gpu": "1"}, privileged=True, node="n"), None)
    assert isinstance(running, Unnamed)
    assert running.request.asks_for_cards
    assert "is a guess where its allocation is missing or spoilt" in prose("docs/scheduler.md")


# ---- the node


def test_whole_cards_are_not_in_the_vendors_list_and_the_page_says_so() -> None:
    node = metax_node("n", 2, mode=CardMode.WHOLE)
    assert listing_of(node.cards, node.topology, {}) == ()
    assert "lists sliced cards alone" in prose("docs/gpu-device.md")


def test_the_runbook_names_the_state_in_which_a_refused_container_waits() -> None:
    section = prose("docs/runbooks.md").partition("## TangramContainersRefused")[2].partition(" ## ")[0]
    assert f"`{CONFIG_ERROR}`" in section
    assert "UnexpectedAdmissionError" not in section
