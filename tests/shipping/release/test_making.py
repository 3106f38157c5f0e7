"""A release from a commit: what it holds, that it is the same twice, and that there is never half of one."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import pytest

from builders.checkouts import MOMENT, checkout, commit, git, write, write_versions
from shipping.image.progress import Progress
from shipping.release.errors import ReleaseError
from shipping.release.making import FOLDER, Wish, only_release, release
from shipping.release.steps import Step, files_of
from shipping.release.version import Version

SNAPSHOT = Wish(snapshot=True)


@dataclass
class Makers:
    """Stands in for the commands: every file they would make, of the sources they are given."""

    also: dict[str, str] = field(default_factory=dict[str, str])
    without: str = ""
    fails: BaseException | None = None
    ran: list[tuple[Step, Mapping[str, str]]] = field(default_factory=list[tuple[Step, Mapping[str, str]]])
    trees: list[Path] = field(default_factory=list[Path])

    def __call__(self, step: Step, tree: Path, environment: Mapping[str, str]) -> None:
        self.ran.append((step, environment))
        self.trees.append(tree)
        output = Path(step.words[-1])
        said = (tree / "src/tangram/__init__.py").read_text("utf-8").rpartition(' = "')[2].rstrip('"\n')
        (output / f"{step.module}.half").write_text("begun")
        if self.fails is not None:
            raise self.fails
        (output / f"{step.module}.half").unlink()
        if step.module != "shipping.bundle":
            return
        files = dict.fromkeys(files_of(Version.of(said, "")), "made of ")
        files.pop(self.without, None)
        for name, words in {**files, **self.also}.items():
            content = "".join(sorted(path.read_bytes().decode() for path in tree.rglob("*.py")))
            (output / name).write_text(f"{words}{name} {environment} {content}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = checkout(tmp_path / "project", "1.2.3", "## [1.2.3] - 2026-01-31")
    git(root, "tag", "v1.2.3")
    return root


def made(root: Path, wish: Wish, makers: Makers) -> tuple[Path, str]:
    said = StringIO()
    return release(wish, Progress(said), root=root, run=makers), said.getvalue()


def left_in(root: Path) -> list[str]:
    place = root / FOLDER
    return sorted(path.name for path in place.iterdir() if path.name != ".lock") if place.is_dir() else []


def test_a_release_holds_everything_with_notes_and_checksums_that_a_user_can_check(root: Path) -> None:
    folder, said = made(root, Wish(), Makers())

    assert folder == root / FOLDER / "1.2.3"
    assert left_in(root) == ["1.2.3"]
    expected = {*files_of(Version.of("1.2.3", "")), "RELEASE-NOTES.md", "SHA256SUMS"}
    assert {path.name for path in folder.iterdir()} == expected
    check = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=False
    )
    assert check.returncode == 0
    assert len((folder / "SHA256SUMS").read_text().splitlines()) == len(expected) - 1
    text = (folder / "RELEASE-NOTES.md").read_text()
    assert text.startswith("# Tangram 1.2.3 (2026-01-31)\n")
    assert git(root, "rev-parse", "HEAD") in text
    assert text.endswith("### Added\n\n- A thing.\n")
    assert "[2/4] image\n" in said
    assert said.endswith(f"{folder} is complete.\n")


def test_a_file_that_changed_on_the_way_fails_the_check(root: Path) -> None:
    folder, _ = made(root, Wish(), Makers())
    (folder / "tangram-1.2.3.tgz").write_text("another")
    check = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=folder, check=False, capture_output=True
    )
    assert check.returncode == 1
    assert b"tangram-1.2.3.tgz: FAILED" in check.stdout


def test_the_same_commit_made_twice_is_the_same_release(root: Path, tmp_path: Path) -> None:
    first, _ = made(root, Wish(), Makers())
    sums = (first / "SHA256SUMS").read_text()
    clone = tmp_path / "elsewhere"
    git(root, "clone", "--quiet", str(root), str(clone))
    second, _ = made(clone, Wish(), Makers())
    again, said = made(root, Wish(), Makers())

    assert (second / "SHA256SUMS").read_text() == sums
    assert again == first
    assert "everything made again is the same, byte for byte" in said
    assert left_in(root) == ["1.2.3"]


def test_a_release_that_people_may_have_is_never_replaced(root: Path) -> None:
    first, _ = made(root, Wish(), Makers())
    sums = (first / "SHA256SUMS").read_text()
    name = "tangram-1.2.3-oci.tar"
    with pytest.raises(
        ReleaseError, match=rf"what was made now is not the same: SHA256SUMS, {name}\. If people have it"
    ):
        made(root, Wish(), Makers(also={name: "newer "}))
    assert (first / "SHA256SUMS").read_text() == sums
    assert left_in(root) == ["1.2.3"]


@pytest.mark.parametrize("change", ["changed", "gone", "more"])
def test_a_release_whose_files_have_changed_since_is_not_called_the_same(root: Path, change: str) -> None:
    folder, _ = made(root, Wish(), Makers())
    path = folder / ("stray" if change == "more" else "tangram-1.2.3.tgz")
    if change == "gone":
        path.unlink()
    else:
        path.write_text("another")
    with pytest.raises(ReleaseError, match=rf"what was made now is not the same: {path.name}\."):
        made(root, Wish(), Makers())


def test_the_settings_of_whoever_releases_change_nothing(root: Path) -> None:
    signed = git(root, "cat-file", "commit", "HEAD").replace("\n\n", "\ngpgsig of-somebody\n\n", 1)
    write(root, "dist/signed", f"{signed}\n")
    git(root, "reset", "--quiet", "--soft", git(root, "hash-object", "-t", "commit", "-w", "dist/signed"))
    git(root, "tag", "--force", "v1.2.3")
    first, _ = made(root, Wish(), Makers())
    settings = {
        "log.showSignature": "true",
        "gpg.program": "false",
        "core.autocrlf": "true",
        "column.ui": "always",
    }
    for name, value in settings.items():
        git(root, "config", name, value)
    git(root, "checkout", "--quiet", "--force", "HEAD")
    assert made(root, Wish(), Makers())[0] == first


def test_the_commit_is_released_and_not_the_working_tree(root: Path) -> None:
    clean, _ = made(root, Wish(), Makers())
    sums = (clean / "SHA256SUMS").read_text()
    write_versions(root, "7.7.7")
    write(root, "src/tangram/stray.py", "x = 1\n")
    _, said = made(root, Wish(), Makers())

    assert (clean / "SHA256SUMS").read_text() == sums
    assert "6 files of the working tree differ from" in said
    assert "everything made again is the same" in said


def test_the_commands_are_told_commit_and_moment_and_their_sources_are_gone_afterwards(root: Path) -> None:
    makers = Makers()
    made(root, Wish(), makers)

    assert [step.module for step, _ in makers.ran] == [
        "hatchling",
        "shipping.image",
        "shipping.charts",
        "shipping.bundle",
    ]
    named = {"SOURCE_DATE_EPOCH": str(MOMENT), "TANGRAM_REVISION": git(root, "rev-parse", "HEAD")}
    assert all(environment == named for _, environment in makers.ran)
    assert len(set(makers.trees)) == 1
    assert not makers.trees[0].exists()


@pytest.mark.parametrize("refresh", [True, False])
def test_newer_debian_packages_are_looked_for_if_asked(root: Path, refresh: bool) -> None:  # noqa: FBT001
    makers = Makers()
    made(root, Wish(refresh=refresh), makers)
    assert [step.module for step, _ in makers.ran if "--refresh" in step.words] == [
        "shipping.image"
    ] * refresh


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(ReleaseError("The release was not made: its image failed."), id="a step that fails"),
        pytest.param(KeyboardInterrupt(), id="Ctrl-C"),
        pytest.param(OSError(28, "No space left on device"), id="a full disk"),
    ],
)
def test_what_was_not_finished_leaves_nothing(root: Path, failure: BaseException) -> None:
    makers = Makers(fails=failure)
    with pytest.raises(type(failure)):
        made(root, Wish(), makers)
    assert left_in(root) == []
    assert not makers.trees[0].exists()


def test_what_a_killed_release_left_is_removed_by_the_next(root: Path) -> None:
    write(root, f"{FOLDER}/.1.2.3/tangram-1.2.3-oci.tar", "half")
    folder, _ = made(root, Wish(), Makers())
    assert "half" not in (folder / "tangram-1.2.3-oci.tar").read_text()


@pytest.mark.parametrize(
    ("makers", "told"),
    [
        pytest.param(Makers(without="tangram-1.2.3.tgz"), r"it lacks tangram-1\.2\.3\.tgz\.", id="one lacks"),
        pytest.param(Makers(also={"stray": ""}), r"it also holds stray\.", id="one too many"),
    ],
)
def test_a_release_with_other_files_than_it_should_hold_is_not_made(
    root: Path, makers: Makers, told: str
) -> None:
    with pytest.raises(ReleaseError, match=told):
        made(root, Wish(), makers)
    assert left_in(root) == []


def test_two_releases_at_once_are_refused(root: Path) -> None:
    (root / FOLDER).mkdir(parents=True)
    with only_release(root / FOLDER), pytest.raises(ReleaseError, match="Another release is being made in"):
        made(root, Wish(), Makers())


# -- which commit --------------------------------------------------------------------------------------------------


def test_an_untagged_commit_is_no_release(root: Path) -> None:
    commit(root, "second")
    with pytest.raises(ReleaseError, match=r"has no tag.*`make release SNAPSHOT=1`"):
        made(root, Wish(), Makers())


def test_files_that_do_not_agree_with_the_tag_are_no_release(root: Path) -> None:
    commit(root, "second")
    git(root, "tag", "v1.3.0")
    with pytest.raises(ReleaseError, match=r"(?s)The tag v1\.3\.0 says.*pyproject\.toml says 1\.2\.3"):
        made(root, Wish(), Makers())
    assert left_in(root) == []


def test_a_commit_with_two_versions_is_refused(root: Path) -> None:
    git(root, "tag", "v1.2.4")
    with pytest.raises(ReleaseError, match=r"is tagged v1\.2\.3 and v1\.2\.4: a commit has one version"):
        made(root, Wish(), Makers())


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="is no git checkout with a commit that git reads"):
        made(tmp_path, Wish(), Makers())


def test_a_checkout_without_its_history_is_refused(root: Path, tmp_path: Path) -> None:
    commit(root, "second")
    clone = tmp_path / "shallow"
    git(root, "clone", "--quiet", "--depth=1", f"file://{root}", str(clone))
    with pytest.raises(ReleaseError, match="git fetch --unshallow --tags"):
        made(clone, SNAPSHOT, Makers())


# -- snapshots -----------------------------------------------------------------------------------------------------


def test_a_snapshot_has_a_version_of_its_own_in_every_file_and_says_loudly_what_it_is(root: Path) -> None:
    for name in ("second", "third"):
        commit(root, name)
    folder, said = made(root, SNAPSHOT, Makers())

    assert folder.name == "1.2.4-dev.2"
    assert "tangram_gpu-1.2.4.dev2-py3-none-any.whl" in {path.name for path in folder.iterdir()}
    assert "1.2.4-dev.2, a SNAPSHOT to try out and no release," in said
    text = (folder / "RELEASE-NOTES.md").read_text()
    assert "**A snapshot to try out, not a release.**" in text
    assert "A thing" not in text, "what is written down was released before"
    assert git(root, "status", "--porcelain", "--untracked-files=no") == ""


def test_a_snapshot_tells_what_is_written_down_so_far(root: Path) -> None:
    write_versions(root, "1.3.0")
    text = (root / "CHANGELOG.md").read_text()
    write(
        root, "CHANGELOG.md", text.replace("## [1.2.3]", "## [1.3.0] - unreleased\n\n- Coming.\n\n## [1.2.3]")
    )
    commit(root, "second")
    folder, _ = made(root, SNAPSHOT, Makers())

    assert folder.name == "1.3.0-dev.1"
    assert (folder / "RELEASE-NOTES.md").read_text().endswith("- Coming.\n")


def test_a_candidate_does_not_begin_the_numbers_of_snapshots_again(root: Path) -> None:
    write_versions(root, "1.3.0-rc.1")
    names: list[str] = []
    for number in range(4):
        commit(root, "more")
        if number == 1:
            git(root, "tag", "v1.3.0-rc.1")
        else:
            names.append(made(root, SNAPSHOT, Makers())[0].name)
    assert names == ["1.3.0-dev.1", "1.3.0-dev.3", "1.3.0-dev.4"]


def test_a_snapshot_may_be_replaced(root: Path) -> None:
    commit(root, "second")
    made(root, SNAPSHOT, Makers())
    folder, _ = made(root, SNAPSHOT, Makers(also={"tangram-1.2.4-dev.1-oci.tar": "newer "}))
    assert (folder / "tangram-1.2.4-dev.1-oci.tar").read_text().startswith("newer ")
    assert left_in(root) == ["1.2.4-dev.1"]


def test_a_tagged_commit_is_no_snapshot(root: Path) -> None:
    with pytest.raises(ReleaseError, match=r"is tagged v1\.2\.3, so it is a release and no snapshot"):
        made(root, SNAPSHOT, Makers())
