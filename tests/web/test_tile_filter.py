"""The filter of the cluster page, held against a reference that reads nodes instead of tiles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builders.dashboards import card, held, node, view
from tangram.reports.status_shape import CORDONED, FREE, NOT_READY, READY, UNHEALTHY, CardStatus, NodeStatus
from tangram.web.picture import Picture
from tangram.web.sight import Sight
from tangram.web.tile_filter import FIELDS, STATES, TileFilter, filtered, offered, read_filter
from tangram.web.tiles import Book, book_of, tile_of

NAMESPACES = ("research", "vision", "serving")
VENDORS = (("metax", "MXC500"), ("metax", "MXC550"), ("mthreads", "MTT S4000"))
POLICIES = ("", "best-effort", "fixed-share")


def one_card(kind: tuple[str, str], namespaces: list[str], state: str, qos: str) -> CardStatus:
    holders = [held(f"{namespace}/pod", memory=1, cores=1) for namespace in namespaces]
    return card(0, *holders, vendor=kind[0], product=kind[1], state=state, qos=qos)


def one_node(name: str, known: list[CardStatus], state: str) -> NodeStatus:
    return node(name, *known, state=state)


cards = st.builds(
    one_card,
    st.sampled_from(VENDORS),
    st.lists(st.sampled_from(NAMESPACES), max_size=3, unique=True),
    st.sampled_from(("", "", CORDONED, UNHEALTHY)),
    st.sampled_from(POLICIES),
)
nodes = st.builds(
    one_node,
    st.from_regex(r"[Ga]pu-[0-9]{1,2}", fullmatch=True),
    st.lists(cards, min_size=1, max_size=4),
    st.sampled_from((READY, READY, CORDONED, NOT_READY)),
)
sights = st.builds(
    Sight,
    everything=st.booleans(),
    nodes=st.booleans(),
    namespaces=st.frozensets(st.sampled_from(NAMESPACES)),
)
filters = st.builds(
    TileFilter,
    vendor=st.sampled_from(("", "metax", "mthreads", "other")),
    product=st.sampled_from(("", "MXC500", "MTT S4000", "none")),
    namespace=st.sampled_from(("", *NAMESPACES, "nobody")),
    policy=st.sampled_from((*POLICIES, "burst-share")),
    state=st.sampled_from(("", *STATES)),
    q=st.sampled_from(("", "gpu", "GPU-1", "9", "zzz")),
)


def reference(known: NodeStatus, by: TileFilter, sight: Sight) -> bool:
    """Each field as a sentence about the node."""
    holders = {holder.pod.split("/")[0] for one in known.cards for holder in one.holders}
    states = {one.state for one in known.cards}
    says = {
        "vendor": by.vendor in {one.vendor for one in known.cards},
        "product": by.product in {one.product for one in known.cards},
        "policy": by.policy in {one.qos for one in known.cards},
        "q": by.q.lower() in known.node.lower(),
        "namespace": by.namespace in {each for each in holders if sight.of_namespace(each)},
        "state": {
            FREE: known.state == READY and FREE in states,
            CORDONED: known.state == CORDONED or CORDONED in states,
            NOT_READY: known.state == NOT_READY,
        }.get(by.state, by.state in states),
    }
    return all(says[field] for field in by.fields)


@given(st.lists(nodes, max_size=6), filters, sights)
def test_the_filter_says_what_its_fields_say(known: list[NodeStatus], by: TileFilter, sight: Sight) -> None:
    found = filtered([tile_of(each) for each in known], by, sight)
    assert [tile.name for tile in found] == [each.node for each in known if reference(each, by, sight)]


def book_with(known: list[NodeStatus]) -> Book:
    picture = Picture()
    picture.take(view(*known))
    return book_of(picture)


@given(st.lists(nodes, max_size=6), sights)
def test_only_namespaces_of_the_sight_are_offered(known: list[NodeStatus], sight: Sight) -> None:
    choice = offered(book_with(known), sight)
    assert all(map(sight.of_namespace, choice.namespaces))


@given(st.lists(nodes, min_size=1, max_size=6))
def test_everything_that_is_offered_finds_something(known: list[NodeStatus]) -> None:
    sight = Sight(everything=True, nodes=True)
    tiles = [tile_of(each) for each in known]
    choice = offered(book_with(known), sight)
    for vendor in choice.vendors:
        assert filtered(tiles, TileFilter(vendor=vendor), sight)
    for product in choice.products:
        assert filtered(tiles, TileFilter(product=product), sight)
    for policy in choice.policies:
        assert filtered(tiles, TileFilter(policy=policy), sight)
    for namespace in choice.namespaces:
        assert filtered(tiles, TileFilter(namespace=namespace), sight)


@given(st.dictionaries(st.sampled_from((*FIELDS, "page", "else")), st.text(max_size=300)))
def test_whatever_an_address_says_it_is_applied_or_said_to_be_wrong(query: dict[str, str]) -> None:
    found, wrong = read_filter(query)
    left_out = {each.field for each in wrong}
    for field in FIELDS:
        sent = query.get(field, "").strip()
        assert (getattr(found, field) == sent) != (field in left_out and sent != "")


def test_a_state_that_does_not_exist_names_those_that_do() -> None:
    found, wrong = read_filter({"state": "tired", "q": "gpu"})
    assert found == TileFilter(q="gpu")
    assert [(each.field, each.value, each.legal) for each in wrong] == [("state", "tired", STATES)]
