"""Upgrades where anything happens at any time: nothing forbidden is ever done, and all of it comes to an end.

The operator under test is killed between any two requests, works from copies that lag, and meets other writers. Every
write of its is judged against the cluster as it really is at that moment.
"""

from __future__ import annotations

import asyncio
import copy
import datetime as dt
from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace

from builders.operated_cluster import NODES, Crash, Object, OperatedCluster, node_views, wishing
from tangram.kube.errors import ApiUnreachable
from tangram.services.operator.node_views import NodeView, gpu_pod, node_view
from tangram.services.operator.upgrader import Upgrader
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Phase, UpgradePhase
from tangram.wire.operator.spec import UpgradePolicy, WhenBusy

NODE = st.sampled_from(["n0", "n1", "n2"])
ROUNDS = 60


def _at(count: int, do: Callable[[], None]) -> Callable[[], None]:
    """Something that is done the so-manieth time."""
    left = count

    def once() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            do()

    return once


class Upgrades(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cluster = OperatedCluster()
        self.cluster.after_write = self.judge
        self.policy = UpgradePolicy()
        self.wanted = "2.0"
        self.broken: set[str] = set()
        """Nodes whose driver-manager fails with every new version."""
        self.alive = 0
        self.by_hand: set[str] = set()
        """Cordoned by somebody else."""
        self.copied_nodes: list[Object] = []
        self.copied_pods: list[Object] = []
        self.events: list[str] = []
        self.nodes_at_look = 0
        self.restart()

    @initialize(
        pods=st.lists(NODE, max_size=3),
        most=st.sampled_from([1, 2, "70%"]),
        evict=st.booleans(),
        away=st.sets(NODE, max_size=1),
        broken=st.sets(NODE, max_size=1),
    )
    def begin(
        self,
        pods: list[str],
        most: int | str,
        evict: bool,  # noqa: FBT001 - drawn
        away: set[str],
        broken: set[str],
    ) -> None:
        self.policy = UpgradePolicy(
            max_unavailable=most, when_busy=WhenBusy.EVICT if evict else WhenBusy.WAIT, evict_timeout="1m"
        )
        for name in ("n0", "n1", "n2"):
            self.cluster.add_node(name, wishing(), ready=name not in away)
        self.broken = broken
        for name in pods:
            self.pod_comes(name, "metax-tech.com/gpu")
        self.catch_up(nodes=True, pods=True)

    # ---- the operator

    def restart(self) -> None:
        self.upgrader = Upgrader(
            self.cluster, lambda event: self.events.append(event.reason), now=lambda: self.cluster.now
        )

    def operate(self) -> None:
        views = node_views(self.copied_nodes, map(gpu_pod, self.copied_pods))
        self.nodes_at_look = len(self._counted())
        try:
            asyncio.run(self.upgrader.step(views, self.policy))
        except (Crash, ApiUnreachable):
            self.restart()
        finally:
            self.cluster.before = lambda _method, _path, _body: None
            self.cluster.written = lambda: None

    @rule(
        seconds=st.sampled_from([4, 4, 20, 300, 2000]),
        nodes=st.sampled_from([True, True, False]),
        pods=st.sampled_from([True, True, False]),
    )
    def look(self, seconds: int, nodes: bool, pods: bool) -> None:  # noqa: FBT001 - drawn
        """Some time later, from copies that have caught up or not."""
        self.cluster.now += dt.timedelta(seconds=seconds)
        self.catch_up(nodes=nodes, pods=pods)
        self.operate()

    @rule(after=st.integers(0, 4), done=st.booleans())
    def look_and_be_killed(self, after: int, done: bool) -> None:  # noqa: FBT001 - drawn
        """Before or after the request that it dies at."""

        def die() -> None:
            raise Crash

        if done:
            self.cluster.written = _at(after, die)
        else:
            count = _at(after, die)
            self.cluster.before = lambda _method, _path, _body: count()
        self.operate()

    @rule(
        at=st.integers(0, 4),
        name=NODE,
        what=st.sampled_from(["write", "cordon", "uncordon", "driver-manager", "pod", "delete"]),
    )
    def look_while_others_write(self, at: int, name: str, what: str) -> None:
        """Something happens between two requests of the operator."""
        self.cluster.now += dt.timedelta(seconds=4)

        def happen() -> None:
            self.cluster.before = lambda _method, _path, _body: None
            match what:
                case "cordon":
                    self.somebody_cordons(name)
                case "uncordon":
                    self.somebody_uncordons(name)
                case "driver-manager":
                    self.driver_manager(name)
                case "pod":
                    self.pod_comes(name, "metax-tech.com/gpu")
                case "delete":
                    self.cluster.objects.pop(f"{NODES}/{name}", None)
                case _ if name in self.cluster.node_names():
                    self.cluster.patch(f"{NODES}/{name}", {"metadata": {"annotations": {"else": str(at)}}})
                case _:
                    pass

        count = _at(at, happen)
        self.cluster.before = lambda _method, _path, _body: count()
        self.operate()

    def catch_up(self, *, nodes: bool, pods: bool) -> None:
        """The copies follow the server, or one of them does."""
        if nodes:
            self.copied_nodes = copy.deepcopy([self.cluster.node(name) for name in self.cluster.node_names()])
        if pods:
            self.copied_pods = copy.deepcopy(self.cluster.pods())

    # ---- driver-manager

    @rule(chosen=st.sets(NODE, min_size=1))
    def driver_managers(self, chosen: set[str]) -> None:
        for name in sorted(chosen):
            self.driver_manager(name)

    def driver_manager(self, name: str) -> None:
        """One step of it: hear of a new version, begin a turn, or end it."""
        if name not in self.cluster.node_names():
            return
        view = self.cluster.view(name)
        state = view.driver
        if state is None or not view.managed:
            return
        since = self.cluster.now.isoformat()
        if state.phase is Phase.WORKING:
            if name in self.broken:
                said = replace(state, phase=Phase.FAILED, needs_turn=True, why="no", code="x", since=since)
            else:
                said = wishing(state.wanted, state.wanted, phase=Phase.READY, since=since)
            self.cluster.say(name, said)
        elif state.wanted != self.wanted:
            self.cluster.say(name, wishing(state.running, self.wanted, since=since))
        elif view.turn == state.wanted != state.running and not view.pods:
            self.cluster.say(name, replace(state, phase=Phase.WORKING, since=since))

    # ---- everybody else

    @rule(version=st.sampled_from(["1.0", "2.0", "3.0"]))
    def another_version(self, version: str) -> None:
        self.wanted = version

    @rule(name=NODE, resource=st.sampled_from(["metax-tech.com/gpu", "metax-tech.com/sgpu", "cpu"]))
    def pod_comes(self, name: str, resource: str) -> None:
        if name in self.cluster.node_names() and not self.cluster.view(name).unschedulable:
            self.alive += 1
            self.cluster.add_pod(f"p{self.alive}", name, resource=resource)

    @rule(name=NODE)
    def daemon_pod_comes(self, name: str) -> None:
        """Whatever is said of scheduling there, except while the resource is away."""
        if name in self.cluster.node_names() and self.cluster.view(name).turn is None:
            self.cluster.add_pod(f"d-{name}", name, kind="DaemonSet")

    @rule(data=st.data())
    @precondition(lambda self: self.cluster.pods())
    def pod_goes(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(each for each in self.cluster.objects if "/pods/" in each)))
        del self.cluster.objects[path]

    @rule(data=st.data())
    @precondition(lambda self: self.cluster.pods())
    def budget_forbids(self, data: st.DataObject) -> None:
        pods = sorted(each["metadata"]["name"] for each in self.cluster.pods())
        self.cluster.budgets[data.draw(st.sampled_from(pods))] = (
            "The disruption budget x needs 1 healthy pods"
        )

    @rule(name=NODE)
    def somebody_cordons(self, name: str) -> None:
        if name not in self.cluster.node_names() or self.cluster.view(name).unschedulable:
            return
        if not self.cluster.view(name).held:
            # On a node that says that we hold it nobody can tell the two apart; docs/operator-upgrades.md says so.
            self.by_hand.add(name)
        self.cluster.cordon(name)

    @rule(name=NODE)
    def somebody_uncordons(self, name: str) -> None:
        if name in self.cluster.node_names():
            self.cluster.cordon(name, on=False)
            self.by_hand.discard(name)

    @rule(name=NODE, key=st.sampled_from([names.UPGRADE, names.TURN]))
    def somebody_removes_a_note(self, name: str, key: str) -> None:
        if name in self.cluster.node_names():
            view = self.cluster.view(name)
            self.cluster.patch(f"{NODES}/{name}", {"metadata": {"annotations": {key: None}}})
            if key == names.UPGRADE and view.held and view.unschedulable:
                self.by_hand.add(name)

    @rule(name=NODE, ready=st.booleans())
    def kubelet(self, name: str, ready: bool) -> None:  # noqa: FBT001 - drawn
        if name in self.cluster.node_names():
            self.cluster.set_ready(name, ready=ready)

    @rule(name=NODE, managed=st.booleans())
    def labelled(self, name: str, managed: bool) -> None:  # noqa: FBT001 - drawn
        if name in self.cluster.node_names():
            label = {names.MANAGED: "true" if managed else None}
            self.cluster.patch(f"{NODES}/{name}", {"metadata": {"labels": label}})

    @rule(name=NODE)
    def node_is_deleted(self, name: str) -> None:
        self.cluster.objects.pop(f"{NODES}/{name}", None)
        self.by_hand.discard(name)

    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:  # noqa: FBT001 - drawn
        self.policy = replace(self.policy, paused=paused)

    # ---- what must hold

    def judge(self, path: str, old: Object, new: Object) -> None:
        """Every patch of the operator, against the truth."""
        name = path.rsplit("/", 1)[1]
        before, after = node_view(old, self.cluster.gpu_pods(name)), node_view(new)
        if name in self.by_hand and before.unschedulable:
            assert after.unschedulable, "what others cordoned is not uncordoned"
            assert not after.held, "nor taken"
        if after.held and not before.held:
            self._judge_begun(before)
        if after.turn is not None and before.turn is None:
            assert before.pods == (), "no turn while a pod holds a card"
            assert before.upgrade is not None
            assert before.upgrade.phase is UpgradePhase.CORDONED
            assert before.unschedulable
            assert not self.policy.paused
        if before.held and not after.held:
            assert before.driver is None or before.driver.phase is not Phase.WORKING, "not while it works"
            assert after.turn is None
        if before.unschedulable and not after.unschedulable:
            assert before.held
            assert not after.held
        assert after.held <= after.unschedulable or not before.unschedulable

    def _judge_begun(self, before: NodeView) -> None:
        assert before.ready
        assert before.driver is not None
        assert not before.unschedulable
        assert not self.policy.paused
        assert before.driver.phase is not Phase.WORKING
        counted = self._counted()
        # A node that is deleted between the look and the patch makes a percentage less than it was.
        most = self.policy.most_unavailable(max(self.nodes_at_look, len(counted)))
        assert sum(view.held for view in counted) <= most
        out = [view for view in counted if view.held or not view.ready or view.driver_ready is False]
        assert len(out) <= most or before.driver_ready is False

    def _counted(self) -> list[NodeView]:
        views = [self.cluster.view(name) for name in self.cluster.node_names()]
        return [view for view in views if view.managed or view.held]

    @invariant()
    def notes_and_cordons_agree(self) -> None:
        for name in self.cluster.node_names():
            view = self.cluster.view(name)
            if view.unschedulable and not view.held:
                assert name in self.by_hand, "a node that we cordoned always says so"

    # ---- the end

    def _rounds(self) -> None:
        for _ in range(ROUNDS):
            self.cluster.now += dt.timedelta(seconds=10)
            for name in self.cluster.node_names():
                self.driver_manager(name)
            for path, thing in list(self.cluster.objects.items()):
                if "/pods/" in path and thing["metadata"].get("deletionTimestamp"):
                    del self.cluster.objects[path]
            self.catch_up(nodes=True, pods=True)
            self.operate()

    def teardown(self) -> None:
        if not self.cluster.node_names():
            return
        for name in self.cluster.node_names():
            self.kubelet(name, ready=True)
            self.labelled(name, managed=True)
        if self.policy.paused:
            self._rounds()
            assert not any(self.cluster.view(name).held for name in self.cluster.node_names())
            self.policy = replace(self.policy, paused=False)
        for path in [each for each in self.cluster.objects if "/pods/" in each]:
            del self.cluster.objects[path]
        for name in list(self.by_hand):
            self.somebody_uncordons(name)
        self._rounds()
        for name in self.cluster.node_names():
            view = self.cluster.view(name)
            assert not view.held
            assert not view.unschedulable, "no node is left cordoned"
            assert view.turn is None
            assert view.driver is not None
            assert view.driver.phase is not Phase.WORKING
            failed = view.upgrade is not None and view.upgrade.to == self.wanted
            assert view.driver.running == self.wanted or failed, view


def test_whatever_happens_nothing_forbidden_is_done_and_every_node_comes_to_an_end() -> None:
    run_state_machine_as_test(Upgrades)
