"""What the pages say was run is what the tests run: versions come from the pins, and are the same on every page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from shipping.image.lockfile import read_lock
from shipping.image.platforms import PLATFORMS
from shipping.image.recipe import PYTHON, SUITE
from tangram.wire.runtime_config.containerd_reading import PLUGINS
from testbed.containerd_settings import VERSIONS
from testbed.parts import read_components

ROOT = Path(__file__).resolve().parents[1]
PINS = {component.name: component.version.removeprefix("v") for component in read_components()}
COLUMNS = ["Outside component", "Real, in the tests", "Scripted or recorded", "Simulated", "Never run"]
BUILT = {
    "Kubernetes control plane, kube-proxy, kubelet": ("kubernetes", "etcd"),
    "containerd, runc, CNI plugins": ("containerd", "runc", "cni"),
    "kubectl": ("kubectl-1.28", "kubernetes"),
    "helm": ("helm",),
    "kwok": ("kwok",),
}
FETCHED = {
    "Docker, podman (`metax-docker`)": ("docker.io", "podman"),
    "Prometheus": ("prometheus",),
    "registry for images and charts": ("docker-registry",),
    "Chromium, axe-core": ("chromium",),
}
"""Rows with packages of Debian's, which the kits of the end-to-end tests fetch."""
NOT_RUN = {
    "Docker or CRI-O as the engine of a node",
    "HAMi's scheduler",
    "koord-scheduler, koord-manager, koordlet",
    "MetaX's gpu-device and operator",
    "MetaX `libmxsml`, `mx-smi`",
    "cards and kernel modules of both vendors",
    "cert-manager, oauth2-proxy",
}
PARTLY_RUN = {
    *BUILT.keys() - {"helm", "kwok"},
    "Docker, podman (`metax-docker`)",
    "Prometheus",
    "registry for images and charts",
    "Chromium, axe-core",
}
"""Rows of which some version ran; that the others did not has to stand there."""
NOTHING = "\N{EN DASH}"
STATED = [
    ("docs/releasing.md", "| {kubernetes}, by the end-to-end tests |"),
    ("docs/releasing.md", "by what the charts use of it | {helm} |"),
    (
        "docs/preflight.md",
        "run Kubernetes {kubernetes}, containerd {containerd} and Helm {helm} on Debian 12",
    ),
    ("docs/install.md", "Kubernetes 1.23 or newer, best 1.30 (run: {kubernetes})"),
    ("docs/install.md", "containerd (run: {containerd})"),
    ("docs/install.md", "3.8 to take the chart from a registry (run: {helm})"),
    (
        "docs/metax-operator.md",
        "ran Kubernetes {kubernetes} with containerd {containerd} on Debian 12; Docker and CRI-O are texts",
    ),
    ("docs/preflight.md", "and no older one, no CRI-O and no Docker as the engine of a node"),
    ("docs/container-runtime.md", "CRI-O and Docker only the texts are tested, with stand-ins"),
    ("docs/bundle.md", "docker, podman and the distributions named here are stand-ins in the tests"),
    ("docs/image.md", "(no Docker has loaded it in a test)"),
    ("CHANGELOG.md", "CRI-O and Docker (neither was run)"),
    ("docs/migrate-from-hami.md", "HAMi runs in no test of CI"),
    ("docs/gpu-device.md", "on a real kubelet ({kubernetes})"),
    ("docs/gpu-device.md", "runtimes other than containerd {containerd}"),
    ("docs/kubernetes-facts.md", "**Kubernetes {kubernetes}, containerd {containerd}, runc {runc}**"),
    ("docs/sandbox.md", "builds Kubernetes {kubernetes} and etcd"),
    ("docs/sandbox.md", "a real kube-apiserver {kubernetes}"),
    ("docs/sandbox-contract.md", "the real server (v{kubernetes})"),
]


def prose(name: str) -> str:
    """A page without its line breaks."""
    return " ".join((ROOT / name).read_text("utf-8").split())


@cache
def rows() -> dict[str, dict[str, str]]:
    """The README's table, by its first column."""
    page = (ROOT / "README.md").read_text("utf-8")
    section = page.partition("\n## What ran against what\n")[2].partition("\n## ")[0]
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    assert table[0] == COLUMNS
    return {cells[0]: dict(zip(COLUMNS, cells, strict=True)) for cells in table[2:]}


def real(row: str) -> str:
    return rows()[row]["Real, in the tests"]


@cache
def kits() -> str:
    return "".join(path.read_text("utf-8") for path in sorted((ROOT / "e2e").glob("*.py")))


def configured(versions: list[int]) -> str:
    *others, last = map(str, versions)
    return f"{', '.join(others)} and {last}" if others else last


@pytest.mark.parametrize("row", BUILT)
def test_versions_in_the_table_of_what_ran_are_those_that_the_test_bed_builds(row: str) -> None:
    assert re.findall(r"\d+\.\d+\.\d+", real(row)) == [PINS[name] for name in BUILT[row]]


def test_the_table_of_what_ran_has_every_component_of_the_test_bed() -> None:
    assert {name for names in BUILT.values() for name in names} == PINS.keys()


@pytest.mark.parametrize("row", FETCHED)
def test_packages_in_the_table_are_those_that_the_end_to_end_tests_fetch(row: str) -> None:
    assert tuple(re.findall(r"`([a-z.-]+)`", real(row))) == FETCHED[row]
    assert [name for name in FETCHED[row] if f'"{name}"' not in kits()] == []


