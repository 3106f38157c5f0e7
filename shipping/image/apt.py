"""Debian packages for any of our platforms, fetched by apt with a state of its own.

apt checks signatures and checksums. Its state is ours alone: this machine's installed packages neither answer a
dependency nor are they touched, and no rights are needed.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from shipping.image.errors import ImageError
from shipping.image.platforms import Platform
from shipping.image.recipe import SUITES
from shipping.image.sources import configured_sources, source_lines
from shipping.image.tools import last_words, printed, run

_URI_LINE = re.compile(r"^'[^']*' (?P<file>\S+) \d+ ?\S*$", re.MULTILINE)
_UNREACHABLE = re.compile(
    r"Could not (?:resolve|connect)|Temporary failure|Unable to connect|Connection (?:failed|timed)"
)
_ABSENT = re.compile(r"Unable to locate package (\S+)|E: (?:Version|Can't find)[^\n]*")


class Apt:
    """apt as it would be on an empty machine of this platform. `folder` holds its state."""

    def __init__(self, folder: Path, platform: Platform) -> None:
        self._folder = folder
        self._platform = platform

    def update(self) -> list[str]:
        """Learn what the mirrors have now. What comes back are suites of the release that no mirror carries."""
        sources = configured_sources()
        for name in ("lists/partial", "archives/partial", "sources", "preferences"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "status").write_bytes(b"")
        (self._folder / "sources" / "mirrors.list").write_text(source_lines(sources), "utf-8")
        # A mirror that is down is a warning to apt, which then goes on with old lists; here it is an error.
        self._asked("--error-on=any", "update")
        return sorted({*SUITES} - {source.suite for source in sources})

    def closure(self, packages: Sequence[str]) -> list[str]:
        """These packages and everything they need, as NAME=VERSION."""
        said = self._asked("--yes", "--no-install-recommends", "--print-uris", "install", *packages)
        return sorted(_named(match["file"]) for match in _URI_LINE.finditer(said))

    def download(self, pins: Sequence[str], folder: Path) -> None:
        """Fetch exactly these (NAME=VERSION, or NAME) into a folder."""
        self._asked("download", *pins, folder=folder)

    def _asked(self, *words: str, folder: Path | None = None) -> str:
        state = self._folder
        settings = {
            "APT::Architecture": self._platform.name,
            "APT::Architectures": self._platform.name,
            "APT::Sandbox::User": "",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Retries": "2",
            "Dir::State": state,
            "Dir::State::status": state / "status",
            "Dir::Cache": state,
            "Dir::Etc::sourcelist": state / "sources" / "mirrors.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferences": "-",
            "Dir::Etc::preferencesparts": state / "preferences",
        }
        options = [f"--option={name}={value}" for name, value in settings.items()]
        answer = run(
            ["apt-get", "--quiet", *options, *words],
            needed_for="Fetching Debian packages",
            package="apt",
            folder=folder,
        )
        if answer.returncode != 0:
            raise ImageError(failure(printed(answer), last_words(answer), self._platform))
        return answer.stdout.decode("utf-8", "replace")


def _named(file: str) -> str:
    """NAME_VERSION_ARCHITECTURE.deb as apt's own NAME=VERSION; a colon in a version is written %3a in file names."""
    name, version, _ = file.split("_")
    return f"{name}={version.replace('%3a', ':')}"


def failure(everything: str, said: str, platform: Platform) -> str:
    """Why apt failed, and what to do about it."""
    if _UNREACHABLE.search(everything):
        return (
            "The mirrors of this machine's apt cannot be reached, and packages for the image are not in the cache yet: "
            f"connect to a network, or configure a mirror that you can reach. apt said:\n{said}"
        )
    if _ABSENT.search(everything):
        return (
            f"The mirrors of this machine's apt have no such package for {platform.name}: use mirrors that carry "
            f"{platform.name}. apt said:\n{said}"
        )
    return f"apt could not fetch the packages for {platform.name}; it said:\n{said}"
