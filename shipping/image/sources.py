"""Where Debian packages come from: the mirrors this machine's apt already uses, and only those with our release.

apt reads its own configuration, in all its formats, better than we could; we ask it. The answer is written into
our own state folder for the time of a download and appears neither in the image nor in any file of the project.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shipping.image.errors import ImageError
from shipping.image.recipe import SUITE, SUITES
from shipping.image.tools import last_words, run

KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_FORMAT: Final = "$(CREATED_BY)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"


@dataclass(frozen=True, slots=True, order=True)
class Source:
    uri: str
    suite: str


def configured_sources() -> list[Source]:
    """The mirrors of this machine that hold Debian 12."""
    answer = run(
        ["apt-get", "indextargets", "--no-release-info", "--format", _FORMAT],
        needed_for="Fetching Debian packages",
        package="apt",
    )
    if answer.returncode != 0:
        raise ImageError(f"apt could not read its own configuration; it said:\n{last_words(answer)}")
    return read_sources(answer.stdout.decode("utf-8", "replace").splitlines())


def read_sources(lines: Iterable[str]) -> list[Source]:
    """The mirrors of Debian 12 among what apt would download."""
    targets = [line.split("|") for line in lines if line.count("|") == 3]
    found = {
        Source(uri, suite)
        for kind, uri, suite, component in targets
        if kind == "Packages" and component == "main" and suite in SUITES
    }
    if SUITE not in {source.suite for source in found}:
        others = sorted({target[2] for target in targets}) or ["no release at all"]
        raise ImageError(
            f"The image is made of Debian 12 packages, and apt's sources on this machine name {', '.join(others)} but "
            f"not {SUITE}: add a source for {SUITE} (and {SUITE}-security) in /etc/apt/sources.list.d, or build in a "
            f"Debian 12 container."
        )
    return sorted(found)


def source_lines(sources: Iterable[Source], keyring: Path = KEYRING) -> str:
    """The same for apt, trusting Debian's keys alone where they are installed."""
    trust = f" [signed-by={keyring}]" if keyring.is_file() else ""
    return "".join(f"deb{trust} {source.uri} {source.suite} main\n" for source in sources)