def test_engines_have_one_version_on_the_pages_about_them() -> None:
    versions = re.findall(r"`(docker\.io|podman)` (\d+\.\d+)", real("Docker, podman (`metax-docker`)"))
    docker, podman = (version for _, version in versions)
    tests, page = prose("docs/metax-docker-tests.md"), prose("docs/metax-docker.md")
    assert f"`docker.io` {docker}" in tests
    assert f"any Docker but {docker}" in tests
    assert f"podman {podman}" in tests
    assert f"Docker {docker} and podman {podman} of Debian 12" in page


def test_the_table_names_the_accessibility_checker_that_is_fetched() -> None:
    fetched = re.search(r'^AXE: Final = "([\d.]+)"$', kits(), re.MULTILINE)
    assert fetched is not None
    assert f"axe-core {fetched[1]}" in real("Chromium, axe-core")


@pytest.mark.parametrize("lock", ["dev", "image"])
def test_the_vendors_package_is_the_locked_one(lock: str) -> None:
    locked = re.search(
        r"^mthreads-ml-py==(\S+)", (ROOT / "requirements" / f"{lock}.txt").read_text("utf-8"), re.MULTILINE
    )
    assert locked is not None
    assert f"`mthreads-ml-py` {locked[1]}" in real(
        "Moore Threads `libmtml`, `mthreads-gmi`, container toolkit"
    )


@pytest.mark.parametrize("row", sorted(NOT_RUN))
def test_what_the_tests_do_not_run_has_no_real_version_in_the_table(row: str) -> None:
    assert real(row) == NOTHING
    assert rows()[row]["Never run"] != NOTHING


@pytest.mark.parametrize("row", sorted(PARTLY_RUN))
def test_a_component_that_ran_in_some_versions_says_that_others_never_ran(row: str) -> None:
    assert "other" in rows()[row]["Never run"]


def test_what_ran_once_by_hand_is_marked_as_outside_the_tests() -> None:
    outside = [row for row in rows().values() if re.search(r"by hand|by \[`make", row["Never run"])]
    assert len(outside) == 4
    assert all(row["Never run"].startswith("in the tests, ") for row in outside)
    (seen,) = re.findall(r"\n\n([^\n]*(?:\n[^\n]+)*1,624[^\n]*(?:\n[^\n]+)*)", page_of_koordinator())
    assert re.match(r"\*\*Seen once, by hand, on \d{4}-\d\d-\d\d; no test repeats it\.\*\* ", seen)


def page_of_koordinator() -> str:
    return (ROOT / "docs" / "koordinator.md").read_text("utf-8")


@pytest.mark.parametrize(("page", "sentence"), STATED)
def test_a_page_that_names_a_version_that_ran_names_the_pinned_one(page: str, sentence: str) -> None:
    assert sentence.format(**{name: version for name, version in PINS.items() if name.isidentifier()}) in (
        prose(page)
    )


def test_versions_of_containerds_configuration_are_those_known_and_those_run() -> None:
    known, run = configured(sorted(PLUGINS)), configured(sorted(VERSIONS))
    left = configured(sorted(set(PLUGINS) - set(VERSIONS)))
    engines = "containerd, runc, CNI plugins"
    assert f"configuration in versions {run}" in real(engines)
    assert f"configuration in version {left}" in rows()[engines]["Never run"]
    changes = prose("CHANGELOG.md")
    assert f"(configuration versions {known}; run on containerd {PINS['containerd']} with {run})" in changes
    page = prose("docs/container-runtime.md")
    assert (
        f"containerd {PINS['containerd']} with configurations of versions {run}; for version {left}" in page
    )
    assert f"Versions {known}." in page


def test_the_versions_that_charts_are_only_rendered_for_are_those_that_are_kept() -> None:
    kept = sorted(
        int(path.stem.removeprefix("kubernetes-1."))
        for path in (ROOT / "tests" / "data" / "charts" / "tangram").glob("kubernetes-1.*.yaml")
    )
    never = rows()["Kubernetes control plane, kube-proxy, kubelet"]["Never run"]
    assert f"for 1.{kept[0]} to 1.{kept[-1]} charts are only rendered" in never
    *others, last = (f"1.{minor}" for minor in kept)
    assert f"rendered for {', '.join(others)} and {last}," in prose("docs/releasing.md")


def test_tests_run_on_the_python_and_the_system_of_the_image() -> None:
    assert SUITE == "bookworm"
    assert f"Debian 12, amd64, Python {PYTHON}." in prose("README.md")


def test_the_sandboxs_figures_are_the_same_on_both_pages() -> None:
    readme = re.search(
        r"ready (?P<ready>[\d.]+ s) after the command, the first pod on a slice after (?P<pod>[\d.]+ s), "
        r"(?P<idle>[\d.]+ % of a core) at idle; a thousand machines ready in (?P<many>[\d.]+ s), "
        r"in (?P<memory>\d+ MiB)",
        prose("README.md"),
    )
    assert readme is not None
    page = (ROOT / "docs" / "sandbox.md").read_text("utf-8").partition("\n## What it costs\n")[2]
    assert re.findall(r"^\| .+ \| ([\d.]+ .+?) \|$", page, re.MULTILINE) == list(readme.groups())


def test_the_images_size_is_the_same_on_both_pages() -> None:
    size = re.search(r"\*\*(\d+ MB)\*\* for amd64", prose("docs/image.md"))
    assert size is not None
    assert f"a base image; {size[1]}, not root" in prose("CHANGELOG.md")


def test_the_image_has_as_many_wheels_as_its_page_says() -> None:
    lock = (ROOT / "requirements" / "image.txt").read_text("utf-8")
    (count,) = {len(read_lock(lock, platform)) for platform in PLATFORMS}
    assert f"`requirements/image.txt` ({count} wheels)" in prose("docs/image.md")
