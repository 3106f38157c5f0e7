"""Selectors take exactly the objects that the real server's would, and what is no selector is refused."""

from __future__ import annotations

import pytest

from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.refusals import Refused
from tangram.sandbox.apiserver.selecting import labels_test, read_selection

POD_KIND = next(kind for kind in BUILT_IN if kind.kind == "Pod")
POD = {
    "metadata": {"name": "a", "namespace": "default", "labels": {"app": "web", "tier": "3", "empty": ""}},
    "spec": {"nodeName": "n1"},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("labels", "taken"),
    [
        pytest.param("app=web", True, id="equal"),
        pytest.param("app==web", True, id="equal, twice"),
        pytest.param("app!=web", False, id="not equal"),
        pytest.param("other!=web", True, id="absent is not equal"),
        pytest.param("app in (web, db)", True, id="in"),
        pytest.param("app notin (web)", False, id="not in"),
        pytest.param("other notin (web)", True, id="absent is not in"),
        pytest.param("app", True, id="there"),
        pytest.param("!app", False, id="not there"),
        pytest.param("!other,app=web", True, id="both"),
        pytest.param("tier>2", True, id="greater"),
        pytest.param("tier<2", False, id="less"),
        pytest.param("app>2", False, id="no number"),
        pytest.param("empty=", True, id="empty value"),
    ],
)
def test_a_label_selector_takes_what_it_says(labels: str, taken: bool) -> None:  # noqa: FBT001 - a table
    assert read_selection(POD_KIND, labels, "").takes(POD) is taken


@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        pytest.param("spec.nodeName=n1", True, id="node"),
        pytest.param("spec.nodeName!=n1", False, id="another node"),
        pytest.param("status.phase==Running,metadata.name=a", True, id="both"),
        pytest.param("spec.hostNetwork=false", True, id="what is absent is false"),
    ],
)
def test_a_field_selector_takes_what_it_says(fields: str, taken: bool) -> None:  # noqa: FBT001 - a table
    assert read_selection(POD_KIND, "", fields).takes(POD) is taken


@pytest.mark.parametrize(
    ("labels", "fields"),
    [
        pytest.param("app in web", "", id="no brackets"),
        pytest.param("-app=web", "", id="no key"),
        pytest.param("", "spec.image=x", id="a field that is not indexed"),
        pytest.param("", "spec.nodeName", id="no operator"),
    ],
)
def test_what_is_no_selector_is_a_bad_request(labels: str, fields: str) -> None:
    with pytest.raises(Refused) as refused:
        read_selection(POD_KIND, labels, fields)
    assert refused.value.code == 400


def test_a_selector_in_an_object_takes_labels_and_expressions_together() -> None:
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["3"]},
            {"key": "old", "operator": "DoesNotExist"},
        ],
    }
    assert labels_test(selector)(POD)
    assert not labels_test({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]})(
        POD
    )
    assert labels_test({})(POD)
