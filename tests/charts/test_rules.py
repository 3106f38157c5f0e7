"""Alerts ask only for what the daemons tell, name labels that come out, and lead to a runbook that is there."""

import re
from typing import Any

import pytest
import yaml

from builders.charts.cases import TANGRAM, case_named
from builders.charts.goldens import CHARTS, ROOT, objects_of
from builders.charts.promql import labels_of
from builders.charts.reading import of_kind
from builders.charts.series import all_series

Rule = dict[str, Any]

FILE = CHARTS / TANGRAM / "rules" / "tangram.yaml"
RUNBOOKS = (ROOT / "docs" / "runbooks.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
SERIES = all_series()
OURS = "https://tangram.dev/docs/runbooks"
NAMED = re.compile(r"\$labels\.(\w+)")


def rules_in(text: dict[str, Any]) -> list[Rule]:
    return [rule for group in text["groups"] for rule in group["rules"]]


RULES = rules_in(yaml.safe_load(FILE.read_text("utf-8")))
ALL = [pytest.param(rule, id=rule["alert"]) for rule in RULES]


@pytest.mark.parametrize("rule", ALL)
def test_an_alert_can_be_answered_and_its_words_name_labels_that_come_out(rule: Rule) -> None:
    labels = labels_of(rule["expr"], SERIES)
    named = set(NAMED.findall(" ".join(rule["annotations"].values())))
    assert labels is not None
    assert named <= labels
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["description"].endswith(".")


@pytest.mark.parametrize("rule", ALL)
def test_an_alert_leads_to_its_runbook_and_is_on_the_page(rule: Rule) -> None:
    name = rule["alert"]
    assert rule["annotations"]["runbook_url"] == f"{OURS}#{name.lower()}"
    assert f"\n## {name}\n" in RUNBOOKS
    assert f"| `{name}` | {rule['labels']['severity']} |" in PAGE


def test_every_runbook_is_of_an_alert() -> None:
    told = re.findall(r"^## (\w+)$", RUNBOOKS, re.MULTILINE)
    assert told == [rule["alert"] for rule in RULES]


def test_the_charts_object_has_the_files_rules_and_the_runbooks_that_were_named() -> None:
    (made,) = of_kind(objects_of(case_named(TANGRAM, "monitoring.rules.enabled")), "PrometheusRule")
    assert rules_in(made["spec"]) == RULES
    (moved,) = of_kind(objects_of(case_named(TANGRAM, "monitoring.rules.runbooks")), "PrometheusRule")
    links = [rule["annotations"]["runbook_url"] for rule in rules_in(moved["spec"])]
    assert links == [f"https://wiki.example.com/gpu#{rule['alert'].lower()}" for rule in RULES]
