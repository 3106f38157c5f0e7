"""Node and pod lists of the public trace are read whole or not at all."""

import re

import pytest

from tangram.model.cards import CardMode, Vendor
from tangram.model.requests import AskKind, HostAsk, Vocabulary
from tangram.units.memory import Bytes, from_gib
from tangram.wire.errors import WireError
from tangram.wire.openb import read_trace_nodes, read_trace_pods

NODES = "sn,cpu_milli,memory_mib,gpu,model"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos"


def test_a_node_of_the_trace() -> None:
    (node,) = read_trace_nodes([NODES, "n-1,64000,262144,2,P100"], "nodes.csv")
    assert (node.name, node.host.cpu_milli, node.host.memory) == ("n-1", 64_000, from_gib(256))
    assert [card.index for card in node.cards] == [0, 1]
    card = node.cards[0]
    assert (card.vendor, card.memory, card.cores, card.slots) == (Vendor.GENERIC, 1000, 1000, 1000)
    assert (card.mode, card.product) == (CardMode.UNDECIDED, "P100")


def test_a_pod_of_the_trace() -> None:
    (pod,) = read_trace_pods([PODS, "p-1,12000,16384,2,500,T4|P100,LS"], "pods.csv")
    (ask,) = pod.request.containers[0].asks
    assert (pod.name, pod.weight_milli) == ("p-1", 1000)
    assert (ask.vendor, ask.kind, ask.count) == (Vendor.GENERIC, AskKind.SLICE, 2)
    assert (ask.memory, ask.cores, ask.vocabulary) == (500, 500, Vocabulary.PLAIN)
    assert pod.request.cards.only_products == frozenset({"T4", "P100"})
    assert pod.request.host == HostAsk(12_000, Bytes(16_384 << 20))


def test_a_pod_list_may_stop_before_the_card_models() -> None:
    (pod,) = read_trace_pods(["name,cpu_milli,memory_mib,num_gpu,gpu_milli", "p,1,1,0,0"], "pods.csv")
    assert not pod.request.asks_for_cards
    assert pod.weight_milli == 0


def test_blank_lines_and_blanks_around_names_do_not_count() -> None:
    assert len(read_trace_nodes([f" {NODES} ", "", "a,1,1,1,T4", "  ", "b,1,1,1,T4"], "nodes.csv")) == 2


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([], "nodes.csv is empty; the columns it must have are sn, cpu_milli", id="nothing"),
        pytest.param(
            ["sn,gpu"], "has columns sn, gpu; .* add cpu_milli, memory_mib, model to its first", id="header"
        ),
        pytest.param([NODES], "has a header and no rows", id="no rows"),
        pytest.param([NODES, "a,1,1"], "line 2: it has 3 fields; its header has 5", id="short row"),
        pytest.param([NODES, "a,1,1,x,T4"], "line 2, column gpu: it is 'x'; .*from 0 to 128", id="no number"),
        pytest.param([NODES, "a,1,1,-1,T4"], "line 2, column gpu: it is '-1'", id="negative"),
        pytest.param([NODES, "a,1,1,129,T4"], "line 2, column gpu: it is '129'", id="too many cards"),
        pytest.param([NODES, "a,1.5,1,1,T4"], "line 2, column cpu_milli: it is '1.5'", id="fraction"),
        pytest.param([NODES, "a,1,1,٣,T4"], "line 2, column gpu", id="digits of another script"),
        pytest.param([NODES, f"a,{'9' * 5000},1,1,T4"], "line 2, column cpu_milli", id="endless number"),
        pytest.param([NODES, ",1,1,1,T4"], "line 2, column sn: it is ''; it is a name", id="no name"),
        pytest.param(
            [NODES, "a,1,1,1,T4", "a,1,1,1,T4"], "line 3, column sn: .*on line 2 already", id="twice"
        ),
    ],
)
def test_a_bad_node_row_names_file_line_and_column(lines: list[str], expected: str) -> None:
    with pytest.raises(WireError) as caught:
        read_trace_nodes(lines, "nodes.csv")
    assert re.search(expected, caught.value.sentence)


@pytest.mark.parametrize("row", ["p,1,1,1,0,,", "p,1,1,0,500,,"])
def test_a_pod_asks_for_cards_and_parts_together(row: str) -> None:
    with pytest.raises(WireError, match="column gpu_milli"):
        read_trace_pods([PODS, row], "pods.csv")


def test_a_part_is_at_most_a_card() -> None:
    with pytest.raises(WireError, match="from 0 to 1000"):
        read_trace_pods([PODS, "p,1,1,1,1001,,"], "pods.csv")
