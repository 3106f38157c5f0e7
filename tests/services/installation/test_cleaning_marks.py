"""Which of a node's labels, annotations, conditions and amounts are ours, by who wrote them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.services.gpu_device import device_object, mode_condition
from tangram.services.gpu_label import labeller
from tangram.services.installation.cleaning_agents import CHARTS, ROLES_OF
from tangram.services.installation.cleaning_keys import CONDITIONS, WRITERS
from tangram.services.installation.cleaning_marks import Marks, marks_of, metadata_patch, status_patch
from tangram.services.operator import upgrader
from tangram.services.scheduler import service
from tangram.wire import loose
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Upgrade, UpgradePhase, state_text

Object = dict[str, Any]
ALL = tuple(WRITERS)
OURS = tuple(WRITERS.values())
FOREIGN = ("kubelet", "kubectl-label", "koord-manager", "gpu-device", "tangram", "tangram-cordon")


def test_the_names_are_those_under_which_the_services_write() -> None:
    assert WRITERS == {
        "gpu-label": labeller.MANAGER,
        "gpu-device": device_object.MANAGER,
        "scheduler": service.COMPONENT,
        "operator": upgrader.MANAGER,
        "driver-manager": "tangram-driver-manager",
        "container-runtime": "tangram-container-runtime",
    }
    assert CONDITIONS == {mode_condition.TYPE: "gpu-device", names.DRIVER_CHANGE_PENDING: "driver-manager"}
    assert {role for chart in CHARTS for role in ROLES_OF[chart]} == set(WRITERS)


def written(node: Object, manager: str, *path: str) -> None:
    """Note that a manager owns a field."""
    fields: Object = {}
    for part in reversed(path):
        fields = {part: fields}
    node["metadata"].setdefault("managedFields", []).append({"manager": manager, "fieldsV1": fields})


def node_with(
    labels: dict[str, tuple[str, ...]],
    annotations: dict[str, tuple[str, ...]],
    conditions: dict[str, tuple[str, ...]],
    amounts: dict[str, tuple[str, ...]],
) -> Object:
    """A node on which each key was written by these managers."""
    node: Object = {
        "metadata": {
            "name": "gpu-1",
            "resourceVersion": "7",
            "labels": dict.fromkeys(labels, "x"),
            "annotations": dict.fromkeys(annotations, "x"),
        },
        "status": {
            "conditions": [{"type": each, "status": "True"} for each in conditions],
            "capacity": dict.fromkeys(amounts, "1"),
            "allocatable": dict.fromkeys(amounts, "1"),
        },
    }
    for place, keys in (("labels", labels), ("annotations", annotations)):
        for key, managers in keys.items():
            for manager in managers:
                written(node, manager, "f:metadata", f"f:{place}", f"f:{key}")
    for each, managers in conditions.items():
        for manager in managers:
            written(node, manager, "f:status", "f:conditions", f"k:{json.dumps({'type': each})}", "f:status")
    for key, managers in amounts.items():
        for manager in managers:
            for side in ("f:capacity", "f:allocatable"):
                written(node, manager, "f:status", side, f"f:{key}")
    return node


def merged(node: Object, patch: Object) -> Object:
    """RFC 7386."""
    made = dict(node)
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        elif loose.is_object(value):
            made[key] = merged(made.get(key) or {}, value)
        else:
            made[key] = value
    return made


def cleaned(node: Object) -> Object:
    marks = marks_of(node, ALL)
    if marks.labels or marks.annotations:
        node = merged(node, metadata_patch(marks))
    if marks.conditions or marks.amounts:
        patch = status_patch(marks)
        status = merged(
            node["status"], {key: value for key, value in patch["status"].items() if key != "conditions"}
        )
        gone = {each["type"] for each in patch["status"].get("conditions", [])}
        assert all(each["$patch"] == "delete" for each in patch["status"].get("conditions", []))
        status["conditions"] = [each for each in status["conditions"] if each["type"] not in gone]
        node = {**node, "status": status}
    return node


KEYS = st.sampled_from(
    [
        "metax-tech.com/gpu.installed",
        "tangram.dev/agent",
        "tangram.dev/mthreads.installed",
        "tangram.dev/lock-owner",
        "hami.io/mutex.lock",
        "hami.io/device-cordon",
        "koordinator.sh/gpu-core",
        "node.koordinator.sh/gpu-model",
        "kubernetes.io/hostname",
    ]
) | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)
BY_OURS = st.lists(st.sampled_from(OURS), min_size=1, max_size=2, unique=True).map(tuple)
BY_OTHERS = st.tuples(
    st.lists(st.sampled_from(FOREIGN), min_size=1, max_size=2, unique=True).map(tuple),
    st.just(()) | BY_OURS,
).map(lambda pair: pair[0] + pair[1])
PLACE = st.dictionaries(KEYS, BY_OURS | BY_OTHERS, max_size=6)


@given(PLACE, PLACE, PLACE, PLACE)
def test_ours_always_goes_nobody_elses_ever_does_and_a_second_round_finds_nothing(
    labels: dict[str, tuple[str, ...]],
    annotations: dict[str, tuple[str, ...]],
    conditions: dict[str, tuple[str, ...]],
    amounts: dict[str, tuple[str, ...]],
) -> None:
    node = node_with(labels, annotations, conditions, amounts)
    after = cleaned(node)

    def others(keys: dict[str, tuple[str, ...]]) -> set[str]:
        return {key for key, managers in keys.items() if not set(managers) <= set(OURS)}

    assert set(after["metadata"]["labels"]) == others(labels)
    assert set(after["metadata"]["annotations"]) == others(annotations)
    assert {each["type"] for each in after["status"]["conditions"]} == others(conditions)
    assert set(after["status"]["capacity"]) == set(after["status"]["allocatable"]) == others(amounts)
    assert not marks_of(after, ALL)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda it: st.lists(it) | st.dictionaries(st.text(max_size=3), it),
    )
)
def test_whatever_a_server_sends_is_judged(thing: object) -> None:
    for node in (
        {"metadata": thing, "status": thing},
        {
            "metadata": {"managedFields": thing, "labels": thing, "annotations": thing},
            "status": {"conditions": thing},
        },
    ):
        assert not marks_of(node, ALL)


@pytest.mark.parametrize(
    ("key", "managers", "goes", "told"),
    [
        pytest.param("tangram.dev/agent", (), True, False, id="our-domain-and-nobody-known"),
        pytest.param("tangram.dev/agent", ("ancient-changes",), True, False, id="our-domain-and-forgotten"),
        pytest.param("tangram.dev/agent", ("kubectl-annotate",), False, False, id="our-domain-and-a-person"),
        pytest.param(
            "metax-tech.com/gpu.installed", (), False, True, id="the-vendors-domain-and-nobody-known"
        ),
        pytest.param(
            "metax-tech.com/gpu.installed",
            ("ancient-changes",),
            False,
            True,
            id="the-vendors-domain-and-forgotten",
        ),
        pytest.param(
            "metax-tech.com/gpu.installed",
            ("tangram-gpu-label", "ancient-changes"),
            False,
            False,
            id="shared",
        ),
        pytest.param("hami.io/mutex.lock", ("ancient-changes",), False, False, id="a-lock-of-nobody"),
        pytest.param(
            "node.koordinator.sh/gpu-model",
            ("ancient-changes",),
            False,
            True,
            id="koordinators-and-forgotten",
        ),
    ],
)
def test_a_writer_that_the_server_has_forgotten(
    key: str, managers: tuple[str, ...], *, goes: bool, told: bool
) -> None:
    marks = marks_of(node_with({}, {key: managers}, {}, {}), ALL)
    assert (key in marks.annotations, key in marks.forgotten) == (goes, told)


@pytest.mark.parametrize(
    ("agent", "key", "managers", "goes"),
    [
        pytest.param(
            "tangram-gpu-device", "metax-tech.com/gpu.installed", ("ancient-changes",), True, id="a-label"
        ),
        pytest.param(
            "ancient-changes", "metax-tech.com/gpu.installed", ("ancient-changes",), True, id="all-forgotten"
        ),
        pytest.param("tangram-gpu-device", "mthreads.com/gpu7.memory", (), True, id="of-one-card"),
        pytest.param(
            "tangram-gpu-device", "metax-tech.com/gpu.installed", ("kubectl",), False, id="a-person"
        ),
        pytest.param("kubectl", "metax-tech.com/gpu.installed", (), False, id="a-person-plays-agent"),
        pytest.param("tangram-gpu-device", "node.koordinator.sh/gpu-model", (), False, id="koordinators"),
        pytest.param("tangram-gpu-device", "kubernetes.io/hostname", (), False, id="everybodys"),
    ],
)
def test_where_our_agent_was_what_it_kept_true_goes_though_its_writer_is_forgotten(
    agent: str, key: str, managers: tuple[str, ...], *, goes: bool
) -> None:
    node = node_with({key: managers}, {"tangram.dev/agent": (agent,)}, {}, {})
    assert marks_of(node, ALL).labels == ((key,) if goes else ())
    assert marks_of(node, ("scheduler",)).labels == ()


def test_the_lock_of_an_agent_that_has_ended_goes_with_the_agents() -> None:
    node = node_with({}, {"hami.io/mutex.lock": ("tangram-gpu-device",)}, {}, {})
    assert marks_of(node, ("gpu-device",)).annotations == ("hami.io/mutex.lock",)
    assert marks_of(node, ("scheduler",)).annotations == ()


@pytest.mark.parametrize(
    ("owner", "goes"),
    [
        pytest.param("uid,the-lock", True, id="ours"),
        pytest.param("uid,another-lock", False, id="of-a-lock-before-it"),
        pytest.param("", False, id="somebodys"),
    ],
)
def test_a_lock_whose_writer_is_forgotten_is_ours_if_it_says_so(owner: str, *, goes: bool) -> None:
    node = node_with({}, {"hami.io/mutex.lock": ("ancient-changes",)}, {}, {})
    node["metadata"]["annotations"] = {"hami.io/mutex.lock": "the-lock", "tangram.dev/lock-owner": owner}
    assert ("hami.io/mutex.lock" in marks_of(node, ALL).annotations) is goes


@pytest.mark.parametrize(
    ("managers", "roles", "goes"),
    [
        pytest.param((), ALL, True, id="nobody-known"),
        pytest.param(("ancient-changes",), ALL, True, id="forgotten"),
        pytest.param(("somebody",), ALL, False, id="somebody-else"),
        pytest.param((), ("gpu-label",), False, id="its-agent-still-runs"),
    ],
)
def test_the_agents_condition_is_known_by_its_name(
    managers: tuple[str, ...], roles: tuple[str, ...], *, goes: bool
) -> None:
    node = node_with({}, {}, {mode_condition.TYPE: managers, "Ready": ("ancient-changes",)}, {})
    marks = marks_of(node, roles)
    assert marks.conditions == ((mode_condition.TYPE,) if goes else ())


def test_what_a_service_that_still_runs_elsewhere_writes_is_not_touched() -> None:
    node = node_with(
        {"metax-tech.com/gpu.installed": ("tangram-gpu-label",)},
        {"tangram.dev/agent": ("tangram-gpu-device",), "tangram.dev/lock-owner": ("ancient-changes",)},
        {},
        {},
    )
    assert marks_of(node, ()) == Marks(node="gpu-1", version="7")
    assert marks_of(node, ("gpu-device",)).annotations == ("tangram.dev/agent",)
    assert marks_of(node, ("scheduler",)).annotations == ("tangram.dev/lock-owner",)


@pytest.mark.parametrize(
    ("amount", "who", "labelled", "goes"),
    [
        pytest.param(
            "0", "kubelet", "tangram-gpu-device", True, id="a-kubelets-zero-where-the-labels-are-ours"
        ),
        pytest.param("0", "kubelet", "koord-manager", False, id="where-they-are-not"),
        pytest.param("0", "koord-manager", "tangram-gpu-device", False, id="somebody-elses-zero"),
        pytest.param("100", "kubelet", "tangram-gpu-device", False, id="no-zero"),
        pytest.param("nonsense", "kubelet", "tangram-gpu-device", False, id="no-number"),
    ],
)
def test_an_amount_of_ours_that_a_kubelet_set_to_zero(
    amount: str, who: str, labelled: str, *, goes: bool
) -> None:
    name = "koordinator.sh/gpu-core"
    node = node_with({"node.koordinator.sh/gpu-model": (labelled,)}, {}, {}, {name: (who,)})
    node["status"]["capacity"][name] = node["status"]["allocatable"][name] = amount
    assert marks_of(node, ALL).amounts == ((name,) if goes else ())


@pytest.mark.parametrize(
    ("phase", "writer", "cordoned", "goes"),
    [
        pytest.param(UpgradePhase.CORDONED, "tangram-operator", True, True, id="cordoned-by-us"),
        pytest.param(UpgradePhase.UPDATING, "tangram-operator", True, True, id="in-the-middle"),
        pytest.param(
            UpgradePhase.FAILED, "tangram-operator", True, False, id="given-back-and-cordoned-since"
        ),
        pytest.param(UpgradePhase.CORDONED, "tangram-operator", False, False, id="uncordoned-by-somebody"),
        pytest.param(UpgradePhase.CORDONED, "somebody", True, False, id="the-note-is-not-ours"),
    ],
)
def test_a_node_that_the_operator_cordoned_and_was_ended_is_given_back_with_the_note_that_says_so(
    phase: UpgradePhase, writer: str, *, cordoned: bool, goes: bool
) -> None:
    node = node_with({}, {names.UPGRADE: (writer,)}, {}, {})
    node["metadata"]["annotations"][names.UPGRADE] = state_text(Upgrade(to="2.33.0", phase=phase))
    node["spec"] = {"unschedulable": True} if cordoned else {}
    marks = marks_of(node, ROLES_OF["metax-operator"])
    assert marks.held is goes
    assert ("unschedulable" in merged(node, metadata_patch(marks))["spec"]) is (cordoned and not goes)


def test_while_the_operator_runs_a_cordon_is_its_own_business() -> None:
    node = node_with({}, {names.UPGRADE: ("tangram-operator",)}, {}, {})
    node["metadata"]["annotations"][names.UPGRADE] = state_text(Upgrade(to="1", phase=UpgradePhase.CORDONED))
    node["spec"] = {"unschedulable": True}
    assert not marks_of(node, ("gpu-label", "gpu-device")).held
