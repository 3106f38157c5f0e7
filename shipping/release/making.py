"""`make release`: one folder with everything people install of one version, or no folder at all.

The files are made from the tagged commit in a folder of their own, under another name, and the folder gets its name
when it is complete: whoever stops this, or the machine, leaves nothing that could be taken for a release. A
release that is there already is made again and compared, never replaced: people may have it.
"""

import fcntl
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shipping.image.progress import Progress
from shipping.image.project import REVISION_SETTING, ROOT
from shipping.release import changelog
from shipping.release.checkout import Commit, export, read_commit
from shipping.release.errors import ReleaseError
from shipping.release.notes import FILE as NOTES
from shipping.release.notes import notes
from shipping.release.statements import refuse_disagreement, version_said, write_version
from shipping.release.steps import RunStep, files_of, refuse_other_files, run_step, steps_of
from shipping.release.sums import differing, write_sums
from shipping.release.version import Version, snapshot_of

FOLDER: Final = "dist/release"


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for: `snapshot` a build of an untagged commit, `refresh` the newest Debian packages."""

    snapshot: bool = False
    refresh: bool = False


def release(
    wish: Wish, progress: Progress, *, root: Path = ROOT, output: Path | None = None, run: RunStep = run_step
) -> Path:
    """The folder of the release of what is checked out in `root`."""
    commit = read_commit(root)
    _refuse_wrong_kind(commit, snapshot=wish.snapshot)
    place = (root / FOLDER if output is None else output).resolve()
    place.mkdir(parents=True, exist_ok=True)
    with only_release(place), tempfile.TemporaryDirectory(prefix="tangram-release-") as folder:
        tree = Path(folder)
        export(commit, tree)
        version = _settled(commit, tree)
        if commit.changed:
            progress.say(
                f"{commit.changed} files of the working tree differ from {commit.name[:12]}. What is made is the "
                "commit, without these changes."
            )
        progress.say(f"Making {_called(version, commit)} of commit {commit.name[:12]}.")
        target = place / version.text
        staged = place / f".{version.text}"
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        try:
            _fill(staged, tree, commit, version, progress, refresh=wish.refresh, run=run)
            _settle(staged, target, progress, replace=wish.snapshot)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    _say_what_is_there(target, progress)
    return target


@contextmanager
def only_release(place: Path) -> Generator[None]:
    """Until the end of the block nobody else makes a release in this folder."""
    with (place / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ReleaseError(f"Another release is being made in {place}: wait until it is done.") from None
        yield


def _refuse_wrong_kind(commit: Commit, *, snapshot: bool) -> None:
    if snapshot and commit.tag is not None:
        raise ReleaseError(
            f"This commit is tagged {commit.tag.tag}, so it is a release and no snapshot: leave SNAPSHOT out."
        )
    if not snapshot and commit.tag is None:
        raise ReleaseError(
            f"The commit {commit.name[:12]} has no tag, and a release's version is its tag: `git tag vX.Y.Z` once its "
            "files say that version (docs/releasing.md), or `make release SNAPSHOT=1` for files to try out."
        )


def _settled(commit: Commit, tree: Path) -> Version:
    """The version of the exported sources, which say it themselves from here on."""
    if commit.tag is not None:
        refuse_disagreement(tree, commit.tag)
        return commit.tag
    version = snapshot_of(version_said(tree), commit.last, commit.since)
    write_version(tree, version)
    return version


def _called(version: Version, commit: Commit) -> str:
    if commit.tag is not None:
        return f"release {version.text}"
    return f"{version.text}, a SNAPSHOT to try out and no release,"


def _fill(
    staged: Path,
    tree: Path,
    commit: Commit,
    version: Version,
    progress: Progress,
    *,
    refresh: bool,
    run: RunStep,
) -> None:
    environment = {"SOURCE_DATE_EPOCH": str(commit.moment), REVISION_SETTING: commit.name}
    steps = steps_of(staged, refresh=refresh)
    for number, step in enumerate(steps, 1):
        progress.say(f"[{number}/{len(steps)}] {step.what}")
        run(step, tree, environment)
    refuse_other_files(staged, files_of(version))
    text = (tree / changelog.FILE).read_text("utf-8")
    snapshot = commit.tag is None
    section = changelog.unreleased(text) if snapshot else changelog.section_named(text, version.text)
    (staged / NOTES).write_text(notes(version.text, commit.name, section, snapshot=snapshot), "utf-8")
    write_sums(staged)


def _settle(staged: Path, target: Path, progress: Progress, *, replace: bool) -> None:
    """Give the folder its name. What is there already must be the same, unless it may be replaced."""
    if target.exists():
        different = differing(staged, target)
        if not different:
            progress.say(f"{target} was there already, and everything made again is the same, byte for byte.")
            return
        if not replace:
            raise ReleaseError(
                f"{target} was there already, and what was made now is not the same: {', '.join(different)}. If people "
                "have it, release the next version instead (newer Debian packages alone make another image); if nobody "
                "has, remove that folder and run this again."
            )
        _set_aside(target)
    staged.rename(target)


def _set_aside(target: Path) -> None:
    """Out of the way in one step: removed where it lies, it would be half there if this is stopped."""
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as aside:
        target.rename(Path(aside) / target.name)


def _say_what_is_there(target: Path, progress: Progress) -> None:
    for path in sorted(target.iterdir()):
        size = path.stat().st_size
        told = f"{size / 1e6:8.1f} MB" if size >= 1e6 else f"{size / 1e3:8.1f} kB"
        progress.say(f"{told}  {path.name}")
    progress.say(f"{target} is complete.")
