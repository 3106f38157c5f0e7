"""What a person may see: as the API server says, not older than half a minute, with as few questions as it takes."""

import asyncio

import pytest

from builders.dashboards import card, held, node, view
from builders.receptions import ADMIN, Clock, WrittenRights
from builders.virtual_time import virtually
from tangram.kube.rights import RIGHT_S, RightsUnknown, User
from tangram.web.picture import Picture
from tangram.web.seeing import (
    GRANTED_S,
    MOST_AT_A_LOOK,
    MOST_AT_ONCE,
    MOST_NAMESPACES,
    MOST_USERS,
    REFUSED_S,
    Namespaces,
    Seeing,
)
from tangram.web.sight import Sight


class Scene:
    def __init__(self, *namespaces: str) -> None:
        self.rights = WrittenRights()
        self.namespaces = Namespaces()
        self.namespaces.add(namespaces)
        self.clock = Clock()
        self.seeing = Seeing(self.rights, self.namespaces, self.clock)

    async def sight(self, user: User) -> Sight:
        return (await self.seeing.of(user)).sight

    def questions(self) -> int:
        asked, self.rights.asked = len(self.rights.asked), []
        return asked


@virtually
async def test_who_may_see_all_is_asked_about_no_namespace() -> None:
    scene = Scene("a", "b", "c")
    admin = scene.rights.person("admin", *ADMIN)
    seen = await scene.seeing.of(admin)
    assert seen == (Sight(everything=True, nodes=True), True)
    assert scene.questions() == 3
    await scene.seeing.of(admin)
    assert scene.questions() == 0


@virtually
async def test_a_tenant_sees_the_namespaces_whose_pods_they_may_list() -> None:
    scene = Scene("a", "b", "c")
    anna = scene.rights.person("anna", "list pods a", "list pods c", "get pods b")
    assert await scene.seeing.of(anna) == (Sight(namespaces=frozenset("ac")), False)
    assert Sight(namespaces=frozenset("ca")) == await scene.sight(anna)


@virtually
async def test_a_right_that_is_taken_away_ends_within_half_a_minute() -> None:
    scene = Scene("a", "b")
    anna = scene.rights.person("anna", "list pods a", "list pods b", "list nodes")
    assert (await scene.sight(anna)).namespaces == {"a", "b"}
    scene.rights.rights["anna"] = {"list pods b"}
    scene.clock.pass_time(GRANTED_S)
    assert await scene.sight(anna) == Sight(namespaces=frozenset("b"))


@virtually
async def test_a_right_to_a_namespace_that_came_between_two_looks_ends_as_soon() -> None:
    scene = Scene("a")
    anna = scene.rights.person("anna", "list pods a", "list pods late")
    await scene.sight(anna)
    scene.clock.pass_time(GRANTED_S - 1)
    scene.namespaces.add(["late"])
    assert (await scene.sight(anna)).namespaces == {"a", "late"}
    scene.clock.pass_time(1)
    assert (await scene.sight(anna)).namespaces == {"a", "late"}
    scene.rights.rights["anna"] = {"list pods a"}
    scene.clock.pass_time(GRANTED_S)
    assert (await scene.sight(anna)).namespaces == {"a"}


def test_no_right_outlives_half_a_minute() -> None:
    assert GRANTED_S + RIGHT_S <= 30


@virtually
async def test_what_was_refused_is_asked_again_only_now_and_then() -> None:
    scene = Scene(*(f"n{index}" for index in range(100)))
    anna = scene.rights.person("anna", "list pods n7")
    await scene.sight(anna)
    assert scene.questions() == 103
    for _ in range(5):
        scene.clock.pass_time(GRANTED_S)
        await scene.sight(anna)
        assert scene.questions() == 4
    scene.rights.rights["anna"].add("list pods n8")
    scene.clock.pass_time(REFUSED_S)
    assert (await scene.sight(anna)).namespaces == {"n7", "n8"}


@virtually
async def test_who_signs_in_anew_has_a_right_that_was_just_given() -> None:
    scene = Scene("a")
    anna = scene.rights.person("anna")
    assert (await scene.sight(anna)).namespaces == set()
    scene.rights.rights["anna"].add("list pods a")
    scene.seeing.forget(anna)
    assert (await scene.sight(anna)).namespaces == {"a"}


