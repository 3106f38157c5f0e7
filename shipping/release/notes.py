"""RELEASE-NOTES.md: what the CHANGELOG says of a version, with the commit it is of and how to check the files."""

from typing import Final

from shipping.release import changelog
from shipping.release.sums import FILE as SUMS

FILE: Final = "RELEASE-NOTES.md"
_SNAPSHOT: Final = """\
**A snapshot to try out, not a release.** It was made of a commit that has no version yet, it gets no corrections, and
the release that follows may differ in everything.

"""


def notes(version: str, commit: str, section: changelog.Section | None, *, snapshot: bool) -> str:
    """The page. A snapshot says what it is before anything else."""
    day = "" if section is None or not section.dated else f" ({section.when})"
    words = "Nothing is written down yet." if section is None or not section.words else section.words
    return (
        f"# Tangram {version}{day}\n\n{_SNAPSHOT if snapshot else ''}"
        f"Made of commit {commit}. `sha256sum --check {SUMS}` tells whether these files\narrived whole.\n\n{words}\n"
    )
