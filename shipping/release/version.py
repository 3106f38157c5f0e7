"""Versions in the one spelling that tags, charts, images and wheels all take.

A tag is `v` and a SemVer version, e.g. v1.0.0 or v1.0.0-rc.1. Of what SemVer allows, only that is taken which the
others allow too: no `+`, which a tag of an image cannot hold, and after the hyphen one of the words that Python
packages know, with a number. Written so, a version stands in pyproject.toml, in the charts and in the name of the image
letter by letter the same; only the name of the wheel differs, because Python spells 1.0.0-rc.1 as 1.0.0rc1 there.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from packaging.version import Version as PythonVersion

from shipping.release.errors import ReleaseError

TAGS: Final = "v[0-9]*"
"""Tags that are meant as versions, as git's patterns say it."""
_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_VERSION: Final = re.compile(
    rf"(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})\.(?P<patch>{_NUMBER})(?P<stage>-(?:alpha|beta|rc|dev)\.{_NUMBER})?"
)


@dataclass(frozen=True, slots=True)
class Version:
    """`text` is what everything but Python packages calls it."""

    text: str
    base: tuple[int, int, int]
    stage: str

    @classmethod
    def of(cls, text: str, origin: str) -> Self:
        """Raises `ReleaseError` for any other spelling, naming `origin` as the place where it was read."""
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ReleaseError(
                f"{origin} says {text!r}, which is no version here: write X.Y.Z, or X.Y.Z-rc.N (also alpha, beta) for "
                "one that comes before it, such as 1.0.0-rc.1."
            )
        return cls(
            text, (int(match["major"]), int(match["minor"]), int(match["patch"])), match["stage"] or ""
        )

    @property
    def tag(self) -> str:
        return f"v{self.text}"

    @property
    def of_wheel(self) -> str:
        """As the wheel is called."""
        return str(PythonVersion(self.text))


def version_of_tag(tag: str) -> Version:
    """The version that a tag is."""
    version = Version.of(tag.removeprefix("v"), f"The tag {tag}")
    if version.stage.startswith("-dev."):
        raise ReleaseError(f"The tag {tag} names a snapshot, which is never released: use -rc.N instead.")
    return version


def snapshot_of(said: Version, last: Version | None, commits: int) -> Version:
    """What a build of an untagged commit is called: before the version that comes next, numbered by commits.

    `said` is what pyproject.toml says, `last` the last release before the commit, which is no candidate. Right after
    a release the two are the same, and what comes next is at least its next patch.
    """
    base = said.base
    if last is not None and base <= last.base:
        base = (last.base[0], last.base[1], last.base[2] + 1)
    major, minor, patch = base
    return Version.of(f"{major}.{minor}.{patch}-dev.{commits}", "The snapshot")