@virtually
async def test_a_namespace_that_has_its_first_pod_is_seen_at_once_and_costs_one_question() -> None:
    scene = Scene("a")
    anna = scene.rights.person("anna", "list pods a", "list pods new")
    picture = Picture()
    picture.listeners.append(scene.namespaces.note)
    await scene.sight(anna)
    scene.questions()
    picture.take(view(node("gpu-1", card(0, held("new/pod-0")))))
    assert (await scene.sight(anna)).namespaces == {"a", "new"}
    assert scene.questions() == 1


@virtually
async def test_when_the_api_server_does_not_say_nobody_sees_anything_and_never_what_they_saw_before() -> None:
    scene = Scene("a")
    anna = scene.rights.person("anna", "list pods a")
    await scene.sight(anna)
    scene.rights.lost = True
    assert (await scene.sight(anna)).namespaces == {"a"}
    scene.clock.pass_time(GRANTED_S)
    for _ in range(3):
        with pytest.raises(RightsUnknown):
            await scene.sight(anna)
    scene.rights.lost = False
    scene.rights.rights["anna"] = set()
    assert await scene.sight(anna) == Sight()


@virtually
async def test_silence_half_way_through_the_namespaces_is_silence() -> None:
    scene = Scene("a", "b", "c", "d")
    anna = scene.rights.person("anna", "list pods a", "list pods b")
    usual = scene.rights.may

    async def may(user: User, verb: str, resource: str, namespace: str = "", *, name: str = "") -> bool:
        if namespace == "c":
            raise RightsUnknown("the API server did not say")
        return await usual(user, verb, resource, namespace, name=name)

    scene.rights.may = may
    with pytest.raises(RightsUnknown):
        await scene.sight(anna)


@virtually
async def test_twenty_who_ask_at_once_are_one_look_and_few_questions_at_a_time() -> None:
    scene = Scene(*(f"n{index}" for index in range(50)))
    anna = scene.rights.person("anna", "list pods n1")
    usual, now, most = scene.rights.may, 0, 0

    async def may(user: User, verb: str, resource: str, namespace: str = "", *, name: str = "") -> bool:
        nonlocal now, most
        now, most = now + 1, max(most, now + 1)
        await asyncio.sleep(0.01)
        now -= 1
        return await usual(user, verb, resource, namespace, name=name)

    scene.rights.may = may
    sights = await asyncio.gather(*(scene.sight(anna) for _ in range(20)))
    assert set(sights) == {Sight(namespaces=frozenset({"n1"}))}
    assert scene.questions() == 53
    assert most <= MOST_AT_ONCE


@virtually
async def test_one_who_leaves_does_not_end_the_look_of_the_others() -> None:
    scene = Scene("a")
    anna = scene.rights.person("anna", "list pods a")
    first = asyncio.create_task(scene.sight(anna))
    second = asyncio.create_task(scene.sight(anna))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).namespaces == {"a"}


@virtually
async def test_a_huge_cluster_is_asked_about_in_parts_and_what_is_seen_stays_seen() -> None:
    names = [f"n{index:04d}" for index in range(MOST_AT_A_LOOK * 2 + 10)]
    scene = Scene(*names)
    anna = scene.rights.person("anna", *(f"list pods {name}" for name in (names[0], names[-1])))
    assert (await scene.sight(anna)).namespaces == {names[0]}
    assert scene.questions() == MOST_AT_A_LOOK + 3
    for _ in range(2):
        scene.clock.pass_time(GRANTED_S)
        assert names[0] in (await scene.sight(anna)).namespaces
    assert (await scene.sight(anna)).namespaces == {names[0], names[-1]}


@virtually
async def test_memory_is_bounded_by_people_and_namespaces() -> None:
    scene = Scene("a")
    for index in range(MOST_USERS + 10):
        await scene.sight(scene.rights.person(f"user-{index}"))
    assert len(scene.seeing) == MOST_USERS
    scene.namespaces.add(f"n{index}" for index in range(MOST_NAMESPACES + 10))
    assert len(list(scene.namespaces)) == MOST_NAMESPACES


@virtually
async def test_the_same_name_with_other_groups_is_somebody_else() -> None:
    scene = Scene("a")
    scene.rights.person("anna", "list pods a")
    await scene.sight(User("anna", groups=("dev",)))
    scene.questions()
    await scene.sight(User("anna", groups=("ops",)))
    assert scene.questions() == 4
