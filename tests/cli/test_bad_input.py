"""Whatever a person gives that cannot be used ends with status 2 and one sentence, never with a traceback.

The sentence names what was read, says what is legal and what to write instead. Standard output stays empty, so that a
program reading it sees no half of an answer.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders.commands import Answer, run

CLUSTER = "tangram: cluster/v1\nnodes: [{name: a, product: C500, cards: 2}]\n"
POD = "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: m, resources: {limits: {metax-tech.com/gpu: 1}}}]}\n"
NODE = {"kind": "Node", "metadata": {"name": "a"}}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "folder").mkdir()
    return tmp_path


def refused(answer: Answer) -> str:
    """The one sentence of an answer that must be a refusal of the input."""
    assert (answer.status, answer.out) == (2, "")
    assert re.fullmatch(r"tangram: [^\n]+\.\n", answer.err), answer.err
    return answer.err


UNREADABLE = [
    pytest.param(b"", "is empty: give a file with something in it", id="empty"),
    pytest.param(b" \n\t\n", "is empty", id="blank"),
    pytest.param(b"# nothing\n---\n", "holds no document, only blanks or comments", id="comments"),
    pytest.param(b"\x7fELF\x02\xff\xfe", r"is no text \(byte 5 is not utf-8\)", id="binary"),
    pytest.param(b"a\0b", "is no text", id="null characters"),
    pytest.param(b"a: 1\nb: [1,\nc: }\n", "input.yaml line 3, column 4: ", id="syntax"),
    pytest.param(b"\ta: 1", "input.yaml line 1, column 1: ", id="tab"),
    pytest.param(b'{"kind": "Pod",\n "metadata" "name"}', "input.yaml line 2, column ", id="cut off json"),
    pytest.param(b"a: 1\na: 2\n", "line 2, column 1: key 'a' stands twice in one map", id="key twice"),
    pytest.param(
        b"a: !!python/object:os.system x", "line 1, column 4: could not determine a constructor", id="tag"
    ),
    pytest.param(b"a: *nowhere", "line 1, column 4: .*undefined alias", id="alias"),
    pytest.param(b"[" * 100_000, "is nested more than 200 deep", id="nested brackets"),
    pytest.param(b"- " * 100_000, "is nested more than 200 deep", id="nested dashes"),
    pytest.param(b"a: " + b"9" * 10_000, "a number too long to be read", id="endless number"),
    pytest.param(b"hello", "holds 'hello', which is no Kubernetes object", id="a word"),
    pytest.param(b"- 1\n- 2\n", "holds a list, which is no Kubernetes object", id="a list"),
    pytest.param(
        b"nodes: []\n", "holds keys nodes, .*begins with tangram: cluster/v1", id="version forgotten"
    ),
]


@pytest.mark.parametrize(("content", "expected"), UNREADABLE)
@pytest.mark.parametrize("option", ["-f", "--cluster", "--demand"])
def test_unreadable_files(content: bytes, expected: str, option: str, files: Path) -> None:
    (files / "input.yaml").write_bytes(content)
    given_files = {"-f": "pod.yaml", "--cluster": "cluster.yaml", option: "input.yaml"}
    answer = run("explain", *(word for pair in given_files.items() for word in pair))
    assert re.search(expected, refused(answer))


@pytest.mark.parametrize(("content", "expected"), UNREADABLE)
def test_standard_input_is_read_with_the_same_care(content: bytes, expected: str) -> None:
    sentence = refused(run("explain", "-f", "-", "--cluster", "cluster.yaml", stdin=content))
    assert re.search(expected.replace("input.yaml", "standard input"), sentence)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            "nowhere.yaml", "names nowhere.yaml, which does not exist: name a file, or -", id="missing"
        ),
        pytest.param("folder", "names folder, which is a directory: name a file, or -", id="directory"),
        pytest.param("", "names nothing", id="nothing"),
        pytest.param("pod.yaml/inside", "names 'pod.yaml/inside', which cannot be read", id="below a file"),
        pytest.param("x" * 5000, "which cannot be read", id="endless name"),
    ],
)
@pytest.mark.parametrize("option", ["-f", "--cluster", "--demand", "--pods", "--nodes"])
def test_files_that_cannot_be_opened(path: str, expected: str, option: str) -> None:
    if option in ("--pods", "--nodes"):
        Path("nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,T4\n")
        given_files = {"--nodes": "nodes.csv", "--pods": "pod.yaml", option: path}
        answer = run("simulate", *(word for pair in given_files.items() for word in pair))
    else:
        given_files = {"-f": "pod.yaml", "--cluster": "cluster.yaml", option: path}
        answer = run("explain", *(word for pair in given_files.items() for word in pair))
    assert f"{option} {expected}" in refused(answer) or expected in answer.err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            "kind: Service\nmetadata: {name: x}", "'Service' makes no pods: give one of Pod, ", id="kind"
        ),
        pytest.param(
            "kind: Pod\nspec: {}", "has a Pod without a name: write one under metadata.name", id="unnamed"
        ),
        pytest.param("kind: Pod\nmetadata: [x]", "has a Pod without a name", id="metadata is a list"),
        pytest.param(
            "kind: PodList\nitems: [{metadata: {}}]", "has a Pod without a name", id="unnamed in a list"
        ),
        pytest.param("kind: List\nitems: []", "has no member that makes pods", id="empty list"),
        pytest.param("tangram: pods/v2\npods: []", "must be of version pods/v1", id="version"),
        pytest.param("tangram: pods/v1\npods: []\n---\nkind: Pod", "holds 2 documents", id="two documents"),
    ],
)
def test_files_that_hold_no_pods(content: str, expected: str) -> None:
    Path("input.yaml").write_text(content)
    assert expected in refused(run("explain", "-f", "input.yaml", "--cluster", "cluster.yaml"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            {"kind": "List", "items": []}, "has no node (objects in it: none): give what 'kubectl", id="empty"
        ),
        pytest.param(
            {"kind": "Pod", "metadata": {"name": "p"}}, "has no node (objects in it: Pod)", id="only pods"
        ),
        pytest.param({"kind": "Node", "metadata": {}}, "has a Node without a name", id="unnamed node"),
        pytest.param(
            {"kind": "List", "items": [NODE, {"kind": "Pod"}]}, "a Pod without a name", id="unnamed pod"
        ),
        pytest.param({"kind": "List", "items": [NODE, NODE]}, "has node a twice", id="node twice"),
        pytest.param({"tangram": "cluster/v9"}, "must be of version cluster/v1", id="version"),
        pytest.param(
            {"tangram": "cluster/v1", "nods": []}, "key 'nods' is not known; .* write nodes", id="key"
        ),
    ],
)
def test_files_that_hold_no_cluster(content: object, expected: str) -> None:
    Path("input.json").write_text(json.dumps(content))
    sentence = refused(run("explain", "-f", "pod.yaml", "--cluster", "input.json"))
    assert expected in sentence or re.search(expected, sentence)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            ["-o", "xml"], "-o is 'xml': it is table, json or yaml; write one of these", id="format"
        ),
        pytest.param(
            ["--node-policy", "best"], "--node-policy is 'best': it is binpack, spread or frag", id="node"
        ),
        pytest.param(
            ["--qos-policy", "fixed"],
            "--qos-policy is 'fixed': it is best-effort, fixed-share or burst-share; write one of these",
            id="policy of slices",
        ),
        pytest.param(
            ["--node-policy", "bestfit"], "--node-policy is 'bestfit'", id="a yardstick is no policy"
        ),
        pytest.param(
            ["--card-policy", "spread,best"], "'best' in it is not known: it is binpack, spread", id="card"
        ),
        pytest.param(["--card-policy", "spread,spread"], "a word in it is repeated", id="card twice"),
        pytest.param(
            ["--node", "b"], "--node is 'b': the nodes are a; write one of these", id="node unknown"
        ),
        pytest.param(["--nod", "a"], "Unknown option: --nod. Did you mean --node?", id="option near miss"),
        pytest.param(["--zzz"], "Unknown option: --zzz. The options are --cluster, --file, -f,", id="option"),
        pytest.param(["extra.yaml"], "POD 'extra.yaml' and -f are both given", id="stray word"),
        pytest.param(["one", "two"], "'two' belongs to no option", id="two stray words"),
        pytest.param(["-o"], "-o requires an argument", id="option without a value"),
        pytest.param(
            ["--demand", "-", "-f", "-"], "standard input (-) is named twice", id="standard input twice"
        ),
        pytest.param(["--cluster", "cluster.yaml"], "--cluster", id="cluster twice"),
    ],
)
def test_command_lines_that_cannot_be_read(arguments: list[str], expected: str) -> None:
    assert expected in refused(run("explain", "-f", "pod.yaml", "--cluster", "cluster.yaml", *arguments))


def test_without_a_cluster_the_live_one_is_asked(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(files / "nothing"))
    assert "nothing', and no such file exists: name one with --kubeconfig" in refused(
        run("explain", "-f", "pod.yaml")
    )


def test_no_pod_to_explain() -> None:
    sentence = refused(run("explain", "--cluster", "cluster.yaml"))
    assert "no pod to explain: name one with -f pod.yaml" in sentence


def test_demand_that_admission_refuses() -> None:
    Path("bad.yaml").write_text(POD.replace("gpu: 1", "gpu: 0"))
    sentence = refused(run("explain", "-f", "pod.yaml", "--cluster", "cluster.yaml", "--demand", "bad.yaml"))
    assert "whose pod default/p is refused" in sentence


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["kept until the end", "written at once"])
def test_an_answer_that_cannot_be_written(files: Path, unbuffered: str) -> None:
    command = Path(sys.executable).with_name("tangram")
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [command, "explain", "-f", files / "pod.yaml", "--cluster", files / "cluster.yaml"],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
            text=True,
            timeout=60,
        )
    assert answer.returncode == 2
    assert answer.stderr == (
        "tangram: the answer cannot be written (No space left on device): send it somewhere else.\n"
    )


def test_utf_16_is_read_as_windows_writes_it(files: Path) -> None:
    (files / "wide.yaml").write_bytes(CLUSTER.encode("utf-16"))
    assert run("explain", "-f", "pod.yaml", "--cluster", "wide.yaml").status == 0


_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_keys = st.sampled_from(
    [
        *("tangram", "kind", "metadata", "name", "nodes", "pods", "items", "spec", "containers", "resources"),
        *("limits", "metax-tech.com/sgpu", "product", "cards", "memory", "links", "node", "count", "status"),
    ]
)
_values = st.recursive(
    _scalars | st.sampled_from(["cluster/v1", "pods/v1", "Pod", "Node", "List", "C500", "8 GiB"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=5),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=_values, option=st.sampled_from(["-f", "--cluster"]))
def test_no_input_ends_in_a_traceback(content: object, option: str, files: Path) -> None:
    (files / "input.json").write_text(json.dumps(content))
    given_files = {"-f": "pod.yaml", "--cluster": "cluster.yaml", option: "input.json"}
    answer = run("explain", *(word for pair in given_files.items() for word in pair))
    assert answer.status in (0, 1, 2)
    assert (answer.status == 2) == bool(answer.err)
