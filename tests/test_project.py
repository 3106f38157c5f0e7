"""Promises the project makes about itself, rather than about GPUs."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import settings

import tangram

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "tangram"

# The brackets keep this file from finding itself.
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:wor[k]|roo[t]|hom[e]/\w+|User[s]/\w+)/")
PACKAGE_HOSTS = re.compile(
    r"pyp[i]\.(?:org|python)|pythonhoste[d]\.org|npmj[s]\.(?:org|com)|crate[s]\.io|(?:proxy|sum)\.golan[g]\.org|mave[n]\.org",
    re.IGNORECASE,
)
ANY_ADDRESS = re.compile(r"https?://|--(?:extra-)?index-url|--find-links|^-[if] ", re.MULTILINE)

THIRD_PARTIES_ALLOWED = {
    "units": {"msgspec"},
    "model": {"msgspec"},
    "engine": {"msgspec", "numpy"},
    "vendors": {"msgspec"},
    "wire": {"msgspec", "google"},  # google.protobuf: the kubelet speaks it
    "reports": {"msgspec"},
}


def project_files() -> list[Path]:
    """What git tracks or would track: a slip is caught before it is committed, not after."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout, so there is no list of the project's files")
    return [path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def lines_matching(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in project_files()
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), start=1)
        if pattern.search(line)
    ]


def lock(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")


def pins(name: str) -> dict[str, list[str]]:
    """The hashes of each requirement (name, version and marker) in a lock file."""
    entries = re.split(r"\n(?=[a-z0-9])", lock(name))
    return {
        entry.partition(" \\\n")[0]: re.findall(r"--hash=sha256:([0-9a-f]{64})", entry) for entry in entries
    }


def imported_roots(path: Path) -> set[str]:
    """The top-level names of all absolute imports in a file, wherever in the file they stand."""
    roots: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            roots.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            roots.add(node.module.partition(".")[0])
    return roots


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert lines_matching(MACHINE_PATHS) == []


def test_no_file_names_a_package_registry() -> None:
    """Where packages come from is the choice of whoever installs, mirrors included."""
    assert lines_matching(PACKAGE_HOSTS) == []


@pytest.mark.parametrize("name", ["run", "image", "dev"])
def test_locks_name_versions_and_hashes_and_no_source(name: str) -> None:
    assert ANY_ADDRESS.search(lock(name)) is None
    assert pins(name)
    assert [pin for pin, hashes in pins(name).items() if "==" not in pin or not hashes] == []


def test_the_locks_agree_where_they_overlap() -> None:
    """What is tested is what is run. Where a version is wanted (its marker) may differ: tools want some everywhere."""

    def versions(name: str) -> set[str]:
        return {pin.partition(" ;")[0] for pin in pins(name)}

    assert versions("run") <= versions("image") <= versions("dev")


def test_package_and_distribution_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == tangram.__version__
    assert f"## [{tangram.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_readme_names_its_two_commands() -> None:
    page = (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"^\| `(make [a-z]+)` \|", page, re.MULTILINE) == ["make sandbox", "make test"]


@pytest.mark.parametrize("target", ["sandbox", "test"])
def test_a_command_of_the_readme_makes_its_environment_first(target: str) -> None:
    rule = re.search(rf"^{target}: (\w+) ## .+$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert rule is not None
    assert rule[1] == "setup"


def test_the_environment_is_the_lock_and_no_release_after_it_changes_that() -> None:
    """A pip that resolves looks at newer releases for requirements with extras and refuses them for having no hash."""
    lines = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ").splitlines()
    installs = [line.strip() for line in lines if "pip install" in line]
    assert len(installs) == 2
    assert [line for line in installs if "--no-deps" not in line] == []


def test_links_between_documents_lead_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)} links to {target}"
        for path in project_files()
        if path.suffix == ".md"
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text("utf-8"))
        if not (path.parent / target).exists()
    ]
    assert broken == []


@pytest.mark.parametrize("layer", THIRD_PARTIES_ALLOWED)
def test_deciding_layers_import_only_the_third_parties_they_may(layer: str) -> None:
    """The import contract lists what is forbidden; this holds the other side, what is allowed."""
    allowed = THIRD_PARTIES_ALLOWED[layer] | {"tangram"} | sys.stdlib_module_names
    strangers = {
        f"{path.relative_to(ROOT)} imports {root}"
        for path in (PACKAGE / layer).rglob("*.py")
        for root in imported_roots(path) - allowed
    }
    assert strangers == set()


def test_modules_stay_small_enough_to_read() -> None:
    """500 lines is the hard stop; most should be under 150."""
    too_long = [
        str(path.relative_to(ROOT))
        for folder in (PACKAGE, ROOT / "testbed", ROOT / "shipping", ROOT / "e2e")
        for path in folder.rglob("*.py")
        if not path.stem.endswith("_pb2") and len(path.read_text("utf-8").splitlines()) > 500
    ]
    assert too_long == []


def test_an_ordinary_run_is_repeatable_and_a_soak_is_not() -> None:
    assert settings.get_profile("sample").derandomize
    assert not settings.get_profile("soak").derandomize
    assert settings.get_profile("soak").max_examples > settings.get_profile("sample").max_examples


def test_what_must_pass_before_merging_is_what_the_readme_tells_people_to_type() -> None:
    """The unit tests run once, in the bare Debian, and a test that is left out fails."""
    lines = [line.split("#")[0].strip() for line in (ROOT / ".ci/run").read_text("utf-8").splitlines()]
    assert [line for line in lines if line.startswith("make ")] == [
        "make lint",
        "make fresh",
        "make e2e-smoke",
    ]
    assert any(line.startswith("export CI=") for line in lines)
    assert not [line for line in lines if "pytest" in line or "tests" in line]
