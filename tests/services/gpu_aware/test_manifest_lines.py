"""Our lines into a manifest and out of it again, and nothing else."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders.scheduler_manifests import BARE, BY_HAND, KUBEADM, MANIFESTS
from tangram.services.gpu_aware.manifest_lines import disabled, enabled, read_manifest
from tangram.wire.errors import WireError

PATH = "/etc/metax/extender.yaml"

every = pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in MANIFESTS.items()])


@every
def test_the_three_entries_of_the_manual_are_added_and_every_line_stays(text: str) -> None:
    after = enabled(text, PATH)
    pod = yaml.safe_load(after)["spec"]
    container = pod["containers"][0]
    assert f"--config={PATH}" in (container.get("args") or container["command"])
    assert container["volumeMounts"][-1] == {"name": "extenderconfig", "mountPath": PATH, "readOnly": True}
    assert pod["volumes"][-1] == {"name": "extenderconfig", "hostPath": {"path": PATH, "type": "File"}}
    before_lines, after_lines = text.splitlines(), after.splitlines()
    rest = iter(after_lines)
    assert all(line in rest for line in before_lines)
    added = {"kubeadm": 8, "by hand": 8, "bare": 10, "windows": 8}
    assert len(after_lines) - len(before_lines) == next(
        number for name, number in added.items() if MANIFESTS[name] == text
    )


def test_the_change_of_a_kubeadm_manifest_is_the_manuals() -> None:
    after = enabled(KUBEADM, PATH)
    added = [line for line in after.splitlines() if line not in KUBEADM.splitlines()]
    assert added == [
        "    - --config=/etc/metax/extender.yaml",
        "    - mountPath: /etc/metax/extender.yaml",
        "      name: extenderconfig",
        "      path: /etc/metax/extender.yaml",
        "      type: File",
        "    name: extenderconfig",
    ]


@every
def test_asking_twice_changes_nothing_more(text: str) -> None:
    once = enabled(text, PATH)
    assert enabled(once, PATH) == once
    assert disabled(text, PATH) == text


@every
def test_taken_out_again_the_manifest_says_what_it_said(text: str) -> None:
    back = disabled(enabled(text, PATH), PATH)
    assert back == (text if text.endswith("\n") else f"{text}\n")


@every
def test_what_somebody_changed_in_between_stays(text: str) -> None:
    edited = (
        enabled(text, PATH)
        .replace("IfNotPresent", "Never")
        .replace("hostNetwork: true", "hostNetwork: false")
    )
    expected = text.replace("IfNotPresent", "Never").replace("hostNetwork: true", "hostNetwork: false")
    assert disabled(edited, PATH).splitlines() == expected.splitlines()


def test_a_change_made_by_hand_and_only_half_is_completed() -> None:
    half = KUBEADM.replace(
        "    - --leader-elect=true\n", f"    - --config\n    - {PATH}\n    - --leader-elect=true\n"
    )
    whole = enabled(half, PATH)
    assert f"--config={PATH}" not in whole
    assert all(entry.places for entry in read_manifest(whole, PATH).entries)
    assert disabled(whole, PATH) == KUBEADM


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param(
            KUBEADM.replace("- --leader", "- --config=/etc/other.yaml\n    - --leader"),
            "it has --config=/etc/other.yaml already",
            id="another configuration",
        ),
        pytest.param(
            KUBEADM.replace("  hostNetwork", "  - name: second\n  hostNetwork"),
            "2 containers",
            id="two containers",
        ),
        pytest.param(
            KUBEADM.replace("- kube-scheduler\n", "- kube-apiserver\n"),
            "runs 'kube-apiserver'",
            id="another program",
        ),
        pytest.param(
            KUBEADM.replace("    - kube-scheduler\n", "    - sh\n    - -c\n    - kube-scheduler\n"),
            "runs 'sh' and not kube-scheduler",
            id="a shell",
        ),
        pytest.param(
            KUBEADM.replace("kind: Pod", "kind: Deployment"), "its kind is 'Deployment'", id="no pod"
        ),
        pytest.param(KUBEADM + "---\nkind: Pod\n", "no YAML document", id="two documents"),
        pytest.param("a: [", "no YAML document", id="no YAML"),
        pytest.param("", "its kind is None", id="empty"),
        pytest.param("- a", "its kind is None", id="a list"),
        pytest.param(
            KUBEADM.replace("      name: kubeconfig", "      name: extenderconfig"),
            "a mount extenderconfig that is another one",
            id="the name is taken",
        ),
        pytest.param(BY_HAND.replace('- "--kubeconfig"', "- 5"), "it is a list of texts", id="numbers"),
        pytest.param(
            BARE.replace("args:\n    - --leader-elect=false", "args: [--leader-elect=false]"),
            "args is no list with a line for each entry",
            id="a list in one line",
        ),
        pytest.param(BARE + "\n  volumes:\n", "volumes is no list", id="a list of nothing"),
        pytest.param(
            yaml.safe_dump(yaml.safe_load(BARE), default_flow_style=True), "no map with a line", id="JSON"
        ),
        pytest.param(
            BARE.replace("scheduler\nspec", "scheduler\n  a: &n x\n  b: *n\nspec"), "aliases", id="alias"
        ),
        pytest.param(KUBEADM.replace("tier:", "component:"), "stands twice", id="a key twice"),
        pytest.param(
            KUBEADM.replace("tier: control", "tier: \x85 control"), "line breaks", id="odd line breaks"
        ),
        pytest.param("[" * 100_000, "no YAML document", id="nesting without end"),
    ],
)
def test_what_is_not_understood_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    for change in (enabled, disabled):
        if change is disabled and ("no map" in sentence or "is no list" in sentence):
            continue
        with pytest.raises(WireError) as refused:
            change(text, PATH)
        assert sentence in refused.value.sentence


words = st.sampled_from(
    ["--v=2", "--leader-elect=true", "--kubeconfig=/x", "--config-dir=/y", "# no comment"]
)
comments = st.sampled_from(["", "# a note", "   # a note further in"])


@given(
    flags=st.lists(words, min_size=1, max_size=5),
    indent=st.integers(0, 4),
    note=comments,
    volumes=st.booleans(),
    mounts=st.booleans(),
    flags_last=st.booleans(),
    end=st.sampled_from(["\n", "\n\n", "\n# the end\n"]),
)
def test_however_it_is_laid_out_there_and_back_is_where_it_was(
    *, flags: list[str], indent: int, note: str, volumes: bool, mounts: bool, flags_last: bool, end: str
) -> None:
    inner = " " * indent
    listed = [f"    command:{'  # all of them' if note else ''}", f"    {inner}- kube-scheduler"]
    listed += [f"    {inner}- {flag!r}" for flag in flags]
    mounted = [f"    volumeMounts:\n    {inner}- name: a\n    {inner}  mountPath: /a"] if mounts else []
    parts = [*mounted, note, *listed] if flags_last else [*listed, note, *mounted]
    tail = [f"  volumes:\n  {inner}- name: a\n  {inner}  emptyDir: {{}}"] if volumes else []
    text = (
        "\n".join(["kind: Pod", "spec:", "  containers:", "  - name: s", *parts, *tail, "metadata: {}"]) + end
    )
    after = enabled(text, PATH)
    assert after != text
    assert all(entry.places for entry in read_manifest(after, PATH).entries)
    assert enabled(after, PATH) == after
    assert disabled(after, PATH) == text
