"""The reference pages name everything there is, and what they show can be used."""

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from tangram.cli import replays
from tangram.engine.simulate import ReplayResult
from tangram.model.cards import Vendor
from tangram.model.verdicts import CardRule, NodeRule
from tangram.reports import shape as report
from tangram.reports.words import rule_word
from tangram.wire.clusterfile.cards import SHARED_KEYS
from tangram.wire.clusterfile.links import Pattern
from tangram.wire.clusterfile.nodes import NODE_KEYS
from tangram.wire.clusterfile.pods import POD_KEYS
from tangram.wire.clusterfile.reading import read_cluster_file, read_pods_file

DOCS = Path(__file__).resolve().parents[2] / "docs"
CLUSTER_FILE = (DOCS / "cluster-file.md").read_text("utf-8")
EXPLAIN = (DOCS / "explain.md").read_text("utf-8")
SIMULATE = (DOCS / "simulate.md").read_text("utf-8")


def section(title: str, text: str) -> str:
    """From a heading to the next of the same depth."""
    depth = title.partition(" ")[0]
    found = re.search(rf"^{re.escape(title)}$(.*?)(?=^{depth} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("block", re.findall(r"^```yaml\n(.*?)^```$", CLUSTER_FILE, re.MULTILINE | re.DOTALL))
def test_every_file_shown_can_be_read(block: str) -> None:
    document = yaml.safe_load(block)
    if document["tangram"].startswith("pods/"):
        assert read_pods_file(document, [Vendor.METAX])
    else:
        assert read_cluster_file(document).nodes


def test_every_key_of_a_cluster_file_is_described() -> None:
    node, pod = section("## A node", CLUSTER_FILE), section("## A pod", CLUSTER_FILE)
    assert [key for key in (*NODE_KEYS, *SHARED_KEYS, *Pattern) if f"`{key}`" not in node] == []
    assert [key for key in POD_KEYS if f"`{key}`" not in pod] == []


@pytest.mark.parametrize(
    "record",
    [
        report.ExplainReport,
        report.PodReport,
        report.NodeReport,
        report.CardReport,
        report.ContainerReport,
        report.GivenCard,
        report.Reason,
        report.Advice,
        report.Remark,
        report.ClusterReport,
        report.LastVerdict,
        report.Turn,
    ],
)
def test_every_field_of_an_explanation_is_described(record: type[msgspec.Struct]) -> None:
    fields = [field.encode_name for field in msgspec.structs.fields(record)]
    assert [field for field in fields if not re.search(rf"[`.]{field}(\[\])?[`.]", EXPLAIN)] == []


def test_every_verdict_is_described() -> None:
    words = [
        rule_word(rule) for rules in (NodeRule, CardRule) for rule in rules if rule is not CardRule.ABSENT
    ]
    assert [word for word in words if f"`{word}`" not in EXPLAIN] == []


@pytest.mark.parametrize("record", [replays.SimulateReport, replays.Mean, ReplayResult])
def test_every_field_of_a_replay_is_described(record: type[msgspec.Struct]) -> None:
    fields = [field.encode_name for field in msgspec.structs.fields(record)]
    assert [field for field in fields if not re.search(rf"`{field}(\[\])?`", SIMULATE)] == []
