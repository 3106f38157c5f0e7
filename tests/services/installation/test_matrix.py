"""The support matrix and the list of what an installation makes are those that the pages show."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tangram.services.installation.created import GRANTED, HOME, made_on
from tangram.services.installation.matrix import ROWS, page_table

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "preflight.md").read_text("utf-8")
INSTALL = (DOCS / "scheduler-install.md").read_text("utf-8")
REQUIRED = ("M11", "M12", "M13", "M14", "S0-5", "S0-13", "S1-7", "S2-4", "S4-8", "T10")


def manifests(text: str) -> list[dict[str, Any]]:
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    return [thing for block in blocks for thing in yaml.safe_load_all(block)]


def test_the_page_shows_the_matrix_as_it_is() -> None:
    assert page_table() in PAGE


@pytest.mark.parametrize("source", REQUIRED)
def test_every_statement_of_a_vendor_about_versions_has_a_row(source: str) -> None:
    assert any(source in row.sources for row in ROWS)


def test_every_check_that_a_row_names_is_one_of_preflight_or_of_the_doctor() -> None:
    pages = PAGE + (DOCS / "hardware.md").read_text("utf-8") + (DOCS / "koordinator.md").read_text("utf-8")
    named = {row.check for row in ROWS if row.check}
    text = pages.replace(page_table(), "")
    assert {check for check in named if check not in text} == set()


@pytest.mark.parametrize(
    ("version", "text"),
    [
        pytest.param((1, 36), INSTALL.partition("## Before Kubernetes 1.30")[0], id="today"),
        pytest.param((1, 29), INSTALL, id="before-policies"),
    ],
)
def test_names_that_are_looked_up_are_those_of_the_installation_page(
    version: tuple[int, int], text: str
) -> None:
    plural = {
        "PodDisruptionBudget": "poddisruptionbudgets",
        "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    }
    made = {(each.resource, name) for each in made_on(version) for name in each.names}
    # The agents' manifests come with the charts.
    made -= {("daemonsets", "tangram-gpu-device"), ("daemonsets", "tangram-gpu-label")}
    told = {
        (plural.get(thing["kind"], f"{thing['kind'].lower()}s"), thing["metadata"]["name"])
        for thing in manifests(text)
        if version >= (1, 30) or "Policy" not in thing["kind"]
    }
    assert made == told
    assert {thing["metadata"].get("namespace", HOME) for thing in manifests(text)} == {HOME}


def test_rights_that_are_tried_are_those_of_the_installation_page() -> None:
    (role,) = [thing for thing in manifests(INSTALL) if thing["kind"] == "ClusterRole"]
    assert list(GRANTED) == role["rules"]
