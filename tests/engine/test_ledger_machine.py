"""Everything that can happen to a cluster, in any order, and what must hold after each step.

The machine plays scheduler, API server and hardware at once: pods are filtered, reserved, bound, deleted; nodes come,
go, lose and regain health; reservations run out; the scheduler restarts and rebuilds its ledger from bound pods alone.
"""

from collections import Counter

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from builders.clusters import card, metax_node, mthreads_node
from builders.explained import explained
from builders.requests import DEFAULTS, request, slice_ask, whole_ask
from tangram.engine.allocate import tenant_for
from tangram.engine.decide import Memo, decide
from tangram.engine.demand import demand_from, shape_of
from tangram.engine.filter import filter_nodes
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.usage import holds_of
from tangram.model.allocations import Tenant
from tangram.model.cards import AppClass, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import CardOrder, ContainerAsk, HostAsk, NodePolicy, Request
from tangram.model.topology import TopologyScope
from tangram.units.ids import NodeName
from tangram.units.memory import from_512mib_units, from_gib

NODES: dict[str, Node] = {
    "sliced": metax_node("sliced", 4, cpu_milli=16_000, host_memory=from_gib(64)),
    "whole": metax_node("whole", 8, mode=CardMode.WHOLE),
    "virtual": metax_node("virtual", 2, mode=CardMode.VIRTUAL, slots=4),
    "either": metax_node("either", 2, mode=CardMode.UNDECIDED),
    "mixed": Node(
        name=NodeName("mixed"),
        cards=(
            card("mixed", 0),
            card("mixed", 1),
            card("mixed", 2, mode=CardMode.WHOLE),
            card("mixed", 3, mode=CardMode.SHARED, slots=4),
        ),
    ),
    "mt": mthreads_node("mt", 3),
}

metax_slices = st.builds(
    slice_ask,
    st.integers(1, 3),
    memory=st.sampled_from([None, from_gib(1), from_gib(16), from_gib(40)]),
    cores=st.sampled_from([None, 0, 10, 50, 100]),
)
mthreads_slices = st.builds(
    slice_ask,
    st.just(1),
    memory=st.sampled_from([None, *(from_512mib_units(units) for units in (2, 32, 64))]),
    cores=st.sampled_from([None, 0, 4, 8]),
    vendor=st.just(Vendor.MTHREADS),
)
wholes = st.builds(whole_ask, st.integers(1, 5))
roles = st.sampled_from([Role.INIT, Role.SIDECAR, Role.APP, Role.APP])


@st.composite
def requests(draw: st.DrawFn, name: str) -> Request:
    asks = draw(st.sampled_from([metax_slices, metax_slices, mthreads_slices, wholes]))
    several = draw(st.integers(1, 3))
    containers = [
        ContainerAsk(f"c{at}", draw(roles), draw(st.sampled_from([(), (draw(asks),)])))
        for at in range(several)
    ]
    containers.sort(key=lambda each: each.role is Role.APP)
    mthreads = asks is mthreads_slices
    made = request(
        name,
        *containers,
        qos=draw(st.sampled_from(list(QosPolicy))) if asks is metax_slices else None,
        app_class=draw(st.sampled_from([None, None, None, *AppClass])) if asks is metax_slices else None,
        node_policy=draw(st.sampled_from([None, NodePolicy.BINPACK, NodePolicy.SPREAD, NodePolicy.FRAG])),
        card_order=draw(
            st.sampled_from(
                [
                    (),
                    (CardOrder.BINPACK,),
                    (CardOrder.MUTEX,),
                    (CardOrder.TOPOLOGY,),
                    (CardOrder.BINPACK, CardOrder.NUMA),
                ]
            )
        ),
        one_card=mthreads,
        required_scope=draw(st.sampled_from([None, None, None, TopologyScope.LINK, TopologyScope.NUMA])),
    )
    return msgspec.structs.replace(made, host=HostAsk(cpu_milli=draw(st.sampled_from([0, 500, 4000]))))


