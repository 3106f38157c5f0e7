"""The commit that is released: its tag and moment, what came before it, and its files in a folder of their own.

The working tree is never built: it may hold changes, and files that nobody has committed. Nothing is changed in the
checkout, no tag is made and nothing is pushed.
"""

import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

from shipping.image.tools import last_words, run
from shipping.release.errors import ReleaseError
from shipping.release.version import TAGS, Version, version_of_tag

_GIT: Final = ("git", "-c", "log.showSignature=false", "-c", "core.autocrlf=false")
"""Whatever the person who calls it has set: their words among the answers, or other line ends in what is exported."""


@dataclass(frozen=True, slots=True)
class Commit:
    """`tag` is the version it is tagged as, `last` the release before it, `since` how many commits came after that.

    Candidates are no releases here: counted from them, two commits of one version would have the same number.
    """

    root: Path
    name: str
    moment: int
    tag: Version | None
    last: Version | None
    since: int
    changed: int
    """Files of the working tree that differ from it."""


def read_commit(root: Path) -> Commit:
    """What is checked out in this folder."""
    name = _git(root, "rev-parse", "--verify", "HEAD")
    tags = _git(root, "tag", "--points-at", "HEAD", "--list", TAGS).split()
    if len(tags) > 1:
        raise ReleaseError(
            f"The commit {name[:12]} is tagged {' and '.join(tags)}: a commit has one version, so that its files "
            "can say it. Remove the tags that are not meant (`git tag --delete`)."
        )
    if _git(root, "rev-parse", "--is-shallow-repository") == "true":
        raise ReleaseError(
            "This checkout holds only the last commits, so nothing says which release came before: "
            "`git fetch --unshallow --tags` fetches the others."
        )
    before = _last_tag(root)
    counted = "HEAD" if before is None else f"{before}..HEAD"
    return Commit(
        root=root,
        name=name,
        moment=int(_git(root, "log", "-1", "--format=%ct")),
        tag=version_of_tag(tags[0]) if tags else None,
        last=None if before is None or tags else version_of_tag(before),
        since=int(_git(root, "rev-list", "--count", counted)),
        changed=len(_git(root, "status", "--porcelain", "--untracked-files=no").splitlines()),
    )


def export(commit: Commit, folder: Path) -> None:
    """The files of the commit, and only they, below `folder`."""
    answer = run(
        [*_GIT, "-c", "tar.umask=0022", "archive", "--format=tar", commit.name],
        needed_for="Reading the commit",
        package="git",
        folder=commit.root,
    )
    if answer.returncode != 0:
        raise ReleaseError(f"The files of {commit.name[:12]} cannot be read; git said:\n{last_words(answer)}")
    with tarfile.open(fileobj=BytesIO(answer.stdout), mode="r:") as archive:
        # Python learned this in 3.11.4; what older ones unpack here is git's, and as harmless.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)  # noqa: S202 - the reason stands above


def _last_tag(root: Path) -> str | None:
    answer = _asked(root, "describe", "--tags", "--abbrev=0", "--match", TAGS, "--exclude", "*-*", "HEAD")
    return answer or None


def _asked(root: Path, *words: str) -> str | None:
    answer = run([*_GIT, *words], needed_for="Reading the commit", package="git", folder=root)
    return answer.stdout.decode("utf-8", "replace").strip() if answer.returncode == 0 else None


def _git(root: Path, *words: str) -> str:
    answer = _asked(root, *words)
    if answer is None:
        raise ReleaseError(
            f"{root} is no git checkout with a commit that git reads (see `git -C {root} log -1`), and a release is "
            "made of a commit."
        )
    return answer
