"""Room that is there and of no use, as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import pytest

from builders.dashboards import EVERYTHING, GIB, NOW, FakeKnown, asked, card, held, node, view, viewer
from tangram.reports.view_shape import IdleRoom, Rules
from tangram.web.history.keeping import History
from tangram.web.language import Language
from tangram.web.pages import fragmentation
from tangram.web.rendering import Rendering
from tangram.web.replay.asking import Scope
from tangram.web.replay.running import Replay, Replays
from tangram.web.replay.shape import Answer, Model, Outcome, Question, Typical
from tangram.web.rooms import rooms_in, rooms_of
from tangram.web.sight import Sight

NO_QUERY: Mapping[str, str] = {}
NODES_ONLY = Sight(nodes=True, namespaces=frozenset({"research"}))


class StillReplays(Replays):
    """Begins nothing; remembers that somebody looked."""

    looked = 0

    def look(self, make: Callable[[], tuple[Question, Scope]], now: float) -> None:
        del make, now
        self.looked += 1


def known_of(room: IdleRoom | None = None, *, minutes: int = 90) -> FakeKnown:
    known = FakeKnown()
    known.history = History(StillReplays())
    known.picture.listeners.append(known.history.note)
    nodes = [
        node("gpu-1", card(0, held("research/train", whole=True)), card(1)),
        node("gpu-2", card(0, held("serving/chat", memory=16 * GIB, cores=25), mode="sgpu", slots=16)),
    ]
    rules = Rules(node_policy="binpack", card_policy=["spread"], scheduler_names=[])
    for minute in range(minutes + 1):
        known.picture.take(
            view(*nodes, version=minute + 1, at=NOW - 60 * (minutes - minute), room=room, rules=rules)
        )
    return known


def outcome(policy: str, *, more: float, cards: float, fragmented: float = 1.0) -> Outcome:
    return Outcome(
        policy=policy, placed=2, idle=4.0, fragmented=fragmented, tried=10, more=more, more_cards=cards
    )


def replay(first: Outcome, second: Outcome, *, of_nodes: int = 2) -> Replay:
    return Replay(
        at=NOW - 120,
        scope=Scope(nodes=2, of_nodes=of_nodes, cards=3, pods=2),
        answer=Answer(
            outcomes=[first, second],
            typical=[
                Typical(share=0.75, vendor="metax", whole=False, cards=1, memory=16 * GIB, cores=25),
                Typical(share=0.25, vendor="mthreads", whole=True, cards=8),
            ],
            models=[Model(vendor="metax", product="MXC500", cards=3, idle=2.0, fragmented=0.5)],
            seconds=0.4,
        ),
    )


ROOM = IdleRoom(at=NOW, idle=8.0, fragmented=2.0, shapes=3)


async def page_of(
    known: FakeKnown,
    sight: Sight = EVERYTHING,
    language: Language = Language.ENGLISH,
    query: Mapping[str, str] = NO_QUERY,
) -> tuple[int, str]:
    question = asked("/fragmentation", by=viewer(sight=sight, language=language), query=query)
    shown = await fragmentation.page(question, known)
    text = Rendering(lambda name: f"/{name}").page(
        shown.template, shown.values, question, fragment=True, known=known, stamp=""
    )
    return shown.status, text.decode()


async def test_now_and_over_time_are_shown_with_their_command() -> None:
    status, text = await page_of(known_of(ROOM))
    assert status == 200
    assert ">25%</a>" in text
    assert ">8.0</a>" in text
    assert ">2.0</a>" in text
    assert 'id="by-now"' in text
    assert "Between 25% and 25%, at last 25%." in text
    assert "MXC500" in text


@pytest.mark.parametrize(
    ("language", "meaning", "example"),
    [
        pytest.param(
            Language.ENGLISH,
            "Each kind of pod is measured only against cards that it could use",
            "25% of what is idle is fragmented. Four free cards of another vendor beside them are not",
            id="en",
        ),
        pytest.param(
            Language.CHINESE,
            "每种规格的 Pod 只对照节点空载时它可以使用的卡",
            "则空闲容量的 25% 为碎片。旁边再有四张其他厂商的空闲卡时",
            id="zh-CN",
        ),
    ],
)
async def test_the_page_says_what_the_number_means_with_an_example(
    language: Language, meaning: str, example: str
) -> None:
    """`tests/engine/test_fragmentation.py` measures the same example."""
    _, text = await page_of(known_of(ROOM), language=language)
    assert meaning in text
    assert example in text
    assert "5%" in text[text.index(example) :]


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        pytest.param(Language.ENGLISH, "are idle on cards that none of the pods", id="en"),
        pytest.param(Language.CHINESE, "4.5 张卡当量所在的卡", id="zh-CN"),
    ],
)
async def test_idle_cards_without_demand_are_named_and_not_called_fragmented(
    language: Language, sentence: str
) -> None:
    room = msgspec.structs.replace(ROOM, without_demand=4.5)
    _, text = await page_of(known_of(room), language=language)
    assert sentence in text
    assert "4.5" in text
    assert ">25%</a>" in text
    _, text = await page_of(known_of(ROOM), language=language)
    assert sentence not in text


async def test_a_model_without_demand_has_no_share() -> None:
    known = known_of(ROOM)
    found = replay(outcome("binpack", more=5, cards=2), outcome("frag", more=7, cards=3))
    assert found.answer is not None
    (model,) = found.answer.models
    for without, shown in ((0.0, ">25%</a>"), (2.0, "no demand")):
        models = [msgspec.structs.replace(model, without_demand=without)]
        known.history.replays.latest = msgspec.structs.replace(
            found, answer=msgspec.structs.replace(found.answer, models=models)
        )
        _, text = await page_of(known)
        table = text[text.index('id="by-model"') : text.index('id="typical"')]
        assert [each for each in (">25%</a>", "no demand") if each in table] == [shown]


async def test_who_may_not_list_nodes_is_told_so_and_nothing_else() -> None:
    known = known_of(ROOM)
    status, text = await page_of(known, Sight(namespaces=frozenset({"research"})))
    assert status == 403
    assert "right to list nodes" in text
    assert "MXC500" not in text
    assert known.history.replays.version == 0


async def test_sizes_of_everybodys_pods_are_for_those_who_may_list_them_all() -> None:
    known = known_of(ROOM)
    known.history.replays.latest = replay(
        outcome("binpack", more=5, cards=2), outcome("frag", more=7, cards=3)
    )
    _, text = await page_of(known, NODES_ONLY)
    assert "16 GiB" not in text
    assert "right to list pods of all namespaces" in text
    replays = known.history.replays
    assert isinstance(replays, StillReplays)
    assert replays.looked == 0
    _, text = await page_of(known)
    assert "1 × 16 GiB, 25% compute" in text  # noqa: RUF001 - as the page says it
    assert "8 × whole card" in text  # noqa: RUF001 - the same
    assert replays.looked == 1


@pytest.mark.parametrize(
    ("frag", "sentence"),
    [
        pytest.param(outcome("frag", more=7, cards=3), "2 more of 10 further typical pods", id="more pods"),
        pytest.param(outcome("frag", more=5, cards=2.6), "could use 0.6 more cards", id="more cards"),
        pytest.param(outcome("frag", more=5, cards=2), "come to the same", id="same"),
        pytest.param(outcome("frag", more=3, cards=1), "would not do better", id="less"),
    ],
)
async def test_what_frag_would_have_saved_is_said_as_it_is(frag: Outcome, sentence: str) -> None:
    known = known_of(ROOM)
    known.history.replays.latest = replay(outcome("binpack", more=5, cards=2), frag, of_nodes=9)
    _, text = await page_of(known)
    assert sentence in text
    assert "2 of 9 nodes" in text
    assert "2 minutes ago" in text


async def test_a_replay_that_failed_says_why() -> None:
    known = known_of(ROOM)
    known.history.replays.latest = msgspec.structs.replace(
        replay(outcome("binpack", more=1, cards=1), outcome("frag", more=1, cards=1)),
        answer=None,
        trouble="<no> room",
    )
    _, text = await page_of(known)
    assert "could not be worked out: &lt;no&gt; room" in text


async def test_where_nothing_is_typical_yet_no_share_is_made_up() -> None:
    _, text = await page_of(known_of(IdleRoom(at=NOW, idle=8.0, fragmented=0.0, shapes=0)))
    assert "No pod with cards runs or waits yet" in text
    assert ">0%</a>" not in text
    _, text = await page_of(known_of(None, minutes=0))
    assert "has not told yet how much is idle" in text


@pytest.mark.parametrize("query", [{"period": "1y"}, {"from": "2026-01-01"}])
async def test_a_period_that_cannot_be_read_is_a_sentence(query: dict[str, str]) -> None:
    status, text = await page_of(known_of(ROOM), query=query)
    assert status == 400
    assert "can be 24h, 7d, 31d" in text


@pytest.mark.parametrize("period", ["24h", "7d", "31d"])
async def test_every_period_is_there_in_chinese(period: str) -> None:
    known = known_of(ROOM)
    known.history.replays.latest = replay(
        outcome("frag", more=5, cards=2), outcome("binpack", more=4, cards=1)
    )
    status, text = await page_of(known, language=Language.CHINESE, query={"period": period})
    assert status == 200
    assert "碎片占空闲容量的比例" in text
    assert "“frag”策略省下了多少" in text


def test_the_moment_is_another_with_a_new_point_or_the_end_of_a_replay() -> None:
    known = known_of(ROOM)
    question = asked("/fragmentation")
    first = fragmentation.moment(question, known)
    known.history.replays.version += 1
    second = fragmentation.moment(question, known)
    known.picture.take(view(version=1000, at=NOW + 61))
    third = fragmentation.moment(question, known)
    known.picture.take(
        view(version=1001, at=NOW + 62, room=msgspec.structs.replace(ROOM, without_demand=1.0))
    )
    assert len({first, second, third, fragmentation.moment(question, known)}) == 4
    blind = asked("/fragmentation", by=viewer(sight=Sight()))
    assert fragmentation.moment(blind, known) == 0


def test_room_by_model_counts_only_cards_that_take_pods() -> None:
    known = known_of(ROOM)
    (room,) = rooms_in(known.picture)
    assert (room.cards, room.free, room.idle, room.remainders) == (3, 1, 1.75, 0.75)
    assert rooms_in(known.picture) is rooms_in(known.picture)
    assert rooms_of([node("a", card(0, state="unhealthy")), node("b", card(0), state="not-ready")]) == []