DEMAND = demand_from(
    shape_of(each)
    for each in (
        request("a", whole_ask(4)),
        request("b", slice_ask(memory=from_gib(16), cores=50)),
        request("c", slice_ask()),
        request("d", slice_ask(memory=from_512mib_units(32), cores=8, vendor=Vendor.MTHREADS)),
    )
)


class Cluster(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.frag = FragScores(DEMAND)
        self.memo = Memo()
        self.bound: dict[str, Tenant] = {}
        self.reserved: dict[str, Tenant] = {}
        self.nodes: dict[str, Node] = {}
        self.now = 0.0
        self.pods = 0

    @initialize()
    def start_with_some_nodes(self) -> None:
        for name in ("sliced", "whole", "mt"):
            self.put(NODES[name])

    def put(self, node: Node) -> None:
        self.nodes[node.name] = node
        self.ledger.put_node(node)

    @rule(name=st.sampled_from(sorted(NODES)))
    def node_arrives(self, name: str) -> None:
        if name not in self.nodes:
            self.put(NODES[name])

    @rule(data=st.data())
    def node_leaves(self, data: st.DataObject) -> None:
        if len(self.nodes) > 1:
            name = data.draw(st.sampled_from(sorted(self.nodes)))
            del self.nodes[name]
            self.ledger.remove_node(NodeName(name))

    @rule(data=st.data())
    def card_changes_health(self, data: st.DataObject) -> None:
        healthy, cordoned = data.draw(st.booleans()), data.draw(st.booleans())
        node = self.nodes[data.draw(st.sampled_from(sorted(self.nodes)))]
        at = data.draw(st.integers(0, len(node.cards) - 1))
        cards = list(node.cards)
        cards[at] = msgspec.structs.replace(cards[at], healthy=healthy, cordoned=cordoned)
        self.put(msgspec.structs.replace(node, cards=tuple(cards)))

    @rule(data=st.data())
    def card_vanishes_from_a_node(self, data: st.DataObject) -> None:
        node = self.nodes[data.draw(st.sampled_from(sorted(self.nodes)))]
        if len(node.cards) > 1:
            self.put(msgspec.structs.replace(node, cards=node.cards[:-1], topology=None))

    @rule(data=st.data())
    def node_is_repaired(self, data: st.DataObject) -> None:
        self.put(NODES[data.draw(st.sampled_from(sorted(self.nodes)))])

    @rule(data=st.data(), then=st.sampled_from(["bind", "bind", "reserve", "fail"]))
    def pod_is_filtered(self, data: st.DataObject, then: str) -> None:
        self.pods += 1
        name = f"p{self.pods}"
        asked = data.draw(requests(name))
        explanation = explained(self.ledger, asked, DEFAULTS, frag=self.frag)
        outcome = filter_nodes(self.ledger, asked, DEFAULTS, frag=self.frag)
        decision = decide(self.ledger, asked, DEFAULTS, memo=self.memo, frag=self.frag)
        assert (decision.node, decision.allocation) == (outcome.node, outcome.allocation)
        assert (decision.fitting, decision.best) == (outcome.fitting, outcome.best)
        scores = {verdict.node: verdict.score for verdict in explanation.nodes if verdict.fits}
        assert dict(decision.best).items() <= scores.items()
        assert [each.node for each in decision.best[:1]] == [node for node in (decision.node,) if node]
        assert explanation.chosen == outcome.node
        assert explanation.allocation == outcome.allocation
        assert {verdict.node for verdict in explanation.nodes} == set(self.nodes)
        for verdict in explanation.nodes:
            assert verdict.fits == (verdict.allocation is not None)
        assert (outcome.node is None) == (not any(verdict.fits for verdict in explanation.nodes))
        if outcome.allocation is None:
            return
        tenant = tenant_for(asked, outcome.allocation)
        attempt = self.ledger.begin_attempt()
        assert self.ledger.reserve(tenant, expires_at=self.now + 60, attempt=attempt)
        self.reserved[name] = tenant
        if then == "bind":
            self.bind(name)
        elif then == "fail":
            assert self.ledger.release(tenant.pod.uid)
            del self.reserved[name]

    def bind(self, name: str) -> None:
        self.bound[name] = self.reserved.pop(name)
        self.ledger.put_tenant(self.bound[name])

    @precondition(lambda self: bool(self.reserved))
    @rule(data=st.data())
    def reserved_pod_is_bound(self, data: st.DataObject) -> None:
        self.bind(data.draw(st.sampled_from(sorted(self.reserved))))

    @precondition(lambda self: bool(self.bound))
    @rule(data=st.data())
    def bound_pod_ends(self, data: st.DataObject) -> None:
        tenant = self.bound.pop(data.draw(st.sampled_from(sorted(self.bound))))
        assert self.ledger.remove(tenant.pod.uid) is not None
        assert self.ledger.remove(tenant.pod.uid) is None

    @precondition(lambda self: bool(self.bound))
    @rule(data=st.data())
    def init_containers_finish(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.bound)))
        self.bound[name] = msgspec.structs.replace(self.bound[name], init_done=True)
        self.ledger.put_tenant(self.bound[name])

    @rule(seconds=st.sampled_from([10.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        for tenant in self.ledger.expire(self.now):
            del self.reserved[tenant.pod.name]

    @rule()
    def scheduler_restarts(self) -> None:
        self.ledger = rebuilt(self.nodes, self.bound)
        self.frag = FragScores(DEMAND)
        self.memo = Memo()
        self.reserved.clear()

    @invariant()
    def nothing_is_oversold(self) -> None:
        for node in self.nodes.values():
            holders = [
                each
                for each in (*self.bound.values(), *self.reserved.values())
                if each.allocation.node == node.name
            ]
            for each in node.cards:
                holds = [
                    holds_of(holder.allocation, init_done=holder.init_done).get(each.uuid)
                    for holder in holders
                ]
                present = [hold for hold in holds if hold is not None]
                assert sum(hold.memory for hold in present) <= each.memory
                assert sum(hold.cores for hold in present) <= each.cores
                assert sum(hold.slots for hold in present) <= each.slots

    @invariant()
    def slices_of_one_card_agree_on_policy_and_class(self) -> None:
        policies: dict[str, set[QosPolicy]] = {}
        classes: dict[str, Counter[AppClass | None]] = {}
        for holder in (*self.bound.values(), *self.reserved.values()):
            for uuid, hold in holds_of(holder.allocation, init_done=holder.init_done).items():
                classes.setdefault(uuid, Counter())[holder.app_class] += 1
                if holder.qos is not None and holder.app_class is not AppClass.ONLINE and hold.cores < 100:
                    policies.setdefault(uuid, set()).add(holder.qos)
        assert all(len(each) == 1 for each in policies.values())
        assert all(
            set(each) in ({None}, *({one} for one in AppClass), set(AppClass)) for each in classes.values()
        )

    @invariant()
    def the_ledger_equals_one_rebuilt_from_scratch(self) -> None:
        fresh = rebuilt(self.nodes, self.bound)
        for name, tenant in self.reserved.items():
            assert fresh.reserve(tenant, expires_at=1e9, attempt=fresh.begin_attempt()), name
        names = sorted(self.nodes)
        mine, other = (each.view(map(NodeName, names)) for each in (self.ledger, fresh))
        width = min(mine.width, other.width)
        for fact in ("memory", "cores", "slots", "qos", "classes"):
            assert (getattr(mine.use, fact)[:, :width] == getattr(other.use, fact)[:, :width]).all(), fact
        assert (mine.nodes.cpu_free == other.nodes.cpu_free).all()
        assert (mine.nodes.memory_free == other.nodes.memory_free).all()


def rebuilt(nodes: dict[str, Node], bound: dict[str, Tenant]) -> Ledger:
    ledger = Ledger()
    for tenant in bound.values():
        ledger.put_tenant(tenant)
    for node in nodes.values():
        ledger.put_node(node)
    return ledger


TestCluster = Cluster.TestCase
