"""`tangram explain` answers for people and for programs, from every kind of input it promises to read."""

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from builders.commands import run

CLUSTER = """
tangram: cluster/v1
nodes:
  - {name: one, product: C500, cards: 2, mode: sgpu}
  - {name: two, product: C500, cards: 2, mode: sgpu, taints: ["dedicated=ai:NoSchedule"]}
pods:
  - {name: running, node: one, cards: [0], memory: 48 GiB, cores: 60}
"""

SLICE = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 20, "metax-tech.com/vmemory": "8Gi"}

NODE_DEVICES = json.dumps(
    [
        {
            "uuid": f"GPU-{letter}",
            "model": "sgpu",
            "totalDevCount": 16,
            "totalCompute": 100,
            "totalVRam": 65536,
            "numa": 0,
            "healthy": True,
        }
        for letter in "ab"
    ]
)


def pod(name: str = "asks", limits: dict[str, Any] | None = None, **more: object) -> dict[str, object]:
    container = {"name": "main", "resources": {"limits": SLICE if limits is None else limits}}
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container], **more}}


def bound(name: str, limits: dict[str, Any], annotations: dict[str, str] | None = None) -> dict[str, object]:
    found = pod(name, limits, nodeName="real")
    found["metadata"] = {
        "name": name,
        "namespace": "ai",
        "uid": f"uid-{name}",
        "annotations": annotations or {},
    }
    found["status"] = {"phase": "Running"}
    return found


def node(name: str = "real", **annotations: str) -> dict[str, object]:
    keys = {"metax-tech.com/node-gpu-devices": NODE_DEVICES, **annotations}
    return {
        "kind": "Node",
        "metadata": {"name": name, "annotations": keys},
        "status": {"capacity": {"cpu": "8", "memory": "64Gi", "metax-tech.com/sgpu": "32"}},
    }


