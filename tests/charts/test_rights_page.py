"""`docs/install-tests.md` says of every right that any chart can hand out where its use is shown.

Rights of the chart as `e2e/test_rights.py` installs it are recorded there, on a real API server. Whatever another
option, an older cluster or the other chart adds must be in a small table, with the test that shows it used. And the
judgement that the recording ends with is tried on cases that it must refuse.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from builders.charts.cases import EXTENSIONS, TANGRAM, WITH_DAEMONS, Case, case_named, cases, values_of
from builders.charts.goldens import objects_of
from builders.charts.reading import of_kind
from e2e.audit_kit import Question
from e2e.rights_kit import BINDINGS, ROLES, Judged, Right, beyond, judged, own_rights
from tangram.wire.gpu_aware_weights import ALIAS

ROOT: Final = Path(__file__).resolve().parents[2]
SECTION: Final = (
    (ROOT / "docs" / "install-tests.md")
    .read_text("utf-8")
    .partition("\n## Rights\n")[2]
    .partition("\n## ")[0]
)
ALIASES: Final = {EXTENSIONS: "metax-gpu"}
"""What the charts have for `gpuAware.aliasNamespace` where a case does not set it."""
RECORDED: Final = case_named(TANGRAM, "deployExtenderGPUAware")
EVERY: Final = [
    pytest.param(case, id=f"{case.chart}-{case.name}") for chart in WITH_DAEMONS for case in cases(chart)
]
"""Those of the operator's chart are its own page's (`test_operator_chart.py`)."""


def rights_of(case: Case) -> set[Right]:
    """What a case hands out, as if every chart and namespace were called the same."""
    return {_renamed(right, case) for right in own_rights(of_kind(objects_of(case), *ROLES, *BINDINGS))}


def _renamed(right: Right, case: Case) -> Right:
    _, _, part = right.account.partition("-")
    home = (case.namespace, "the release's namespace")
    if (part, right.resource) == ("gpu-device", "configmaps"):
        settings = values_of(case).get("gpuDevice", {})
        home = (settings.get("configNamespace", "kube-system"), "the configuration's namespace")
    alias = values_of(case).get("gpuAware", {}).get("aliasNamespace") or ALIASES.get(case.chart, "")
    if right.name == ALIAS:
        return right._replace(account=part, namespace="the namespace of aliases")
    # Where Kubernetes has the events of nodes, and what is applied without a namespace, whatever a chart is told.
    fixed = {("dashboard", "events"): "default", ("gpu-device", "configmaps"): "default"}
    known = {alias: "the namespace of aliases"} | {"": ""} | dict([home])
    if right.namespace not in known:
        assert right.namespace == fixed[part, right.resource]
    return right._replace(account=part, namespace=known.get(right.namespace, right.namespace))


def elsewhere() -> dict[str, str]:
    """The rights of the table, by their words, each with the test it names."""
    table = SECTION.partition("| Right | Where | Test |")[2]
    return dict(re.findall(r"^\| (.+?) \| .+? \| `(.+?)` \|$", table, re.MULTILINE))


@pytest.mark.parametrize("case", EVERY)
def test_every_right_that_a_chart_can_hand_out_is_recorded_or_in_the_table(case: Case) -> None:
    more = rights_of(case) - rights_of(RECORDED)
    assert {str(right) for right in more} <= elsewhere().keys()


def test_the_table_has_nothing_that_no_chart_hands_out_or_that_is_recorded_anyway() -> None:
    possible = {str(right) for chart in WITH_DAEMONS for case in cases(chart) for right in rights_of(case)}
    assert elsewhere().keys() <= possible - {str(right) for right in rights_of(RECORDED)}


def test_the_tests_of_the_table_exist() -> None:
    for named in elsewhere().values():
        file, _, function = named.partition("::")
        found = {getattr(node, "name", "") for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8")))}
        assert function in found


# ---- the judgement

NODES: Final = Right("agent", "patch", "", "nodes", "", "")
SECRET: Final = Right("agent", "get", "", "secrets", "home", "mine")
ASKED: Final = [
    Question("agent", "our-agent", "patch", "", "nodes", "", "a", refused=False),
    Question("agent", "our-agent", "patch", "", "nodes", "", "b", refused=False),
    Question("agent", "our-agent", "get", "", "secrets", "home", "mine", refused=False),
]
PODS: Final = Right("agent", "list", "", "pods", "", "")
LISTED: Final = ASKED[0]._replace(verb="list", resource="pods", namespace="home", name="")


def outcome(own: set[Right], *asked: Question, built_in: frozenset[Right] = frozenset()) -> Judged:
    return judged(own, set(built_in), asked)


def test_rights_that_are_all_used_and_suffice_are_found_right() -> None:
    assert outcome({NODES, SECRET}, *ASKED) == Judged([], [], [])


@pytest.mark.parametrize(
    "right",
    [
        pytest.param(NODES._replace(verb="delete"), id="verb"),
        pytest.param(NODES._replace(resource="nodes/status"), id="subresource"),
        pytest.param(NODES._replace(group="apps"), id="group"),
        pytest.param(NODES._replace(account="other"), id="account"),
        pytest.param(SECRET._replace(name="another"), id="name"),
        pytest.param(SECRET._replace(namespace="elsewhere"), id="namespace"),
    ],
)
def test_a_right_that_nobody_used_is_named(right: Right) -> None:
    assert outcome({NODES, SECRET, right}, *ASKED).unused == [str(right)]


def test_two_rights_for_the_same_are_one_too_many() -> None:
    wide = SECRET._replace(name="")
    assert outcome({NODES, SECRET, wide}, *ASKED).unused == sorted(map(str, (SECRET, wide)))


def test_what_only_roles_of_kubernetes_allow_is_kube_schedulers_alone() -> None:
    built_in = frozenset({NODES, SECRET})
    assert len(outcome(set(), *ASKED, built_in=built_in).borrowed) == len(ASKED)
    theirs = [each._replace(program="kube-scheduler") for each in ASKED]
    assert outcome(set(), *theirs, built_in=built_in) == Judged([], [], [])


@pytest.mark.parametrize(
    ("own", "asked", "why"),
    [
        pytest.param(NODES, ASKED[:1], "only for a", id="one name"),
        pytest.param(SECRET._replace(namespace=""), ASKED[2:], "only in home", id="one namespace"),
        pytest.param(PODS, [LISTED], "only in home", id="one namespace's list"),
    ],
)
def test_a_right_that_could_be_narrower_is_named(own: Right, asked: list[Question], why: str) -> None:
    assert outcome({own}, *asked).too_wide == [f"{own}: {why}"]


def test_a_name_that_is_not_known_when_a_right_is_checked_narrows_nothing() -> None:
    create = SECRET._replace(verb="create", name="")
    asked = ASKED[2]._replace(verb="create")
    assert outcome({create}, asked) == Judged([], [], [])


def test_beyond_a_right_by_name_are_other_names_other_namespaces_and_whole_lists() -> None:
    listed = SECRET._replace(verb="list", resource="configmaps")
    assert {(each.namespace, each.name) for each in beyond(listed)} == {
        ("home", "somebody-elses"),
        ("home", ""),
        ("somebody-elses", "mine"),
    }
    assert list(beyond(NODES)) == []
