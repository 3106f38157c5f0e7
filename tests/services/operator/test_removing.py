"""A removal: in the right order, with a word about every node, and always to an end."""

from __future__ import annotations

import asyncio
import copy
import datetime as dt
from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from builders.operated_cluster import NODES, START, Crash, Object, OperatedCluster, held, node_views, wishing
from tangram.kube.errors import ApiError
from tangram.services.operator.node_views import gpu_pod
from tangram.services.operator.objects import Name, name_of
from tangram.services.operator.parts.pods import COMPONENT, MANAGED_BY, MANAGER
from tangram.services.operator.remover import OBJECT_PATH, Remover
from tangram.services.operator.removing import LIMIT, Limits, limits_of
from tangram.wire.operator import names
from tangram.wire.operator.node_states import (
    MacaState,
    Phase,
    RuntimeState,
    state_text,
)

DAEMON_SETS = "/apis/apps/v1/namespaces/metax-operator/daemonsets"
CLASS = "/apis/node.k8s.io/v1/runtimeclasses/metax"
CONFIG = "/api/v1/namespaces/metax-operator/configmaps/driver-config"
PARTS = ("gpu-device", "payloads", "gpu-label", "driver-manager", "container-runtime")


class Removal:
    """A cluster with all parts, whose object is being deleted."""

    def __init__(self) -> None:
        self.cluster = OperatedCluster()
        self.events: list[tuple[str, str]] = []
        self.sentence = ""
        for part in PARTS:
            self.make(f"{DAEMON_SETS}/metax-{part}", "DaemonSet", part)
        self.make(CLASS, "RuntimeClass", "runtime-class")
        self.make(CONFIG, "ConfigMap", "driver-config")
        self.cluster.put(
            OBJECT_PATH,
            {"metadata": {"finalizers": [names.FINALIZER], "deletionTimestamp": "2026-05-04T12:00:00Z"}},
        )
        self.restart()

    def make(self, path: str, kind: str, part: str) -> None:
        namespace = "metax-operator" if "/namespaces/" in path else ""
        labels = {MANAGED_BY: MANAGER, COMPONENT: part}
        self.cluster.put(path, {"kind": kind, "metadata": {"namespace": namespace, "labels": labels}})

    def add_node(self, name: str, *, ready: bool = True) -> None:
        self.cluster.add_node(name, wishing(wanted="1.0", phase=Phase.READY), ready=ready)
        self.say(name, maca=Phase.READY, runtime=Phase.READY)

    def say(
        self,
        name: str,
        driver: Phase | None = None,
        maca: Phase | None = None,
        runtime: Phase | None = None,
        why: str = "",
    ) -> None:
        annotations: dict[str, str] = {}
        if driver is not None:
            annotations[names.DRIVER_STATE] = state_text(wishing(phase=driver, wanted="1.0", why=why))
        if maca is not None:
            annotations[names.MACA_STATE] = state_text(MacaState(phase=maca))
        if runtime is not None:
            annotations[names.RUNTIME_STATE] = state_text(RuntimeState(phase=runtime))
        labels = {names.RUNTIME_READY: "true" if runtime is Phase.READY else None} if runtime else {}
        self.cluster.patch(f"{NODES}/{name}", {"metadata": {"annotations": annotations, "labels": labels}})

    def agents_clean(self, name: str) -> None:
        if self.cluster.view(name).removing:
            self.say(name, Phase.REMOVED, Phase.REMOVED, Phase.REMOVED)

    def kubelets_end_pods(self) -> None:
        """What a garbage collector does when the pods of a DaemonSet have ended."""
        for path, thing in list(self.cluster.objects.items()):
            if "foregroundDeletion" in thing["metadata"].get("finalizers", []):
                del self.cluster.objects[path]

    def objects(self) -> dict[Name, Object]:
        things = (thing for path, thing in self.cluster.objects.items() if "kind" in thing and path)
        return {name_of(thing): copy.deepcopy(thing) for thing in things}

    @property
    def present(self) -> set[str]:
        return {name.name for name in self.objects()}

    @property
    def is_over(self) -> bool:
        return OBJECT_PATH not in self.cluster.objects

    def restart(self) -> None:
        self.remover = Remover(
            self.cluster,
            lambda event: self.events.append((event.about.name, event.message)),
            self.objects,
            now=lambda: self.cluster.now,
        )

    def look(self, seconds: float = 1) -> None:
        self.cluster.now += dt.timedelta(seconds=seconds)
        operator = self.cluster.objects.get(OBJECT_PATH)
        if operator is None:
            return
        views = node_views(
            map(self.cluster.node, self.cluster.node_names()), map(gpu_pod, self.cluster.pods())
        )
        try:
            self.sentence = asyncio.run(self.remover.step(operator, views))
        except Crash:
            self.restart()

    def marks(self, name: str) -> set[str]:
        metadata = self.cluster.node(name)["metadata"]
        return {key for key in (*metadata["labels"], *metadata["annotations"]) if key != "theirs"}


