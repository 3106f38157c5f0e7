"""`tangram simulate` replays what it is given and gives the same bytes for the same input."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.commands import run

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-1,64000,262144,2,T4\nn-2,64000,262144,4,P100\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n" + "".join(
    f"p-{number},100,1024,1,60,{'P100' if number % 7 == 0 else ''}\n" for number in range(20)
)
CLUSTER = "tangram: cluster/v1\nnodes: [{name: n, count: 2, product: C500, cards: 4, mode: sgpu}]\n"
STREAM = "tangram: pods/v1\npods: [{name: p, count: 10, cards: 1, memory: 16 GiB, cores: 25}]\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nodes.csv").write_text(NODES)
    Path("pods.csv").write_text(PODS)
    Path("cluster.yaml").write_text(CLUSTER)
    Path("pods.yaml").write_text(STREAM)


TRACE = ("--nodes", "nodes.csv", "--pods", "pods.csv")
OURS = ("--cluster", "cluster.yaml", "--pods", "pods.yaml")


def simulated(*arguments: str) -> dict[str, Any]:
    answer = run("simulate", *arguments, "-o", "json")
    assert (answer.status, answer.err) == (0, "")
    return json.loads(answer.out)


@pytest.mark.parametrize("policy", ["frag", "bestfit", "binpack", "spread"])
def test_a_trace_is_replayed_with_every_policy(policy: str) -> None:
    found = simulated(*TRACE, "--policy", policy, "--seed", "7")
    (only,) = found["runs"]
    assert (found["tangram"], found["policy"], found["nodes"], found["cards"]) == (
        "simulate/v1",
        policy,
        2,
        6,
    )
    assert (only["seed"], found["pods"]) == (7, 20)
    assert only["pods_arrived"] >= only["pods_placed"] > 0


@pytest.mark.parametrize("form", ["json", "yaml", "table"])
@pytest.mark.parametrize("source", [TRACE, OURS], ids=["trace", "ours"])
def test_the_same_input_gives_the_same_bytes(source: tuple[str, ...], form: str) -> None:
    answer = run("simulate", *source, "--seed", "3", "-o", form)
    assert answer.status == 0
    assert answer == run("simulate", *source, "--seed", "3", "-o", form)


def test_yaml_says_the_same_as_json() -> None:
    answer = run("simulate", *TRACE, "-o", "yaml")
    assert yaml.safe_load(answer.out) == simulated(*TRACE)


def test_several_seeds_have_a_mean() -> None:
    found = simulated(*TRACE, "--seeds", "1-3")
    assert [each["seed"] for each in found["runs"]] == [1, 2, 3]
    mean = sum(each["unallocated_percent"] for each in found["runs"]) / 3
    assert found["mean"]["unallocated_percent"] == pytest.approx(mean, abs=1e-3)
    assert simulated(*TRACE, "--seeds", "1,3")["runs"] == [found["runs"][0], found["runs"][2]]
    table = run("simulate", *TRACE, "--seeds", "1-3").out
    assert table.startswith("frag, mean of 3 seeds: ")
    assert "\nSEED  ARRIVED  PLACED  UNALLOCATED\n1     " in table


def test_a_stream_of_ours_is_replayed_once_and_not_cloned() -> None:
    (only,) = simulated(*OURS)["runs"]
    assert (only["pods_arrived"], only["pods_placed"]) == (10, 10)
    assert run("simulate", *OURS).out.startswith(
        "frag, seed 42: 10 of 10 pods placed on 2 nodes, 68.38 % of 8 cards"
    )


def test_clones_come_when_they_are_asked_for() -> None:
    (only,) = simulated(*OURS, "--until", "90")["runs"]
    assert only["pods_arrived"] == 28


def test_manifests_are_a_stream_too() -> None:
    pods = [
        {
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "containers": [
                    {
                        "name": "m",
                        "resources": {"limits": {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50}},
                    }
                ]
            },
        }
        for name in ("a", "b")
    ]
    Path("manifests.yaml").write_text(yaml.safe_dump_all(pods))
    (only,) = simulated("--cluster", "cluster.yaml", "--pods", "manifests.yaml")["runs"]
    assert (only["pods_arrived"], only["pods_placed"]) == (2, 2)
    assert max(map(int, only["unallocated_percent_at"])) == 25


def test_running_pods_of_the_cluster_are_said_to_be_left_out() -> None:
    Path("cluster.yaml").write_text(CLUSTER + "pods: [{name: r, node: n-0, cards: [0], memory: 8 GiB}]\n")
    answer = run("simulate", *OURS)
    assert answer.status == 0
    assert answer.err == "tangram: the replay begins with empty nodes: 1 running pod left out.\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            [*TRACE, "--policy", "best"], "--policy is 'best': it is binpack, spread, frag or", id="policy"
        ),
        pytest.param([*TRACE, "--seed", "x"], "--seed is 'x': ", id="seed"),
        pytest.param(
            [*TRACE, "--seeds", "9-1"], "--seeds is '9-1': .*write for example 42-51", id="range backwards"
        ),
        pytest.param([*TRACE, "--seeds", "1-99999"], "up to 1000 different numbers", id="endless range"),
        pytest.param([*TRACE, "--seeds", "1,1"], "different numbers", id="seed twice"),
        pytest.param([*TRACE, "--seed", "1", "--seeds", "2"], "--seed and --seeds are both given", id="both"),
        pytest.param(
            [*TRACE, "--until", "5000"], "--until is '5000': it is a percentage from 0 to 1000", id="until"
        ),
        pytest.param([*TRACE, "--until", "-5"], "--until", id="until below zero"),
        pytest.param(
            [*TRACE, "--cluster", "cluster.yaml"], "--nodes and --cluster are both given", id="two lists"
        ),
        pytest.param(["--pods", "pods.csv"], "--nodes and --cluster are both missing", id="no list"),
        pytest.param(["--nodes", "nodes.csv"], "--pods requires an argument", id="no pods"),
        pytest.param(
            ["--nodes", "pods.csv", "--pods", "pods.csv"],
            "pods.csv has columns name, .* add sn",
            id="swapped",
        ),
        pytest.param(
            ["--nodes", "nodes.csv", "--pods", "pods.yaml"], "pods.yaml has columns tangram: pods", id="yaml"
        ),
        pytest.param(["--cluster", "cluster.yaml", "--pods", "pods.csv"], "pods.csv", id="csv"),
        pytest.param(
            ["--cluster", "cluster.yaml", "--pods", "cluster.yaml"], "must be of version pods/v1", id="other"
        ),
    ],
)
def test_what_cannot_be_replayed_is_refused(arguments: list[str], expected: str) -> None:
    answer = run("simulate", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert re.search(expected, answer.err), answer.err


def test_a_bad_row_is_named_by_file_line_and_column() -> None:
    Path("nodes.csv").write_text(NODES.replace("64000,262144,4", "64000,262144,four"))
    answer = run("simulate", *TRACE)
    assert answer.status == 2
    assert answer.err == (
        "tangram: nodes.csv line 3, column gpu: it is 'four'; it is a whole number from 0 to 128;"
        " write for example 1.\n"
    )


def test_nodes_without_cards_cannot_be_filled() -> None:
    Path("nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn,1,1,0,\n")
    assert "has nodes and no cards" in run("simulate", *TRACE).err


def test_a_refused_pod_is_not_replayed_around() -> None:
    Path("bad.yaml").write_text(
        "kind: Pod\nmetadata: {name: p}\n"
        "spec: {containers: [{name: m, resources: {limits: {metax-tech.com/gpu: 0}}}]}\n"
    )
    answer = run("simulate", "--cluster", "cluster.yaml", "--pods", "bad.yaml")
    assert answer.status == 2
    assert "whose pod default/p is refused (amount-zero): " in answer.err


def test_pods_without_cards_are_nothing_to_replay() -> None:
    Path("web.yaml").write_text("kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: m}]}\n")
    assert (
        "no pod in it asks for a card"
        in run("simulate", "--cluster", "cluster.yaml", "--pods", "web.yaml").err
    )


def test_a_stream_of_few_large_pods_may_step_over_the_point_where_demand_equals_capacity() -> None:
    Path("cluster.yaml").write_text("tangram: cluster/v1\nnodes: [{name: n, product: C500, cards: 3}]\n")
    Path("pods.yaml").write_text("tangram: pods/v1\npods: [{name: p, count: 4, cards: 2}]\n")
    (only,) = simulated(*OURS)["runs"]
    assert (only["pods_arrived"], only["pods_placed"]) == (4, 1)
    assert only["unallocated_percent"] == pytest.approx(33.3333)
