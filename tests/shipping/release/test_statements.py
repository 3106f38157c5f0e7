"""Every file that says the version, held to the tag; and the CHANGELOG."""

from collections.abc import Callable
from pathlib import Path

import pytest

from builders.checkouts import checkout, write, write_versions
from shipping.image.project import ROOT
from shipping.release import changelog
from shipping.release.errors import ReleaseError
from shipping.release.statements import refuse_disagreement, statements, version_said, write_version
from shipping.release.version import Version

V = Version.of("1.2.3", "here")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return checkout(tmp_path / "project", "1.2.3", "## [1.2.3] - 2026-01-31")


def test_files_that_all_say_the_tag_are_taken(tree: Path) -> None:
    refuse_disagreement(tree, V)


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        text = (tree / name).read_text("utf-8")
        assert old in text
        write(tree, name, text.replace(old, new))

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(
            replaced("pyproject.toml", "1.2.3", "1.2.4"), "pyproject.toml says 1.2.4", id="pyproject"
        ),
        pytest.param(
            replaced("src/tangram/__init__.py", "1.2.3", "1.2.2"),
            "src/tangram/__init__.py says 1.2.2",
            id="package",
        ),
        pytest.param(
            replaced("src/tangram/__init__.py", "__version__", "version"),
            "src/tangram/__init__.py says nothing",
            id="package without version",
        ),
        pytest.param(
            replaced("deploy/charts/tangram/Chart.yaml", "appVersion: 1.2.3", "appVersion: 1.2.0"),
            "deploy/charts/tangram/Chart.yaml (appVersion) says 1.2.0",
            id="image of the chart",
        ),
        pytest.param(
            replaced("deploy/charts/tangram/Chart.yaml", "    version: 1.2.3", "    version: 1.2.0"),
            "deploy/charts/tangram/Chart.yaml (dependency tangram-parts) says 1.2.0",
            id="dependency",
        ),
        pytest.param(
            replaced("deploy/charts/tangram-parts/Chart.yaml", "1.2.3", "1.2.0"),
            "deploy/charts/tangram-parts/Chart.yaml (version) says 1.2.0",
            id="library",
        ),
        pytest.param(
            replaced("CHANGELOG.md", "2026-01-31", "unreleased"),
            "CHANGELOG.md says unreleased where the day of the release belongs",
            id="no day",
        ),
        pytest.param(
            replaced("CHANGELOG.md", "2026-01-31", "2026-02-30"),
            "CHANGELOG.md says 2026-02-30 where the day of the release belongs",
            id="no such day",
        ),
        pytest.param(
            replaced("CHANGELOG.md", "[1.2.3]", "[1.2.2]"),
            "CHANGELOG.md has no section `## [1.2.3] - YYYY-MM-DD`",
            id="no section",
        ),
        pytest.param(
            replaced("CHANGELOG.md", "\n### Added\n\n- A thing.\n", ""),
            "CHANGELOG.md says nothing about 1.2.3",
            id="empty section",
        ),
    ],
)
def test_a_file_that_says_something_else_is_named_with_what_it_says(
    tree: Path, change: Callable[[Path], None], told: str
) -> None:
    change(tree)
    with pytest.raises(ReleaseError) as refusal:
        refuse_disagreement(tree, V)
    first, *named, advice = str(refusal.value).splitlines()
    assert first == "The tag v1.2.3 says that this commit is version 1.2.3, and its files do not:"
    assert [line.strip() for line in named] == [told]
    assert advice.startswith("Write 1.2.3 there")


def test_a_snapshots_version_is_written_everywhere_and_nowhere_else(tree: Path) -> None:
    write_version(tree, Version.of("1.2.4-dev.5", "here"))

    assert set(statements(tree).values()) == {"1.2.4-dev.5"}
    assert version_said(tree).text == "1.2.4-dev.5"
    assert 'kubeVersion: ">=1.23.0-0"' in (tree / "deploy/charts/tangram/Chart.yaml").read_text()
    assert "1.2.3" in (tree / "CHANGELOG.md").read_text()


def test_a_version_that_cannot_be_written_is_said(tree: Path) -> None:
    write(tree, "deploy/charts/tangram-parts/Chart.yaml", "{name: parts, type: library, version: 1.2.3}\n")
    with pytest.raises(ReleaseError, match=r"cannot be written into .*tangram-parts/Chart\.yaml \(version\)"):
        write_version(tree, Version.of("1.2.4-dev.5", "here"))


def test_the_projects_own_files_agree_and_can_be_written(tmp_path: Path) -> None:
    said = statements(ROOT)
    assert len(set(said.values())) == 1, said
    for name in {where.partition(" ")[0] for where in said}:
        write(tmp_path, name, (ROOT / name).read_text("utf-8"))

    write_version(tmp_path, Version.of("9.8.7-dev.6", "here"))
    assert statements(tmp_path) == dict.fromkeys(said, "9.8.7-dev.6")


def test_the_changelog_is_cut_at_its_headings() -> None:
    text = "# C\n\nWords.\n\n## [2.0.0] - unreleased\n\n- b\n\n## [1.0.0] - 2026-01-01\n\n### Added\n\n- a\n"
    newest, older = changelog.sections_of(text)

    assert (newest.version, newest.when, newest.words) == ("2.0.0", "unreleased", "- b")
    assert (older.version, older.words, older.dated) == ("1.0.0", "### Added\n\n- a", True)
    assert changelog.unreleased(text) == newest
    assert changelog.unreleased(text.replace("unreleased", "2026-02-01")) is None


def test_the_projects_own_changelog_has_a_section_of_its_version() -> None:
    text = (ROOT / changelog.FILE).read_text("utf-8")
    section = changelog.section_named(text, version_said(ROOT).text)
    assert section is not None
    assert section.words
    assert section.dated or section.when == "unreleased"


def test_a_candidates_version_stands_in_the_files_as_in_the_tag(tree: Path) -> None:
    write_versions(tree, "2.0.0-rc.1")
    write(tree, "CHANGELOG.md", "## [2.0.0-rc.1] - 2026-01-31\n\n- A thing.\n")
    refuse_disagreement(tree, Version.of("2.0.0-rc.1", "here"))
