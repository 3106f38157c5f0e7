"""CHANGELOG.md: which version its newest section is of, and the words of a section.

A released section has its date; one that is being written has the word `unreleased` in its place.
"""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

FILE: Final = "CHANGELOG.md"
_HEADING: Final = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<when>.*))?$")


@dataclass(frozen=True, slots=True)
class Section:
    version: str
    when: str
    words: str

    @property
    def dated(self) -> bool:
        try:
            return date.fromisoformat(self.when).isoformat() == self.when
        except ValueError:
            return False


def sections_of(text: str) -> list[Section]:
    """The sections in their order, newest first."""
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            found.append((heading, []))
        elif found:
            found[-1][1].append(line)
    return [
        Section(heading["version"], (heading["when"] or "").strip(), "\n".join(lines).strip())
        for heading, lines in found
    ]


def unreleased(text: str) -> Section | None:
    """The section that is being written."""
    return next((section for section in sections_of(text)[:1] if not section.dated), None)


def section_named(text: str, version: str) -> Section | None:
    """The section of one version."""
    return next((section for section in sections_of(text) if section.version == version), None)
