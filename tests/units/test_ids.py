import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.units.ids import (
    IdError,
    card_uuid,
    is_dns_label,
    is_dns_subdomain,
    is_label_value,
    namespace,
    natural_key,
    node_name,
    pci_bus_id,
    pod_name,
)


@pytest.mark.parametrize("name", ["a", "node-1", "10.0.0.1", "gpu-01.rack-2.example", "a" * 253, "a.b"])
def test_dns_subdomains_name_nodes_and_pods(name: str) -> None:
    assert is_dns_subdomain(name)
    assert node_name(name) == pod_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", "a..b", ".a", "a.", "A", "a_b", "a b", "a" * 254, "a\n", "a.-b", "ä"]
)
def test_other_texts_name_neither(name: str) -> None:
    assert not is_dns_subdomain(name)
    with pytest.raises(IdError, match="a node name is at most 253"):
        node_name(name)
    with pytest.raises(IdError, match="a pod name is at most 253"):
        pod_name(name)


def test_a_refused_name_is_answered_with_a_legal_one() -> None:
    with pytest.raises(IdError, match=r"; write gpu-node-7\.rack$"):
        node_name("GPU_Node 7.rack-")


@given(st.text(max_size=20))
def test_whatever_is_offered_instead_of_a_refused_name_is_legal_or_an_example(text: str) -> None:
    if not is_dns_subdomain(text):
        with pytest.raises(IdError) as refusal:
            node_name(text)
        offered = refusal.value.instead
        assert is_dns_subdomain(offered) or offered == "a name such as node-1"


@pytest.mark.parametrize(
    ("text", "legal"),
    [("kube-system", True), ("a" * 63, True), ("a" * 64, False), ("a.b", False), ("", False)],
)
def test_namespaces_are_dns_labels(text: str, *, legal: bool) -> None:
    assert is_dns_label(text) is legal
    if legal:
        assert namespace(text) == text
    else:
        with pytest.raises(IdError) as refusal:
            namespace(text)
        assert refusal.value.code == "id_namespace"


@pytest.mark.parametrize("text", ["", "C500", "a", "A.b_c-9", "x" * 63, "3.0.11"])
def test_label_values_that_kubernetes_takes(text: str) -> None:
    assert is_label_value(text)


@pytest.mark.parametrize("text", ["MTT S4000", "-x-", "x" * 64, "a/b", "x\n", "曦云"])
def test_label_values_that_kubernetes_refuses(text: str) -> None:
    assert not is_label_value(text)


def test_uuids_are_opaque_but_never_blank() -> None:
    assert card_uuid("GPU-2c1b2f6e-0e8e-1d1f") == "GPU-2c1b2f6e-0e8e-1d1f"
    assert card_uuid("0123456789abcdef0123456789abcdef") == "0123456789abcdef0123456789abcdef"
    for text in ("", " ", "a b", "a\n", "é", "x" * 254):
        with pytest.raises(IdError, match="printable ASCII"):
            card_uuid(text)


@pytest.mark.parametrize(
    "text", ["0000:0a:00.0", "0000:0A:00.0", "0A:00.0", "00000000:0A:00.0", "a:0.0", " 0000:0a:00.0\n"]
)
def test_one_pci_address_has_one_spelling(text: str) -> None:
    assert pci_bus_id(text) == "0000:0a:00.0"


def test_a_domain_beyond_four_digits_is_kept() -> None:
    assert pci_bus_id("10000:E1:1f.7") == "10000:e1:1f.7"


@pytest.mark.parametrize(
    "text", ["", "0000:0a:00", "0000:0a:20.0", "0000:0a:00.8", "0a:00:00.0.0", "0000:0g:00.0", "0a"]
)
def test_texts_that_are_no_pci_address_are_refused(text: str) -> None:
    with pytest.raises(IdError, match=r"domain:bus:device\.function"):
        pci_bus_id(text)


def test_names_sort_as_people_count() -> None:
    ordered = [
        "10",
        "a",
        "a0",
        "a1",
        "a2b",
        "a10",
        "node",
        "node-1",
        "node-02",
        "node-2",
        "node-10",
        "node-10-3",
    ]
    assert sorted(sorted(ordered), key=natural_key) == ordered
    assert natural_key("node-02") < natural_key("node-2")


@given(st.lists(st.text("ab-019", max_size=8), max_size=8))
def test_the_natural_order_is_total_and_tells_different_names_apart(names: list[str]) -> None:
    assert sorted(names, key=natural_key) == sorted(sorted(names), key=natural_key)
    assert all((natural_key(a) == natural_key(b)) is (a == b) for a in names for b in names)