def rounds(removal: Removal, many: int = 12, agents: Callable[[], None] = lambda: None) -> None:
    for _ in range(many):
        removal.look()
        removal.kubelets_end_pods()
        agents()


def test_everything_goes_in_order_and_nodes_are_as_before() -> None:
    removal = Removal()
    removal.add_node("n1")
    removal.cluster.patch(f"{NODES}/n1", {"metadata": {"labels": {"theirs": "1"}}})
    removal.look()
    assert removal.cluster.view("n1").removing is False
    assert removal.sentence == "DaemonSet metax-gpu-device, DaemonSet metax-payloads must leave first"
    removal.kubelets_end_pods()
    assert removal.present == {
        "metax-gpu-label", "metax-driver-manager", "metax-container-runtime", "metax", "driver-config"
    }  # fmt: skip
    removal.look()
    assert removal.cluster.view("n1").removing
    removal.say("n1", Phase.REMOVED, Phase.REMOVED)
    removal.look()
    assert removal.sentence == "0 of 1 nodes are clean; n1 waits: container-runtime says ready"
    assert "metax-driver-manager" in removal.present
    removal.say("n1", runtime=Phase.REMOVED)
    removal.look()
    removal.kubelets_end_pods()
    assert removal.present == {"driver-config"}
    assert not removal.is_over
    removal.look()
    assert removal.marks("n1") == set()
    assert removal.cluster.node("n1")["metadata"]["labels"] == {"theirs": "1"}
    removal.look()
    assert removal.is_over
    assert removal.events == []


def test_a_node_that_is_away_is_passed_over_with_a_word_and_its_labels_go_all_the_same() -> None:
    removal = Removal()
    removal.add_node("n1")
    removal.add_node("n2", ready=False)
    rounds(removal, 4, lambda: removal.agents_clean("n1"))
    assert removal.sentence.startswith(
        "1 of 2 nodes are clean; n2 waits: the node is not ready, driver-manager "
    )
    removal.look(60)
    assert "n2 waits" in removal.sentence
    removal.look(120)
    rounds(removal)
    assert removal.is_over
    assert removal.marks("n2") == set()
    ((about, told),) = removal.events
    assert about == "n2"
    assert told.startswith(
        "the operator is removed without this node having been cleaned: the node is not ready"
    )


def test_a_node_that_works_is_given_more_time_than_one_that_is_silent() -> None:
    removal = Removal()
    for name in ("n1", "n2"):
        removal.add_node(name)
    rounds(removal, 3)
    removal.say("n2", Phase.WORKING, why="unloading")
    removal.look(200)
    assert removal.sentence == (
        "0 of 2 nodes are clean; "
        "n2 waits: driver-manager says working (unloading), MXMACA says ready, container-runtime says ready; "
        "n1 is passed over: driver-manager says ready, MXMACA says ready, container-runtime says ready"
    )
    removal.look(900)
    rounds(removal)
    assert removal.is_over


def test_what_had_to_stay_on_a_node_is_told() -> None:
    removal = Removal()
    removal.add_node("n1")
    rounds(removal, 3)
    removal.say("n1", Phase.REMOVED, Phase.REMOVED, Phase.REMOVED, why="the driver stays loaded: used by a/b")
    rounds(removal)
    assert removal.is_over
    assert removal.events == [
        ("n1", "the operator is removed, but for one thing: the driver stays loaded: used by a/b")
    ]


