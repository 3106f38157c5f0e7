"""Every fact the design stands on and every promise of the agent names its test, and every test is named."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "kubernetes-facts.md"
PAGES = (
    PAGE,
    ROOT / "docs" / "gpu-device-tests.md",
    ROOT / "docs" / "scheduler-tests.md",
    ROOT / "docs" / "sandbox-tests.md",
    ROOT / "docs" / "koordinator-tests.md",
    ROOT / "docs" / "install-tests.md",
    ROOT / "docs" / "operator-tests.md",
    ROOT / "docs" / "metax-docker-tests.md",
    ROOT / "docs" / "dashboard-tests.md",
)


def existing_tests() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "e2e").glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name.startswith("test_"):
                found.add(f"e2e/{path.name}::{node.name}")
    return found


def named_tests() -> set[str]:
    return {
        name for page in PAGES for name in re.findall(r"e2e/test_\w+\.py::test_\w+", page.read_text("utf-8"))
    }


def test_every_test_named_on_a_page_exists() -> None:
    assert named_tests() - existing_tests() == set()


def test_every_end_to_end_test_is_named_on_a_page() -> None:
    assert existing_tests() - named_tests() == set()


def test_the_page_names_the_versions_the_test_bed_builds() -> None:
    text = PAGE.read_text("utf-8")
    for component, module in (
        ("kubernetes", "k8s.io/kubernetes"),
        ("containerd", "containerd/v2"),
        ("runc", "opencontainers/runc"),
    ):
        go_mod = (ROOT / "testbed" / "components" / component / "go.mod").read_text("utf-8")
        version = re.search(rf"{module} v([\d.]+)", go_mod)
        assert version is not None
        assert version[1] in text
