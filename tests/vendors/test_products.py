"""Card models by whatever name somebody used, and servers that were seen."""

import pytest

from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.memory import Bytes, from_gib, from_mib
from tangram.vendors.metax import products as metax
from tangram.vendors.mthreads import products as mthreads
from tangram.vendors.products import Catalogue, ServerLayout


@pytest.mark.parametrize(
    ("catalogue", "name", "found", "memory"),
    [
        pytest.param(metax.CATALOGUE, "MXC500", "MXC500", from_gib(64), id="as the library says"),
        pytest.param(metax.CATALOGUE, "C500", "MXC500", from_gib(64), id="without the brand"),
        pytest.param(metax.CATALOGUE, " mxc550 ", "MXC550", from_gib(64), id="in any case, with spaces"),
        pytest.param(metax.CATALOGUE, "C550-P", "MXC550-P", None, id="a variant is its own model"),
        pytest.param(metax.CATALOGUE, "C600", "MXC600", from_mib(73728), id="a newer one"),
        pytest.param(mthreads.CATALOGUE, "MTT S4000", "MTT S4000", from_gib(48), id="Moore Threads"),
        pytest.param(mthreads.CATALOGUE, "S4000", "MTT S4000", from_gib(48), id="without the brand too"),
        pytest.param(mthreads.CATALOGUE, "MTT-S5000", "MTT S5000", from_gib(80), id="with a hyphen"),
        pytest.param(mthreads.CATALOGUE, "X10000", "X10000", from_gib(80), id="another branding"),
    ],
)
def test_a_model_is_found_by_name(catalogue: Catalogue, name: str, found: str, memory: Bytes | None) -> None:
    product = catalogue.find(name)
    assert product is not None
    assert (product.name, product.memory) == (found, memory)


@pytest.mark.parametrize("catalogue", [metax.CATALOGUE, mthreads.CATALOGUE], ids=["MetaX", "Moore Threads"])
@pytest.mark.parametrize("name", ["", "MX", "MTT", "H100", "C5"])
def test_an_unknown_model_is_not_guessed(catalogue: Catalogue, name: str) -> None:
    assert catalogue.find(name) is None


@pytest.mark.parametrize("catalogue", [metax.CATALOGUE, mthreads.CATALOGUE], ids=["MetaX", "Moore Threads"])
def test_models_have_different_names(catalogue: Catalogue) -> None:
    names = [catalogue.unbranded(product.name) for product in catalogue.products]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("layout", [*metax.LAYOUTS, *mthreads.LAYOUTS], ids=lambda layout: layout.name)
def test_a_layout_says_how_every_pair_is_joined(layout: ServerLayout) -> None:
    topology = layout.topology()
    cards = topology.size
    assert sorted(card for island in layout.islands for card in island) == list(range(cards))
    assert len(topology.links) == cards * (cards - 1) // 2
    assert all(link.a < link.b for link in topology.links)


def test_bridges_join_four_and_four() -> None:
    links = {(link.a, link.b): link for link in metax.C500_BRIDGED.topology().links}
    assert (links[0, 3].kind, links[0, 3].pcie) == (LinkKind.METAXLINK, PcieLevel.NUMA_NODE)
    assert (links[3, 4].kind, links[3, 4].pcie) == (LinkKind.NONE, PcieLevel.SYSTEM)


def test_a_mesh_may_cross_numa_nodes() -> None:
    links = {(link.a, link.b): link for link in mthreads.S5000_MESH.topology().links}
    assert (links[0, 7].kind, links[0, 7].lanes, links[0, 7].pcie) == (LinkKind.MTLINK, 2, PcieLevel.SYSTEM)