def test_cordons_of_ours_go_and_those_of_others_stay() -> None:
    removal = Removal()
    for name in ("ours", "theirs", "odd"):
        removal.add_node(name)
        removal.cluster.cordon(name)
    for name, note in (("ours", state_text(held())), ("odd", "{")):
        removal.cluster.patch(f"{NODES}/{name}", {"metadata": {"annotations": {names.UPGRADE: note}}})

    def clean() -> None:
        for name in ("ours", "theirs", "odd"):
            removal.agents_clean(name)

    rounds(removal, 12, clean)
    assert removal.is_over
    cordoned = {name: removal.cluster.view(name).unschedulable for name in ("ours", "theirs", "odd")}
    assert cordoned == {"ours": False, "theirs": True, "odd": True}
    assert all(removal.marks(name) == set() for name in cordoned)


def test_a_turn_is_taken_back_before_anything_is_removed() -> None:
    removal = Removal()
    removal.add_node("n1")
    removal.cluster.patch(f"{NODES}/n1", {"metadata": {"annotations": {names.TURN: "2.0"}}})
    rounds(removal, 3)
    assert removal.cluster.view("n1").turn is None


def test_agents_that_do_not_run_are_not_waited_for() -> None:
    removal = Removal()
    removal.add_node("n1")
    for part in PARTS:
        del removal.cluster.objects[f"{DAEMON_SETS}/metax-{part}"]
    rounds(removal, 5)
    assert removal.is_over
    assert removal.marks("n1") == set()


def test_pods_of_a_deleted_daemon_set_that_never_end_hold_nothing_up_for_ever() -> None:
    removal = Removal()
    for _ in range(12):
        removal.look(60)
    assert removal.is_over


def test_driver_config_is_left_to_the_cleanup_that_knows_whether_somebody_edited_it() -> None:
    removal = Removal()
    rounds(removal)
    assert removal.is_over
    assert removal.present == {"driver-config"}


def test_what_may_not_be_deleted_is_told_and_stops_nothing() -> None:
    removal = Removal()

    def refuse(method: str, path: str, _body: object) -> None:
        if method == "DELETE" and path == CLASS:
            raise ApiError(403, "Forbidden", "runtimeclasses is forbidden")

    removal.cluster.before = refuse
    rounds(removal)
    assert removal.is_over
    assert removal.events == [
        (
            "cluster-operator",
            "RuntimeClass metax could not be deleted, do it by hand: runtimeclasses is forbidden",
        )
    ]
    assert removal.sentence.endswith("RuntimeClass metax stays, because the operator may not delete it")


def test_objects_of_others_with_our_names_stay() -> None:
    removal = Removal()
    removal.cluster.patch(CLASS, {"metadata": {"labels": {MANAGED_BY: "Helm"}}})
    rounds(removal)
    assert removal.is_over
    assert removal.present == {"metax", "driver-config"}


@pytest.mark.parametrize(
    ("text", "limits", "wrong"),
    [
        pytest.param(None, Limits(), "", id="usual"),
        pytest.param("30s", Limits(silent=30), "", id="shorter"),
        pytest.param("1h", Limits(silent=3600, working=3600), "", id="longer"),
        pytest.param("30", Limits(), "annotation tangram.dev/operator.remove-limit: ", id="no unit"),
    ],
)
def test_how_long_silent_nodes_are_waited_for_is_said_on_the_object(
    text: str | None, limits: Limits, wrong: str
) -> None:
    annotations = {} if text is None else {LIMIT: text}
    found, sentence = limits_of({"metadata": {"annotations": annotations}})
    assert found == limits
    assert sentence.startswith(wrong)
    assert bool(sentence) is bool(wrong)


def test_the_time_of_asking_survives_a_new_leader() -> None:
    removal = Removal()
    removal.add_node("n1", ready=False)
    rounds(removal, 3)
    asked = removal.cluster.view("n1").removal_asked
    removal.restart()
    removal.look(100)
    assert removal.cluster.view("n1").removal_asked == asked
    assert asked is not None
    assert asked > START


def test_a_time_of_asking_from_a_wrong_clock_is_written_anew() -> None:
    removal = Removal()
    removal.add_node("n1", ready=False)
    rounds(removal, 3)
    ahead = {names.REMOVE_ASKED: "2026-05-09T12:00:00Z"}
    removal.cluster.patch(f"{NODES}/n1", {"metadata": {"annotations": ahead}})
    removal.look()
    asked = removal.cluster.view("n1").removal_asked
    assert asked is not None
    assert asked <= removal.cluster.now


