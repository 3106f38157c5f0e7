"""Which news are worth another try for a pod, by the rule that was in its way."""

from typing import Any

import pytest

from builders.placing import node, pod
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.rules import (
    FIT,
    NODE_AFFINITY,
    POD_AFFINITY,
    PORTS,
    SPREADING,
    TAINTS,
    UNSCHEDULABLE,
)
from tangram.sandbox.placing.wakes import News, What, changed, could_help

BUSY = {"key": "busy", "effect": "NoSchedule"}
PORT = [{"name": "main", "ports": [{"hostPort": 80}]}]
PLAIN = pod("p", {"cpu": "4"}, labels={"app": "web"})
SPREAD = {
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def new_node(**more: Any) -> News:  # noqa: ANN401 - of `pod`
    return News(What.NODE, node=(None, node("n", **more)))


def gone(**more: Any) -> News:  # noqa: ANN401 - of `pod`
    return News(What.POD_GONE, pod=(None, pod("x", on="n", **more)))


def came(**more: Any) -> News:  # noqa: ANN401 - of `pod`
    return News(What.POD_BOUND, pod=(None, pod("x", on="n", **more)))


@pytest.mark.parametrize(
    ("rule", "asks", "news", "worth"),
    [
        pytest.param(FIT, PLAIN, gone(), True, id="room after a pod"),
        pytest.param(FIT, PLAIN, came(), False, id="no room by a pod that came"),
        pytest.param(FIT, PLAIN, new_node(), True, id="a node that is large enough"),
        pytest.param(FIT, PLAIN, new_node(cpu="3"), False, id="a node that is too small"),
        pytest.param(
            FIT,
            PLAIN,
            News(What.NODE, node=(node("n", cpu="3"), node("n", cpu="5"))),
            True,
            id="a node that grew",
        ),
        pytest.param(
            FIT,
            PLAIN,
            News(What.NODE, node=(node("n", memory="1Gi"), node("n"))),
            False,
            id="more of what is not asked for",
        ),
        pytest.param(
            FIT,
            PLAIN,
            News(What.POD_CHANGED, pod=(pod("x", {"cpu": "2"}, on="n"), pod("x", {"cpu": "1"}, on="n"))),
            True,
            id="a pod that shrank",
        ),
        pytest.param(TAINTS, PLAIN, new_node(taints=[BUSY]), False, id="another tainted node"),
        pytest.param(
            TAINTS,
            PLAIN,
            News(What.NODE, node=(node("n", taints=[BUSY]), node("n"))),
            True,
            id="a taint that went",
        ),
        pytest.param(TAINTS, PLAIN, gone(), False, id="a pod that went from a tainted node"),
        pytest.param(
            UNSCHEDULABLE,
            PLAIN,
            News(What.NODE, node=(node("n", cordoned=True), node("n"))),
            True,
            id="uncordoned",
        ),
        pytest.param(
            NODE_AFFINITY,
            pod("p", nodeSelector={"zone": "east"}),
            new_node(labels={"zone": "east"}),
            True,
            id="the zone",
        ),
        pytest.param(
            NODE_AFFINITY, pod("p", nodeSelector={"zone": "east"}), new_node(), False, id="another zone"
        ),
        pytest.param(PORTS, pod("p", containers=PORT), gone(containers=PORT), True, id="the port is free"),
        pytest.param(PORTS, pod("p", containers=PORT), gone(), False, id="not the port"),
        pytest.param(
            SPREADING,
            pod("p", topologySpreadConstraints=[SPREAD]),
            came(labels={"app": "web"}),
            True,
            id="alike",
        ),
        pytest.param(SPREADING, pod("p", topologySpreadConstraints=[SPREAD]), came(), False, id="not alike"),
        pytest.param(SPREADING, PLAIN, News(What.NODE_GONE), True, id="a domain less"),
        pytest.param(FIT, PLAIN, News(What.NODE_GONE), False, id="a node less"),
        pytest.param(POD_AFFINITY, PLAIN, came(), True, id="somebody to be near to"),
    ],
)
def test_news_are_worth_a_try_if_the_rule_in_the_way_could_answer_otherwise(
    rule: str, asks: Pod, news: News, *, worth: bool
) -> None:
    assert could_help(news, asks, frozenset({rule}), frozenset()) is worth


def test_a_heartbeat_of_a_node_is_no_news() -> None:
    was = node("n")
    assert not changed(was, node("n"))
    assert changed(was, node("n", cpu="9"))
    assert changed(was, node("n", labels={"new": "yes"}))
    assert not changed(was, node("n", cordoned=True)), "a cordon helps nobody"
