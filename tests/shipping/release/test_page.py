"""The page about releases, held to what a release holds and to which Kubernetes is supported."""

import re

from shipping.image.project import ROOT
from shipping.release.notes import FILE as NOTES
from shipping.release.steps import files_of
from shipping.release.sums import FILE as SUMS
from shipping.release.version import Version
from tangram.services.installation.matrix import (
    HELM_WITH_REGISTRIES,
    NEWEST_TRIED,
    OLDEST_HELM,
    OLDEST_KUBERNETES,
)
from testbed.parts import read_components

PAGE = (ROOT / "docs" / "releasing.md").read_text("utf-8")


def part(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_page_names_every_file_of_a_release_and_no_other() -> None:
    named = re.findall(r"(?m)^\| `([^`]+)` \|", part("What is in it"))
    made = files_of(Version.of("9.8.7", "")) | {NOTES, SUMS}
    assert sorted(named) == sorted(name.replace("9.8.7", "VERSION") for name in made)


def test_the_page_spells_versions_as_they_are_spelled() -> None:
    rows = [
        [cell.strip() for cell in line.split("|")[2:5]]
        for line in part("Versions").splitlines()
        if line.startswith(("| release", "| before", "| snapshot"))
    ]
    assert len(rows) == 3
    for tag, text, wheel in rows:
        version = Version.of(text.strip("`"), "the page")
        assert wheel == f"`{version.of_wheel}`"
        assert tag == "none" or tag.startswith(f"`{version.tag}`")


def minor(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version[:2]))


def test_the_page_says_what_is_stated_of_kubernetes_and_what_was_run() -> None:
    (kubernetes,) = (each.version for each in read_components() if each.name == "kubernetes")
    assert kubernetes.startswith(f"v{minor(NEWEST_TRIED)}.")
    assert f"from {minor(OLDEST_KUBERNETES)} on: the charts refuse an older one" in part("Kubernetes")
    assert f"| Kubernetes before {minor(NEWEST_TRIED)} |" in part("Kubernetes")
    for chart in ("tangram", "metax-gpu-extensions", "metax-operator"):
        text = (ROOT / "deploy" / "charts" / chart / "Chart.yaml").read_text("utf-8")
        assert f'kubeVersion: ">={minor(OLDEST_KUBERNETES)}.0-0"' in text


def test_the_page_says_which_helm_is_stated() -> None:
    stated = f"from {minor(OLDEST_HELM)} on with files, from {minor(HELM_WITH_REGISTRIES)} on with a registry"
    assert stated in part("Kubernetes")