def test_a_node_that_cannot_be_written_is_told_and_keeps_no_other_waiting() -> None:
    removal = Removal()
    removal.add_node("a")
    removal.add_node("b")

    def refuse(method: str, path: str, _body: object) -> None:
        if method == "PATCH" and path.endswith("/nodes/a"):
            raise ApiError(403, "Forbidden", "denied by a webhook")

    removal.cluster.before = refuse
    rounds(removal, 3)
    assert removal.cluster.view("b").removing
    assert "denied by a webhook" in removal.sentence


NODE = st.sampled_from(["n0", "n1", "n2"])


class Removals(RuleBasedStateMachine):
    """Agents, kubelets and killers in any order: it ends, and answers are not cut short."""

    def __init__(self) -> None:
        super().__init__()
        self.removal = Removal()
        self.cleaned: set[str] = set()

    @initialize(away=st.sets(NODE, max_size=2), ours=st.sets(NODE), late=st.booleans())
    def begin(self, away: set[str], ours: set[str], late: bool) -> None:  # noqa: FBT001 - drawn
        for name in ("n0", "n1", "n2"):
            self.removal.add_node(name, ready=name not in away)
            if name in ours:
                note = {names.UPGRADE: state_text(held()), names.TURN: "2.0"}
                self.removal.cluster.cordon(name)
                self.removal.cluster.patch(f"{NODES}/{name}", {"metadata": {"annotations": note}})
        self.removal.cluster.after_write = self.judge
        if late:
            self.removal.look(3000)

    def judge(self, path: str, old: Object, new: Object) -> None:
        if not path.startswith(NODES):
            return
        name = path.rsplit("/", 1)[1]
        if names.MANAGED in old["metadata"]["labels"] and names.MANAGED not in new["metadata"]["labels"]:
            present = self.removal.present
            deleting = [
                each for each in self.removal.objects().values() if each["metadata"].get("deletionTimestamp")
            ]
            assert len(deleting) == len(present - {"driver-config"}), (
                "nothing is cleared while an agent could write it again"
            )
            told = {about for about, _ in self.removal.events}
            assert name in self.cleaned | told, "a node is clean, or somebody was told"
        assert not new["spec"].get("unschedulable") or old["spec"].get("unschedulable")

    @rule(seconds=st.sampled_from([1, 1, 20, 150]))
    def look(self, seconds: int) -> None:
        self.removal.look(seconds)

    @rule(after=st.integers(0, 3), done=st.booleans())
    def look_and_be_killed(self, after: int, done: bool) -> None:  # noqa: FBT001 - drawn
        left = after

        def count(*_request: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Crash

        if done:
            self.removal.cluster.written = count
        else:
            self.removal.cluster.before = count
        self.removal.look()
        self.removal.cluster.written = lambda: None
        self.removal.cluster.before = lambda _method, _path, _body: None

    @rule(name=NODE)
    def agents(self, name: str) -> None:
        view = self.removal.cluster.view(name)
        if view.ready and view.removing and "metax-driver-manager" in self.removal.present:
            self.removal.agents_clean(name)
            self.cleaned.add(name)

    @rule()
    def kubelets(self) -> None:
        self.removal.kubelets_end_pods()

    @rule(name=NODE, ready=st.booleans())
    def kubelet(self, name: str, ready: bool) -> None:  # noqa: FBT001 - drawn
        self.removal.cluster.set_ready(name, ready=ready)

    @rule(name=NODE)
    def somebody_writes(self, name: str) -> None:
        self.removal.cluster.patch(f"{NODES}/{name}", {"metadata": {"labels": {"theirs": "1"}}})

    def teardown(self) -> None:
        if not self.removal.cluster.node_names():
            return
        for _ in range(40):
            self.removal.look(30)
        assert self.removal.is_over, self.removal.sentence
        for name in self.removal.cluster.node_names():
            assert self.removal.marks(name) == set()
            assert not self.removal.cluster.view(name).unschedulable


def test_whatever_happens_a_removal_ends_with_nothing_of_ours_on_any_node() -> None:
    run_state_machine_as_test(Removals)
