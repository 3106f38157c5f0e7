"""Pods of many containers, laid down as arrays and, a second time, card by card with nothing but lists.

The slow version follows the documented rules one container after another: staying containers add up, ordinary init
containers see only the sidecars started before them, and take the pod's own cards where those suffice.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from builders.clusters import metax_node
from builders.requests import DEFAULTS, request, slice_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import filter_nodes
from tangram.model.cards import AppClass, QosPolicy
from tangram.model.pods import Role
from tangram.model.requests import Ask, CardOrder, ContainerAsk, Request
from tangram.units.memory import Bytes, from_gib

SIXTEENTH = from_gib(4)
ONLINE, OFFLINE = AppClass.ONLINE, AppClass.OFFLINE


@dataclass
class Used:
    """One card and everybody on it."""

    memory: int = 0
    cores: int = 0
    classes: list[AppClass | None] = field(default_factory=list[AppClass | None])
    policies: set[QosPolicy] = field(default_factory=set[QosPolicy])

    def add(self, memory: int, cores: int, pod: Request) -> None:
        self.memory += memory
        self.classes.append(pod.app_class)
        if pod.app_class is not ONLINE:
            self.cores += cores
            if pod.qos is not None:
                self.policies.add(pod.qos)

    def takes(self, ask: Ask, pod: Request) -> bool:
        strangers = {None: {ONLINE, OFFLINE}, OFFLINE: {ONLINE, None}, ONLINE: {None}}[pod.app_class]
        memory, cores = ask.memory or 0, ask.cores or 0
        if len(self.classes) >= 16 or strangers & set(self.classes) or self.memory + memory > 16 * SIXTEENTH:
            return False
        if pod.app_class is ONLINE:
            return True
        if self.policies - {pod.qos}:
            return False
        return self.cores + cores <= 100 and not (cores == 0 and self.cores >= 100)

    def score(self, ask: Ask, pod: Request) -> Fraction:
        cores = 0 if pod.app_class is ONLINE else ask.cores or 0
        return (
            Fraction(1 + len(self.classes), 16)
            + Fraction(cores + self.cores, 100)
            + Fraction((ask.memory or 0) + self.memory, 16 * SIXTEENTH)
        )

    def disturbed(self) -> tuple[int, int, int]:
        """What an online slice looks at first: whom it would suspend, then its neighbours."""
        online, offline = self.classes.count(ONLINE), self.classes.count(OFFLINE)
        suspends = online == 0 and offline > 0
        return int(suspends), offline if suspends else online, offline


@dataclass
class Slow:
    """A node in use, as a function of the tenants it had before the pod."""

    before: list[list[tuple[int, int, Request]]]

    def cards(self) -> list[Used]:
        made = [Used() for _ in self.before]
        for card, holders in zip(made, self.before, strict=True):
            for memory, cores, holder in holders:
                card.add(memory, cores, holder)
        return made

    def take(self, cards: list[Used], ask: Ask, pod: Request, own: set[int]) -> list[int] | None:
        fitting = [at for at, card in enumerate(cards) if card.takes(ask, pod)]
        if len(own.intersection(fitting)) >= ask.count:
            fitting = [at for at in fitting if at in own]
        sign = 1 if pod.card_order == (CardOrder.BINPACK,) else -1
        others = self.cards()

        def worst_first(at: int) -> tuple[tuple[int, ...], Fraction, int]:
            shy = tuple(-each for each in others[at].disturbed()) if pod.app_class is ONLINE else ()
            return shy, sign * cards[at].score(ask, pod), at

        walked = sorted(fitting, key=worst_first)[::-1]
        return walked[: ask.count] if len(walked) >= ask.count else None

    def place(self, pod: Request) -> list[list[int]] | None:
        given: dict[int, list[int]] = {}
        own: set[int] = set()
        cards = self.cards()
        init_last = sorted(enumerate(pod.containers), key=lambda each: each[1].role is Role.INIT)
        for position, container in init_last:
            if container.role is Role.INIT:
                cards = self.cards()
                for earlier, sidecar in enumerate(pod.containers[:position]):
                    if sidecar.role is Role.SIDECAR:
                        self.add(cards, sidecar.asks, given.get(earlier, []), pod)
            for ask in container.asks:
                taken = self.take(cards, ask, pod, own if container.role is Role.INIT else set())
                if taken is None:
                    return None
                given[position] = taken
            if container.role is not Role.INIT:
                self.add(cards, container.asks, given.get(position, []), pod)
            own.update(given.get(position, []))
        return [given.get(position, []) for position in range(len(pod.containers))]

    def add(self, cards: list[Used], asks: tuple[Ask, ...], taken: list[int], pod: Request) -> None:
        for ask in asks:
            for at in taken:
                cards[at].add(ask.memory or 0, ask.cores or 0, pod)


holders = st.tuples(
    st.sampled_from([None, None, *AppClass]),
    st.sampled_from(list(QosPolicy)),
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from([0, 25])), max_size=3),
)
asks = st.builds(
    slice_ask,
    st.integers(1, 2),
    memory=st.integers(1, 7).map(lambda parts: Bytes(parts * SIXTEENTH)),
    cores=st.sampled_from([0, 25, 50, 75]),
)
containers = st.lists(st.tuples(st.sampled_from(Role), st.none() | asks), min_size=1, max_size=4)


@given(st.lists(holders, min_size=1, max_size=5), containers, st.data())
def test_containers_land_where_a_slow_reading_of_the_rules_puts_them(
    used: list[tuple[AppClass | None, QosPolicy, list[tuple[int, int]]]],
    wanted: list[tuple[Role, Ask | None]],
    data: st.DataObject,
) -> None:
    node = metax_node("n", len(used))
    node = msgspec.structs.replace(
        node, cards=tuple(msgspec.structs.replace(card, numa=0) for card in node.cards)
    )
    ledger, slow = ledger_of(node), Slow([[] for _ in used])
    for at, (app_class, qos, parts) in enumerate(used):
        for number, (sixteenths, cores) in enumerate(parts):
            memory = Bytes(sixteenths * SIXTEENTH)
            held = 0 if app_class is ONLINE else cores
            ledger.put_tenant(
                tenant(f"t{at}-{number}", node, Part(at, memory, held), qos=qos, app_class=app_class)
            )
            slow.before[at].append((memory, held, request("t", qos=qos, app_class=app_class)))
    in_order = sorted(wanted, key=lambda each: each[0] is Role.APP)
    asked = request(
        "p",
        *(
            ContainerAsk(f"c{at}", role, () if ask is None else (ask,))
            for at, (role, ask) in enumerate(in_order)
        ),
        qos=data.draw(st.sampled_from(list(QosPolicy))),
        app_class=data.draw(st.sampled_from([None, None, *AppClass])),
        card_order=(data.draw(st.sampled_from([CardOrder.BINPACK, CardOrder.SPREAD])),),
    )
    allocation = filter_nodes(ledger, asked, DEFAULTS).allocation
    found = allocation and [[share.index for share in each.shares] for each in allocation.containers]
    assert found == slow.place(asked)
