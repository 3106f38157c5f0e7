"""The support matrix of the page has the numbers that the checks compare with, and names what an installation makes."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tangram.drivers.doctor.versions import (
    METAX_SLICES,
    MTHREADS_SLICES,
    MTHREADS_TOOLKIT_ABOVE,
    version_text,
)
from tangram.services.installation import matrix
from tangram.services.installation.created import GRANTED, HOME, made_on
from tangram.wire.cdi_support import FIRST_WITH_FIELD

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "preflight.md").read_text("utf-8")
INSTALL = (DOCS / "scheduler-install.md").read_text("utf-8")
REQUIRED = ("M11", "M12", "M13", "M14", "S0-5", "S0-13", "S1-7", "S2-4", "S4-8", "T10")


def manifests(text: str) -> list[dict[str, Any]]:
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    return [thing for block in blocks for thing in yaml.safe_load_all(block)]


class Row(NamedTuple):
    what: str
    needed: str
    purpose: str
    sources: str
    check: str


(TABLE,) = re.findall(r"\| What \| Needed \| For \| Source \| Check \|\n\|-[-|]*\n((?:\|.*\n)+)", PAGE)
ROWS = [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in TABLE.splitlines()]


DOCKER = "{}.{:02}.{}".format(*matrix.OLDEST_DOCKER)


def since(version: tuple[int, ...]) -> str:
    return f">= {'.'.join(map(str, version))}"


@pytest.mark.parametrize(
    ("what", "purpose", "needed"),
    [
        ("Kubernetes", "anything", since(matrix.OLDEST_KUBERNETES)),
        ("Kubernetes", "kube-scheduler's configuration", since(matrix.PERCENTAGE_BY_PROFILE)),
        ("Kubernetes", "allocations guarded by the API server", since(matrix.POLICIES)),
        ("Kubernetes", "nodes nominated ahead", since(matrix.NOMINATION)),
        ("kubelet", "anything", since(matrix.OLDEST_KUBERNETES)),
        ("kubelet", "CDI names passed as a field", since(FIRST_WITH_FIELD)),
        ("containerd", "anything", since(matrix.OLDEST_CONTAINERD)),
        ("containerd", "CDI without a setting", since(matrix.CONTAINERD_CDI)),
        (
            "Docker",
            "anything",
            f">= {DOCKER}, before Kubernetes {matrix.minor_text(matrix.NO_DOCKER_FROM)} only",
        ),
        (
            "Host system",
            "MetaX's driver",
            "; ".join(f"{name} {', '.join(releases)}" for name, releases in matrix.HOSTS),
        ),
        ("Architecture", "Tangram's image", ", ".join(matrix.ARCHITECTURES)),
        ("MetaX driver", "slices", since(METAX_SLICES)),
        ("Moore Threads driver", "slices", since(MTHREADS_SLICES)),
        ("MT CloudNative Toolkits", "slices", f"> {version_text(MTHREADS_TOOLKIT_ABOVE)}"),
        ("Helm", "the charts, from files", since(matrix.OLDEST_HELM)),
        ("Helm", "the charts, from a registry", since(matrix.HELM_WITH_REGISTRIES)),
    ],
)
def test_a_number_of_the_page_is_the_one_that_is_checked(what: str, purpose: str, needed: str) -> None:
    (row,) = [each for each in ROWS if each.what == what and each.purpose.startswith(purpose)]
    assert row.needed == needed


@pytest.mark.parametrize("source", REQUIRED)
def test_every_statement_of_a_vendor_about_versions_has_a_row(source: str) -> None:
    assert any(source in row.sources.split(", ") for row in ROWS)


def test_every_check_that_a_row_names_is_one_of_preflight_or_of_the_doctor() -> None:
    pages = PAGE + (DOCS / "hardware.md").read_text("utf-8") + (DOCS / "koordinator.md").read_text("utf-8")
    named = {row.check.strip("`") for row in ROWS if row.check}
    text = pages.replace(TABLE, "")
    assert named
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
