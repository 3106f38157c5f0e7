"""The cluster as the scheduler knows it: one ledger, moved along by every event and never rebuilt.

Bound pods are the truth, from whoever bound them. An unbound pod never holds anything here, whatever its annotations
say; a promise to it is ours alone. A bound pod whose cards nobody named is charged with a guess, because counting it
nowhere would sell its cards again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from tangram.engine.decide import Decision, Memo, decide
from tangram.engine.demand import LearnedDemand
from tangram.engine.filter import Candidates
from tangram.engine.frag import FragScores
from tangram.engine.holdings import Holding
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.kube.informer import Change, Key
from tangram.model.allocations import Tenant
from tangram.model.cards import SERVED, QosPolicy, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.model.requests import Request
from tangram.services.scheduler.admissions import Admissions
from tangram.services.scheduler.coexistence import Coexistence, placed_by_koordinator
from tangram.services.scheduler.gang_index import GangIndex
from tangram.services.scheduler.guesses import Guesses
from tangram.services.scheduler.reservations import USUAL_TIMES, Reservations, Times
from tangram.services.scheduler.seen import Seen, Waiting
from tangram.units.ids import NodeName, PodUid
from tangram.units.memory import Bytes
from tangram.vendors.mthreads.tiers import sizes_in_use, sizes_of
from tangram.vendors.registry import names_of_others
from tangram.vendors.settings import DEFAULT_SETTINGS, AdmissionSettings, largest_slices, unlimited_compute
from tangram.wire.koordinator.device import Device
from tangram.wire.nodes import NodeReading, read_node, with_device
from tangram.wire.pods import read_pod
from tangram.wire.queueing import read_gang, read_queueing
from tangram.wire.tenants import Unnamed, on_the_host_alone, read_tenant

Object = Mapping[str, Any]

USUAL_DEFAULTS: Final = Defaults()


class State:
    """Fed by informers through `read_*` and `*_changed`; read and changed by the verbs, one at a time."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        served: frozenset[str],
        settings: AdmissionSettings | None = None,
        defaults: Defaults = USUAL_DEFAULTS,
        times: Times = USUAL_TIMES,
    ) -> None:
        self.served = served
        self.defaults = defaults
        self.ledger: Final = Ledger()
        self.memo: Final = Memo()
        self.frag: Final = FragScores()
        self.admissions: Final = Admissions(settings or AdmissionSettings())
        self.reservations: Final = Reservations(self.ledger, clock, times)
        self._guesses: Final = Guesses(self.ledger)
        self.waiting: Final[dict[PodUid, Seen]] = {}
        """Pods of ours without a node, in the order in which they were first seen."""
        self.leaving: Final[dict[PodUid, NodeName]] = {}
        """Pods with a node that are being deleted: they hold what they hold until they are gone."""
        self.gangs: Final = GangIndex()
        self.coexistence: Final = Coexistence()
        self.problems: Final[dict[NodeName, tuple[str, ...]]] = {}
        """What could not be read of each node, one sentence each."""
        self.arrived: Callable[[Waiting], None] = _nobody
        """Told of every pod that begins to wait."""
        self.reread: Callable[[NodeName], None] = _nobody
        """Told of every node whose pods have to be read again, because its cards have other names now."""
        self.heard: Callable[[], str] = _not_said
        """The moment of the API server's history that the copy of pods has reached; empty when nobody says."""
        self._by_name: dict[Key, Seen] = {}
        self._devices: dict[NodeName, Device] = {}
        self._readings: dict[NodeName, NodeReading] = {}
        self._demand = LearnedDemand()
        self._given_sizes: tuple[int, ...] | None = settings and settings.mthreads_memory_per_card
        self._renamed: dict[str, str] = settings.renamed if settings else {}
        self._vendors: tuple[Vendor, ...] = SERVED
        self._usual_qos = QosPolicy.BEST_EFFORT
        self.edition = 0
        """Grows with every change of a node."""
        self._sizes: dict[NodeName, frozenset[int]] = {}
        self._unserved: set[NodeName] = set()
        """Nodes with Moore Threads cards and without our agent."""
        self._largest: dict[NodeName, dict[Vendor, Bytes]] = {}
        """What the largest sliced card of each vendor on each node can slice."""
        self._unlimited: dict[NodeName, frozenset[Vendor]] = {}
        """Makers of sliced cards on each node that do not hold slices to their compute."""
        self._nodes_by_largest: Counter[tuple[Vendor, Bytes]] = Counter()
        """How many nodes have each of these: of many nodes few values, so that the largest is found at once."""

    # --- nodes ---------------------------------------------------------------------------------------------------

    def read_node(self, manifest: Object) -> NodeReading:
        name = NodeName(str(manifest["metadata"]["name"]))
        return read_node(manifest, self._devices.get(name), self._renamed, again=True, vendors=self._vendors)

    def read_simulated(self, manifest: Object) -> Node:
        """A node that does not exist (yet), under this cluster's names of resources. It has no `Device`."""
        return read_node(manifest, None, self._renamed, vendors=self._vendors).node

    def node_changed(self, change: Change[NodeReading]) -> None:
        name = NodeName(change.key.name)
        if change.new is None:
            self.edition += 1
            self.ledger.remove_node(name)
            self._readings.pop(name, None)
            self.problems.pop(name, None)
            self._note_sizes(name, None)
            self._note_slices(name, None)
        else:
            self._take_node(name, change.new)

    def put_device(self, name: NodeName, device: Device | None) -> None:
        """Koordinator's description of a node, None when there is none (any more). It counts at once.

        Cards that only a `Device` told of go with it, their tenants stay: they are charged again should it come back.
        """
        if device is None:
            self._devices.pop(name, None)
        else:
            self._devices[name] = device
        reading = self._readings.get(name)
        if reading is not None:
            self._take_node(name, reading)

    def _take_node(self, name: NodeName, reading: NodeReading) -> None:
        self.edition += 1
        device = self._devices.get(name)
        if reading.device is not device:
            # It was read before the `Device` changed.
            reading = with_device(reading, device, self._renamed, self._vendors)
        self._readings[name] = reading
        known = self.ledger.node(name)
        self.ledger.put_node(reading.node)
        if reading.problems:
            self.problems[name] = tuple(problem.sentence for problem in reading.problems)
        else:
            self.problems.pop(name, None)
        self._note_slices(name, reading.node)
        if known is None or _ids(known) != _ids(reading.node):
            self._note_sizes(name, reading.node)
            self._guesses.read_again(reading.node, self.admissions.settings)
            if any(_is_astray(holding, reading.node) for holding in self.ledger.holdings_on(name)):
                # Something there was read against other cards, or against none.
                self.reread(name)

    def _note_sizes(self, name: NodeName, node: Node | None) -> None:
        """Which sizes of Moore Threads slice exist depends on the cards there are, unless somebody said."""
        sizes = sizes_of(() if node is None else node.cards)
        if sizes == self._sizes.get(name, frozenset()):
            return
        if sizes:
            self._sizes[name] = sizes
        else:
            del self._sizes[name]
        self._read_pods_anew()

    def _note_slices(self, name: NodeName, node: Node | None) -> None:
        """Which slice is the largest, and whether its compute is limited, depends on the sliced cards there are; a card
        may change its mode or its policy.
        """
        cards = () if node is None else node.cards
        unlimited, largest = unlimited_compute(cards), largest_slices(cards)
        known = self._unlimited.get(name, frozenset()), name in self._unserved
        unserved = node is not None and not node.managed and bool(sizes_of(cards))
        if (unlimited, unserved) != known:
            self._unlimited[name] = unlimited
            (self._unserved.add if unserved else self._unserved.discard)(name)
            if not unlimited:
                del self._unlimited[name]
            self._read_pods_anew()
        before = self._largest.pop(name, {})
        if largest:
            self._largest[name] = largest
        if largest != before:
            self._nodes_by_largest.subtract(before.items())
            self._nodes_by_largest.update(largest.items())
            self._nodes_by_largest += Counter()
            self._read_pods_anew()

    def use_names(self, renamed: dict[str, str], sizes: tuple[int, ...] | None) -> None:
        """What HAMi's device configuration says: other names of resources, and sizes of Moore Threads cards."""
        self._renamed, self._given_sizes = renamed, sizes
        self._read_pods_anew()

    def use_policies(self, vendors: tuple[Vendor, ...], usual_qos: QosPolicy) -> None:
        """Whose cards count, and which policy new slices get that name none."""
        self._usual_qos = usual_qos
        if vendors == self._vendors:
            return
        self._vendors = vendors
        self._read_pods_anew()
        for name, reading in [*self._readings.items()]:
            device = self._devices.get(name)
            self._take_node(name, with_device(reading, device, self._renamed, self._vendors))
            # Pods that hold cards of a vendor which counts from now on were read as pods without any.
            self.reread(name)
        for uid, seen in [*self.waiting.items()]:
            if seen.waiting is not None and not seen.waiting.admission.ours:
                del self.waiting[uid]
                self.reservations.forget(uid)
                self._by_name[Key(seen.ref.namespace, seen.ref.name)] = replace(seen, waiting=None)

    @property
    def settings_of_new_pods(self) -> AdmissionSettings:
        """How a pod is read that admission still completes. One that is stored has been completed."""
        return replace(self.admissions.settings, qos_policy=self._usual_qos)

    def _read_pods_anew(self) -> None:
        """Read pods by other settings from now on, those that wait already among them."""
        sizes = sizes_in_use(self._given_sizes, (size for each in self._sizes.values() for size in each))
        off = names_of_others(self._vendors)
        settings = AdmissionSettings(
            mthreads_memory_per_card=sizes or DEFAULT_SETTINGS.mthreads_memory_per_card,
            mthreads_served=bool(self._sizes) and not self._unserved,
            largest_memory=dict(sorted(self._nodes_by_largest)),
            compute_limited=frozenset(vendor for vendor, _ in self._nodes_by_largest).difference(
                *self._unlimited.values()
            ),
            renamed={own: usual for own, usual in self._renamed.items() if usual not in off},
            vendors=frozenset(self._vendors),
        )
        if settings == self.admissions.settings:
            return
        self.admissions.settings = settings
        for uid, seen in self.waiting.items():
            if seen.waiting is not None:
                again = replace(seen.waiting, admission=self.admissions.of(seen.waiting.pod))
                self.waiting[uid] = replace(seen, waiting=again)

    # --- pods ----------------------------------------------------------------------------------------------------

    def read_pod(self, manifest: Object) -> Seen:
        """What is to be known of a pod. Never raises."""
        return self.seen(read_pod(manifest), manifest)

    def seen(self, pod: Pod, manifest: Object) -> Seen:
        if pod.ended:
            return Seen(ref=pod.ref, node=pod.node_name, ended=True)
        admission = self.admissions.of(pod)
        koordinators = admission.ours and placed_by_koordinator(pod, self.served)
        if pod.node_name is not None:
            node = self.ledger.node(pod.node_name)
            held = read_tenant(pod, node, self.admissions.settings, admission=admission)
            return Seen(
                ref=pod.ref,
                node=pod.node_name,
                terminating=pod.terminating,
                held=held or on_the_host_alone(pod, pod.node_name),
                gang=read_gang(manifest),
                koordinators=koordinators,
            )
        queueing = read_queueing(manifest)
        ours = admission.ours and pod.scheduler_name in self.served
        waiting = Waiting(pod=pod, admission=admission, queueing=queueing) if ours else None
        return Seen(
            ref=pod.ref,
            terminating=pod.terminating,
            waiting=waiting,
            gang=queueing.gang,
            koordinators=koordinators,
        )

    def read_waiting(self, manifest: Object) -> Waiting:
        """A pod that is asked about before its own event has come."""
        pod = read_pod(manifest)
        return Waiting(pod=pod, admission=self.admissions.of(pod), queueing=read_queueing(manifest))

    def pod_changed(self, change: Change[Seen]) -> None:
        new = change.new
        if new is None:
            if change.old is not None:
                self._gone(change.key, change.old.ref.uid)
            return
        uid = new.ref.uid
        if new.ended:
            self._gone(change.key, uid)
            return
        self.coexistence.note(uid, koordinators=new.koordinators)
        if new.node is None:
            self._wait(change.key, new)
            return
        self.waiting.pop(uid, None)
        if new.terminating:
            self.leaving[uid] = new.node
        self._by_name[change.key] = new
        self.reservations.bound(uid)
        self.gangs.note(new, has_node=True)
        self._hold(new)

    def hold_bound(self, tenant: Tenant) -> None:
        """A bind of ours was accepted; the pod's own event may still be on its way."""
        uid = tenant.pod.uid
        self.waiting.pop(uid, None)
        self.ledger.put_tenant(tenant)
        self.reservations.bound(uid)

    def known(self, namespace: str, name: str) -> Seen | None:
        return self._by_name.get(Key(namespace, name))

    def _wait(self, key: Key, new: Seen) -> None:
        uid = new.ref.uid
        holding = self.ledger.holding(uid)
        if holding is not None and holding.bound:
            # An event from before our own bind, which overtook it.
            return
        if new.waiting is None or new.terminating:
            self.waiting.pop(uid, None)
            self.reservations.forget(uid)
            self._by_name[key] = new
            return
        before = self.waiting.get(uid)
        self.waiting[uid] = new
        self._by_name[key] = new
        self.gangs.note(new, has_node=False)
        if before is None:
            self.arrived(new.waiting)
            return
        if before.waiting is None:
            return
        if before.waiting.request != new.waiting.request:
            # Somebody changed what it asks for; what was promised is not what it wants.
            self.reservations.release(uid)
        nominated = before.waiting.queueing.nominated
        if nominated is not None and new.waiting.queueing.nominated is None:
            self.reservations.take_back(uid, nominated)

    def _gone(self, key: Key, uid: PodUid) -> None:
        self.waiting.pop(uid, None)
        self.leaving.pop(uid, None)
        self.coexistence.forget(uid)
        self.reservations.forget(uid)
        self._guesses.forget(uid)
        self.ledger.remove(uid)
        known = self._by_name.get(key)
        if known is not None and known.ref.uid == uid:
            del self._by_name[key]
            self.gangs.leave(known)

    def _hold(self, new: Seen) -> None:
        held = new.held
        if isinstance(held, Unnamed):
            self._guesses.hold(held)
        elif held is not None:
            self.ledger.put_tenant(held)
            self._guesses.make_way(held)

    # --- deciding ------------------------------------------------------------------------------------------------

    def decide(self, request: Request, candidates: Candidates) -> Decision:
        """Where the pod would go now."""
        return decide(self.ledger, request, self.defaults, candidates, memo=self.memo, frag=self.frag)

    def learn(self, request: Request) -> None:
        """One more pod was placed; what comes next will be like it."""
        self._demand.see(request)
        if self._demand.current is not self.frag.demand:
            self.frag.expect(self._demand.current)


def _ids(node: Node) -> tuple[str, ...]:
    return tuple(card.uuid for card in node.cards)


def _is_astray(holding: Holding, node: Node) -> bool:
    """Whether a pod holds nothing, or a card that its node does not have (any more)."""
    return not holding.charges or not set(holding.tenant.allocation.cards) <= set(_ids(node))


def _not_said() -> str:
    return ""


def _nobody(_something: object) -> None:
    return None