DUMP = [
    node(),
    bound(
        "named",
        {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 60, "metax-tech.com/vmemory": 48},
        {"hami.io/vgpu-node": "real", "hami.io/metax-sgpu-devices-allocated": "GPU-a,Metax-SGPU,49152,60:;"},
    ),
    bound("unnamed", {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 10, "metax-tech.com/vmemory": 4}),
    bound("web", {"cpu": 6}),
    {"kind": "Service", "metadata": {"name": "beside"}},
    pod("pending"),
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with a cluster and a pod."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(pod()))
    (tmp_path / "dump.json").write_text(json.dumps({"kind": "List", "items": DUMP}))
    return tmp_path


def explained(*arguments: str, stdin: str = "") -> dict[str, Any]:
    answer = run("explain", *arguments, "-o", "json", stdin=stdin)
    assert answer.err == ""
    found = json.loads(answer.out)
    (first, *_) = found["pods"]
    assert answer.status == (1 if first["verdict"] in ("waits", "refused") else 0)
    return found


# --- what is answered -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("files")
def test_a_pod_that_fits_is_told_where_and_with_what() -> None:
    found = explained("-f", "pod.yaml", "--cluster", "cluster.yaml")
    (only,) = found["pods"]
    assert (only["verdict"], only["node"]) == ("fits", "one")
    assert only["sentence"] == "default/asks fits: node one, card 1 (8 GiB, 20% compute)."
    assert only["containers"] == [
        {
            "container": "main",
            "role": "app",
            "cards": [{"index": 1, "uuid": "one-metax-1", "memory": 8 << 30, "cores": 20, "kind": "slice"}],
        }
    ]
    assert found["not_looked_at"] == ["pod affinity", "volumes", "ports", "quotas"]


@pytest.mark.usefixtures("files")
def test_every_node_and_card_has_a_verdict_with_numbers() -> None:
    Path("big.yaml").write_text(yaml.safe_dump(pod("big", {**SLICE, "metax-tech.com/vmemory": "60Gi"})))
    Path("full.yaml").write_text(CLUSTER.replace("cards: [0]", "cards: [0, 1]"))
    found = explained("-f", "big.yaml", "--cluster", "full.yaml")
    (only,) = found["pods"]
    assert only["verdict"] == "waits"
    one, two = only["nodes"]
    assert (one["node"], one["verdict"], one["need"], one["have"]) == ("one", "cards", 1, 0)
    assert [card["verdict"] for card in one["cards"]] == ["memory", "memory"]
    card = one["cards"][0]
    assert (card["need"], card["have"], card["memory_free"], card["cores_free"]) == (
        60 << 30,
        15 << 30,
        15 << 30,
        40,
    )
    assert (two["node"], two["verdict"], two["detail"]) == ("two", "taint", "taint dedicated=ai:NoSchedule")
    assert [card["verdict"] for card in two["cards"]] == ["not-tried", "not-tried"]
    assert {(reason["sentence"], reason["nodes"]) for reason in only["reasons"]} == {
        ("cards have too little free memory", 1),
        ("a taint is not tolerated", 1),
    }
    assert {advice["code"] for advice in only["suggestions"]} >= {"less-memory"}


@pytest.mark.usefixtures("files")
def test_suggestions_can_be_left_out() -> None:
    Path("big.yaml").write_text(yaml.safe_dump(pod("big", {**SLICE, "metax-tech.com/sgpu": 3})))
    assert explained("-f", "big.yaml", "--cluster", "cluster.yaml")["pods"][0]["suggestions"]
    without = explained("-f", "big.yaml", "--cluster", "cluster.yaml", "--no-suggestions")
    assert without["pods"][0]["suggestions"] == []


@pytest.mark.usefixtures("files")
def test_a_refused_pod_gets_every_sentence_with_its_code() -> None:
    wrong = {"metax-tech.com/sgpu": 0, "metax-tech.com/vcore": 200}
    Path("wrong.yaml").write_text(yaml.safe_dump(pod("wrong", wrong)))
    (only,) = explained("-f", "wrong.yaml", "--cluster", "cluster.yaml")["pods"]
    assert only["verdict"] == "refused"
    assert [refusal["code"] for refusal in only["refusals"]] == ["amount-zero", "cores-out-of-range"]
    answer = run("explain", "-f", "wrong.yaml", "--cluster", "cluster.yaml")
    assert answer.status == 1
    assert answer.out.startswith("default/wrong is refused: 2 faults.\n  amount-zero: ")


@pytest.mark.usefixtures("files")
def test_a_pod_in_koordinators_words_is_explained_like_any_other() -> None:
    words = {"koordinator.sh/gpu": 50, "metax-tech.com/sgpu": 1}
    asks = pod("koord", words)
    Path("koord.yaml").write_text(yaml.safe_dump(asks))
    (only,) = explained("-f", "koord.yaml", "--cluster", "cluster.yaml")["pods"]
    assert (only["verdict"], only["node"]) == ("fits", "one")
    hint = {"scheduling.koordinator.sh/numa-topology-spec": '{"numaTopologyPolicy":"Restricted"}'}
    labels = {"koordinator.sh/gpu-isolation-provider": "HAMi-core"}
    asks["metadata"] = {"name": "koord", "annotations": hint, "labels": labels}
    Path("hinted.yaml").write_text(yaml.safe_dump(asks))
    (only,) = explained("-f", "hinted.yaml", "--cluster", "cluster.yaml")["pods"]
    assert only["verdict"] == "refused"
    assert [refusal["code"] for refusal in only["refusals"]] == ["hint-unsupported", "isolation-provider"]


@pytest.mark.usefixtures("files")
def test_cautions_are_shown_as_warnings() -> None:
    Path("whole.yaml").write_text(
        yaml.safe_dump(pod("whole", {"metax-tech.com/sgpu": 1, "metax-tech.com/vmemory": "8Gi"}))
    )
    answer = run("explain", "-f", "whole.yaml", "--cluster", "cluster.yaml")
    assert "\n  warning, compute-defaults-to-whole-card: " in answer.out


@pytest.mark.usefixtures("files")
def test_a_pod_without_cards_is_said_to_ask_for_none() -> None:
    Path("web.yaml").write_text(yaml.safe_dump(pod("web", {"cpu": 1, "metax-tech.com/gpus": 1})))
    answer = run("explain", "-f", "web.yaml", "--cluster", "cluster.yaml")
    assert answer.status == 0
    assert answer.out.startswith("default/web asks for no card of MetaX or Moore Threads (it names cpu and ")
    assert "warning, resource-unknown: metax-tech.com/gpus is no resource of that vendor" in answer.out


@pytest.mark.usefixtures("files")
def test_policies_on_the_command_line_beat_those_of_the_pod() -> None:
    arguments = ("-f", "pod.yaml", "--cluster", "cluster.yaml")
    assert explained(*arguments)["pods"][0]["containers"][0]["cards"][0]["index"] == 1
    packed = explained(*arguments, "--card-policy", "binpack", "--node-policy", "spread")["pods"][0]
    assert packed["containers"][0]["cards"][0]["index"] == 0
    assert (packed["node_policy"], packed["card_policy"]) == ("spread", ["binpack"])


@pytest.mark.parametrize(
    ("words", "cautioned"),
    [
        pytest.param((), True, id="as in HAMi"),
        pytest.param(("--qos-policy", "best-effort"), True, id="best-effort"),
        pytest.param(("--qos-policy", "fixed-share"), False, id="fixed-share"),
    ],
)
def test_a_file_is_explained_by_the_policy_that_the_cluster_gives(
    files: Path, words: tuple[str, ...], *, cautioned: bool
) -> None:
    limits = {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "20", "metax-tech.com/vmemory": "4"}
    (files / "part.yaml").write_text(yaml.safe_dump(pod(limits=limits)))
    (report,) = explained("-f", "part.yaml", "--cluster", "cluster.yaml", *words)["pods"]
    codes = [each["code"] for each in report.get("cautions", [])]
    assert codes == ["compute-not-limited"] * cautioned


@pytest.mark.usefixtures("files")
def test_frag_keeps_room_for_the_demand_it_is_given() -> None:
    Path("demand.yaml").write_text(
        "tangram: pods/v1\npods: [{name: p, cards: 1, memory: 64 GiB, cores: 100}]"
    )
    arguments = ("-f", "pod.yaml", "--cluster", "cluster.yaml", "--node-policy", "frag")
    given = explained(*arguments, "--demand", "demand.yaml")["pods"][0]
    assert given["containers"][0]["cards"][0]["index"] == 0
    assert explained(*arguments)["pods"][0]["verdict"] == "fits"


# --- what is read -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("files")
def test_a_dump_gives_tenants_guesses_host_use_and_waiting_pods() -> None:
    found = explained("-f", "pod.yaml", "--cluster", "dump.json")
    assert found["cluster"]["running"] == 3
    assert found["source"] == "file"
    assert found["cluster"]["guessed"] == ["ai/unnamed"]
    assert found["cluster"]["waiting"] == ["default/pending"]
    assert [problem["code"] for problem in found["cluster"]["problems"]] == ["cards-guessed"]
    cards = found["pods"][0]["nodes"][0]["cards"]
    assert [(card["uuid"], card["memory_free"] >> 30, card["pods"], card["holders"]) for card in cards] == [
        ("GPU-a", 16, 1, ["ai/named"]),
        ("GPU-b", 60, 1, ["ai/unnamed"]),
    ]
    answer = run("explain", "-f", "pod.yaml", "--cluster", "dump.json")
    assert (
        "warning, cards-guessed: pod ai/unnamed runs on real and no annotation names its cards" in answer.out
    )
    assert "Also waiting: default/pending." in answer.out


ODD_PODS: dict[str, tuple[dict[str, bool], dict[str, str]]] = {
    # What admission would refuse today, or cannot be what the pod has.
    "privileged": ({"privileged": True}, {}),
    "odd-word": ({}, {"hami.io/gpu-scheduler-policy": "bin-pack"}),
    "gone-card": ({}, {"hami.io/metax-gpu-devices-allocated": "GPU-gone,Metax-GPU,65536,100:;"}),
    "unreadable": ({}, {"hami.io/metax-gpu-devices-allocated": "GPU-a,Metax"}),
}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", ODD_PODS)
def test_a_running_pod_takes_its_card_whatever_admission_would_say_to_it(name: str) -> None:
    security, annotations = ODD_PODS[name]
    running = cast("dict[str, Any]", bound(name, {"metax-tech.com/gpu": 1}, annotations))
    running["spec"]["containers"][0]["securityContext"] = security
    whole = json.dumps([{**card, "model": "native"} for card in json.loads(NODE_DEVICES)])
    there = [node(**{"metax-tech.com/node-gpu-devices": whole}), running]
    Path("odd.json").write_text(json.dumps({"kind": "List", "items": there}))
    Path("two.yaml").write_text(yaml.safe_dump(pod("two", {"metax-tech.com/gpu": 2})))
    found = explained("-f", "two.yaml", "--cluster", "odd.json")
    assert found["pods"][0]["verdict"] == "waits"
    assert found["cluster"]["guessed"] == [f"ai/{name}"]
    assert [problem["code"] for problem in found["cluster"]["problems"]] == ["cards-guessed"]
    seen = json.loads(run("status", "--cluster", "odd.json", "-o", "json").out)
    holders = [holder for card in seen["nodes"][0]["cards"] for holder in card["holders"]]
    assert [(holder["pod"], holder["whole"], holder["guessed"]) for holder in holders] == [
        (f"ai/{name}", True, True)
    ]


@pytest.mark.usefixtures("files")
def test_pods_without_cards_use_the_host() -> None:
    Path("cpu.yaml").write_text(yaml.safe_dump(pod("cpu", {**SLICE, "cpu": 3})))
    (only,) = explained("-f", "cpu.yaml", "--cluster", "dump.json")["pods"]
    assert (only["nodes"][0]["verdict"], only["nodes"][0]["have"]) == ("host-cpu", 2000)


@pytest.mark.usefixtures("files")
def test_without_a_pod_those_that_wait_are_explained() -> None:
    assert [each["pod"] for each in explained("--cluster", "dump.json")["pods"]] == ["default/pending"]
    Path("short.yaml").write_text(CLUSTER + "  - {name: queued, cards: 1, memory: 8 GiB}\n")
    assert [each["pod"] for each in explained("--cluster", "short.yaml")["pods"]] == ["default/queued"]


@pytest.mark.usefixtures("files")
def test_one_pod_of_a_file_may_be_named() -> None:
    found = explained("named", "-n", "ai", "--cluster", "dump.json")["pods"]
    assert [(each["pod"], each["verdict"], each["node"]) for each in found] == [("ai/named", "runs", "real")]
    assert found[0]["containers"][0]["cards"][0]["uuid"] == "GPU-a"
    assert explained("pending", "--cluster", "dump.json")["pods"][0]["verdict"] == "fits"
    assert explained("running", "--cluster", "cluster.yaml")["pods"][0]["verdict"] == "runs"
    answer = run("explain", "pending", "-n", "ai", "--cluster", "dump.json")
    assert answer.status == 2
    assert "there is no pod ai/pending, but one of that name in default: write -n default." in answer.err


@pytest.mark.parametrize(
    "shape", ["list", "documents", "typed lists", "json documents", "json one after another"]
)
def test_a_dump_may_have_any_shape_kubectl_prints(files: Path, shape: str) -> None:
    nodes = [each for each in DUMP if each["kind"] == "Node"]
    pods = [each for each in DUMP if each["kind"] == "Pod"]
    text = {
        "list": yaml.safe_dump({"kind": "List", "items": DUMP}),
        "documents": yaml.safe_dump_all(DUMP),
        "typed lists": yaml.safe_dump_all(
            [
                {"kind": "NodeList", "items": [{**each, "kind": None} for each in nodes]},
                {"kind": "PodList", "items": [{**each, "kind": None} for each in pods]},
            ]
        ),
        "json documents": "\n---\n".join(json.dumps(each) for each in DUMP),
        "json one after another": "\n".join(json.dumps(each, indent=1) for each in DUMP),
    }[shape]
    (files / "again.yaml").write_text(text)
    expected = explained("-f", "pod.yaml", "--cluster", "dump.json")
    assert explained("-f", "pod.yaml", "--cluster", "again.yaml") == expected


@pytest.mark.usefixtures("files")
def test_koordinators_devices_are_cards() -> None:
    device = {
        "kind": "Device",
        "metadata": {"name": "koord", "labels": {"node.koordinator.sh/gpu-vendor": "metax"}},
        "spec": {
            "devices": [
                {
                    "type": "gpu",
                    "id": "GPU-k",
                    "minor": 0,
                    "health": True,
                    "resources": {"koordinator.sh/gpu-memory": "64Gi"},
                }
            ]
        },
    }
    plain = {"kind": "Node", "metadata": {"name": "koord"}}
    Path("koord.json").write_text(json.dumps({"kind": "List", "items": [plain, device]}))
    (only,) = explained("-f", "pod.yaml", "--cluster", "koord.json")["pods"]
    assert (only["node"], only["containers"][0]["cards"][0]["uuid"]) == ("koord", "GPU-k")


@pytest.mark.usefixtures("files")
def test_pods_and_cluster_may_come_from_standard_input() -> None:
    text = Path("pod.yaml").read_text()
    assert explained("-f", "-", "--cluster", "cluster.yaml", stdin=text)["pods"][0]["verdict"] == "fits"
    assert explained("-f", "pod.yaml", "--cluster", "-", stdin=CLUSTER)["pods"][0]["verdict"] == "fits"


@pytest.mark.usefixtures("files")
def test_several_pods_are_asked_about_against_the_same_cluster() -> None:
    """Each alone: the second does not find the cards of the first taken."""
    deployment = {"kind": "Deployment", "metadata": {"name": "serves"}, "spec": {"template": pod()}}
    Path("several.yaml").write_text(yaml.safe_dump_all([pod("first"), deployment]))
    found = explained("-f", "several.yaml", "-f", "pod.yaml", "--cluster", "cluster.yaml")["pods"]
    assert [each["pod"] for each in found] == ["default/first", "default/serves", "default/asks"]
    assert len({str(each["containers"]) for each in found}) == 1


@pytest.mark.usefixtures("files")
def test_one_pod_of_several_that_waits_makes_the_answer_no() -> None:
    Path("several.yaml").write_text(
        yaml.safe_dump_all([pod("fits"), pod("waits", {**SLICE, "metax-tech.com/sgpu": 9})])
    )
    assert run("explain", "-f", "several.yaml", "--cluster", "cluster.yaml").status == 1


# --- how it looks -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("form", ["json", "yaml", "table"])
def test_the_same_question_gets_the_same_bytes(form: str) -> None:
    arguments = ("explain", "-f", "pod.yaml", "--cluster", "dump.json", "-o", form)
    assert run(*arguments) == run(*arguments)


@pytest.mark.usefixtures("files")
def test_yaml_says_the_same_as_json() -> None:
    arguments = ("explain", "-f", "pod.yaml", "--cluster", "dump.json", "-o")
    assert yaml.safe_load(run(*arguments, "yaml").out) == json.loads(run(*arguments, "json").out)


@pytest.mark.usefixtures("files")
def test_cards_are_shown_one_by_one_for_the_nodes_that_are_named() -> None:
    arguments = ("explain", "-f", "pod.yaml", "--cluster", "cluster.yaml")
    assert "Cards of node" not in run(*arguments).out
    named = run(*arguments, "--node", "one").out
    assert "Cards of node one:\nCARD  MEMORY FREE" in named
    assert "\n1     63 GiB of 63 GiB  100 of 100    0     chosen" in named
    assert "Cards of node two:" not in named
    both = run(*arguments, "--node", "one", "--node", "two").out
    assert both == run(*arguments, "--all-cards").out
    assert "Cards of node two:" in both


@pytest.mark.usefixtures("files")
def test_long_lists_of_nodes_are_cut_and_say_so() -> None:
    Path("many.yaml").write_text(
        "tangram: cluster/v1\nnodes: [{name: n, count: 60, product: C500, cards: 1, mode: sgpu}]"
    )
    answer = run("explain", "-f", "pod.yaml", "--cluster", "many.yaml")
    assert "... and 20 nodes more: -o json has them all." in answer.out
    assert len(explained("-f", "pod.yaml", "--cluster", "many.yaml")["pods"][0]["nodes"]) == 60


@pytest.mark.usefixtures("files")
def test_text_from_a_file_cannot_steer_the_terminal() -> None:
    evil = node("evil\x1b[31m")
    Path("evil.json").write_text(json.dumps({"kind": "List", "items": [evil]}))
    answer = run("explain", "-f", "pod.yaml", "--cluster", "evil.json")
    assert "\x1b" not in answer.out
    assert "evil\\x1b[31m" in answer.out


@pytest.mark.usefixtures("files")
def test_a_terminal_without_utf_8_gets_ascii() -> None:
    Path("named.json").write_text(json.dumps({"kind": "List", "items": [node("knoten-ü")]}))
    answer = run("explain", "-f", "pod.yaml", "--cluster", "named.json", encoding="ascii")
    assert answer.status == 0
    assert "knoten-\\xfc" in answer.out


@pytest.mark.usefixtures("files")
def test_containers_are_named_where_several_get_cards() -> None:
    both = pod("both")
    container = {"name": "main", "resources": {"limits": SLICE}}
    both["spec"] = {"containers": [container, {**container, "name": "side"}, {"name": "none"}]}
    Path("both.yaml").write_text(yaml.safe_dump(both))
    (only,) = explained("-f", "both.yaml", "--cluster", "cluster.yaml")["pods"]
    assert re.match(
        r"default/both fits: node one, main: card 1 \(.*\); side: card [01] \(.*\)\.$", only["sentence"]
    )
    assert [each["container"] for each in only["containers"]] == ["main", "side"]


@pytest.mark.usefixtures("files")
def test_what_the_pod_itself_holds_counts_as_free() -> None:
    """A manifest taken from a running pod asks where that pod would go, not where a second one would."""
    items = json.loads(Path("dump.json").read_text())["items"]
    named = next(each for each in items if each["metadata"]["name"] == "named")
    Path("named.json").write_text(json.dumps(named))
    (only,) = explained("-f", "named.json", "--cluster", "dump.json")["pods"]
    card = only["nodes"][0]["cards"][0]
    assert (card["uuid"], card["memory_free"], card["pods"]) == ("GPU-a", 64 << 30, 0)
