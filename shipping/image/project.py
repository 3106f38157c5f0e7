"""The project's own part of the image: its version, the moment and commit it is of, and its wheel.

The moment is SOURCE_DATE_EPOCH or the commit's. There is no third choice: the time of the build would make every
image another one.
"""

import hashlib
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from shipping.image.errors import ImageError
from shipping.image.tools import last_words, run

ROOT: Final = Path(__file__).resolve().parents[2]
LOCK: Final = "requirements/image.txt"
_SETTING: Final = "SOURCE_DATE_EPOCH"
REVISION_SETTING: Final = "TANGRAM_REVISION"
"""Names the commit of sources that are a copy of it and no checkout, as a release has them."""
_SOURCES: Final = ("src", "pyproject.toml", "README.md", "LICENSE", LOCK, "shipping", "runtime")
_EARLIEST: Final = 315532800
"""1980: the oldest time a wheel, which is a zip archive, can hold."""


@dataclass(frozen=True, slots=True)
class Project:
    root: Path
    version: str
    revision: str
    """The commit, marked if files differ from it; empty outside a git checkout, unless told."""
    moment: int
    content: str
    """Changes when any file does that goes into the image or says how it is made."""

    @property
    def created(self) -> str:
        return datetime.fromtimestamp(self.moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def lock(self) -> str:
        return (self.root / LOCK).read_text("utf-8")


def read_project(root: Path = ROOT) -> Project:
    """The project as it stands in this folder."""
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    told = os.environ.get(REVISION_SETTING, "")
    commit = told or _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--", *_SOURCES) if commit and not told else ""
    return Project(
        root=root,
        version=version,
        revision=f"{commit}-changed" if changed else commit,
        moment=_moment(root),
        content=_content(root),
    )


def build_wheel(project: Project) -> tuple[str, bytes]:
    """The project's wheel: its file name and content."""
    with tempfile.TemporaryDirectory(prefix="tangram-image-") as folder:
        answer = run(
            [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
            needed_for="Building the wheel",
            package="python3-hatchling",
            folder=project.root,
            environment={_SETTING: str(max(project.moment, _EARLIEST))},
        )
        found = sorted(Path(folder).glob("*.whl"))
        if answer.returncode != 0 or len(found) != 1:
            raise ImageError(f"The project's wheel could not be built; hatchling said:\n{last_words(answer)}")
        return found[0].name, found[0].read_bytes()


def _moment(root: Path) -> int:
    told = os.environ.get(_SETTING, "")
    if told:
        if not told.isascii() or not told.isdigit() or len(told) > 11:
            raise ImageError(
                f"{_SETTING} is {told!r}: it must be a number of seconds since 1970, such as 1700000000."
            )
        return int(told)
    committed = _git(root, "log", "-1", "--no-show-signature", "--format=%ct")
    if not committed:
        raise ImageError(
            f"{root} is no git checkout that git reads (see `git -C {root} log -1`), so nothing says of which moment "
            f"the image is: set {_SETTING} to a number of seconds since 1970."
        )
    return int(committed)


def _git(root: Path, *words: str) -> str:
    """What git answers; nothing without git or a checkout."""
    try:
        answer = run(["git", *words], needed_for="Naming the commit", package="git", folder=root)
    except ImageError:
        return ""
    return answer.stdout.decode().strip() if answer.returncode == 0 else ""


def _content(root: Path) -> str:
    digest = hashlib.sha256()
    for path in _files(root):
        digest.update(f"{path.relative_to(root)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return digest.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for name in _SOURCES:
        path = root / name
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from sorted(
                one
                for one in path.rglob("*")
                if one.is_file() and "__pycache__" not in one.relative_to(root).parts
            )
