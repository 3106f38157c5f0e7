"""What the policies let agents write is what the agents write; that they do so is shown end to end."""

import json
import re

import pytest

from builders.charts.cases import OPERATOR, TANGRAM
from builders.charts.policies import policies, variable
from tangram.services.gpu_device import mode_condition, node_amounts
from tangram.services.installation.cleaning_keys import writer_of
from tangram.services.installation.workloads import DEVICE, LABEL
from tangram.wire import metax_labels, mthreads_labels
from tangram.wire.agent_state import AGENT
from tangram.wire.allocation_keys import ANNOTATIONS
from tangram.wire.koordinator.node_resources import NODE_LABELS
from tangram.wire.mthreads_cards import memory_label
from tangram.wire.mthreads_publishing import labels_of
from tangram.wire.nodelock import NODE_LOCK
from tangram.wire.operator import names
from tangram.wire.publication import publication
from tangram.wire.trust_policy import NODE_OF_TOKEN

POLICIES = {
    DEVICE: policies(TANGRAM, "default", "tangram-gpu-device"),
    LABEL: policies(TANGRAM, "default", "tangram-gpu-label"),
    "driver-manager": policies(OPERATOR, "default", "metax-driver-manager"),
    "container-runtime": policies(OPERATOR, "default", "metax-container-runtime"),
    "labels under the operator": policies(OPERATOR, "default", "metax-gpu-label"),
}


def lists(role: str) -> list[list[str]]:
    """What the expression of a policy lets through: for pods if it speaks of them, and for nodes."""
    text = variable(POLICIES[role][0], "foreign")
    return [json.loads(each) for each in re.findall(r'\["[^]]*"\]', text)]


def keys(words: list[str], *kinds: str) -> set[str]:
    return {key for kind, key in (word.split(" ") for word in words) if kind in kinds}


@pytest.mark.parametrize("role", POLICIES)
def test_the_node_is_the_one_that_the_token_names(role: str) -> None:
    policy, _ = POLICIES[role]
    assert f"[?'{NODE_OF_TOKEN}']" in variable(policy, "node")


def test_the_labeller_may_write_its_labels_and_nothing_else() -> None:
    (words,) = lists(LABEL)
    assert keys(words, "label") == metax_labels.OURS | mthreads_labels.OURS
    assert len(words) == len(keys(words, "label"))


def test_every_label_of_a_node_has_one_writer_under_the_operator() -> None:
    written = [
        words
        for role in ("labels under the operator", "driver-manager", "container-runtime")
        for words in lists(role)
    ]
    every = [word for words in written for word in words]
    assert len(set(every)) == len(every)
    assert {key for words in written for key in keys(words, "label")} == {
        *metax_labels.OURS,
        *mthreads_labels.OURS,
        *names.DRIVER_MANAGER_LABELS,
        *names.RUNTIME_LABELS,
    }


def test_what_only_the_operator_says_no_agent_may_write() -> None:
    for role in ("labels under the operator", "driver-manager", "container-runtime", DEVICE):
        for words in lists(role):
            assert not keys(words, "label", "annotation") & {names.MANAGED, *names.OPERATOR_ANNOTATIONS}


def test_the_agent_may_write_what_is_removed_after_it_and_the_lock_it_gives_back() -> None:
    """`tangram cleanup` knows which keys of a node are whose, and a publication has all that the agent knows."""
    _, words = lists(DEVICE)
    marks = keys(words, "label", "annotation")
    assert {key for key in marks if writer_of(key) != DEVICE} == {NODE_LOCK}
    published = publication((), None, {})
    assert marks == {AGENT, NODE_LOCK, *published.annotations, *labels_of(()), *NODE_LABELS}


def test_the_agent_may_write_its_condition_and_koordinators_amounts() -> None:
    _, words = lists(DEVICE)
    assert keys(words, "condition") == {mode_condition.TYPE}
    assert keys(words, "capacity") == keys(words, "allocatable") == set(node_amounts.NAMES)


def test_the_agent_may_write_on_pods_what_says_which_cards_they_hold() -> None:
    words, _ = lists(DEVICE)
    assert words == [f"annotation {key}" for key in ANNOTATIONS]


@pytest.mark.parametrize(
    ("key", "may"),
    [
        pytest.param(memory_label(0), True, id="first"),
        pytest.param(memory_label(127), True, id="many"),
        pytest.param("mthreads.com/gpu.memory", False, id="no-number"),
        pytest.param("mthreads.com/gpu0.memory.x", False, id="more"),
        pytest.param("mthreads-com/gpu0.memory", False, id="another-domain"),
    ],
)
def test_labels_with_the_number_of_a_card_are_the_agents(key: str, *, may: bool) -> None:
    (pattern,) = re.findall(r"matches\('([^']+)'\)", variable(POLICIES[DEVICE][0], "foreign"))
    assert (re.search(pattern, f"label {key}") is not None) == may == (writer_of(key) == DEVICE)


@pytest.mark.parametrize("role", POLICIES)
def test_the_policy_fits_what_kubernetes_takes(role: str) -> None:
    assert all(len(json.dumps(each)) < 16_384 for each in POLICIES[role])
