"""What the project needs at run time, read from the metadata of what is installed here, and the files of it.

Nothing is resolved or fetched: the environment that runs this is the answer, so an image holds exactly the versions
the tests ran with. Left out is what no program reads: tests of the packages, stubs, headers, static libraries.
"""

import importlib.metadata
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from testbed.errors import BedError
from testbed.images.layers import Entry, File, container_path

_UNUSED_SUFFIXES = frozenset({".a", ".c", ".f", ".f90", ".h", ".pxd", ".pyc", ".pyi", ".pyx"})
_UNUSED_FOLDERS = frozenset({"__pycache__", "tests"})
_INSTALLER_NOTES = frozenset({"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"})


def needed_distributions(wanted: Iterable[str]) -> dict[str, Distribution]:
    """The distributions that these requirements ("name" or "name[extra]") lead to, themselves included, by name."""
    found: dict[str, Distribution] = {}
    waiting = [_requirement(text) for text in wanted]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *sorted(requirement.extras)):
            if (name, extra) not in seen:
                seen.add((name, extra))
                found[name] = installed(name)
                _check_extra(found[name], extra)
                waiting.extend(_requirements(found[name], extra))
    return dict(sorted(found.items()))


def installed(name: str) -> Distribution:
    """The installed distribution of that name."""
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise BedError(
            f"The image of the environment needs {name!r}, which is not installed in this Python: run 'make setup'."
        ) from None


def module_files(distribution: Distribution, folder: str) -> dict[str, Entry]:
    """The files of a distribution that programs read, placed below this folder of the container."""
    return {name: File(path) for name, path in _files(distribution, folder)}


def metadata_files(distribution: Distribution, folder: str) -> dict[str, Entry]:
    """Only the notes about a distribution (version, entry points), for one whose modules come from elsewhere."""
    return {name: File(path) for name, path in _files(distribution, folder) if ".dist-info/" in name}


def _files(distribution: Distribution, folder: str) -> Iterator[tuple[str, Path]]:
    if distribution.files is None:
        raise BedError(
            f"The distribution {distribution.name!r} has no list of its files, so it cannot go into an image: install "
            f"it with pip, as 'make setup' does."
        )
    for file in distribution.files:
        unused = file.suffix in _UNUSED_SUFFIXES or not _UNUSED_FOLDERS.isdisjoint(file.parts)
        note = ".dist-info" in file.parts[0] and file.name in _INSTALLER_NOTES
        # Scripts and manual pages lie outside the modules' folder, above it.
        if not unused and not note and file.parts[0] != "..":
            path = Path(str(distribution.locate_file(file)))
            if path.is_file():
                yield container_path(f"{folder}/{file}"), path


def _check_extra(distribution: Distribution, extra: str) -> None:
    known = [canonicalize_name(name) for name in distribution.metadata.get_all("Provides-Extra") or ()]
    if extra and canonicalize_name(extra) not in known:
        raise BedError(
            f"The installed {distribution.name!r} has no extra {extra!r} (it has {', '.join(known) or 'none'}): write "
            f"one of those, or run 'make setup' if pyproject.toml has it."
        )


def _requirements(distribution: Distribution, extra: str) -> Iterator[Requirement]:
    """What it needs for this extra; for no extra, what it needs always."""
    for text in distribution.requires or ():
        requirement = _requirement(text)
        marker = requirement.marker
        if marker is None:
            if not extra:
                yield requirement
        elif marker.evaluate({"extra": extra}) and (not extra or not marker.evaluate({"extra": ""})):
            yield requirement


def _requirement(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise BedError(f"{text!r} is no requirement ({error}): write a name, or name[extra].") from None
