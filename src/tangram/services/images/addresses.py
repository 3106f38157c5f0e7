"""`DOMAIN/PROJECT`: where images are pushed, as people write it for docker and helm.

Other tools guess what is missing: a word without a dot becomes a project of a registry on the internet. Here a domain
and a project are asked for, because images that were pushed somewhere else are found out on the nodes.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

import msgspec

_DOMAIN: Final = re.compile(
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[0-9a-fA-F:]+\])"
    r"(?::[0-9]{1,5})?"
)
_PART: Final = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")
_EXAMPLE: Final = "such as registry.example.com/cloud"
_LONGEST: Final = 200
"""Registries end names at 255 characters, and those of the images come behind the project."""

_OTHER_NAMES: Final = {"docker.io": "registry-1.docker.io", "index.docker.io": "registry-1.docker.io"}
"""Domains whose registry answers elsewhere."""


class Target(msgspec.Struct, frozen=True):
    """Where images go. `domain` has its port, if it has one; `project` has no slash at its ends."""

    domain: str
    project: str

    @property
    def host(self) -> str:
        """Who answers for the domain."""
        return _OTHER_NAMES.get(self.domain, self.domain)

    def __str__(self) -> str:
        return f"{self.domain}/{self.project}"


class AddressError(ValueError):
    """What was read, what is legal and what to write."""


def read_target(text: str) -> Target:
    """The target that `text` names."""
    shown = f"{text:.120}"
    scheme = _SCHEME.match(text)
    authority = text[scheme.end() if scheme else 0 :].partition("/")[0]
    if "@" in authority:  # what stands before it is not told again: a log may keep it
        raise AddressError(
            f"a login stands before {authority.rpartition('@')[2]!r:.120}: write DOMAIN/PROJECT alone, {_EXAMPLE}, and "
            "log in with docker login, or with --user and --password-stdin."
        )
    if scheme is not None:
        plain = ", and --plain-http behind it" if scheme[1].lower() == "http" else ""
        raise AddressError(
            f"{shown!r} begins with {scheme[0]}: write DOMAIN/PROJECT alone, such as "
            f"{text[scheme.end() :].strip('/') or 'registry.example.com/cloud':.120}{plain}."
        )
    domain, slash, project = text.partition("/")
    project = project.removesuffix("/")
    if not _looks_like_a_domain(domain):
        raise AddressError(
            f"{shown!r} has no domain before its first slash: write DOMAIN/PROJECT, {_EXAMPLE}; a registry on this "
            "machine is localhost with its port, such as localhost:5000/cloud."
        )
    if _DOMAIN.fullmatch(domain) is None or not _port_exists(domain) or not _address_exists(domain):
        raise AddressError(
            f"{domain!r:.120} is no domain of a registry: it is a name or an address, with a port behind a colon if "
            f"it has its own; write DOMAIN/PROJECT, {_EXAMPLE}."
        )
    if not slash or not project:
        raise AddressError(
            f"{shown!r} names no project: registries keep images in projects; write DOMAIN/PROJECT, such as "
            f"{domain}/cloud."
        )
    _check_project(project)
    return Target(domain, project)


def _looks_like_a_domain(word: str) -> bool:
    return "." in word or ":" in word or word == "localhost"


def _port_exists(domain: str) -> bool:
    _, colon, port = domain.rpartition(":")
    return not colon or domain.endswith("]") or 0 < int(port) < 65536


def _address_exists(domain: str) -> bool:
    """Whether what stands in brackets is an address, if there are any."""
    try:
        return not domain.startswith("[") or bool(ipaddress.IPv6Address(domain[1:].partition("]")[0]))
    except ValueError:
        return False


def _check_project(project: str) -> None:
    if ":" in project.rpartition("/")[2] or "@" in project:
        raise AddressError(
            f"the project {project!r:.120} has a tag or digest: leave it out, images are pushed under their version."
        )
    if len(project) > _LONGEST:
        raise AddressError(f"the project has {len(project)} characters: it may have {_LONGEST}.")
    if any(_PART.fullmatch(part) is None for part in project.split("/")):
        lower = project.lower()
        fits = lower != project and all(_PART.fullmatch(part) for part in lower.split("/"))
        instead = f"write {lower:.120}" if fits else "name one that is"
        raise AddressError(
            f"the project {project!r:.120} is not of lower-case letters and digits with '.', '_' or '-' between them, "
            f"and '/' between parts: {instead}."
        )
